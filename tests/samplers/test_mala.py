"""DP MALA is DP HMC with one leapfrog step: the Langevin proposal, and its acceptance ratio."""

import numpy as np
import pytest

from dpmcmc.random_streams import three_streams
from dpmcmc.samplers.hmc import draw_momentum, kinetic_energy, leapfrog


def test_one_leapfrog_step_is_the_langevin_proposal_with_its_ratio():
    precision, s = np.array([[2.0, 0.4], [0.4, 1.0]]), 0.7
    rng, theta = three_streams(np.random.SeedSequence(1)), np.array([0.3, -1.1])

    def gradient(place):
        return -precision @ place

    def log_proposal(to, since):
        return -(((to - since - s * s / 2 * gradient(since)) / s) ** 2).sum() / 2

    for _ in range(5):
        momentum = draw_momentum(rng, 2, 1.0)
        *_, (theta_new, momentum_new) = leapfrog(theta, momentum, gradient, s, 1, 1.0)
        expected = theta + s * s / 2 * gradient(theta) + s * momentum
        assert theta_new == pytest.approx(expected, rel=1e-14)
        kinetic = kinetic_energy(momentum, 1.0) - kinetic_energy(momentum_new, 1.0)
        ratio = log_proposal(theta, theta_new) - log_proposal(theta_new, theta)
        assert kinetic == pytest.approx(ratio, rel=1e-12)
