"""Samples of the posterior without conjugacy, against exact ones; and what they refuse."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import ROOT, SMALL_MODELS, chosen
from scipy import stats
from two_normals import Mixture, exact_draws, mixture_data

from dpmcmc.evaluation import grid, independence, long_run
from dpmcmc.evaluation.metrics import median_bandwidth, mmd
from dpmcmc.evaluation.modes import Mode, distinct, find_modes, missed, squared_distances
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.rows import RowsModel
from dpmcmc.release import rehearsal
from dpmcmc.settings import Rows
from dpmcmc_studies.study.study import StudyConfig

SIZE = 1000


@pytest.fixture
def published(config):
    """Function from the id of a model of config.yaml to its target and exact draws."""
    models = StudyConfig(config, ROOT).models

    def make(name, seed=1):
        model = models[name].model
        data = model.dataset(np.random.default_rng(seed))
        return Target(model, data), lambda rng, size: model.sample_posterior(rng, data, size)

    return make


def bimodal(distance, count):
    model, data = Mixture(num_rows=count), mixture_data(distance, count)
    return Target(model, data), lambda rng, size: exact_draws(rng, model, data, size)


def compared(draws, draw_exactly):
    """MMD of draws to an exact sample, and those of twenty exact samples to the same."""
    rng = np.random.default_rng(3)
    reference = draw_exactly(rng, SIZE)
    bandwidth = median_bandwidth(rng, reference, reference, 500)
    exact = [mmd(draw_exactly(rng, SIZE), reference, bandwidth) for _ in range(20)]
    return mmd(draws, reference, bandwidth), exact


@pytest.mark.parametrize(
    ("method", "name"),
    chosen(
        [
            (grid, "flat-banana-2d"),
            (grid, "narrow-banana-2d"),
            (grid, "tempered-banana-2d"),
            (grid, "correlated-gauss-2d"),
            (grid, "circle"),
            (independence, "correlated-gauss-2d"),
            (independence, "gauss-30d"),
            (long_run, "flat-banana-2d"),
            (long_run, "gauss-30d"),
        ],
        (grid, "tempered-banana-2d"),
        (grid, "circle"),
        (long_run, "flat-banana-2d"),
        (independence, "correlated-gauss-2d"),
    ),
)
def test_published_posteriors_are_met_as_by_exact_samples(published, method, name):
    target, draw_exactly = published(name)
    draws = method.sample(np.random.default_rng(100), target, SIZE)
    assert draws.shape == (SIZE, target.model.dimension)
    found, exact = compared(draws, draw_exactly)
    assert found <= max(exact)


@pytest.mark.parametrize(
    ("method", "distance", "count"),
    chosen(
        [(grid, 3.0, 12), (grid, 6.0, 12), (grid, 8.0, 12), (long_run, 2.0, 12)], (grid, 8.0, 12)
    ),
)
def test_both_modes_have_their_share(method, distance, count):
    target, draw_exactly = bimodal(distance, count)
    draws = method.sample(np.random.default_rng(100), target, SIZE)
    share = (draws[:, 0] < draws[:, 1]).mean()
    assert abs(share - 0.5) < 4.5 * np.sqrt(0.25 / SIZE)
    found, exact = compared(draws, draw_exactly)
    assert found <= max(exact)


def test_modes_of_unequal_mass_keep_it():
    """A prior that is no mirror image: the masses follow from it, each mode being as wide."""

    class Tilted(Mixture):
        def log_prior_ratio(self, theta, theta_new):
            tilt = 0.1 * (theta_new[0] - theta[0])
            return super().log_prior_ratio(theta, theta_new) + tilt

        def grad_log_prior(self, theta):
            return super().grad_log_prior(theta) + np.array([0.1, 0.0])

    target = Target(Tilted(num_rows=40), mixture_data(8.0, 40))
    draws = grid.sample(np.random.default_rng(2), target, 4 * SIZE)
    is_lower = draws[:, 0] < draws[:, 1]
    # Exchanging the components turns one mode into the other, which weighs e^(0.1 (t2 - t1)).
    odds = np.exp(0.1 * (draws[is_lower, 1] - draws[is_lower, 0])).mean()
    share = 1 / (1 + odds)
    assert abs(is_lower.mean() - share) < 4.5 * np.sqrt(0.25 / (4 * SIZE))
    assert share < 0.35


class TwoWidths:
    """Two normal modes of half the mass: of width 1 at 0, and narrower elsewhere; as a target.

    All of its density is that of its prior.
    """

    likelihood_power, num_rows = 1.0, 1

    def __init__(self, place, width):
        self.model, self.true_theta, self.dimension = self, None, len(place)
        self.centres, self.widths = np.array([np.zeros(len(place)), place]), np.array([1.0, width])

    def parts(self, theta):
        z = ((theta - self.centres) ** 2).sum(axis=1) / (2 * self.widths**2)
        return -z - self.dimension * np.log(self.widths)

    def log_density_ratio(self, theta, theta_new):
        return np.logaddexp.reduce(self.parts(theta_new)) - np.logaddexp.reduce(self.parts(theta))

    def gradient(self, theta):
        weights = np.exp(self.parts(theta) - self.parts(theta).max())
        pulls = (self.centres - theta) / self.widths[:, None] ** 2
        return weights / weights.sum() @ pulls

    log_prior_ratio = log_density_ratio

    def grad_log_prior(self, theta):
        return self.gradient(theta)

    def clipped_gradient(self, theta, bound):
        return np.zeros(self.dimension), 0

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        return 0.0, 0

    def sample_prior(self, rng):
        i = rng.integers(2)
        return self.centres[i] + self.widths[i] * rng.standard_normal(self.dimension)

    def modes(self):
        log_masses = 0.0, 0.0
        return [
            Mode(centre, width**2 * np.eye(self.dimension), log_mass)
            for centre, width, log_mass in zip(self.centres, self.widths, log_masses, strict=True)
        ]


@pytest.mark.parametrize("width", chosen([0.1, 0.03], 0.1))
def test_a_narrow_mode_beside_a_wide_one_keeps_its_share(width):
    place = np.array([6.03, 5.01])
    draws = grid.sample(np.random.default_rng(0), TwoWidths(place, width), 4 * SIZE)
    is_near = np.linalg.norm(draws - place, axis=1) < 10 * width
    assert abs(is_near.mean() - 0.5) < 4.5 * np.sqrt(0.25 / (4 * SIZE))
    z = (draws[is_near] - place) / width
    assert abs(z.std() - 1) < 4.5 / np.sqrt(2 * z.size)


def test_modes_of_widths_too_different_for_a_grid_fail_with_one_line(monkeypatch):
    monkeypatch.setattr(grid, "MAX_EVALUATIONS", 30_000)
    with pytest.raises(JobError, match=r"its modes are of very different widths; give reference"):
        grid.sample(np.random.default_rng(0), TwoWidths([6.03, 5.01], 0.01), 10)


@pytest.mark.parametrize("place", [(0.6, 0.6), (1.2, 0.0)])
def test_a_mode_within_the_width_of_a_wider_one_is_another(place):
    found = find_modes(np.random.default_rng(0), TwoWidths(place, 0.05))
    assert sorted(round(float(mode.covariance[0, 0]) ** 0.5, 2) for mode in found) == [0.05, 1.0]


@dataclass(frozen=True)
class Line(RowsModel):
    """y ~ N(a + b x, s^2), flat in a, b and ln s; theta = (a, b, ln s), a row (x, y)."""

    num_rows: Rows

    dimension, row_length = 3, 2

    def log_likelihood(self, theta, rows):
        r = (rows[:, 1] - theta[0] - theta[1] * rows[:, 0]) * np.exp(-theta[2])
        return -theta[2] - r * r / 2

    def gradient(self, theta, rows):
        r = (rows[:, 1] - theta[0] - theta[1] * rows[:, 0]) * np.exp(-theta[2])
        e = r * np.exp(-theta[2])
        return np.column_stack([e, e * rows[:, 0], r * r - 1])

    def log_prior_ratio(self, theta, theta_new):
        return 0.0

    def grad_log_prior(self, theta):
        return np.zeros(3)


@pytest.mark.parametrize("units", [(1, 1), (1, 1e4), (1000, 1e-4)], ids=str)
def test_one_mode_is_found_in_any_units(units):
    """At the origin the log density is lower by up to 1e15, and widths differ by up to 1e8."""
    rng = np.random.default_rng(3)
    x = rng.normal(100, 15, 400)
    rows = np.column_stack([x, 25.8 + 0.61 * x + 18.2 * rng.standard_normal(400)]) * units
    design = np.column_stack([np.ones(400), rows[:, 0]])
    line, *_ = np.linalg.lstsq(design, rows[:, 1])
    variance = ((rows[:, 1] - design @ line) ** 2).mean()
    covariance = np.zeros((3, 3))
    covariance[:2, :2], covariance[2, 2] = variance * np.linalg.inv(design.T @ design), 1 / 800
    exact = Mode(np.array([*line, np.log(variance) / 2]), covariance, 0.0)
    for seed in range(3):
        (mode,) = find_modes(np.random.default_rng(seed), Target(Line(num_rows=400), rows))
        assert squared_distances(exact, mode.position - exact.position) < 0.1**2
        widths = np.sqrt(np.diag(mode.covariance) / np.diag(covariance))
        np.testing.assert_allclose(widths, 1, atol=0.01)


def test_a_saddle_is_no_mode():
    """The origin, where searches start, has no gradient: components are alike there."""
    target, _ = bimodal(0.5, 12)
    modes = find_modes(np.random.default_rng(0), target)
    np.testing.assert_allclose(modes[0].position, modes[1].position[::-1], atol=0.01)
    assert len(modes) == 2 and abs(modes[0].position[0]) > 0.1


def test_of_searches_that_end_at_one_mode_a_single_one_counts_whatever_the_others_digits():
    origin, unit = np.zeros(2), np.eye(2)
    first, again = Mode(origin, unit, 0.0), Mode(origin + 1e-4, unit, 1e-9, 3)
    heavier, negligible = Mode(origin + 9, unit, 1.0, 2), Mode(origin - 9, unit, -9.5)
    found = distinct([again, first, negligible, heavier])
    assert [id(mode) for mode in found] == [id(heavier), id(first)]


def test_a_mode_that_draws_leave_out_is_missed():
    target, rng = TwoWidths([3.0, 0, 0, 0, 0], 0.2), np.random.default_rng(3)
    modes, wide = target.modes(), rng.standard_normal((SIZE, 5))
    narrow = target.centres[1] + 0.2 * rng.standard_normal((SIZE, 5))
    weights = np.ones(SIZE)
    assert missed(modes, wide, weights) == 1 and missed(modes, narrow, weights) == 0
    both = np.concatenate([wide, narrow])
    assert missed(modes, both, np.ones(2 * SIZE)) is None
    assert missed(modes, both, np.repeat([1.0, 0.01], SIZE)) == 1
    assert missed(modes[:1], 3 * wide, weights) is None


def test_a_mode_keeps_its_draws_in_many_dimensions():
    """Of 30 dimensions no draw is within two widths of a mode."""
    rng, far = np.random.default_rng(4), np.full(30, 5.0)
    modes = [Mode(place, np.eye(30), 0.0) for place in (np.zeros(30), far)]
    draws, weights = rng.standard_normal((SIZE, 30)), np.ones(SIZE)
    assert missed(modes[:1], draws, weights) is None
    assert missed(modes, draws, weights) == 1
    both = np.concatenate([draws, far + draws])
    assert missed(modes, both, np.ones(2 * SIZE)) is None


def test_a_long_run_without_draws_of_a_mode_that_was_found_is_refused(monkeypatch):
    """Chains leave the narrow mode, and do not find it again."""
    target = TwoWidths([3.0, 0, 0, 0, 0], 0.2)
    monkeypatch.setattr(long_run, "find_modes", lambda rng, target: target.modes())
    wide = np.random.default_rng(1)
    monkeypatch.setattr(long_run, "warmed_up", lambda *_: [None])
    monkeypatch.setattr(long_run.Chain, "step", lambda *_: wide.standard_normal(5))
    with pytest.raises(JobError, match="leaves out mode 2 of 2 that a search has found"):
        long_run.sample(np.random.default_rng(0), target, SIZE)


def test_a_narrow_peak_that_all_near_starts_stay_in_is_refused():
    """Half of the mass is in a mode as wide as 33 of its widths, about the same place."""
    with pytest.raises(JobError, match="is not what chains from 10 widths of its modes come to"):
        long_run.sample(np.random.default_rng(1), TwoWidths(np.zeros(10), 0.03), SIZE)


def test_modes_too_far_apart_for_hmc_fail_with_one_line(monkeypatch):
    monkeypatch.setattr(long_run, "DOUBLINGS", 1)
    target, _ = bimodal(10.0, 60)
    assert len(find_modes(np.random.default_rng(1), target)) == 2
    with pytest.raises(JobError) as error:
        long_run.sample(np.random.default_rng(2), target, SIZE)
    line = str(error.value)
    assert "\n" not in line
    assert re.match(
        r"the long run for its reference reached R-hat [1-9][\d.]* and an effective sample size of "
        r"\d+ in component [12] after 4 x 626 iterations, where 1.01 and 1000 are asked for; "
        r"modes may be too far apart",
        line,
    )


def test_more_draws_ask_for_more_effective_ones(monkeypatch):
    target, _ = bimodal(0.5, 12)
    monkeypatch.setattr(long_run, "DOUBLINGS", 0)
    diagnosed = []
    diagnose = long_run.diagnose

    def noted(draws):
        diagnosed.append(draws.shape)
        return {"R-hat": np.ones(2), "ESS": np.array([5000.0, 1199.0])}

    monkeypatch.setattr(long_run, "diagnose", noted)
    few = "effective sample size of 1199 in component 2 after 4 x 375"
    with pytest.raises(JobError, match=few):
        long_run.sample(np.random.default_rng(2), target, 1200)
    assert long_run.sample(np.random.default_rng(2), target, 1199).shape == (1199, 2)
    assert set(diagnose(np.random.default_rng(1).standard_normal((4, 500, 3)))) == {"R-hat", "ESS"}


@pytest.mark.parametrize("method", chosen([grid, long_run], grid))
def test_the_same_stream_gives_the_same_draws(method):
    target, _ = bimodal(1.0, 12)
    first, again = (method.sample(np.random.default_rng(5), target, 200) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_draws_are_in_random_order():
    """So that the parts of one run serve as samples of their own."""
    target, _ = bimodal(0.5, 12)
    draws = long_run.sample(np.random.default_rng(2), target, SIZE)
    lagged = stats.pearsonr(draws[:-1, 0], draws[1:, 0])
    assert abs(lagged.statistic) < 4.5 / np.sqrt(SIZE)


@pytest.mark.parametrize("name", chosen(SMALL_MODELS, "gaussian"))
def test_moments_of_small_posteriors_tempered_and_not(name):
    model = SMALL_MODELS[name]
    target = Target(model, model.simulate(np.random.default_rng(7)))
    exact = model.sample_posterior(np.random.default_rng(1), target.data, 40_000)
    for method in (grid, long_run) if model.dimension == 2 else (long_run,):
        draws = method.sample(np.random.default_rng(4), target, 4000)
        for power in (1, 2):
            standard_errors = (draws**power).std(axis=0) / np.sqrt(4000)
            z = ((draws**power).mean(axis=0) - (exact**power).mean(axis=0)) / standard_errors
            assert abs(z).max() < 4.5


def test_a_posterior_that_is_none_has_no_mode():
    class Improper(Mixture):
        def log_likelihood(self, theta, rows):
            return np.full(len(rows), np.nan)

    with pytest.raises(JobError, match="no mode of the posterior was found from 13 starts"):
        find_modes(np.random.default_rng(1), Target(Improper(num_rows=4), np.zeros((4, 1))))


def test_a_grid_that_would_be_endless_says_so(monkeypatch):
    monkeypatch.setattr(grid, "MAX_EVALUATIONS", 3000)
    target, _ = bimodal(3.0, 12)
    with pytest.raises(JobError, match=r"more than 3000 evaluations .* give reference: long-run"):
        grid.sample(np.random.default_rng(1), target, 10)


@dataclass(frozen=True)
class Waiting(RowsModel):
    """x ~ N(theta_2, 1), theta_1 ~ Exponential(3) where it is positive, theta_2 ~ N(0, 1)."""

    num_rows: Rows
    beyond: float  # what the log prior ratio is where theta_1 is not positive

    dimension = 2
    row_length = 1
    true_theta = np.array([0.3, 0.0])

    def log_likelihood(self, theta, rows):
        return -((rows[:, 0] - theta[1]) ** 2) / 2

    def gradient(self, theta, rows):
        return np.column_stack([np.zeros(len(rows)), rows[:, 0] - theta[1]])

    def log_prior_ratio(self, theta, theta_new):
        if theta_new[0] <= 0:
            return self.beyond
        return 3 * (theta[0] - theta_new[0]) + (theta[1] ** 2 - theta_new[1] ** 2) / 2

    def grad_log_prior(self, theta):
        return np.array([-3.0, -theta[1]])


@pytest.mark.parametrize("beyond", [-math.inf, math.nan])
def test_an_edge_of_the_posterior_is_refused_by_a_grid_and_not_smoothed_over(beyond, monkeypatch):
    mode = Mode(np.array([0.2, 0.0]), np.diag([0.1, 0.2]), 0.0)
    monkeypatch.setattr(grid, "find_modes", lambda rng, target: [mode])
    target = Target(Waiting(num_rows=4, beyond=beyond), np.zeros((4, 1)))
    with pytest.raises(JobError, match="a grid cannot follow a posterior up to an edge"):
        grid.sample(np.random.default_rng(1), target, 100)


def test_draws_within_a_cell_are_log_linear():
    rng = np.random.default_rng(1)
    for slope in (0.0, 1e-8, 2.0, -3.0, 900.0):
        x = grid.log_linear(rng.random((20_000, 1)), np.full((20_000, 1), slope))[:, 0]
        assert (abs(x) <= 0.5).all()
        if abs(slope) > 1e-3:
            x = x if slope > 0 else -x
            exact = stats.truncexpon(b=abs(slope), scale=1 / abs(slope))
            assert stats.kstest(0.5 - x, exact.cdf).pvalue > 1e-3
        else:
            assert stats.kstest(x, stats.uniform(-0.5, 1).cdf).pvalue > 1e-3


def test_a_posterior_that_is_not_nearly_normal_is_refused_by_independent_proposals(published):
    rng = np.random.default_rng(4)
    target, _ = bimodal(1.2, 200)
    with pytest.raises(JobError, match=r"not nearly normal, .*: 2 modes were found"):
        independence.sample(rng, target, 100)
    target, _ = published("circle")
    with pytest.raises(JobError, match="not nearly normal, as reference: normal asks for"):
        independence.sample(rng, target, 100)


def test_a_twin_that_is_not_nearly_normal_has_the_reference_that_the_study_names():
    target, _ = bimodal(1.2, 200)
    with pytest.raises(JobError, match="2 modes were found"):
        rehearsal.exact_draws(np.random.default_rng(4), target)
    draws, kind = rehearsal.exact_draws(np.random.default_rng(4), target, "grid")
    assert kind == "reference: grid" and draws.shape == (rehearsal.EXACT_DRAWS, 2)
