"""Lists of releases: noise that grows, preparations, chains that share a budget."""

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
from dpmcmc.accounting.releases import grouped, growing_noise, of_chains, together
from dpmcmc.accounting.search import max_iterations

Q = 0.01


def thesis(iterations, step_size=3.0, friction=1.0, bound=0.7, num_rows=10_000):
    """Releases of a run of the thesis: plain sums over batches of a hundredth, J = 10."""
    b = int(Q * num_rows)
    sampler = dpmcmc.DPSGHMC(step_size, 10, b, friction, gradient_clip_bound=bound)
    return sampler.releases(num_rows, b / num_rows, iterations)


@pytest.fixture
def few_kinds(monkeypatch):
    """Noise variances that differ by as much as a quarter are priced as one: sooner, and dearer."""
    monkeypatch.setattr(certified, "ALIKE", 1.25)


@pytest.mark.parametrize("exponent", chosen([0.0, 0.3, 1.0], 0.3))
def test_certified_on_all_rows_is_the_gaussian_of_the_summed_squares(exponent):
    releases = growing_noise(SubsampledGaussianMechanism(50.0, 1.0), exponent, 3, 40)
    mu = math.sqrt(sum(3 / (50 * t**exponent) for t in range(1, 41)))
    for delta in (1e-3, 1e-6):
        exact = gaussian.epsilon([(GaussianMechanism(mu), 1)], delta)
        found = certified.epsilon(releases, delta)
        assert exact * (1 - 1e-6) <= found <= 1.01 * exact
        assert certified.delta(releases, exact) == pytest.approx(delta, rel=0.15)
        assert certified.delta(releases, exact) >= delta * (1 - 1e-6)


def test_without_growth_it_is_the_release_itself():
    one = SubsampledGaussianMechanism(1.5, Q)
    assert growing_noise(one, 0.0, 4, 25) == [(one, 100)]


@pytest.mark.usefixtures("few_kinds")
def test_costs_lie_between_those_of_the_least_and_of_the_most_noise():
    releases = thesis(60)
    least, most = (certified.epsilon([(releases[place][0], 10 * 60)], 1e-5) for place in (-1, 0))
    assert least < certified.epsilon(releases, 1e-5) < most


def test_kinds_have_the_least_noise_of_theirs_and_lose_no_release():
    first, k = SubsampledGaussianMechanism(2.0, Q), 300
    of_all = [2.0 * t ** (1 / 3) for t in range(1, k + 1)]
    for alike in (1.0, 1.004, 1.05):
        kinds = grouped(growing_noise(first, 1 / 3, 10, k), alike)
        assert sum(count for _, count in kinds) == 10 * k
        noises = [part.noise_variance for part, _ in kinds]
        starts = np.cumsum([0, *(count // 10 for _, count in kinds)])
        for low, start, end in zip(noises, starts[:-1], starts[1:], strict=True):
            assert low == of_all[start] and of_all[end - 1] <= alike * low * (1 + 1e-12)
    assert len(grouped(growing_noise(first, 1 / 3, 10, k), 1.0)) == k
    other = SubsampledGaussianMechanism(2.0, 2 * Q)
    for apart in ((other, 3), (GaussianMechanism(0.3), 3)):
        assert grouped([(first, 2), apart, (first, 2)], 9.0) == [(first, 2), apart, (first, 2)]
    less = SubsampledGaussianMechanism(1.0, Q)
    assert grouped([(first, 2), (less, 3)], 9.0) == [(first, 2), (less, 3)]


def test_a_longer_chain_has_the_same_list_with_more_at_its_end():
    for shorter, longer in ((0, 1), (7, 8), (120, 300), (8192, 8193), (9000, 30_000)):
        one, other = thesis(shorter), thesis(longer)
        *same, (last, count) = one or [(None, 0)]
        assert other[: len(same)] == same
        assert last is None or (other[len(same)][0] == last and other[len(same)][1] >= count)


@pytest.mark.usefixtures("few_kinds")
@pytest.mark.parametrize("step_size", [1.7, 3.0, 200.0])
def test_kinds_stay_on_one_grid_however_little_the_noise(step_size):
    """Grids are those of the least noise, whose losses reach farthest."""
    for k in (2, 30):
        parts = certified.composition(thesis(k, step_size, 0.15, 1.0)).parts
        assert len({loss.grid for loss, _ in parts}) == 1
        assert sum(count for _, count in parts) == 10 * k


def test_search_over_nearly_all_iterations_is_no_matter_of_their_number():
    """With noise that grows as fast as t the cost hardly grows: kinds are found, not counted."""
    releases = growing_noise(SubsampledGaussianMechanism(1e4, Q), 1.0, 1, 10**9)
    for kinds in (releases, grouped(releases, 1.05)):
        assert sum(count for _, count in kinds) == 10**9
    assert len(kinds) < 500 and len(releases) < 20_000


@pytest.mark.usefixtures("few_kinds")
def test_costs_grow_with_the_iterations_and_fall_with_epsilon():
    module = certified
    costs = [epsilon_of(module, thesis(k), 1e-5) for k in (0, 5, 20, 40)]
    assert costs[0] == 0 and (np.diff(costs) > 0).all()
    deltas = [module.delta(thesis(20), epsilon) for epsilon in (0.0, 0.3, 1.0)]
    assert (np.diff(deltas) < 0).all() and module.delta(thesis(0), 0.5) == 0
    assert module.delta(thesis(20), costs[2]) <= 1e-5 * (1 + 1e-6)


@pytest.mark.usefixtures("few_kinds")
def test_the_search_for_iterations_ends_where_delta_does():
    guess, spread = first_guess(certified, thesis, 5.0, 1e-5)

    def cost(k):
        return certified.delta(thesis(k), 5.0)

    k = max_iterations(cost, 1e-5, guess, spread)
    assert cost(k) <= 1e-5 < cost(k + 1)
    assert k > 100 and k / 4 < guess < 4 * k


@pytest.mark.parametrize(("exponent", "count"), [(-0.1, 1), (math.nan, 1), (0.3, 0)])
def test_noise_that_shrinks_and_no_release_are_refused(exponent, count):
    with pytest.raises(ValueError, match=r"^(exponent|count): must be at least"):
        growing_noise(SubsampledGaussianMechanism(1.0, Q), exponent, count, 9)


@pytest.mark.parametrize("name", ["zcdp", "gaussian", "barker-rdp"])
def test_accountants_of_other_mechanisms_refuse_it(name):
    with pytest.raises(TypeError, match="not a SubsampledGaussianMechanism"):
        accountant(name).check(thesis(1))


# -- Preparations ----------------------------------------------------------------------------------


def test_a_preparation_adds_its_square():
    both = GaussianMechanism(math.sqrt(4 * 0.3**2 + 50 * 0.02**2))
    for name in ("gaussian", "certified", "zcdp"):
        module = accountant(name)
        for k, one in ((50, both), (0, GaussianMechanism(0.6))):
            releases = [(GaussianMechanism(0.3), 4), (GaussianMechanism(0.02), k)]
            assert module.delta(releases, 1.5) == pytest.approx(module.delta([(one, 1)], 1.5))


def test_free_steps_cost_nothing():
    sampler = dpmcmc.NoisyStatistics(noise_scale=1 / 0.3)
    mechanism = GaussianMechanism(1 / sampler.noise_scale)
    assert [sampler.releases(9, 1.0, k) for k in (0, 1, 10**9)] == [[(mechanism, 1)]] * 3
    with pytest.raises(TypeError, match="accountant rdp prices a SubsampledGaussianMechanism"):
        accountant("rdp").check([(mechanism, 1)])


def test_a_preparation_composes_with_batches():
    """On batches of all rows they are Gaussian mechanisms; on small ones it costs at least both."""
    preparation = GaussianMechanism(0.5), 1
    whole = [preparation, (SubsampledGaussianMechanism(100.0, 1.0), 100)]
    exact = gaussian.epsilon([(GaussianMechanism(math.sqrt(0.25 + 1)), 1)], 1e-5)
    assert exact * (1 - 1e-6) <= certified.epsilon(whole, 1e-5) <= 1.001 * exact
    batches = SubsampledGaussianMechanism(1.0, Q)

    def releases(k):
        return [preparation, (batches, k)]

    found = certified.epsilon(releases(1000), 1e-5)
    parts = [certified.epsilon([part], 1e-5) for part in releases(1000)]
    assert max(parts) < found < sum(parts)
    guess, spread = first_guess(certified, releases, found, 1e-5)
    most = max_iterations(lambda k: certified.delta(releases(k), found), 1e-5, guess, spread)
    assert most == pytest.approx(1000, abs=2)


def test_preparations_of_several_chains_compose_exactly():
    """On all rows as one Gaussian mechanism, whatever they are composed with."""
    batches = SubsampledGaussianMechanism(1.0, Q), 200
    four, one = [(GaussianMechanism(0.25), 4), batches], [(GaussianMechanism(0.5), 1), batches]
    assert certified.epsilon(four, 1e-5) == certified.epsilon(one, 1e-5)


def test_a_budget_for_a_preparation_is_spent_and_not_exceeded():
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), 5000, epsilon=0.5, chains=3)
    assert 0.4999 < dpmcmc.epsilon(sampler, 5000, iterations=10, chains=3) <= 0.5
    given = dpmcmc.NoisyStatistics(noise_scale=7.0)
    assert dpmcmc.for_budget(given, 5000, epsilon=0.5) == given
    walk = dpmcmc.GaussianWalk(1.0)
    with pytest.raises(ValueError, match=r"^sampler: DPPenalty does not prepare"):
        dpmcmc.for_budget(dpmcmc.DPPenalty(walk, 0.1, 1.0), 5000, epsilon=0.5)


# -- Several chains --------------------------------------------------------------------------------


def test_iterations_are_spread_over_chains_and_none_is_lost():
    preparation, step = GaussianMechanism(0.5), GaussianMechanism(0.1)

    def releases(k):
        return [(preparation, 1), (step, k)]

    assert of_chains(releases, 10, 4) == [(preparation, 4), (step, 10)]
    assert of_chains(releases, 0, 4) == [(preparation, 4)]
    assert of_chains(lambda k: [(k, 1)], 10, 4) == [(2, 2), (3, 2)]
    assert together([(step, 2), (preparation, 0)], [(step, 3)]) == [(step, 5)]
