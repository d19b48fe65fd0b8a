"""Summaries, rankings and claims, of the tables of a study."""
