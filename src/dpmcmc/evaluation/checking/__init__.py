"""Checks of a model or an algorithm of one's own: what `python -m dpmcmc check` tries."""
