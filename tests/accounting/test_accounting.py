"""Accountants against the numbers of the literature, high precision, and each other."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from conftest import ROOT, chosen
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from dpmcmc.accounting import search
from dpmcmc.accounting.accountants import accountant, accountants, first_guess
from dpmcmc.accounting.amplification import amplified_epsilon
from dpmcmc.accounting.barker_rdp import renyi_curve as barker_curve
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.accounting.rdp import renyi_curve as minibatch_curve
from dpmcmc.accounting.search import rounded_up
from dpmcmc.files import read_json
from dpmcmc.samplers.dp_barker import DPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.budgets import budget, certification, price_of
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.loading import load_study

ACCOUNTANTS = [
    "barker-rdp",
    "certified",
    "gaussian",
    "published-pld",
    "rdp",
    "zcdp",
]


def delta_of(name):
    """Delta by an accountant of so many of one mechanism at an epsilon."""
    module = accountant(name)
    return lambda mechanism, count, epsilon: module.delta([(mechanism, count)], epsilon)


def max_iterations(cost, mechanism, epsilon, target, *options, **more):
    return search.max_iterations(lambda k: cost(mechanism, k, epsilon), target, *options, **more)


def spent_epsilon(cost, mechanism, count, at_most, target):
    return search.spent_epsilon(lambda e: cost(mechanism, count, e), target, at_most)


def cost_epsilon(cost, mechanism, count, target):
    return search.cost_epsilon(lambda e: cost(mechanism, count, e), target)


gaussian, zcdp, rdp = map(delta_of, ("gaussian", "zcdp", "rdp"))
published_pld, barker_rdp = map(delta_of, ("published-pld", "barker-rdp"))

RELEASES = {
    "gaussian": GaussianMechanism(0.05),
    "zcdp": GaussianMechanism(0.05),
    "rdp": SubsampledGaussianMechanism(0.7, 0.01),
    "published-pld": SubsampledGaussianMechanism(0.7, 0.01),
    "barker-rdp": BarkerMechanism(1300, 0.013),
    "certified": SubsampledGaussianMechanism(0.7, 0.01),
}

# model, algorithm -> {epsilon: (zCDP, exact)}; None where no value is known.
KNOWN = {
    ("flat-banana-2d", "dp-penalty"): {1: (34, 56), 4: (507, 702)},
    ("flat-banana-2d", "dp-hmc"): {1: (20, 33), 4: (300, 416)},
    ("flat-banana-10d", "dp-penalty"): {1: (None, 104), 4: (None, 1331)},
    ("gauss-30d", "dp-penalty-ocu-gwmh"): {1: (None, 419), 4: (None, 5325)},
    ("tempered-banana-10d", "dp-hmc"): {1: (None, 24), 4: (None, 308)},
    ("circle", "dp-penalty"): {0.5: (None, 24643), 1: (None, 89646)},
    ("circle", "dp-hmc"): {0.5: (None, 108), 1: (None, 396)},
}


@pytest.fixture(scope="module")
def release_on():
    """Mechanism of an iteration of an algorithm of config.yaml on a model of it."""
    study = load_study(ROOT)

    def release_on(algorithm, model):
        settings = study.algorithms[algorithm].settings_on(model)
        [(mechanism, _)] = price_of(study.mechanism(model, algorithm, settings), {}).releases(1)
        return mechanism

    return release_on


@pytest.mark.parametrize(("model", "algorithm"), KNOWN)
def test_known_iterations_are_met_exactly(config, release_on, model, algorithm):
    n = config["models"][model]["num_rows"]
    mechanism = release_on(algorithm, model)
    for epsilon, (zcdp_iterations, exact) in KNOWN[model, algorithm].items():
        assert max_iterations(gaussian, mechanism, epsilon, 0.1 / n) == exact
        if zcdp_iterations is not None:
            assert max_iterations(zcdp, mechanism, epsilon, 0.1 / n) == zcdp_iterations


def test_zcdp_is_the_closed_form_of_theorem_3_1():
    for tau, n, epsilon in [(0.1, 100_000, 1), (0.2, 150_000, 6), (0.05, 20_000, 2.5)]:
        delta = 0.1 / n
        rho = (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2
        mechanism = GaussianMechanism(mu=1 / (tau * math.sqrt(n)))
        assert max_iterations(zcdp, mechanism, epsilon, delta) == math.floor(2 * tau**2 * n * rho)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1, 6, 50, 699, 710, 2000])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1, 5, 40, 70])
def test_gaussian_delta_agrees_with_eighty_digits(epsilon, mu):
    with mpmath.workdps(80):
        exact = mpmath.ncdf(mu / 2 - mpmath.mpf(epsilon) / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - mpmath.mpf(epsilon) / mu
        )
        exact = float(exact)
    assert gaussian(GaussianMechanism(mu), 1, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-300)


def test_gaussian_delta_is_that_of_dp_accounting():
    for mu, epsilon in [(0.3, 0.5), (1.0, 1.0), (2.0, 6.0)]:
        theirs = GaussianPrivacyLoss(standard_deviation=1 / mu).get_delta_for_epsilon(epsilon)
        assert gaussian(GaussianMechanism(mu), 1, epsilon) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_delta_falls_with_epsilon_and_grows_with_iterations(name):
    delta, mechanism = delta_of(name), RELEASES[name]
    by_epsilon = [delta(mechanism, 100, epsilon) for epsilon in np.linspace(0.2, 8, 6)]
    assert all(a >= b for a, b in itertools.pairwise(by_epsilon))
    assert by_epsilon[0] > 100 * by_epsilon[-1]
    by_iterations = [delta(mechanism, k, 4.0) for k in range(1, 4000, 400)]
    assert all(a < b or b == 1 for a, b in itertools.pairwise(by_iterations))
    assert delta(mechanism, 0, 1.0) == 0


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 4, 20])
@pytest.mark.parametrize("mu", [0.002, 0.05, 0.4])
def test_iterations_are_the_most_that_fit_and_zcdp_allows_no_more(epsilon, mu):
    mechanism, target = GaussianMechanism(mu), 1e-6
    k = max_iterations(gaussian, mechanism, epsilon, target)
    assert gaussian(mechanism, k, epsilon) <= target < gaussian(mechanism, k + 1, epsilon)
    assert max_iterations(zcdp, mechanism, epsilon, target) <= k


def test_a_budget_too_small_for_one_iteration_allows_none():
    assert max_iterations(gaussian, GaussianMechanism(3.0), 0.01, 1e-9) == 0


def test_hmc_is_charged_one_ratio_and_a_gradient_more_than_it_has_steps():
    settings = dict(noise_scale=0.5, step_size=1, clip_bound=1, gradient_clip_bound=1)
    hmc = DPHMC(gradient_noise_scale=2.0, num_integration_steps=7, **settings)
    [(mechanism, count)] = hmc.releases(100, 1.0, 3)
    assert mechanism.mu**2 == pytest.approx(1 / (0.25 * 100) + 8 / (4 * 100)) and count == 3


PRICED = {
    "gaussian": {GaussianMechanism},
    "zcdp": {GaussianMechanism},
    "rdp": {SubsampledGaussianMechanism},
    "published-pld": {SubsampledGaussianMechanism},
    "barker-rdp": {BarkerMechanism},
    "certified": {GaussianMechanism, SubsampledGaussianMechanism, BarkerMechanism},
}


def test_accountants_are_found_by_name_and_others_told_which_there_are():
    assert accountants() == sorted(PRICED) == ACCOUNTANTS
    for name in ACCOUNTANTS:
        module = accountant(name)
        assert callable(module.delta) and callable(module.check)
    for unknown in ("search", "mechanisms", "published_pld", "Gaussian", "", "../rdp"):
        with pytest.raises(ValueError, match="unknown accountant") as caught:
            accountant(unknown)
        assert str(caught.value) == (
            f"unknown accountant {unknown}; valid names: {', '.join(ACCOUNTANTS)}, or one's own "
            "file.py"
        )


@pytest.mark.parametrize("name", ACCOUNTANTS)
@pytest.mark.parametrize("other", ["gaussian", "rdp", "barker-rdp"])
def test_an_accountant_refuses_what_it_cannot_price(name, other):
    """By `check` as by `delta`, and in the search before it starts."""
    mechanism, module = RELEASES[other], accountant(name)
    if type(mechanism) in PRICED[name]:
        assert module.check([(mechanism, 1)]) is None
        assert 0 <= module.delta([(mechanism, 1)], 1.0) <= 1
        return
    priced = next(m for m in RELEASES.values() if type(m) in PRICED[name])
    questions = [
        lambda mechanism: module.check([(mechanism, 1)]),
        lambda mechanism: module.check([(priced, 1), (mechanism, 1)]),
        lambda mechanism: module.delta([(mechanism, 1)], 1.0),
        lambda mechanism: module.delta([(mechanism, 0)], 1.0),
        lambda mechanism: first_guess(module, lambda k: [(mechanism, k)], 4, 1e-6),
    ]
    if hasattr(module, "epsilon"):
        questions.append(lambda mechanism: module.epsilon([(mechanism, 1)], 1e-6))
    for question in questions:
        with pytest.raises(
            TypeError, match=f"^accountant {name} prices a .*, not a {type(mechanism).__name__}$"
        ):
            question(mechanism)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_what_is_no_release_is_refused(name):
    for thing in (None, 0.05, "GaussianMechanism"):
        with pytest.raises(TypeError, match=f"accountant {name} prices a "):
            accountant(name).check([(thing, 1)])


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        (BarkerMechanism(15, 0.1), "more than 15 rows, not 15"),
        (BarkerMechanism(20, 0.002, 1.05), r"at most 1, not 1\.05: a batch of at least sqrt\(n\)"),
    ],
)
def test_barkers_accountant_as_published_needs_batches_that_are_not_small(mechanism, problem):
    module = accountant("barker-rdp")
    for question in (module.check, lambda releases: module.delta(releases, 1.0)):
        with pytest.raises(ValueError, match=f"^batch_size: accountant barker-rdp .*{problem}"):
            question([(mechanism, 1)])
    accountant("certified").check([(mechanism, 1)])
    module.check([(BarkerMechanism(16, 0.1, 1.0), 1)])


def test_lists_of_several_kinds_are_priced():
    """Halves of a list are the whole; more of another kind cost more."""
    others = {"published-pld": SubsampledGaussianMechanism(0.6, 0.01)}
    others |= {
        "rdp": SubsampledGaussianMechanism(0.6, 0.02),
        "barker-rdp": BarkerMechanism(99, 0.01),
    }
    for name, mechanism in RELEASES.items():
        module, whole = accountant(name), delta_of(name)(RELEASES[name], 40, 1.0)
        halves = [(mechanism, 15), (mechanism, 25)]
        assert module.delta(halves, 1.0) == pytest.approx(whole, rel=1e-3)
        more = others.get(name, GaussianMechanism(0.02))
        assert module.delta([(mechanism, 40), (more, 3)], 1.0) > whole


def test_known_iterations_of_the_minibatch_algorithms_are_met_exactly(release_on):
    barker = release_on("dp-barker", "flat-banana-2d")
    assert [max_iterations(barker_rdp, barker, epsilon, 1e-6) for epsilon in (1, 4)] == [106, 1687]
    minibatch = release_on("minibatch-dp-penalty", "flat-banana-2d")
    assert max_iterations(published_pld, minibatch, 4, 1e-6) == 828
    full_data = release_on("dp-barker-full-data", "flat-banana-2d")
    assert max_iterations(gaussian, full_data, 4, 1e-6) == pytest.approx(1370, abs=5)


def exact_amplification(alpha, q, base):
    """The sum of Theorems 3.3 and 3.5 term by term, to j = alpha inclusive, in fifty digits."""
    with mpmath.workdps(50):
        first = min(4 * (mpmath.exp(base(2)) - 1), 2 * mpmath.exp(base(2)))
        total = 1 + mpmath.mpf(q) ** 2 * mpmath.binomial(alpha, 2) * first
        for j in range(3, alpha + 1):
            term = mpmath.mpf(q) ** j * mpmath.binomial(alpha, j) * mpmath.exp((j - 1) * base(j))
            total += 2 * term
        return float(mpmath.log(total) / (alpha - 1))


@pytest.mark.parametrize("alpha", [2, 3, 4, 17, 259])
@pytest.mark.parametrize("q", [0.001, 0.013, 0.5])
@pytest.mark.parametrize("tau", [0.7, 40.0])
def test_amplification_is_the_sum_of_the_theorem(alpha, q, tau):
    base = np.arange(alpha + 1) / (2 * tau)
    exact = exact_amplification(alpha, q, lambda order: mpmath.mpf(order) / (2 * tau))
    assert amplified_epsilon(alpha, q, base) == pytest.approx(exact, rel=1e-9)


def test_barkers_renyi_curve_is_that_of_theorem_3_3():
    from dpmcmc.accounting.barker_rdp import renyi_curve

    b, q = 1300, 0.013
    orders, epsilons = renyi_curve(BarkerMechanism(b, q))
    assert list(orders) == list(range(3, 260))  # 3 <= alpha < b / 5 = 260

    def base(alpha):
        return (
            mpmath.mpf(5) / (2 * b)
            + mpmath.log(mpmath.mpf(2 * b) / (b - 5 * alpha)) / (2 * (alpha - 1))
            + mpmath.mpf(2 * alpha) / (b - 5 * alpha)
        )

    for i in (0, 1, 40, 256):
        exact = exact_amplification(int(orders[i]), q, base)
        assert epsilons[i] == pytest.approx(exact, rel=1e-9)
    # The largest order is below b / 5 also when 5 divides b or not.
    assert renyi_curve(BarkerMechanism(1301, q))[0][-1] == 260
    with pytest.raises(ValueError, match="more than 15 rows, not 15"):
        barker_rdp(BarkerMechanism(15, 0.1), 1, 1.0)


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_the_renyi_curve_of_the_minibatch_penalty_is_that_of_theorem_3_5(tau):
    from dpmcmc.accounting.rdp import ORDERS, renyi_curve

    curve = renyi_curve(SubsampledGaussianMechanism(tau, 0.01))
    for i in (0, 1, 10, 40):
        alpha = int(ORDERS[i])
        exact = exact_amplification(alpha, 0.01, lambda order: mpmath.mpf(order) / (2 * tau))
        assert curve[i] == pytest.approx(exact, rel=1e-9)
    # The best order is far from the last.
    k = max_iterations(rdp, SubsampledGaussianMechanism(tau, 0.01), 6, 1e-6)
    assert ORDERS[((ORDERS - 1) * (k * curve - 6)).argmin()] < 100
    exponent = ((ORDERS - 1) * (k * curve - 6)).min()
    assert rdp(SubsampledGaussianMechanism(tau, 0.01), k, 6) == pytest.approx(math.exp(exponent))


@pytest.mark.parametrize(("tau", "epsilon"), [(0.5, 4), (2.0, 1)])
def test_the_published_pair_allows_no_fewer_iterations_than_renyi_dp(tau, epsilon):
    mechanism = SubsampledGaussianMechanism(tau, 0.01)
    by_rdp = max_iterations(rdp, mechanism, epsilon, 1e-6)
    assert by_rdp == 0 or published_pld(mechanism, by_rdp, epsilon) <= 1e-6


def test_the_published_pair_without_subsampling_is_a_gaussian_of_sensitivity_two():
    for tau, k, epsilon in [(50.0, 3, 1.0), (400.0, 60, 2.0)]:
        theirs = published_pld(SubsampledGaussianMechanism(tau, 1.0), k, epsilon)
        exact = gaussian(GaussianMechanism(2 / math.sqrt(tau)), k, epsilon)
        assert exact <= theirs <= exact * 1.01


@pytest.mark.torture
def test_half_the_grid_changes_the_published_iterations_by_at_most_one():
    mechanism = SubsampledGaussianMechanism(0.7, 0.01)  # flat-banana-2d, where k = 828
    fine = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=math.sqrt(0.7),
        sampling_prob=0.01,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=5e-5,  # the default is 1e-4
    )
    deltas = [fine.self_compose(k).get_delta_for_epsilon(4) for k in (827, 830)]
    assert deltas[0] <= 1e-6 < deltas[1]
    assert published_pld(mechanism, 828, 4) <= 1e-6 < published_pld(mechanism, 829, 4)


def test_a_search_may_start_anywhere():
    mechanism = RELEASES["rdp"]
    k = max_iterations(rdp, mechanism, 6, 1e-6)
    for guess in (0, 1, k // 2, k - 1, k, k + 1, 10 * k):
        assert max_iterations(rdp, mechanism, 6, 1e-6, guess=guess) == k


@pytest.mark.parametrize(
    "sampler",
    [MinibatchDPPenalty(GaussianWalk(1.0), 0.7, 501, 1.0), DPBarker(GaussianWalk(1.0), 501)],
)
def test_a_batch_larger_than_the_data_set_is_refused(sampler):
    with pytest.raises(ValueError, match="batch_size: must be at most num_rows = 500, not 501"):
        sampler.releases(500, 1.0, 1)
    [(mechanism, _)] = sampler.releases(501, 1.0, 1)
    assert mechanism.sampling_probability == 1


@pytest.mark.parametrize("guess", [0, 1, 300, 701, 702, 703, 5000])
@pytest.mark.parametrize("spread", [0.01, 0.5])
def test_the_guess_decides_about_speed_alone(guess, spread):
    mechanism, calls = GaussianMechanism(1 / (0.1 * math.sqrt(100_000))), []

    def cost(*arguments):
        calls.append(arguments)
        return gaussian(*arguments)

    assert max_iterations(cost, mechanism, 4, 1e-6, guess, spread) == 702
    assert len(calls) < 40


def test_costs_that_differ_in_the_last_digit_alone_are_told_apart():
    def cost(mechanism, iterations, epsilon):
        return 1e-6 if iterations <= 100 else math.nextafter(1e-6, 1.0)

    assert max_iterations(cost, None, 1.0, 1e-6, guess=50) == 100


@pytest.mark.parametrize("mu", [1e-12, 1e-8, 1e-5])
def test_tiny_releases_cost_nothing(mu):
    assert gaussian(GaussianMechanism(mu), 1, 100) == 0.0


@pytest.mark.parametrize("name", ["certified"])
def test_first_guesses_save_evaluations(name):
    mechanism, module = RELEASES[name], accountant(name)
    guess, spread = first_guess(module, lambda k: [(mechanism, k)], 4, 1e-6)
    iterations = max_iterations(delta_of(name), mechanism, 4, 1e-6)
    assert 0.3 < guess / iterations < 3 and spread > 0


@pytest.mark.parametrize(("name", "iterations"), [("gaussian", 100)])
def test_the_epsilon_that_fewer_iterations_spend(name, iterations):
    cost, mechanism = delta_of(name), RELEASES[name]
    spent = spent_epsilon(cost, mechanism, iterations, 40.0, 1e-6)
    assert cost(mechanism, iterations, spent) <= 1e-6 < cost(mechanism, iterations, spent * 0.9999)
    if name == "certified":
        from dpmcmc.accounting import certified

        assert certified.epsilon([(mechanism, iterations)], 1e-6) == pytest.approx(spent, rel=1e-4)


COSTS = [(k, target) for k in (1, 30, 500) for target in (1e-9, 1e-6, 1e-2)]


@pytest.mark.parametrize(
    ("name", "k", "target"),
    [(name, *cost) for name in ("gaussian", "zcdp", "rdp", "barker-rdp") for cost in COSTS]
    + [("published-pld", 30, 1e-6), ("certified", 30, 1e-6)],
)
def test_the_epsilon_that_iterations_cost_is_the_least_that_allows_them(name, k, target):
    cost, mechanism = delta_of(name), RELEASES[name]
    epsilon = cost_epsilon(cost, mechanism, k, target)
    assert 0 < epsilon < math.inf
    assert cost(mechanism, k, epsilon) <= target < cost(mechanism, k, epsilon * (1 - 1e-5))
    # The question the other way round, at just so much and at a little less.
    assert max_iterations(cost, mechanism, epsilon, target, guess=k, limit=k) == k
    assert max_iterations(cost, mechanism, epsilon * (1 - 1e-5), target, guess=k, limit=k) == k - 1


@pytest.mark.parametrize("noise_variance", chosen([0.29, 0.1, 0.03, 1e-3, 1e-6], 0.29, 0.1, 1e-6))
def test_small_noise_is_priced_on_a_coarse_grid_and_by_hardly_more(noise_variance):
    """On the finest grid a variance of 0.1 took a minute and 1.5 gigabytes, of many iterations."""
    from dpmcmc.accounting import published_pld

    mechanism = SubsampledGaussianMechanism(noise_variance, 0.01)
    grid = published_pld.grid(noise_variance)
    one, finer = (published_pld.privacy_loss(mechanism, of) for of in (grid, grid / 8))
    assert 1000 < len(one.probabilities) <= published_pld.MOST_LOSSES
    for k in (1, 100):
        epsilon, least = one.epsilon(k, 1e-6), finer.epsilon(k, 1e-6)
        assert least * (1 - 1e-8) <= epsilon <= 1.0002 * least


def test_the_noise_of_the_published_settings_is_on_the_finest_grid():
    from dpmcmc.accounting import published_pld

    assert {published_pld.grid(variance) for variance in (0.357, 0.5, 2.0, 1e6)} == {1e-4}


def test_an_epsilon_without_end_is_infinite_and_none_is_none():
    assert cost_epsilon(gaussian, GaussianMechanism(1e4), 1, 1e-6) == math.inf
    assert cost_epsilon(gaussian, GaussianMechanism(1e-6), 1, 1e-5) == 0.0
    assert cost_epsilon(gaussian, GaussianMechanism(0.05), 0, 1e-6) == 0.0
    large = cost_epsilon(gaussian, GaussianMechanism(1000.0), 1, 1e-6)
    assert large == pytest.approx(1000**2 / 2, rel=0.02) and large < 1e6


def test_what_costs_less_than_delta_at_no_epsilon_spends_none():
    """One question, not a thousand."""
    calls = []

    def cost(*arguments):
        calls.append(arguments)
        return gaussian(*arguments)

    assert spent_epsilon(cost, GaussianMechanism(1e-6), 1, 1.0, 1e-5) == 0.0
    assert len(calls) == 1


@pytest.mark.parametrize("digits", [2, 6])
def test_an_epsilon_that_is_rounded_still_pays(digits):
    """To nearest, it cost more than delta in 153 of 400 such cases."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        mechanism = GaussianMechanism(10 ** rng.uniform(-3, -1.5))
        k = int(rng.integers(1, 50))
        spent = spent_epsilon(gaussian, mechanism, k, 6.0, 1e-6)
        rounded = rounded_up(spent, digits)
        assert spent <= rounded < spent + 10.0**-digits * (1 + 1e-9)
        assert gaussian(mechanism, k, rounded) <= 1e-6
    assert [rounded_up(x) for x in (0.0, 0.1, 4.0, 0.12345601, 1e22, math.inf)] == [
        0.0,
        0.1,
        4.0,
        0.123457,
        1e22,
        math.inf,
    ]
    assert math.isnan(rounded_up(math.nan))


def test_a_budget_that_is_capped_says_no_less_than_it_spends(tmp_path):
    spec = {
        "model": "flat-banana-2d",
        "algorithm": "dp-penalty",
        "num_rows": 100_000,
        "likelihood_power": 1.0,
        "delta": 1e-6,
        "accountant": "gaussian",
        "epsilon": 6.0,
        "varied": {},
        "chains_per_sample": 1,
    }
    for k in range(1, 40):
        sampler = {
            "class": "dpmcmc.samplers.dp_penalty:DPPenalty",
            "move": {"class": "dpmcmc.samplers.moves:GaussianWalk", "proposal_scale": 0.008},
            "noise_scale": 0.1 + 0.01 * k,
            "clip_bound": 2,
        }
        capped = specs.Budget(**spec, sampler=sampler, max_iterations=k)
        budget(capped, tmp_path / "budget.json")
        record = read_json(tmp_path / "budget.json")
        [(mechanism, _)] = price_of(capped, {}).releases(1)
        assert record["iterations"] == k < record["allowed_iterations"]
        assert gaussian(mechanism, k, record["spent_epsilon"]) <= 1e-6


@pytest.mark.parametrize("chains", [1, 4, 7])
def test_chains_of_a_release_share_its_budget(tmp_path, chains):
    """Each has the whole part of its share, and all together cost what the record says."""
    sampler = {
        "class": "dpmcmc.samplers.dp_penalty:DPPenalty",
        "move": {"class": "dpmcmc.samplers.moves:GaussianWalk", "proposal_scale": 0.06},
        "noise_scale": 0.17,
        "clip_bound": 0.15,
    }
    spec = {
        "model": "banana",
        "algorithm": "dp-penalty",
        "sampler": sampler,
        "num_rows": 100_000,
        "likelihood_power": 1.0,
        "delta": 1e-6,
        "accountant": "gaussian",
        "varied": {},
        "chains_per_sample": chains,
    }
    path = tmp_path / "budget.json"
    [(mechanism, _)] = price_of(specs.Budget(**spec), {}).releases(1)
    budget(specs.Budget(**spec, epsilon=4.0), path)
    record = read_json(path)
    assert record["allowed_iterations"] == 2028 and record["chains_per_sample"] == chains
    assert record["iterations"] == 2028 // chains
    total = chains * record["iterations"]
    assert gaussian(mechanism, total, record["spent_epsilon"]) <= 1e-6
    assert record["spent_epsilon"] <= 4 and (record["spent_epsilon"] < 4) == (total < 2028)
    budget(specs.Budget(**spec, iterations=100), path)
    record = read_json(path)
    assert gaussian(mechanism, 100 * chains, record["spent_epsilon"]) <= 1e-6
    assert gaussian(mechanism, 100 * chains, record["spent_epsilon"] - 1e-4) > 1e-6
    # Priced again, all that has run is charged.
    del spec["varied"]
    certification(
        specs.Certification(**spec, epsilon=4.0), path, "a-print", tmp_path / "certified.csv"
    )
    priced = read_csv(tmp_path / "certified.csv").iloc[0]
    assert priced["certified_iterations"] == 2028
    assert priced["certified_epsilon"] == pytest.approx(record["spent_epsilon"], abs=1e-5)


@pytest.mark.parametrize("mu", [1e-8, 1e-6, 9.9e-5, 1.1e-4, 1e-2, 1.0, 30.0])
def test_gaussian_releases_far_out(mu):
    """Against 60 digits, where a difference of normal probabilities has lost all of its own."""
    with mpmath.workdps(60):
        for z in (0.0, 0.1, 1.0, 5.0, 20.0, 35.0):
            epsilon = mpmath.mpf(mu * z)
            first, second = mu / mpmath.mpf(2) - epsilon / mu, -mu / mpmath.mpf(2) - epsilon / mu
            true = mpmath.ncdf(first) - mpmath.exp(epsilon) * mpmath.ncdf(second)
            assert gaussian(GaussianMechanism(mu), 1, mu * z) == pytest.approx(
                float(true), rel=3e-7, abs=0
            )


def test_renyi_curves_are_remembered_and_cannot_be_changed():
    curves = minibatch_curve(RELEASES["rdp"]), *barker_curve(RELEASES["barker-rdp"])
    for curve in curves:
        with pytest.raises(ValueError, match="read-only"):
            curve[0] = 0.0


def test_the_search_goes_no_further_than_its_limit():
    calls = []

    def free(mechanism, iterations, epsilon):
        calls.append(iterations)
        return 0.0

    assert max_iterations(free, None, 1.0, 1e-6, guess=3, limit=1001) == 1001
    assert max_iterations(free, None, 1.0, 1e-6, guess=5000, limit=1001) == 1001
    assert max(calls) == 1001


@pytest.mark.parametrize("small", [5e-324, 1e-300, 1e-7])
@pytest.mark.parametrize("k", [1, 21, 1000])
def test_costs_may_jump_from_next_to_nothing(small, k):
    def cost(mechanism, iterations, epsilon):
        return small if iterations <= k else 0.02

    assert max_iterations(cost, None, 1.0, 1e-6) == k


@pytest.mark.parametrize(
    ("cls", "values", "field"),
    [
        (GaussianMechanism, (math.nan,), "mu"),
        (GaussianMechanism, (-0.1,), "mu"),
        (GaussianMechanism, (0.0,), "mu"),
        (SubsampledGaussianMechanism, (math.nan, 0.1), "noise_variance"),
        (SubsampledGaussianMechanism, (1.0, 2.0), "sampling_probability"),
        (SubsampledGaussianMechanism, (1.0, math.nan), "sampling_probability"),
        (BarkerMechanism, (0, 0.1), "batch_size"),
        (BarkerMechanism, (100, 0.1, 2.0), "batch_variance"),
        (BarkerMechanism, (100, 0.1, math.nan), "batch_variance"),
    ],
)
def test_a_release_that_cannot_be_is_refused_before_it_is_priced(cls, values, field):
    with pytest.raises(ValueError, match=f"^{cls.__name__}.{field}: cannot be "):
        cls(*values)
