"""Iterations against (epsilon, delta), under substitution of one row but where a name says else.

An accountant is a module with two pure functions: `delta(release, iterations, epsilon)`, the delta
that so many iterations of a release (`dpmcmc.accounting.releases`; or of `growing_noise`, whose
iterations differ) cost at epsilon, and `check(release)`, which raises a TypeError or ValueError,
with the reason, for one that it cannot price. It knows no sampler and no data. A slow one also has
`loss_variance(release)`, with which the search for the number of iterations starts near its end, or
`epsilon(release, iterations, delta)`. A new file is enough to add one.
"""
