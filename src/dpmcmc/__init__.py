"""Differentially private Markov chain Monte Carlo: samplers, models, accounting and metrics.

To be imported before NumPy, for the same digits on every machine: see `dpmcmc.machine`.
"""

from dpmcmc.machine import pin

pin()
