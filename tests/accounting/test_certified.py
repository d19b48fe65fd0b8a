"""The certified accountant: closed forms, brute force over subsets, limits, and known numbers."""

import itertools
import math

import numpy as np
import pytest
from conftest import chosen
from dp_accounting import NeighboringRelation
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy.stats import norm

from dpmcmc.accounting import certified, gaussian, published_pld, rdp, search
from dpmcmc.accounting.certified import (
    base_curve,
    curve,
    gaussian_curve,
    loss_variance,
    one_release,
)
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)

FLAT = SubsampledGaussianMechanism(noise_variance=0.7, sampling_probability=0.01)
TEMPERED = SubsampledGaussianMechanism(noise_variance=1.5, sampling_probability=0.01)
TEMPERED_10D = SubsampledGaussianMechanism(noise_variance=0.8, sampling_probability=0.006)
BARKER = BarkerMechanism(batch_size=1300, sampling_probability=0.013)
DELTA = {0.01: 1e-6, 0.006: 5e-7, 0.013: 1e-6}  # 0.1 / n of the published data sets


def by(module):
    """Delta by an accountant of so many of one mechanism at an epsilon."""
    return lambda mechanism, count, epsilon: module.delta([(mechanism, count)], epsilon)


def max_iterations(cost, mechanism, epsilon, target, **options):
    return search.max_iterations(lambda k: cost(mechanism, k, epsilon), target, **options)


delta, gaussian_delta, published_delta = map(by, (certified, gaussian, published_pld))


def iterations(mechanism, epsilon, cost=delta):
    return max_iterations(cost, mechanism, epsilon, DELTA[mechanism.sampling_probability])


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "expected"),
    chosen(
        [
            (FLAT, 1, 4),
            (FLAT, 4, 1130),
            (TEMPERED, 1, 344),
            (TEMPERED, 4, 4702),
            (TEMPERED_10D, 1, 87),
            (TEMPERED_10D, 4, 4197),
        ],
        (FLAT, 4, 1130),
        (TEMPERED_10D, 1, 87),
    ),
)
def test_known_iterations_of_the_minibatch_penalty(mechanism, epsilon, expected):
    assert iterations(mechanism, epsilon) == pytest.approx(expected, rel=1e-3, abs=1)


@pytest.mark.parametrize(("epsilon", "expected"), [(1, 98_456), (4, 1_233_605)])
def test_known_iterations_of_barker(epsilon, expected):
    costs = [delta(BARKER, round(expected * share), epsilon) for share in (1 - 1e-3, 1, 1 + 1e-4)]
    assert costs[0] <= DELTA[0.013] < costs[2] and costs[1] == pytest.approx(1e-6, rel=5e-3)


@pytest.mark.parametrize("mechanism", [FLAT, BARKER])
def test_delta_falls_with_epsilon_and_grows_with_the_iterations(mechanism):
    costs = [[delta(mechanism, k, e) for e in (0.5, 1, 2, 4)] for k in (1, 10, 1000, 100_000)]
    assert (np.diff(costs, axis=1) <= 1e-12).all() and (np.diff(costs, axis=0) >= -1e-12).all()
    assert np.diff(costs).min() < -1e-4 and delta(mechanism, 0, 1) == 0 < delta(mechanism, 1, 4)


def one_half(mechanism, relation, scale=1.0):
    """Cost of the pair that dp_accounting makes of a Gaussian, with another sensitivity."""
    pld = from_gaussian_mechanism(
        scale * math.sqrt(mechanism.noise_variance),
        sampling_prob=mechanism.sampling_probability,
        neighboring_relation=relation,
    )
    return lambda mechanism, k, epsilon: pld.self_compose(k).get_delta_for_epsilon(epsilon)


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    chosen(list(itertools.product([FLAT, TEMPERED], [2, 4])), (FLAT, 2)),
)
def test_the_accountants_stand_in_their_order(mechanism, epsilon):
    """The halves by themselves are a lower bound only, and the pair at +-1/2 is none of it."""
    halves = one_half(mechanism, NeighboringRelation.ADD_OR_REMOVE_ONE)
    in_order = [by(rdp), published_delta, delta, halves]
    counts = [iterations(mechanism, epsilon, cost) for cost in in_order]
    assert counts == sorted(counts) and len(set(counts)) == len(counts)


@pytest.mark.torture
def test_the_pair_at_plus_and_minus_one_half_is_unsound():
    """It moves the means by 1 in all, as the mechanism does, but the true cost is far above."""
    wrong = one_half(FLAT, NeighboringRelation.REPLACE_ONE, scale=2.0)
    k = iterations(FLAT, 4, wrong)
    assert k > 2 * iterations(FLAT, 4)
    # A lower bound of the true cost: two data sets that differ by one row, all others alike.
    true = one_half(FLAT, NeighboringRelation.ADD_OR_REMOVE_ONE)(FLAT, k, 4)
    assert true > 1.7e-3 > 1000 * DELTA[0.01]


@pytest.mark.parametrize("k", [1, 7, 60])
def test_all_rows_as_a_batch_is_the_gaussian_release(k):
    mechanism = SubsampledGaussianMechanism(noise_variance=30.0, sampling_probability=1.0)
    for epsilon in (0.5, 1, 3):
        expected = gaussian_delta(GaussianMechanism(1 / math.sqrt(30)), k, epsilon)
        assert delta(mechanism, k, epsilon) == pytest.approx(expected, rel=3e-3, abs=2e-11)
        twice = gaussian_delta(GaussianMechanism(2 / math.sqrt(30)), k, epsilon)
        assert published_delta(mechanism, k, epsilon) == pytest.approx(twice, rel=3e-3, abs=2e-11)


@pytest.mark.torture
def test_half_the_grid_changes_little():
    def on_grid(grid):
        return lambda mechanism, k, epsilon: one_release(mechanism, grid).delta(k, epsilon)

    for mechanism in (FLAT, TEMPERED):
        coarse, fine = (iterations(mechanism, 4, on_grid(grid)) for grid in (1e-4, 5e-5))
        assert 0 <= fine - coarse <= max(1, 1e-3 * coarse)
    coarse, fine = (iterations(BARKER, 1, on_grid(grid)) for grid in (1e-5, 5e-6))
    assert 0 <= fine - coarse < 1e-3 * coarse


def hockey_stick(p, q, alpha, step):
    return np.maximum(p - alpha * q, 0).sum() * step


def subset_mixture(values, batch_size, sd, points):
    """Density of the noisy sum of a batch, over all batches."""
    sums = [sum(batch) for batch in itertools.combinations(values, batch_size)]
    return np.mean([norm.pdf(points, total, sd) for total in sums], axis=0)


ALPHAS = np.exp([-1.5, -0.5, -0.1, 0.0, 0.05, 0.3, 1.0, 2.0])


@pytest.mark.parametrize(("n", "b"), [(2, 1), (3, 2), (5, 1), (6, 2), (6, 3)])
@pytest.mark.parametrize("variance", [0.5, 2.0])
def test_brute_force_over_all_batches(n, b, variance):
    """Never above the curve; on it, above 1, where the other rows equal the one of X'."""
    sd = math.sqrt(variance)
    points, step = np.linspace(-9 * sd, b + 9 * sd, 100_001, retstep=True)
    mechanism = SubsampledGaussianMechanism(variance, b / n)
    bound = curve(mechanism, np.log(ALPHAS))
    rng = np.random.default_rng(n + 10 * b)
    for kind in ("extremal", "swapped", *["random"] * 8):
        others = rng.integers(0, 2, n - 1) if rng.random() < 0.5 else rng.random(n - 1)
        rows = [1.0, 0.0] if kind == "extremal" else [0.0, 1.0]
        if kind == "random":
            rows = rng.random(2)
        else:
            others = np.zeros(n - 1)
        p, q = (subset_mixture([row, *others], b, sd, points) for row in rows)
        found = np.array([hockey_stick(p, q, alpha, step) for alpha in ALPHAS])
        assert (found <= bound + 1e-8).all()
        if kind == "extremal":
            np.testing.assert_allclose(found[ALPHAS >= 1], bound[ALPHAS >= 1], atol=1e-8)
        if kind == "swapped":
            np.testing.assert_allclose(found[ALPHAS <= 1], bound[ALPHAS <= 1], atol=1e-8)


@pytest.mark.parametrize("mechanism", [FLAT, TEMPERED_10D, BARKER])
def test_the_curve_is_one_of_a_pair(mechanism):
    """Convex and decreasing in alpha, from 1 at 0 to 0, and never below 1 - alpha."""
    alpha = np.concatenate([np.linspace(1e-3, 1, 400), np.linspace(1, 4, 400)[1:]])
    values = curve(mechanism, np.log(alpha))
    slopes = np.diff(values) / np.diff(alpha)
    assert (slopes <= 1e-12).all() and (slopes >= -1 - 1e-12).all()
    assert (np.diff(slopes) >= -1e-9).all()
    assert (values >= np.maximum(0, 1 - alpha) - 1e-15).all()


@pytest.mark.parametrize(
    ("distance", "variance_p", "variance_q"),
    [(1.0, 0.7, 0.7), (0.3, 1.2, 1.0), (0.3, 1.0, 1.2), (0.0, 1.3, 1.0), (2.0, 1.0, 1.5)],
)
def test_the_curve_of_two_normals_is_their_hockey_stick(distance, variance_p, variance_q):
    points, step = np.linspace(-15, 17, 400_001, retstep=True)
    p = norm.pdf(points, distance, math.sqrt(variance_p))
    q = norm.pdf(points, 0, math.sqrt(variance_q))
    epsilons = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    expected = [hockey_stick(p, q, math.exp(e), step) for e in epsilons]
    found = gaussian_curve(epsilons, distance, variance_p, variance_q)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_barkers_curve_is_above_every_admissible_pair():
    """Means of lambda_B at most m apart, variances in [1, 2] at most eta apart."""
    rng = np.random.default_rng(4)
    for b in (16, 100, 1300):
        mechanism = BarkerMechanism(b, 0.5)
        epsilons = np.linspace(0, 6 / math.sqrt(b), 50)
        bound = base_curve(mechanism, epsilons)
        most, change = 2 / math.sqrt(b), 4 * (1 - 1 / b) / b
        for _ in range(500):
            variance = rng.uniform(1, 2)
            other = np.clip(variance + rng.uniform(-change, change), 1, 2)
            distance = most * rng.choice([1.0, rng.random()])
            if rng.random() < 0.3:
                variance, other = rng.permutation([1.0, 1.0 + change])
            assert (gaussian_curve(epsilons, distance, variance, other) <= bound + 1e-13).all()


def joint_sensitivity(a, c, b):
    return 2 * a * c + 2 * (1 - 1 / b) * (a * c) ** 2


def statistic(ratios, a):
    """lambda - sigma_b^2 / 2 of a batch."""
    b = ratios.shape[-1]
    total, squares = ratios.sum(-1), (ratios**2).sum(-1)
    return a * total - a**2 * (squares - total**2 / b) / 2


@pytest.mark.parametrize("b", [2, 3, 10, 1000])
@pytest.mark.parametrize("ac", [0.01, 0.3, 2.0])
def test_the_joint_sensitivity_is_attained_and_never_passed(b, ac):
    c, a = 0.7, ac / 0.7
    most = joint_sensitivity(a, c, b)
    one, other = np.full(b, c), np.full(b, c)
    one[0] = -c
    assert abs(statistic(one, a) - statistic(other, a)) == pytest.approx(most, rel=1e-12)
    rng = np.random.default_rng(b)
    batches = rng.uniform(-c, c, (20_000, b)) if b < 1000 else rng.uniform(-c, c, (200, b))
    batches = np.where(rng.random((len(batches), 1)) < 0.5, c * np.sign(batches), batches)
    neighbours = batches.copy()
    neighbours[:, 0] = rng.choice([-c, c], len(batches))
    change = np.abs(statistic(batches, a) - statistic(neighbours, a))
    assert change.max() <= most * (1 + 1e-12)


def test_many_iterations_agree_with_the_central_limit():
    """The composed loss is nearly normal: mean and variance add up, delta follows from them."""
    loss = one_release(BARKER)
    losses = (np.arange(len(loss.probabilities)) + loss.first) * loss.grid
    probabilities = loss.probabilities / loss.probabilities.sum()
    mean = losses @ probabilities
    variance = (losses - mean) ** 2 @ probabilities

    def cost(k, epsilon):
        # E[1 - e^(epsilon - L)]^+ for L normal
        sd = math.sqrt(k * variance)
        z = (k * mean - epsilon) / sd
        shifted = epsilon - k * mean + sd**2 / 2 + norm.logcdf(z - sd)
        return norm.cdf(z) - math.exp(shifted)

    for epsilon, k in ((1, 98_456), (4, 1_233_605)):
        assert delta(BARKER, k, epsilon) == pytest.approx(cost(k, epsilon), rel=0.02)


@pytest.mark.parametrize("q", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("noise", [1e-12, 1e-4, 1e-3, 2e-3, 0.01, 0.3, 30.0, 1e4, 1e9])
def test_any_noise_is_priced_as_its_curve(noise, q):
    """Little noise costs q at once; much costs nothing that can be told from 0."""
    mechanism = SubsampledGaussianMechanism(noise, q)
    for epsilon in (0.0, 0.3, 1.0, 5.0):
        expected = curve(mechanism, np.array([epsilon]))[0]
        found = delta(mechanism, 1, epsilon)
        assert expected * (1 - 1e-6) <= found <= expected * 1.01 + 0.01 * q + 2e-11
        if noise < 2e-3 and epsilon <= 1:
            assert found == pytest.approx(q, rel=0.01)


@pytest.mark.parametrize("b", [2, 16, 10**5])
@pytest.mark.parametrize("q", [1e-6, 0.5, 1.0])
def test_any_batch_is_priced_as_its_curve(b, q):
    mechanism = BarkerMechanism(b, q)
    for epsilon in (0.0, 0.01, 1.0):
        expected = curve(mechanism, np.array([epsilon]))[0]
        assert expected * (1 - 1e-6) <= delta(mechanism, 1, epsilon) <= expected * 1.01 + 2e-11


@pytest.mark.parametrize("mechanism", [FLAT, SubsampledGaussianMechanism(1.0, 1e-3), BARKER])
def test_the_pair_on_the_grid_is_symmetric_and_has_mass_one(mechanism):
    loss = one_release(mechanism)
    total = loss.probabilities.sum() + loss.infinite
    assert abs(total - 1) < 1e-13
    middle = -loss.first
    above, below = loss.probabilities[middle + 1 :], loss.probabilities[:middle][::-1]
    losses = loss.grid * np.arange(1, len(above) + 1)
    np.testing.assert_allclose(below, np.exp(-losses) * above, rtol=1e-12)
    assert loss.probabilities[middle] > 0


def test_many_iterations_of_little_loss_agree_with_the_central_limit():
    """Nothing of the rounding of one iteration may add up over a million."""
    mechanism = SubsampledGaussianMechanism(1e4, 0.01)
    for epsilon in (0.3, 0.5):
        limit = gaussian_delta(
            GaussianMechanism(math.sqrt(loss_variance(mechanism))), 10**6, epsilon
        )
        assert delta(mechanism, 10**6, epsilon) == pytest.approx(limit, rel=0.15)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.05, 1.0, 30.0])
def test_gaussian_releases_are_priced_exactly(mu):
    """To the last digit as by `gaussian`, without the margin of mechanisms on batches."""
    mechanism = GaussianMechanism(mu)
    assert loss_variance(mechanism) == mu**2
    for k in (0, 1, 7, 10_000):
        for epsilon in (0.0, 0.1, 1.0, 6.0, 50.0):
            assert delta(mechanism, k, epsilon) == gaussian_delta(mechanism, k, epsilon)
        for wanted in (1e-10, 1e-6, 1e-2):
            assert certified.epsilon([(mechanism, k)], wanted) == gaussian.epsilon(
                [(mechanism, k)], wanted
            )
    k = max_iterations(gaussian_delta, mechanism, 1.0, 1e-6, limit=10**6)
    assert max_iterations(delta, mechanism, 1.0, 1e-6, limit=10**6) == k


def test_one_iteration_costs_its_curve():
    for mechanism in (FLAT, BARKER):
        for epsilon in (0.0, 0.01, 0.1):
            expected = curve(mechanism, np.array([epsilon]))[0]
            assert delta(mechanism, 1, epsilon) == pytest.approx(expected, rel=2e-3, abs=2e-11)


def test_no_iteration_costs_nothing():
    for mechanism in (FLAT, BARKER):
        assert delta(mechanism, 0, 1.0) == 0 and certified.epsilon([(mechanism, 0)], 1e-6) == 0
