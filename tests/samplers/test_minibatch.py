"""Minibatch DP penalty and DP Barker: batches, sensitivities, the correction, invariance."""

import dataclasses
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from conftest import chosen, fitted_correction, mechanism_of
from scipy import stats
from test_samplers import drift, record_tests, streams

from dpmcmc import machine
from dpmcmc.kernels.batches import distinct_indices, random_mask
from dpmcmc.kernels.ratios import clipped_ratio_sum
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.samplers import batches, dp_barker, minibatch_dp_penalty
from dpmcmc.samplers.barker_correction import Correction, fit_correction
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.minibatch_dp_penalty import VARIANCE_SENSITIVITY, MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, Move


@pytest.fixture(scope="module")
def correction():
    return fitted_correction()


@pytest.fixture(scope="module")
def target():
    """Four thousand rows, tempered to four hundred."""
    model = Banana(
        dimension=2,
        num_rows=4000,
        curvature=3.0,
        prior_variance=0.05,
        likelihood_variances=[2.0, 0.5],
        true_position=[0.2, 1.0],
        tempered_rows=400,
    )
    return Target(model, model.simulate(np.random.default_rng(7)))


def test_no_chain_runs_without_the_correction(target):
    sampler = DPBarker(GaussianWalk(0.1), batch_size=100)
    with pytest.raises(ValueError, match=r"^correction: must be given"):
        run_chain(sampler, target, streams(1), [0.0, 0.0], 1)


# -- Batches ------------------------------------------------------------------------------------


def drawn(rng, n, b):
    """Rows of a batch in ascending order, whether it comes as indices or as a mask."""
    batch = draw_batch(rng, n, b)
    rows = np.flatnonzero(batch) if batch.dtype == bool else np.sort(batch)
    assert len(batch) == n or batch.dtype != bool
    assert len(rows) == b and (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n
    return rows


@pytest.fixture(params=["indices", "mask"])
def kind(request, monkeypatch):
    """Batches of any size as indices, and as masks."""
    monkeypatch.setattr(batches, "MANY_OF_ALL", 2 if request.param == "indices" else 0)


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("b", [1, 5, 6, 9, 11])
def test_batches_are_without_repetition_and_uniform(b):
    rng, counts, pairs, size = streams(3), np.zeros(12), np.zeros((12, 12)), 6000
    for _ in range(size):
        rows = drawn(rng, 12, b)
        counts[rows] += 1
        pairs[np.ix_(rows, rows)] += 1
    assert abs(counts - size * b / 12).max() < 4.5 * math.sqrt(size * b / 12 * (1 - b / 12))
    together = pairs[np.triu_indices(12, 1)]
    p = b / 12 * (b - 1) / 11
    assert abs(together - size * p).max() <= 4.5 * math.sqrt(size * p * (1 - p))


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize(("n", "b"), [(6, 3), (5, 4), (7, 2), (70, 1)])
def test_every_batch_of_a_size_is_as_likely_as_another(n, b):
    rng = streams(5)
    found = [tuple(drawn(rng, n, b)) for _ in range(10_000)]
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == math.comb(n, b)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("b", "repetitions"), [(1000, 500), (12_499, 50), (12_500, 50), (50_001, 50), (99_600, 50)]
)
def test_batches_of_large_data_are_uniform(b, repetitions):
    """Over stretches of rows, and over the 64 places of a word."""
    rng, counts = streams(4), np.zeros(100_000)
    for _ in range(repetitions):
        counts[drawn(rng, 100_000, b)] += 1
    for bins in (
        counts.reshape(100, 1000).sum(axis=1),
        counts[:99_968].reshape(-1, 64).sum(axis=0),
    ):
        expected = len(counts) // len(bins) * repetitions * b / 100_000
        z = (bins - expected) / math.sqrt(expected * (1 - b / 100_000))
        freedom = len(bins) - 1
        assert 1e-4 < stats.chi2(freedom).sf((z**2).sum() * freedom / len(bins)) < 1 - 1e-4


def test_all_rows_can_be_the_batch():
    for n in (1, 2, 63, 64, 65, 1000):
        np.testing.assert_array_equal(drawn(streams(1), n, n), np.arange(n))


def uniform_indices(random, n):
    """Against whole numbers without bounds; each index below n comes from as many of the 2^32."""
    for word in random:
        for half in (word % 2**32, word >> 32):
            quotient, rest = divmod(half * n, 2**32)
            if rest >= 2**32 % n:
                yield quotient


@pytest.mark.parametrize("n", [1, 7, 64, 65, 128, 4000, 2**20 + 7])
def test_indices_are_the_first_different_ones_of_a_uniform_sequence(n):
    random = np.random.default_rng(n).integers(2**64, size=300, dtype=np.uint64)
    found = list(dict.fromkeys(uniform_indices(random.tolist(), n)))
    for wanted in (min(n, 1), min(n // 2, 200), min(n // 3, 100)):
        assert distinct_indices(random, n, wanted).tolist() == found[:wanted]
    if n > 1000:
        assert distinct_indices(random, n, len(found) + 1).size == 0


@pytest.mark.parametrize("n", [1, 63, 64, 65, 500])
def test_a_mask_is_of_rows_with_equal_chance_and_then_of_uniform_ones(n):
    """Against chances of whole words as fractions, a row at a time."""
    for wanted in {1, n // 7 or 1, n // 2 or 1, n - n // 3, n - 1 or 1, n}:
        random = np.random.default_rng(n).integers(2**64, size=900, dtype=np.uint64)
        first = 8 * -(-n // 64)
        random[first : first + 3] = 0  # rejected, unless n is a power of two
        share = Fraction(wanted, n) * 256
        chance = math.floor(share) if 2 * wanted <= n else math.ceil(share)
        members = set()
        for row in range(n):
            words = random[8 * (row // 64) : 8 * (row // 64) + 8].tolist()
            digits = [word >> row % 64 & 1 for word in words]
            # Its eight digits, inverted, make a uniform number: in if that is below the chance.
            if sum((1 - digit) << place for place, digit in enumerate(digits)) < chance:
                members.add(row)
        for row in uniform_indices(random[first:].tolist(), n):
            if len(members) != wanted and (row in members) == (len(members) > wanted):
                members ^= {row}
        assert np.flatnonzero(random_mask(random, n, wanted)).tolist() == sorted(members)
        assert random_mask(random[: first - 1], n, wanted).size == 0


@pytest.mark.parametrize(("b", "draw"), [(100, "distinct_indices"), (400, "random_mask")])
def test_words_that_do_not_suffice_are_followed_by_more(monkeypatch, b, draw):
    calls, kernel = [], getattr(batches, draw)
    monkeypatch.setattr(batches, "SPARE", 1)
    monkeypatch.setattr(batches.math, "ceil", lambda x: 1)  # one word is asked for
    monkeypatch.setattr(batches, draw, lambda *a: calls.append(a[0]) or kernel(*a))
    drawn(streams(2), 1000, b)
    assert len(calls) > 2
    for words, more in pairwise(calls):
        np.testing.assert_array_equal(words, more[: len(words)])


def test_the_sum_over_a_batch_is_that_of_its_rows(target):
    theta, theta_new = np.array([0.2, 0.9]), np.array([0.25, 0.95])
    for b, tolerance in ((300, 0), (3000, 1e-12)):  # indices; a mask, summed in other blocks
        batch = draw_batch(streams(1), target.num_rows, b)
        model = dataclasses.replace(target.model, num_rows=b, tempered_rows=None)
        rows = Target(model, target.data[:, batch])
        total, squares, clipped = target.clipped_batch_ratio(theta, theta_new, 0.1, batch)
        expected, expected_clipped = rows.clipped_log_likelihood_ratio(theta, theta_new, 0.1)
        assert abs(total - expected) <= tolerance * abs(expected)
        assert clipped == expected_clipped > 0
        assert squares >= total**2 / b


def test_batches_that_do_not_fit_the_data_are_refused(target):
    with pytest.raises(ValueError, match="batch_size: must be at most num_rows = 10, not 11"):
        draw_batch(streams(1), 10, 11)
    with pytest.raises(ValueError, match="a mask of 4000 rows is needed, not of 3999"):
        target.clipped_batch_ratio(np.zeros(2), np.ones(2), 0.1, np.ones(3999, bool))


def test_rows_outside_a_mask_do_not_count_whatever_they_hold():
    rng = np.random.default_rng(6)
    statistics, slope = rng.standard_normal((3, 5000)), rng.standard_normal(3)
    members = rng.random(5000) < 0.3
    expected = clipped_ratio_sum(statistics, slope, 0.1, 1.0, members)
    for bad in (math.nan, math.inf, -math.inf, 1e308):
        spoilt = np.where(members, statistics, bad)
        assert clipped_ratio_sum(spoilt, slope, 0.1, 1.0, members) == expected
    row_wise = clipped_ratio_sum(statistics[:, members], slope, 0.1, 1.0)
    np.testing.assert_allclose(expected, row_wise, rtol=1e-12)
    assert expected[2] == row_wise[2] > 0


# -- Digits: committed results hang on them -----------------------------------------------------

PINNED = {  # of m statistics: the sum over a mask, of its squares, and the sum over all rows
    1: ("-0x1.488a8104a381cp+7", "0x1.cff9c1eb048e8p+6", "-0x1.fa5e5ff259302p+8"),
    2: ("-0x1.65629da8b60f3p+6", "0x1.2ed79b5c0147fp+9", "-0x1.4c8a2bf65000fp+8"),
    3: ("-0x1.95d255f0e3d2dp+5", "0x1.301b8723e8be1p+9", "-0x1.d8ecf87ecf3c4p+7"),
    10: ("-0x1.bf98104dfd609p+4", "0x1.b043d2efff36cp+9", "-0x1.89d833a3a4266p+6"),
}


@pytest.mark.skipif(not machine.is_common(), reason=f"no {machine.LEVEL} here")
def test_a_faster_mask_or_sum_has_the_digits_of_committed_results():
    rng = np.random.default_rng(49)
    words = rng.bit_generator.random_raw(1000)
    for m, pinned in PINNED.items():
        statistics, slope = rng.standard_normal((m, 5000)), rng.standard_normal(m)
        members = random_mask(words, 5000, 1560)
        total, squares, _ = clipped_ratio_sum(statistics, slope, 0.1, 0.8, members)
        of_all, *_ = clipped_ratio_sum(statistics, slope, 0.1, 0.8)
        assert tuple(map(float.hex, (total, squares, of_all))) == pinned


def test_a_sum_over_a_mask_has_the_digits_of_one_with_ratios_0_elsewhere():
    rng = np.random.default_rng(6)
    for m in (1, 2, 3, 4, 5):
        statistics, slope = rng.standard_normal((m, 2500)), rng.standard_normal(m)
        members = rng.random(2500) < 0.3
        zeroed = clipped_ratio_sum(np.where(members, statistics, 0.0), slope, 0.0, 1.0)
        assert clipped_ratio_sum(statistics, slope, 0.0, 1.0, members) == zeroed


# -- Sensitivities ------------------------------------------------------------------------------


def released(r, a, f):
    """Lambda - f sigma_b^2 / 2 for the clipped ratios of a batch, (..., b)."""
    b = r.shape[-1]
    total, squares = r.sum(axis=-1), (r**2).sum(axis=-1)
    return a * total - f * a**2 * (squares - total**2 / b) / 2


@pytest.mark.parametrize("b", [2, 5, 50])
@pytest.mark.parametrize(("a", "c"), [(1.0, 0.3), (100.0, 0.004), (0.5, 3.0)])
@pytest.mark.parametrize("batch_variance", ["published", "exact"])
def test_the_joint_sensitivity_is_attained_and_never_exceeded(a, b, c, batch_variance):
    f = batches.batch_variance_factor(batch_variance, b, 80)

    def sensitivity(kind):
        return 2 * a * c + VARIANCE_SENSITIVITY[kind] * f * (1 - 1 / b) * (a * c) ** 2

    batch = np.full(b, c)
    batch[0] = -c
    attained = abs(released(batch, a, f) - released(np.full(b, c), a, f))
    assert attained == pytest.approx(sensitivity("exact"), rel=1e-12)
    rng = np.random.default_rng(b)
    r = rng.uniform(-c, c, (20_000, b)) * rng.choice([1, 1e9], (20_000, b))
    r = np.clip(r, -c, c)
    other = r.copy()
    other[:, 0] = rng.choice([-c, c, 0], 20_000)
    most = abs(released(r, a, f) - released(other, a, f)).max()
    assert most <= sensitivity("exact") * (1 + 1e-12)
    assert sensitivity("exact") < sensitivity("published")


@pytest.mark.parametrize("kind", ["published", "exact"])
@pytest.mark.parametrize("b", [250, 1000, 4000])  # indices, a mask, all rows
@pytest.mark.parametrize("move", [GaussianWalk(0.02), GuidedWalk(0.03)])
def test_minibatch_penalty_tests_what_section_3_4_says(target, kind, move, b, monkeypatch):
    sampler = MinibatchDPPenalty(move, 0.8, b, 1.5, kind, kind)
    log_ratios = record_tests(monkeypatch, minibatch_dp_penalty)
    asked = []

    class Recorder(Target):
        def clipped_batch_ratio(self, theta, theta_new, bound, batch):
            asked.append((theta, theta_new, bound, batch))
            return super().clipped_batch_ratio(theta, theta_new, bound, batch)

    recorder = Recorder(target.model, target.data)
    chain = run_chain(sampler, recorder, streams(6), np.array([0.2, 0.9]), 40)
    replay, clip_fractions = streams(6), []
    for log_ratio, (theta, theta_new, bound, batch) in zip(log_ratios, asked, strict=True):
        np.testing.assert_array_equal(batch, draw_batch(replay, 4000, b))
        c = 1.5 * np.linalg.norm(theta_new - theta)
        assert bound == pytest.approx(c)
        slope, intercept = target.model.ratio_coefficients(theta, theta_new)
        r = slope @ target.data[:, batch] - intercept
        clip_fractions.append((abs(r) > c).mean())
        r = np.clip(r, -c, c)
        a = 400 / b  # n T / b
        # Divisor b as published; exactly, the unbiased one, and draws without replacement.
        variance = {"published": r.var(), "exact": (1 - b / 4000) * r.var(ddof=1)}[kind]
        change = {"published": 3 * (1 - 1 / b), "exact": 2 * (1 - b / 4000)}[kind]
        sensitivity = 2 * a * c + change * (a * c) ** 2
        sigma = math.sqrt(mechanism_of(sampler, 4000).noise_variance) * sensitivity
        expected = a * r.sum() + target.model.log_prior_ratio(theta, theta_new)
        expected += sigma * replay.noise.standard_normal()
        expected -= (sigma**2 + a**2 * b * variance) / 2
        assert log_ratio == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(chain.clip_fraction, clip_fractions)
    assert 0 < chain.clip_fraction.mean() < 0.5


# -- Barker's correction ------------------------------------------------------------------------


def test_the_correction_makes_normal_noise_nearly_logistic(correction):
    x = np.linspace(-40, 40, 20_001)
    mixture = stats.norm.cdf((x[:, None] - correction.atoms) / math.sqrt(2)) @ correction.weights
    error = abs(mixture - stats.logistic.cdf(x)).max()
    assert error <= 6.5e-4
    assert correction.error == pytest.approx(error, rel=1e-3)
    assert len(correction.atoms) <= 30
    assert correction.weights.sum() == pytest.approx(1) and (correction.weights > 0).all()
    np.testing.assert_allclose(correction.atoms, -correction.atoms[::-1])
    np.testing.assert_allclose(correction.weights, correction.weights[::-1])


def test_the_correction_has_the_tails_of_the_logistic(correction):
    """P(accept) at lambda = -1, ..., -20, relative: an atom too many at 10 made it 7 times that."""
    x = np.linspace(0, 20, 2001)
    tails = stats.norm.sf((x[:, None] - correction.atoms) / math.sqrt(2)) @ correction.weights
    assert abs(tails / stats.logistic.sf(x) - 1).max() < 0.1


def test_the_correction_is_drawn_by_its_weights(correction):
    rng, size = np.random.default_rng(2), 60_000
    draws = np.array([correction.draw(rng) for _ in range(size)])
    counts = np.array([(draws == atom).sum() for atom in correction.atoms])
    assert counts.sum() == size
    assert stats.chisquare(counts, size * correction.weights).pvalue > 1e-4


@pytest.mark.parametrize("noise_variance", [0.0, -1.0, math.pi**2 / 3, 4.0, math.nan])
def test_noise_of_more_variance_than_the_logistic_cannot_be_corrected(noise_variance):
    with pytest.raises(ValueError, match=r"between 0 and pi\^2 / 3 = 3\.2899"):
        fit_correction(noise_variance)


# -- Barker's test ------------------------------------------------------------------------------

CERTAIN = Correction(np.array([0.0]), np.array([1.0]), 0.0)


def record_barker_tests(monkeypatch):
    """Noisy log ratios that DP Barker submits to its test, as they come."""
    noisy_ratios, accepts = [], dp_barker.accepts
    monkeypatch.setattr(
        dp_barker, "accepts", lambda rng, v, c: noisy_ratios.append(v) or accepts(rng, v, c)
    )
    return noisy_ratios


@pytest.mark.parametrize("kind", ["published", "exact"])
@pytest.mark.parametrize("b", [250, 1000])  # indices, a mask
def test_barker_tests_what_algorithm_3_says(target, correction, b, kind, monkeypatch):
    """Replayed from the same draws; the batch's variance is topped up to C = 2."""
    noisy_ratios, asked = record_barker_tests(monkeypatch), []

    class Recorder(Target):
        def clipped_batch_ratio(self, theta, theta_new, bound, batch):
            asked.append((theta, theta_new, bound, batch))
            return super().clipped_batch_ratio(theta, theta_new, bound, batch)

    recorder = Recorder(target.model, target.data)
    sampler = DPBarker(GaussianWalk(0.03), b, correction, kind)
    chain = run_chain(sampler, recorder, streams(6), np.array([0.2, 0.9]), 60)
    replay, variances = streams(6), []
    for i, (theta, theta_new, bound, batch) in enumerate(asked):
        np.testing.assert_array_equal(batch, draw_batch(replay, 4000, b))
        assert bound == math.sqrt(b) / (4000 * 0.1)
        slope, intercept = target.model.ratio_coefficients(theta, theta_new)
        r = np.clip(slope @ target.data[:, batch] - intercept, -bound, bound)
        a = 400 / b  # n T / b
        # Divisor b as published; exactly, the unbiased one, and draws without replacement.
        variance = {"published": r.var(), "exact": (1 - b / 4000) * r.var(ddof=1)}[kind]
        variances.append(a**2 * b * variance)
        expected = a * r.sum() + target.model.log_prior_ratio(theta, theta_new)
        expected += math.sqrt(2 - variances[-1]) * replay.noise.standard_normal()
        assert noisy_ratios[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert chain.is_accepted[i] == (noisy_ratios[i] + correction.draw(replay.acceptance) > 0)
    assert 0 < chain.clip_fraction.mean() < 1 and 0 < chain.is_accepted.mean() < 1
    assert 0.2 < max(variances) <= 1


class FixedBatchSums(Target):
    """A target whose batches all have a sum of zero and the given sum of squares."""

    def __init__(self, target, squares):
        super().__init__(target.model, target.data)
        self.squares = squares

    def clipped_batch_ratio(self, theta, theta_new, bound, batch):
        return 0.0, self.squares, 0


@pytest.mark.parametrize(
    ("b", "kind"),
    [(16, "published"), (250, "published"), (4000, "published"), (16, "exact"), (250, "exact")],
)
def test_a_batch_at_its_clip_has_variance_one_and_no_more_can_be(target, correction, b, kind):
    sampler = DPBarker(GaussianWalk(0.03), b, correction, kind)
    bound = math.sqrt(b) / (4000 * 0.1)
    rng, theta = streams(1), np.array([0.2, 0.9])
    extreme = FixedBatchSums(target, b * bound**2)  # half the ratios at either clip
    for _ in range(20):
        sampler.step(rng, sampler.init(rng, theta), extreme)
    with pytest.raises(ArithmeticError, match="not bound the variance of a batch"):
        sampler.step(rng, sampler.init(rng, theta), FixedBatchSums(target, 1.01 * b * bound**2))


def test_full_data_barker_accepts_with_the_logistic_probability(target, correction):
    """P(accept) = 1 / (1 + exp(-lambda)) up to the correction's error; sensitivity 2 T B."""
    sampler = FullDataDPBarker(GaussianWalk(0.02), clip_bound=1e3, correction=correction)
    theta, rng = np.array([0.2, 0.88]), streams(12)
    accepted, probability = [], []
    for _ in range(8000):
        seen = []

        class Recorder(Target):
            def clipped_log_likelihood_ratio(self, theta, theta_new, bound, seen=seen):
                seen.append(theta_new)
                return super().clipped_log_likelihood_ratio(theta, theta_new, bound)

        recorder = Recorder(target.model, target.data)
        _, info = sampler.step(rng, sampler.init(rng, theta), recorder)
        accepted.append(info.is_accepted)
        probability.append(1 / (1 + math.exp(-target.log_density_ratio(theta, seen[0]))))
    accepted, probability = np.array(accepted, dtype=float), np.array(probability)
    error = math.sqrt((probability * (1 - probability)).mean() / len(accepted))
    assert accepted.mean() == pytest.approx(probability.mean(), abs=4.5 * error)
    # Also where lambda is large and where it is small.
    for part in (probability < 0.3, probability > 0.7):
        error = math.sqrt((probability * (1 - probability))[part].mean() / part.sum())
        assert accepted[part].mean() == pytest.approx(probability[part].mean(), abs=4.5 * error)
    assert mechanism_of(sampler, 4000, 0.1).mu == pytest.approx(2 * 0.1 * 1e3 / math.sqrt(2))


# -- Invariance ---------------------------------------------------------------------------------


def minibatch_samplers(correction):
    clip = 20.0  # times a step of some 0.05: above every row's ratio
    return {
        "minibatch-dp-penalty": MinibatchDPPenalty(GaussianWalk(0.05), 0.01, 400, clip),
        "minibatch-dp-penalty-ocu-gwmh": MinibatchDPPenalty(
            GuidedWalk(0.06), 0.01, 400, clip, "exact"
        ),
        # Steps so small that the prescribed clip sqrt(b) / (n T) is seldom met.
        "dp-barker": DPBarker(GaussianWalk(0.006), 400, correction),
        "dp-barker-ocu-gwmh": DPBarker(GuidedWalk(0.008), 400, correction),
        "dp-barker-full-data": FullDataDPBarker(GaussianWalk(0.08), 1e3, correction),
        "dp-barker-full-data-ocu-gwmh": FullDataDPBarker(GuidedWalk(0.08), 1e3, correction),
    }


NAMES = list(minibatch_samplers(None))


def long_drift(sampler, target, size=7000):
    return drift(sampler, target, target, seed=1, num_steps=20, size=size)


@pytest.mark.parametrize("name", chosen(NAMES, "minibatch-dp-penalty", "dp-barker-ocu-gwmh"))
def test_started_in_the_target_it_stays_in_the_target(target, correction, name):
    sampler = minibatch_samplers(correction)[name]
    z, infos = long_drift(sampler, target, 4000)  # enough for a forgotten variance: see below
    assert abs(z).max() < 4.5
    most_clipped = 0.01 if isinstance(sampler, DPBarker) else 1e-3
    assert np.mean([info.clip_fraction for info in infos]) < most_clipped
    assert 0.05 < np.mean([info.is_accepted for info in infos]) < 0.95


class Unturned(GuidedWalk):
    """A guided walk that keeps its directions whatever happens: wrong on purpose."""

    def propose(self, rng, theta, memory):
        theta_new, if_accepted, _ = super().propose(rng, theta, memory)
        return theta_new, if_accepted, if_accepted


@pytest.mark.parametrize("name", ["dp-barker-ocu-gwmh", "dp-barker-full-data-ocu-gwmh"])
def test_the_invariance_test_sees_a_direction_that_is_not_turned(target, correction, name):
    right = minibatch_samplers(correction)[name]
    wrong = dataclasses.replace(right, move=Unturned(right.move.proposal_scale))
    z, _ = drift(wrong, target, target, seed=1, num_steps=10, size=500)
    assert abs(z).max() > 12


@pytest.mark.parametrize("name", ["dp-barker-ocu-gwmh", "dp-barker-full-data-ocu-gwmh"])
def test_barker_keeps_the_direction_on_acceptance_and_flips_it_on_rejection(
    target, correction, name
):
    sampler, rng = minibatch_samplers(correction)[name], streams(9)
    state, seen = sampler.init(rng, np.array([0.2, 0.88])), []
    for _ in range(200):
        old = state
        state, info = sampler.step(rng, old, target)
        seen.append(info.is_accepted)
        if info.is_accepted:
            (j,) = np.flatnonzero(state.position != old.position)
            assert np.sign(state.position - old.position)[j] == old.memory[j]
            np.testing.assert_array_equal(state.memory, old.memory)
        else:
            assert (state.position == old.position).all()
            assert np.count_nonzero(state.memory != old.memory) == 1
    assert 40 < sum(seen) < 160


class NoBatchVariance(MinibatchDPPenalty):
    """Minibatch penalty that forgets the error of the batch: wrong on purpose."""

    def step(self, rng, state, target):
        b = self.batch_size

        class Exact(Target):
            def clipped_batch_ratio(self, theta, theta_new, bound, batch):
                total, _, clipped = super().clipped_batch_ratio(theta, theta_new, bound, batch)
                return total, total**2 / b, clipped  # as if the variance were 0

        return super().step(rng, state, Exact(target.model, target.data))


@pytest.mark.torture
def test_the_invariance_test_sees_a_forgotten_batch_variance(target, correction):
    right = minibatch_samplers(correction)["minibatch-dp-penalty"]
    wrong = NoBatchVariance(right.move, right.noise_variance, right.batch_size, right.clip_bound)
    z, _ = long_drift(wrong, target, 4000)  # as many as are run above
    assert abs(z).max() > 6


@pytest.mark.torture
def test_the_invariance_test_sees_a_missing_correction(target, correction):
    right = minibatch_samplers(correction)["dp-barker-full-data"]
    z, _ = long_drift(dataclasses.replace(right, correction=CERTAIN), target)
    assert abs(z).max() > 6


@pytest.mark.parametrize("b", [400, 1000])  # indices, a mask
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_few_bad_rows_cannot_decide(target, correction, name, bad, b):
    """Forty of 4000 rows; with tiny clips they hardly matter, so bad ones must not."""
    sampler = minibatch_samplers(correction)[name]
    if hasattr(sampler, "batch_size"):
        sampler = dataclasses.replace(sampler, batch_size=b)
    if hasattr(sampler, "clip_bound"):
        sampler = dataclasses.replace(sampler, clip_bound=1e-6)
    rows = target.data.copy()
    rows[:, :40] = bad
    start = np.array([0.2, 0.88])
    clean = run_chain(sampler, target, streams(1), start, 200)
    poisoned = run_chain(sampler, Target(target.model, rows, "clip"), streams(1), start, 200)
    assert np.isfinite(poisoned.positions).all()
    assert (clean.is_accepted == poisoned.is_accepted).mean() > 0.8
    assert clean.is_accepted.mean() > 0.3  # rejecting all would agree less


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
@pytest.mark.parametrize("name", NAMES)
def test_a_proposal_that_is_not_finite_is_rejected(target, correction, name, bad):
    class Far(Move):
        def init(self, rng, dimension):
            return None

        def propose(self, rng, theta, memory):
            return np.array([bad, 0.0]), None, None

    sampler = dataclasses.replace(minibatch_samplers(correction)[name], move=Far())
    with np.errstate(all="ignore"):
        chain = run_chain(sampler, target, streams(1), np.array([0.2, 0.88]), 20)
    assert not chain.is_accepted.any()
