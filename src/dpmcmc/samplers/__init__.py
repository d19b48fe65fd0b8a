"""Samplers: one file an algorithm."""
