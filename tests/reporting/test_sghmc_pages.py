"""What the pages on the SGHMC thesis compute: prices by relation, and moments of chains."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpmcmc.accounting.growing_noise import GrowingNoise
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.reporting import moments, sghmc_privacy
from dpmcmc.reporting.figures.moments import moment_panels
from dpmcmc.reporting.figures.privacy import accountant_panels
from dpmcmc.samplers.sghmc import DPSGHMC
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC

THESIS = DPSGHMC(
    step_size=3, num_integration_steps=10, batch_size=100, friction=1, gradient_clip_bound=0.7
).mechanism(10_000, likelihood_power=0.01)
Q, SD = 0.1, 1.5  # of one mechanism, whose noise is over the bound of a row
ONE = GrowingNoise(SubsampledGaussianMechanism(SD**2 / 4, Q), 1 / 3, 1)
MODEL = Gaussian(num_rows=500, prior_variance=1, covariance=[[4]], true_position=[1])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def target():
    return Target(MODEL, MODEL.simulate(np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(1e-6, 2.404), (1e-5, 2.187), (1e-4, 1.952), (1e-3, 1.688), (1e-2, 1.381)],
)
def test_the_moments_accountant_of_the_thesis(delta, expected):
    """By the theorem that it names; it prints 2.254, 2.061, 1.848, 1.607 and 1.324."""
    assert sghmc_privacy.thesis_epsilon(THESIS, 200, delta) == pytest.approx(expected, abs=6e-4)


def test_twice_the_sensitivity_is_half_the_noise():
    twice = sghmc_privacy.with_sensitivity(THESIS, 2)
    assert twice.first.noise_variance == pytest.approx(THESIS.first.noise_variance / 4)
    assert (twice.exponent, twice.count) == (THESIS.exponent, THESIS.count)
    thesis = sghmc_privacy.thesis_epsilon(THESIS, 20, 1e-5)
    assert sghmc_privacy.wang_epsilon(THESIS, 20, 1e-5) > thesis


def mixture(x, shift):
    """Density of one mechanism: the noise, and with probability Q a row that shifts it."""
    return (1 - Q) * norm.pdf(x, scale=SD) + Q * norm.pdf(x, loc=shift, scale=SD)


def hockey_stick(epsilon, p, q):
    """Delta at epsilon of a pair of densities, by integration, the larger of both directions."""

    def one_way(a, b):
        return quad(lambda x: max(0.0, a(x) - math.exp(epsilon) * b(x)), -20, 20, limit=400)[0]

    return max(one_way(p, q), one_way(q, p))


@pytest.mark.parametrize(
    ("relation", "sampling", "pair"),
    [
        ("one row added or removed", "Poisson", (1, 0)),
        ("one row added or removed", "fixed size", (2, 0)),
        ("one row replaced", "Poisson", (1, -1)),
    ],
)
def test_one_release_costs_what_its_worst_pair_does(relation, sampling, pair):
    delta = 1e-3
    rows = sghmc_privacy.by_relation(ONE, 1, delta)
    (found,) = (
        row["epsilon"] for row in rows if (row["relation"], row["sampling"]) == (relation, sampling)
    )
    densities = [lambda x, shift=shift: mixture(x, shift) for shift in pair]
    assert hockey_stick(found, *densities) <= 1.001 * delta
    assert hockey_stick(found - 0.003, *densities) > delta


def test_a_fixed_size_costs_more_and_a_row_replaced_does():
    rows = {
        (row["relation"], row["sampling"]): row for row in sghmc_privacy.by_relation(ONE, 3, 1e-5)
    }
    costs = [row["epsilon"] for row in rows.values()]
    added, fixed_added, replaced, fixed_replaced = costs
    assert added < replaced < fixed_replaced and added < fixed_added <= fixed_replaced
    assert replaced <= sghmc_privacy.removed_and_added(ONE, 3, 1e-5)
    assert [row["moved"] for row in rows.values()] == [1, 2, 2, 2]


def test_an_added_row_moves_sums_over_batches_of_a_fixed_size_twice_as_far():
    """Every subset by brute force: the new row takes the place of one of the others."""
    from itertools import combinations

    rows, b = [-1.0] * 4, 2
    before = {sum(batch) for batch in combinations(rows, b)}
    after = [sum(batch) for batch in combinations([*rows, 1.0], b)]
    moved = [value for value in after if value not in before]
    assert before == {-2.0} and set(moved) == {0.0} and len(moved) / len(after) == b / 5


def test_a_normal_posterior_by_two_gradients(target):
    mean, sd = moments.normal_posterior(target)
    precision = 500 / 4 + 1
    assert sd == pytest.approx(precision**-0.5, rel=1e-9)
    assert mean == pytest.approx(target.data.sum() / 4 / precision, rel=1e-9)


def test_the_noise_of_batches_is_that_of_drawn_ones(target):
    noise = moments.batch_noise(target, 0.5, 50, 0.7)
    rng = np.random.default_rng(2)
    sums = [
        10 * target.clipped_batch_gradient(np.array([0.5]), 0.7, rng.permutation(500)[:50])[0][0]
        for _ in range(4000)
    ]
    assert np.var(sums) == pytest.approx(noise, rel=4 * math.sqrt(2 / 4000))
    assert moments.batch_noise(target, 0.5, 500, 0.7) == 0


def test_moments_of_chains_and_of_one_that_diverges():
    draws = np.random.default_rng(3).normal(2, 3, (4, 100, 1))
    draws[1, 50:] = np.inf
    draws[2] *= 1e200
    found = moments.moments(draws)
    assert found.kept == 100
    assert found.mean[0] == draws[0].mean() and found.sd[0] == draws[0].std(ddof=1)
    assert found.mean[1] == found.sd[1] == found.sd[2] == moments.ENDLESS
    assert np.isnan(found.ess[1:3]).all() and np.isfinite(found.ess[[0, 3]]).all()


def test_a_root_mean_square_with_its_interval():
    errors = np.random.default_rng(4).normal(0, 2, 200)
    value, low, high = moments.root_mean_square(("a",), errors)
    assert value == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert low < value < high and low < 2 < high
    assert moments.root_mean_square(("a",), errors[:1]).high == math.inf
    assert (
        moments.root_mean_square(("a",), np.array([moments.ENDLESS] * 3)).value == moments.ENDLESS
    )


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.1, 1.1, "does not"),
        (0.1, 2.5, "fails"),
        (0.1, 0.3, "fails"),
        (-1.6, 1.0, "fails"),
        (0.0, 0.0, "fails"),
        (moments.ENDLESS, moments.ENDLESS, "fails"),
        (1.0, 1.0, "undecided"),
    ],
)
def test_a_sampler_fails_by_its_mean_or_by_its_width(mean, sd, expected):
    scatter = np.linspace(-0.1, 0.1, 15)
    found = moments.Moments(mean + scatter, np.abs(sd * (1 + scatter)), np.ones(15), 251)
    assert moments.fails(("a", mean, sd), found, 0.0, 1.0) == expected


def test_chains_without_end_are_counted_beside_those_that_are_drawn():
    scatter = np.array([1.0, 2.0, moments.ENDLESS])
    found = moments.Moments(scatter, scatter, np.ones(3), 251)
    rows = [("A", "#009E73", found, [1.5, 0.1]), ("B", "#444444", found, None)]
    left, right = moment_panels(rows, 0.0, 1.0, 0.5).axes
    for axis in (left, right):
        assert [text.get_text()[:13] for text in axis.texts] == ["1 without end"] * 2
        assert [len(line.get_xdata()) for line in axis.lines] == [2, 1, 2]
    assert left.lines[1].get_xdata()[0] == pytest.approx(1.0)
    assert [label.get_text() for label in left.get_yticklabels()] == ["A", "B"]


def test_printed_epsilons_have_the_colours_of_their_accountants():
    panels = {"δ": ([1e-6, 1e-5], {"PLD": [2, 1], "Rényi": [3, 2]}, {"Rényi": [4, 5]})}
    figure = accountant_panels(panels)
    (axis,) = figure.axes
    assert [line.get_color() for line in axis.lines][1] == axis.lines[2].get_color()
    assert axis.get_ylim()[0] == 0 and axis.get_ylim()[1] > 5
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PLD", "Rényi", "Thesis"]


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
    mean, sd = moments.runaway(sampler, 500)
    assert mean == pytest.approx(np.mean(ends[249:]), rel=0.02)
    assert sd == pytest.approx(np.std(ends[249:], ddof=1), rel=0.02)
    assert mean == pytest.approx(71_707, rel=0.1) and sd == pytest.approx(5079, rel=0.1)
