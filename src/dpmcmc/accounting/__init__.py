"""Iterations against (epsilon, delta), under substitution of one row but where a name says else.

An accountant is a module with two pure functions. `delta(releases, epsilon)` is the delta that a
list of (mechanism, count) costs at epsilon, with mechanisms of `dpmcmc.accounting.mechanisms`.
`check(releases)` raises a TypeError or ValueError, with the reason, for a list with a mechanism
that it cannot price. An accountant knows no sampler and no data. A slow one also has
`loss_variance(mechanism)`, with which the search for the number of iterations starts near its end,
or `epsilon(releases, delta)`. A new one has a line in `dpmcmc.accounting.accountants`; one's own is
a file beside the study's.
"""
