"""From tables to figures and pages."""
