"""Compiled passes over the rows, by subject, and their build ahead of time: the only numba."""
