"""Priors and likelihoods of one row: one file a model."""
