"""Sums over rows that samplers need, for each kind of model; and `Target`, which samplers see."""
