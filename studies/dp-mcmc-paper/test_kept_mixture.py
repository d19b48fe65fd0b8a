"""Errors of the first draws of chains."""

import numpy as np
import pytest

from kept_mixture import running_errors


def test_running_errors_are_those_of_the_first_draws():
    rng = np.random.default_rng(3)
    chains, reference = rng.normal(1, 2, (3, 50, 2)), rng.standard_normal((400, 2))
    of_mean, of_variance = running_errors(chains, reference, [10, 50])
    for chain, means, variances in zip(chains, of_mean, of_variance, strict=True):
        for end, mean, variance in zip((10, 50), means, variances, strict=True):
            part = chain[:end]
            off = part.mean(axis=0) - reference.mean(axis=0)
            assert mean == pytest.approx(np.linalg.norm(off))
            off = part.var(axis=0) - reference.var(axis=0)
            assert variance == pytest.approx(np.linalg.norm(off))
