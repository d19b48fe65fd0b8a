"""Iterations against (epsilon, delta), under substitution of one row but where a name says else.

An accountant is a module with two pure functions. `delta(mechanism, iterations, epsilon)` is the
delta that iterations of a mechanism (`dpmcmc.accounting.mechanisms`; or of `sequences`, whose
iterations differ) cost at epsilon. `check(mechanism)` raises a TypeError or ValueError, with the
reason, for a mechanism that it cannot price. It knows no sampler and no data. A slow one also has
`loss_variance(mechanism)`, with which the search for the number of iterations starts near its end,
or `epsilon(mechanism, iterations, delta)`. A new one
has a line in `dpmcmc.accounting.accountants`; one's own is a file beside the study's.
"""
