"""Proper scores against closed forms, brute force and their own promises."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import gamma

from dpmcmc.evaluation import scores
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian


def grid(size, quantile=ndtri):
    """A sample of one component without chance: evenly spaced quantiles, (size, 1)."""
    return quantile((np.arange(size) + 0.5) / size)[:, None]


def normal_interval_score(low, high, level):
    """That of N(0, 1), in closed form."""
    above, below = (
        np.exp(-x * x / 2) / math.sqrt(2 * math.pi) - x * ndtr(-x) for x in (high, -low)
    )
    return high - low + 2 / (1 - level) * (above + below)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize(
    ("scale", "shift"), [(1, 0), (3, 0), (0.5, 0), (1, 0.7), (2, -3), (0, 0), (0, 2)]
)
def test_a_normal_posterior_has_its_closed_form(level, scale, shift):
    z = ndtri((1 + level) / 2)
    low, high = shift - scale * z, shift + scale * z
    expected = normal_interval_score(low, high, level) / normal_interval_score(-z, z, level)
    found = scores.interval_metrics(shift + scale * grid(4000), grid(4000), level=level)
    assert found["score_ratio"] == pytest.approx(expected, rel=3e-3)
    assert found["coverage"] == pytest.approx(ndtr(high) - ndtr(low), abs=2e-3)
    assert found["width"] == pytest.approx(scale, rel=3e-3)
    assert found["is_scored"]


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (3, 0), (0.5, 1), (0, 0), (0, 2)])
def test_the_energy_score_of_a_normal_posterior_has_its_closed_form(scale, shift):
    sd = math.sqrt(1 + scale**2)
    normal = math.exp(-((shift / sd) ** 2) / 2) * math.sqrt(2 / math.pi)
    between = sd * normal + shift * (1 - 2 * ndtr(-shift / sd))
    expected = (between - scale / math.sqrt(math.pi)) * math.sqrt(math.pi)
    found = scores.energy_ratio(shift + scale * grid(1500), grid(1500), prior=7 * grid(900))
    assert found == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize("count", [2, 3, 21, 40])
def test_each_exact_draw_is_scored_by_all_others(count):
    reference = np.sort(np.random.default_rng(count).standard_normal((count, 3)), axis=0)
    for p in (0.05, 0.5, 0.95):
        expected = [np.quantile(np.delete(reference, i, 0), p, axis=0) for i in range(count)]
        found = scores.quantiles_of_others(reference, p)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    own = []
    for i, theta in enumerate(reference):
        x = np.delete(reference, i, 0)
        within = np.linalg.norm(x[:, None] - x, axis=2).mean()
        own.append(np.linalg.norm(x - theta, axis=1).mean() - within / 2)
    x = np.random.default_rng(9).standard_normal((17, 3))[:count]
    between = np.linalg.norm(x[:, None] - reference, axis=2).mean()
    score = between - np.linalg.norm(x[:, None] - x, axis=2).mean() / 2
    assert scores.energy_ratio(x, reference) == pytest.approx(score / np.mean(own), rel=1e-7)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_exact_samples_have_the_ratio_1_however_few_draws_they_have(level):
    rng = np.random.default_rng(1)
    draws, reference = rng.standard_normal((29, 20_000)), rng.standard_normal((30, 20_000))
    of_sample = scores.interval_score(*scores.intervals(draws, level), reference, level)
    ordered = np.sort(reference, axis=0)
    ends = (scores.quantiles_of_others(ordered, p) for p in scores.tails(level))
    gap = of_sample - scores.interval_score(*ends, ordered, level)
    assert abs(gap.mean()) < 3.5 * gap.std() / math.sqrt(gap.size)


def test_no_tempering_and_no_shift_of_the_exact_posterior_scores_better():
    def sample(power, shift):  # Gamma(4, 1) to a power, and N(0, 1) to it
        skewed = grid(3000, lambda p: gamma.ppf(p, 1 + 3 * power, scale=1 / power))
        return np.column_stack([skewed, grid(3000) / math.sqrt(power)]) + shift

    reference, exact = sample(1, 0), scores.interval_metrics(sample(1, 0), sample(1, 0))
    best = {"interval": exact["score_ratio"], "energy": scores.energy_ratio(reference, reference)}
    assert best["interval"] == pytest.approx(1, abs=2e-3) == best["energy"]
    rng = np.random.default_rng(2)  # components of a grid are of one rank, and must not be
    reference = np.column_stack([reference[:, 0], rng.permutation(reference[:, 1])])
    best["energy"] = scores.energy_ratio(reference, reference)
    for power, shift in [(0.5, 0), (0.8, 0), (1.25, 0), (2, 0), (1, 0.3), (1, -0.3), (0.8, 0.2)]:
        other = sample(power, shift)
        other = np.column_stack([other[:, 0], rng.permutation(other[:, 1])])
        for level in (0.5, 0.9):
            found = scores.interval_metrics(other, reference, level=level)
            assert found["score_ratio"] > 1.002
        assert scores.energy_ratio(other, reference) > best["energy"] + 0.002


class PrivateMeans:
    """Conjugate normals: many data sets, a component each, and their private posteriors.

    The mean of the data is x ~ N(theta, 1/n), and x + N(0, noise) is released. Theta is N(0, 1).
    """

    def __init__(self, rng, count, noise):
        self.theta = rng.standard_normal(count)
        data = self.theta + 0.1 * rng.standard_normal(count)
        answer = data + noise * rng.standard_normal(count)
        self.means, self.sds = zip(
            self._posterior(data, 0.1**2), self._posterior(answer, 0.1**2 + noise**2), strict=True
        )
        self.reference = self.means[0] + self.sds[0] * rng.standard_normal((1000, count))

    def _posterior(self, observed, variance):
        return observed / (1 + variance), math.sqrt(variance / (1 + variance))

    @property
    def width(self):
        """Of the private posterior, in widths of the exact one."""
        return self.sds[1] / self.sds[0]

    def sample(self, scale=1.0):
        """Of the private posterior; its width may be wrong."""
        return self.means[1] + scale * self.sds[1] * grid(1000)

    def interval(self, level):
        """Ends (d,) of that interval of the private posterior."""
        half = self.sds[1] * ndtri((1 + level) / 2)
        return self.means[1] - half, self.means[1] + half


def test_the_mean_over_exact_draws_is_that_at_the_theta_of_the_data():
    of = PrivateMeans(np.random.default_rng(3), 4000, noise=0.08)
    low, high = of.interval(0.9)
    averaged = scores.interval_score(low, high, of.reference)
    at_truth = scores.interval_score(low, high, of.theta[None])
    gap = averaged - at_truth
    assert abs(gap.mean()) < 3.5 * gap.std() / math.sqrt(len(gap))
    assert averaged.std() < 0.5 * at_truth.std()  # which is why
    mass = ((low <= of.reference) & (of.reference <= high)).mean(axis=0)
    hit = (low <= of.theta) & (of.theta <= high)
    gap = mass - hit
    assert abs(gap.mean()) < 3.5 * gap.std() / math.sqrt(len(gap))


def test_an_honest_posterior_is_worth_the_same_at_each_level_and_another_is_not():
    of = PrivateMeans(np.random.default_rng(4), 800, noise=0.1)
    ratios = {}
    for level in (0.5, 0.9, 0.95):
        found = [
            scores.interval_metrics(of.sample()[:, [j]], of.reference[:, [j]], level=level)
            for j in range(len(of.theta))
        ]
        ratio, error, _ = scores.mean_and_error([one["score_ratio"] for one in found])
        assert ratio == pytest.approx(of.width, abs=3.5 * error)
        worth, worth_error = scores.worth(ratio, error)
        assert worth == pytest.approx(of.width**-2, abs=3.5 * worth_error) and worth_error < 0.03
        of_half = scores.interval_metrics(of.sample(0.4), of.reference, level=level)
        ratios[level] = of_half["score_ratio"]
    assert ratios[0.95] > 1.3 * ratios[0.9] > 1.3 * 1.3 * ratios[0.5]


HOPELESS = {
    "none": np.empty((0, 2)),
    "one": np.ones((1, 2)),
    "far": np.full((50, 2), 1e200),
    "infinite": np.array([[0.0, 1.0], [np.inf, 1.0], [2.0, 3.0]]),
    "not numbers": np.array([[0.0, 1.0], [np.nan, 1.0], [2.0, 3.0]]),
}


@pytest.mark.parametrize("draws", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_sample_without_intervals_gets_those_of_the_prior(draws):
    rng = np.random.default_rng(5)
    reference, prior = rng.standard_normal((400, 2)), 20 * rng.standard_normal((900, 2))
    found = scores.interval_metrics(draws, reference, prior, factor=3)
    expected = scores.interval_metrics(prior, reference)
    assert found == expected | {"is_scored": False}
    assert scores.energy_ratio(draws, reference, prior) == scores.energy_ratio(
        prior, reference, prior
    )
    without = scores.interval_metrics(draws, reference)
    assert without == {
        "score_ratio": np.inf,
        "coverage": 1.0,
        "width": np.inf,
        "is_scored": False,
    }
    assert scores.energy_ratio(draws, reference) == np.inf


def test_draws_of_the_prior_are_always_the_same_or_none():
    model = Gaussian(10, 4.0, [[1.0, 0], [0, 1]])
    draws = scores.prior_draws(model)
    assert (draws == scores.prior_draws(model)).all()
    np.testing.assert_allclose(draws.std(axis=0), 2, rtol=0.05)
    assert scores.prior_draws(Circle(10, 1.0, 1.0, 1.0, [0.0, 1.0], 1.0)) is None


def test_one_factor_makes_intervals_cover():
    rng = np.random.default_rng(6)
    twins = [
        (rng.normal(rng.normal(0, 2, 3), 1, (400, 3)), rng.normal(0, 1, (300, 3)))
        for _ in range(40)
    ]
    factor = scores.widening_factor(twins)
    assert factor > 1.5
    covered = [scores.interval_metrics(*twin, factor=factor)["coverage"] for twin in twins]
    assert np.mean(covered) == pytest.approx(0.9, abs=1e-3)
    assert scores.widening_factor([(3 * grid(100), grid(100))]) == 1.0
    assert scores.widening_factor([*twins, (np.ones((1, 3)), np.ones((300, 3)))]) == factor


def test_intervals_stuck_at_a_point_are_not_widened():
    stuck = [(np.zeros((9, 1)), grid(100))]
    assert scores.widening_factor(stuck) == scores.widening_factor([]) == math.inf
    moving = grid(50), grid(450)
    assert scores.widening_factor([moving, (stuck[0][0], grid(50))]) < 3  # which nine tenths need
    assert scores.widening_factor([moving, (stuck[0][0], grid(52))]) == math.inf
    found = scores.interval_metrics(*stuck[0], prior=50 * grid(100), factor=math.inf)
    assert not found["is_scored"] and found["width"] > 49


def test_a_summary_has_means_and_errors_between_data_sets():
    rng = np.random.default_rng(7)
    of_set = rng.normal(2, 0.1, 12)
    ratios = np.repeat(of_set, 5)  # five chains of each that agree
    metrics = {
        "score_ratio": ratios,
        "coverage": np.full(60, 0.9),
        "width": ratios,
        "is_scored": np.arange(60) > 2,
    }
    row = scores.summary(metrics, np.repeat(np.arange(12), 5))
    assert row["score_ratio"] == row["width"] == pytest.approx(of_set.mean())
    assert row["score_ratio_se"] == pytest.approx(of_set.std(ddof=1) / math.sqrt(12))
    assert row["worth"] == pytest.approx(of_set.mean() ** -2)
    assert (row["samples"], row["not_scored"], row["honest"]) == (60, 3, "honest")
    of_one_set = scores.summary(metrics, [4] * 60)
    assert of_one_set["score_ratio_se"] == pytest.approx(ratios.std(ddof=1) / math.sqrt(60))
    metrics["score_ratio"] = metrics["width"] = np.where(ratios > 2, np.inf, ratios)
    row = scores.summary(metrics)
    assert (row["worth"], row["worth_se"], row["score_ratio"]) == (0, 0, np.inf)
    assert not any(math.isnan(value) for value in row.values() if isinstance(value, float))
    assert scores.mean_and_error([0.9]) == (0.9, np.inf, 1)


def test_the_error_of_worth_is_that_of_its_estimate():
    means = np.random.default_rng(8).normal(1.5, 0.3, (4000, 25)).mean(axis=1)
    _, error = scores.worth(1.5, 0.3 / 5)
    assert (means**-2).std() == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(
    ("coverage", "error", "count", "verdict"),
    [
        (0.9, 0.01, 20, "honest"),
        (0.9, 0.02, 20, "undecided"),
        (0.9, 0.0, 9, "undecided"),
        (0.86, 0.01, 100, "undecided"),
        (0.78, 0.02, 20, "not honest"),
        (0.2, 0.02, 3, "not honest"),
        (0.2, math.inf, 1, "undecided"),
    ],
)
def test_honest_is_one_word_with_one_rule(coverage, error, count, verdict):
    assert scores.honesty(coverage, error, count) == verdict


def test_a_method_that_covers_too_little_is_seldom_called_honest():
    rng = np.random.default_rng(9)

    def share(masses):
        found = [scores.honesty(*scores.mean_and_error(one)) for one in masses]
        return np.mean([one == "honest" for one in found])

    hits = (rng.random((3000, 20)) < 0.78).astype(float)
    assert share(hits) < 0.02
    skewed = 1 - 0.1315 * rng.chisquare(1, (3000, 20)).clip(max=7.6)  # with a mean of 0.87
    assert 0.08 < share(skewed) < 0.18  # 0.05 if they were normal
    assert share(0.90 + 0.02 * rng.standard_normal((3000, 20))) > 0.99


def test_five_data_sets_with_ten_samples_each_can_be_honest():
    sets = np.repeat(np.arange(5), 10)
    metrics = {name: np.ones(50) for name in ("score_ratio", "width")}
    metrics["is_scored"] = np.ones(50, bool)
    metrics["coverage"] = 0.9 + 0.004 * (sets - 2)
    assert scores.summary(metrics, sets)["honest"] == "honest"
    few = {name: values[::10] for name, values in metrics.items()}
    assert scores.summary(few, sets[::10])["honest"] == "undecided"
