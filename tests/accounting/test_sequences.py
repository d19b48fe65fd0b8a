"""Noise that grows, and preparations: what releases that differ cost together."""

import math

import numpy as np
import pytest
from conftest import chosen

import dpmcmc
from dpmcmc.accounting import certified, gaussian
from dpmcmc.accounting.accountants import accountant, epsilon_of, first_guess
from dpmcmc.accounting.mechanisms import (
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.accounting.search import max_iterations
from dpmcmc.accounting.sequences import GrowingNoise, Prepared, counted, grouped

Q = 0.01


def thesis(step_size=3.0, friction=1.0, bound=0.7, num_rows=10_000):
    """What a run of the thesis mechanisms: plain sums over batches of a hundredth, J = 10."""
    b = int(Q * num_rows)
    sampler = dpmcmc.DPSGHMC(step_size, 10, b, friction, gradient_clip_bound=bound)
    return sampler.mechanism(num_rows, b / num_rows)


@pytest.fixture
def few_kinds(monkeypatch):
    """Noise variances that differ by as much as a quarter are priced as one: sooner, and dearer."""
    monkeypatch.setattr(certified, "ALIKE", 1.25)


@pytest.mark.parametrize("exponent", chosen([0.0, 0.3, 1.0], 0.3))
def test_certified_on_all_rows_is_the_gaussian_of_the_summed_squares(exponent):
    mechanism = GrowingNoise(SubsampledGaussianMechanism(50.0, 1.0), exponent, 3)
    mu = math.sqrt(sum(3 / (50 * t**exponent) for t in range(1, 41)))
    for delta in (1e-3, 1e-6):
        exact = gaussian.epsilon(GaussianMechanism(mu), 1, delta)
        found = certified.epsilon(mechanism, 40, delta)
        assert exact * (1 - 1e-6) <= found <= 1.01 * exact
        assert certified.delta(mechanism, 40, exact) == pytest.approx(delta, rel=0.15)
        assert certified.delta(mechanism, 40, exact) >= delta * (1 - 1e-6)


def test_without_growth_it_is_the_release_itself():
    one = SubsampledGaussianMechanism(1.5, Q)
    assert counted(GrowingNoise(one, 0.0, 4), 25) == [(one, 100)]
    assert certified.epsilon(GrowingNoise(one, 0.0, 4), 25, 1e-6) == certified.epsilon(
        one, 100, 1e-6
    )


@pytest.mark.usefixtures("few_kinds")
def test_costs_lie_between_those_of_the_least_and_of_the_most_noise():
    mechanism, k = thesis(), 60
    least, most = (certified.epsilon(mechanism.of(t), 10 * k, 1e-5) for t in (k, 1))
    assert least < certified.epsilon(mechanism, k, 1e-5) < most


def test_groups_have_the_least_noise_of_theirs_and_lose_no_release():
    mechanism, k = thesis(), 300
    for alike in (1.0, 1.004, 1.05):
        groups = grouped(mechanism, k, alike)
        assert sum(count for _, count in groups) == 10 * k
        noises = [part.noise_variance for part, _ in groups]
        of_all = [part.noise_variance for part, _ in counted(mechanism, k)]
        starts = np.cumsum([0, *(count // 10 for _, count in groups)])
        for low, first, last in zip(noises, starts[:-1], starts[1:], strict=True):
            assert low == of_all[first] and of_all[last - 1] <= alike * low * (1 + 1e-12)
    assert len(grouped(mechanism, k, 1.0)) == k


@pytest.mark.usefixtures("few_kinds")
@pytest.mark.parametrize("step_size", [1.7, 3.0, 200.0])
def test_kinds_stay_on_one_grid_however_little_the_noise(step_size):
    """Grids are those of the least noise, whose losses reach farthest."""
    mechanism = thesis(step_size, 0.15, 1.0)
    for k in (2, 30):
        parts = certified.composition(mechanism, k).parts
        assert len({loss.grid for loss, _ in parts}) == 1
        assert sum(count for _, count in parts) == 10 * k


def test_search_over_nearly_all_iterations_is_no_matter_of_their_number():
    """With noise that grows as fast as t the cost hardly grows: groups are found, not counted."""
    mechanism = GrowingNoise(SubsampledGaussianMechanism(1e4, Q), 1.0, 1)
    assert sum(count for _, count in grouped(mechanism, 10**9, 1.05)) == 10**9
    assert len(grouped(mechanism, 10**9, 1.05)) < 500


@pytest.mark.usefixtures("few_kinds")
def test_costs_grow_with_the_iterations_and_fall_with_epsilon():
    module, mechanism = certified, thesis()
    costs = [epsilon_of(module, mechanism, k, 1e-5) for k in (0, 5, 20, 40)]
    assert costs[0] == 0 and (np.diff(costs) > 0).all()
    deltas = [module.delta(mechanism, 20, epsilon) for epsilon in (0.0, 0.3, 1.0)]
    assert (np.diff(deltas) < 0).all() and module.delta(mechanism, 0, 0.5) == 0
    assert module.delta(mechanism, 20, costs[2]) <= 1e-5 * (1 + 1e-6)


@pytest.mark.usefixtures("few_kinds")
def test_the_search_for_iterations_ends_where_delta_does():
    mechanism = thesis()
    guess, spread = first_guess(certified, mechanism, 5.0, 1e-5)
    k = max_iterations(certified.delta, mechanism, 5.0, 1e-5, guess, spread)
    assert certified.delta(mechanism, k, 5.0) <= 1e-5 < certified.delta(mechanism, k + 1, 5.0)
    assert k > 100 and k / 4 < guess < 4 * k


@pytest.mark.parametrize(("exponent", "count"), [(-0.1, 1), (math.nan, 1), (0.3, 0)])
def test_noise_that_shrinks_and_no_release_are_refused(exponent, count):
    with pytest.raises(ValueError, match=r"GrowingNoise\.(exponent|count): cannot be"):
        GrowingNoise(SubsampledGaussianMechanism(1.0, Q), exponent, count)


@pytest.mark.parametrize("name", ["rdp", "zcdp", "gaussian", "barker-rdp", "published-pld"])
def test_other_accountants_refuse_it(name):
    with pytest.raises(TypeError, match="not a GrowingNoise"):
        accountant(name).check(thesis())


# -- Preparations ----------------------------------------------------------------------------------


def test_a_preparation_adds_its_square():
    mechanism = Prepared(GaussianMechanism(0.3), GaussianMechanism(0.02), count=4)
    together = GaussianMechanism(math.sqrt(4 * 0.3**2 + 50 * 0.02**2))
    for name in ("gaussian", "certified", "zcdp"):
        module = accountant(name)
        for k, one in ((50, together), (0, GaussianMechanism(0.6))):
            assert module.delta(mechanism, k, 1.5) == pytest.approx(module.delta(one, 1, 1.5))


def test_free_steps_cost_nothing():
    mechanism = Prepared(GaussianMechanism(0.3), None)
    for name in ("gaussian", "certified", "zcdp"):
        module = accountant(name)
        alone = module.delta(GaussianMechanism(0.3), 1, 0.7)
        assert [module.delta(mechanism, k, 0.7) for k in (0, 1, 10**9)] == [alone] * 3
    with pytest.raises(TypeError, match="accountant rdp prices a SubsampledGaussianMechanism"):
        accountant("rdp").check(mechanism)


def test_a_preparation_composes_with_batches():
    """On batches of all rows they are Gaussian mechanisms; on small ones it costs at least both."""
    whole = Prepared(GaussianMechanism(0.5), SubsampledGaussianMechanism(100.0, 1.0))
    exact = gaussian.epsilon(GaussianMechanism(math.sqrt(0.25 + 1)), 1, 1e-5)
    assert exact * (1 - 1e-6) <= certified.epsilon(whole, 100, 1e-5) <= 1.001 * exact
    batches = SubsampledGaussianMechanism(1.0, Q)
    mechanism = Prepared(GaussianMechanism(0.5), batches)
    found = certified.epsilon(mechanism, 1000, 1e-5)
    parts = [
        certified.epsilon(GaussianMechanism(0.5), 1, 1e-5),
        certified.epsilon(batches, 1000, 1e-5),
    ]
    assert max(parts) < found < sum(parts)
    guess, spread = first_guess(certified, mechanism, found, 1e-5)
    most = max_iterations(certified.delta, mechanism, found, 1e-5, guess, spread)
    assert most == pytest.approx(1000, abs=2)


def test_a_budget_for_a_preparation_is_spent_and_not_exceeded():
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), 5000, epsilon=0.5, chains=3)
    assert 0.4999 < dpmcmc.epsilon(sampler, 5000, iterations=10, chains=3) <= 0.5
    given = dpmcmc.NoisyStatistics(noise_scale=7.0)
    assert dpmcmc.for_budget(given, 5000, epsilon=0.5) == given
    walk = dpmcmc.GaussianWalk(1.0)
    with pytest.raises(ValueError, match=r"^sampler: DPPenalty does not prepare"):
        dpmcmc.for_budget(dpmcmc.DPPenalty(walk, 0.1, 1.0), 5000, epsilon=0.5)
