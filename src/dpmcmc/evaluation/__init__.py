"""From chains to tables, and what these say."""
