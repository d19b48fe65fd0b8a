"""Moments of single chains, and when a sampler fails by them."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

import normal
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_moments_of_chains_and_of_one_that_diverges():
    draws = np.random.default_rng(3).normal(2, 3, (4, 100, 1))
    draws[1, 50:] = np.inf
    draws[2] *= 1e200
    found = normal.moments(draws)
    assert found.kept == 100
    assert found.mean[0] == draws[0].mean() and found.sd[0] == draws[0].std(ddof=1)
    assert found.mean[1] == found.sd[1] == found.sd[2] == normal.ENDLESS
    assert np.isnan(found.ess[1:3]).all() and np.isfinite(found.ess[[0, 3]]).all()


def test_a_root_mean_square_with_its_interval():
    errors = np.random.default_rng(4).normal(0, 2, 200)
    value, low, high = normal.root_mean_square(("a",), errors)
    assert value == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert low < value < high and low < 2 < high
    assert normal.root_mean_square(("a",), errors[:1]).high == math.inf
    assert normal.root_mean_square(("a",), np.array([normal.ENDLESS] * 3)).value == normal.ENDLESS


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.1, 1.1, "does not"),
        (0.1, 2.5, "fails"),
        (0.1, 0.3, "fails"),
        (-1.6, 1.0, "fails"),
        (0.0, 0.0, "fails"),
        (normal.ENDLESS, normal.ENDLESS, "fails"),
        (1.0, 1.0, "undecided"),
    ],
)
def test_a_sampler_fails_by_its_mean_or_by_its_width(mean, sd, expected):
    scatter = np.linspace(-0.1, 0.1, 15)
    found = normal.Moments(mean + scatter, np.abs(sd * (1 + scatter)), np.ones(15), 251)
    assert normal.fails(("a", mean, sd), found, 0.0, 1.0) == expected


def test_chains_without_end_are_counted_beside_those_that_are_drawn():
    scatter = np.array([1.0, 2.0, normal.ENDLESS])
    found = normal.Moments(scatter, scatter, np.ones(3), 251)
    rows = [("A", "#009E73", found, [1.5, 0.1]), ("B", "#444444", found, None)]
    left, right = normal.moment_panels(rows, 0.0, 1.0, 0.5).axes
    for axis in (left, right):
        assert [text.get_text()[:10] for text in axis.texts] == ["1 diverged"] * 2
        assert [len(line.get_xdata()) for line in axis.lines] == [2, 1, 2]
    assert left.lines[1].get_xdata()[0] == pytest.approx(1.0)
    assert [label.get_text() for label in left.get_yticklabels()] == ["A", "B"]


def test_a_wrong_sign_drives_a_chain_as_far_as_the_thesis_s():
    """A force of 0.7 away from 0 at every step, simulated: against the closed form."""
    sampler = SubsampledHMC(1.0, 100, 5, gradient_clip_bound=0.7)
    position, ends, rng = 0.0, [], np.random.default_rng(1)
    for t in range(1, 501):
        h, p = t ** (-1 / 3), rng.standard_normal()
        for _ in range(100):
            p = p + h * 0.7
            position = position + h * p
        ends.append(position)
    mean, sd = normal.runaway(sampler, 500)
    assert mean == pytest.approx(np.mean(ends[249:]), rel=0.02)
    assert sd == pytest.approx(np.std(ends[249:], ddof=1), rel=0.02)
    assert mean == pytest.approx(71_707, rel=0.1) and sd == pytest.approx(5079, rel=0.1)
