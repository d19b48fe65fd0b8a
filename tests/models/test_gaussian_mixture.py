"""The mixture: its likelihood from the definition, its two modes, draws from the grid."""

import numpy as np
import pytest
from scipy import stats

from dpmcmc.evaluation import grid
from dpmcmc.evaluation.checking.models import check_model
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian_mixture import GaussianMixture

MODEL = GaussianMixture(2000, 2.0, [10.0, 1.0], [0.0, 1.0], tempered_rows=100)


def test_rows_have_the_density_of_the_mixture():
    rng = np.random.default_rng(1)
    theta, theta_new, rows = np.array([0.3, 1.2]), np.array([0.9, -0.7]), rng.normal(size=(50, 1))

    def log_density(theta):
        parts = [stats.norm(mean, np.sqrt(2)).pdf(rows[:, 0]) for mean in (theta[0], theta.sum())]
        return np.log(sum(parts) / 2)

    np.testing.assert_allclose(
        MODEL.log_likelihood_ratio(theta, theta_new, rows),
        log_density(theta_new) - log_density(theta),
        rtol=1e-10,
        atol=1e-12,
    )
    twin = np.array([theta.sum(), -theta[1]])
    assert MODEL.log_likelihood_ratio(theta, twin, rows) == pytest.approx(0, abs=1e-14)
    prior = stats.norm(0, np.sqrt([10, 1]))
    expected = prior.logpdf(theta_new).sum() - prior.logpdf(theta).sum()
    assert MODEL.log_prior_ratio(theta, theta_new) == pytest.approx(expected)


@pytest.mark.parametrize("far", [1e3, -1e8, 1e100, 1e200])
def test_far_rows_have_the_ratio_of_the_nearer_component(far):
    """ln p is then -(x - mean)^2 / 4: its difference is (m' - m) (2 x - m' - m) / 4."""
    theta, theta_new = np.array([0.5, 1.25]), np.array([0.25, 2.5])  # exact in binary
    near, near_new = (1.75, 2.75) if far > 0 else (0.5, 0.25)
    expected = (near_new - near) * (2 * far - near_new - near) / 4
    with np.errstate(over="raise", invalid="raise"):
        ratio = MODEL.log_likelihood_ratio(theta, theta_new, np.array([[far]]))
    np.testing.assert_allclose(ratio, expected, rtol=1e-14)


@pytest.mark.parametrize("far", [1e3, 1e100, -1e160])
def test_far_rows_have_gradients_without_overflow(far):
    with (
        np.errstate(all="raise", under="ignore") if abs(far) < 1e100 else np.errstate(all="ignore")
    ):
        gradients = MODEL.gradient(np.array([0.0, 1.0]), np.array([[far]]))
    assert gradients.shape == (1, 2)
    if abs(far) < 1e100:
        nearer = 1 if far > 0.5 else 0  # of the two means, 0 and 1
        np.testing.assert_allclose(gradients[0, 0], (far - nearer) / 2)


def test_data_are_of_both_components():
    rows = MODEL.simulate(np.random.default_rng(2), np.array([-5.0, 20.0]))[:, 0]
    counts = (rows < 5).sum(), (rows > 5).sum()
    assert stats.binomtest(counts[0], 2000, 0.5).pvalue > 1e-3
    assert rows[rows < 5].mean() == pytest.approx(-5, abs=0.2)
    assert rows[rows > 5].var() == pytest.approx(2, rel=0.2)


def test_chains_start_about_the_true_position_where_the_model_says_so():
    model = GaussianMixture(2000, 2.0, [10.0, 1.0], [0.0, 1.0], start_sd=1.0)
    rng, reference = np.random.default_rng(5), np.zeros((10, 2))
    starts = np.array([model.start_point(rng, reference) for _ in range(4000)])
    assert starts.mean(axis=0) == pytest.approx([0, 1], abs=0.07)
    assert starts.std(axis=0) == pytest.approx(1, abs=0.05)
    assert (MODEL.start_point(rng, reference) == [0, 1]).all()  # by the spread of the reference


def test_the_mirrored_place_has_the_same_likelihood():
    rows, theta = np.random.default_rng(6).normal(size=(20, 1)), np.array([0.4, -1.3])
    twin = MODEL.mirrored(theta)
    assert MODEL.log_likelihood_ratio(theta, twin, rows) == pytest.approx(0, abs=1e-14)
    assert MODEL.mirrored(twin) == pytest.approx(theta)


def test_a_grid_of_half_the_step_gives_the_same_draws(monkeypatch):
    target, widths = Target(MODEL, MODEL.simulate(np.random.default_rng(3))), []

    class Recorded(grid.Grid):
        def __init__(self, *args):
            super().__init__(*args)
            widths[-1] = self.widths  # in the end those of the last grid

    monkeypatch.setattr(grid, "Grid", Recorded)

    def draws(seed, fine):
        widths.append(None)
        return grid.sample(np.random.default_rng(seed), target, 20_000, fine)

    coarse, fine = draws(7, grid.FINE), draws(8, grid.FINE / 4)
    assert widths[0] / widths[1] == pytest.approx(2, rel=1e-3)  # both boxes are about found modes
    for j in range(2):
        assert stats.ks_2samp(coarse[:, j], fine[:, j]).pvalue > 1e-3
    product = [sample[:, 0] * sample[:, 1] for sample in (coarse, fine)]
    assert stats.ks_2samp(*product).pvalue > 1e-3


def test_it_passes_its_check():
    findings = list(check_model(GaussianMixture(1000, 2.0, [10.0, 1.0], [0.0, 1.0])))
    assert not [finding for finding in findings if finding.passed is False]


def test_the_grid_finds_both_modes_in_the_proportion_of_the_density():
    """Compared with a plain grid of the density, summed over either side of theta_2 = 0."""
    target = Target(MODEL, MODEL.simulate(np.random.default_rng(3)))
    draws = grid.sample(np.random.default_rng(4), target, 20_000)
    first, second = np.linspace(-1.5, 2.5, 81), np.linspace(-3, 3, 121)
    origin = np.array([0.0, 1.0])
    log_density = np.array(
        [[target.log_density_ratio(origin, np.array([a, b])) for b in second] for a in first]
    )
    density = np.exp(log_density - log_density.max())
    share = density[:, second > 0].sum() / density[:, second != 0].sum()
    found = (draws[:, 1] > 0).mean()
    assert abs(found - share) < 4.5 * np.sqrt(share * (1 - share) / 20_000) + 0.005
    assert 0.2 < share < 0.98
