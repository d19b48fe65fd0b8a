"""Figures by subject, in one style."""
