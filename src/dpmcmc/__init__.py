"""Differentially private Markov chain Monte Carlo: samplers, models, accounting and metrics."""
