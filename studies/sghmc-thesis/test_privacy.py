"""What private SGHMC costs: printed numbers, worst pairs by integration, subsets by brute force."""

import math
from functools import partial

import matplotlib.pyplot as plt
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import privacy
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism
from dpmcmc.accounting.releases import growing_noise
from dpmcmc.samplers.sghmc import DPSGHMC

THESIS = DPSGHMC(
    step_size=3, num_integration_steps=10, batch_size=100, friction=1, gradient_clip_bound=0.7
)
THESIS = partial(THESIS.releases, 10_000, 0.01)
Q, SD = 0.1, 1.5  # of one mechanism, whose noise is over the bound of a row
ONE = partial(growing_noise, SubsampledGaussianMechanism(SD**2 / 4, Q), 1 / 3, 1)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(1e-6, 2.404), (1e-5, 2.187), (1e-4, 1.952), (1e-3, 1.688), (1e-2, 1.381)],
)
def test_the_moments_accountant_of_the_thesis(delta, expected):
    """By the theorem that it names; it prints 2.254, 2.061, 1.848, 1.607 and 1.324."""
    assert privacy.thesis_epsilon(THESIS, 200, delta) == pytest.approx(expected, abs=6e-4)


def test_twice_the_sensitivity_is_half_the_noise():
    twice = privacy.with_sensitivity(THESIS, 2)
    for (one, count), (other, of_other) in zip(THESIS(30), twice(30), strict=True):
        assert other.noise_variance == pytest.approx(one.noise_variance / 4)
        assert (other.sampling_probability, of_other) == (one.sampling_probability, count)
    thesis = privacy.thesis_epsilon(THESIS, 20, 1e-5)
    assert privacy.wang_epsilon(THESIS, 20, 1e-5) > thesis


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
    rows = privacy.by_relation(ONE, 1, delta)
    (found,) = (
        row["epsilon"] for row in rows if (row["relation"], row["sampling"]) == (relation, sampling)
    )
    densities = [lambda x, shift=shift: mixture(x, shift) for shift in pair]
    assert hockey_stick(found, *densities) <= 1.001 * delta
    assert hockey_stick(found - 0.003, *densities) > delta


def test_a_fixed_size_costs_more_and_a_row_replaced_does():
    rows = {(row["relation"], row["sampling"]): row for row in privacy.by_relation(ONE, 3, 1e-5)}
    costs = [row["epsilon"] for row in rows.values()]
    added, fixed_added, replaced, fixed_replaced = costs
    assert added < replaced < fixed_replaced and added < fixed_added <= fixed_replaced
    assert replaced <= privacy.removed_and_added(ONE, 3, 1e-5)
    assert [row["moved"] for row in rows.values()] == [1, 2, 2, 2]


def test_an_added_row_moves_sums_over_batches_of_a_fixed_size_twice_as_far():
    """Every subset by brute force: the new row takes the place of one of the others."""
    from itertools import combinations

    rows, b = [-1.0] * 4, 2
    before = {sum(batch) for batch in combinations(rows, b)}
    after = [sum(batch) for batch in combinations([*rows, 1.0], b)]
    moved = [value for value in after if value not in before]
    assert before == {-2.0} and set(moved) == {0.0} and len(moved) / len(after) == b / 5
