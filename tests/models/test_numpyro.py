"""Models that are written in NumPyro."""

import importlib

import numpy as np
import pytest
from scipy import stats

from dpmcmc import registry
from dpmcmc.new_processes import reference

jax_models = pytest.importorskip("dpmcmc.models.jax")
numpyro = pytest.importorskip("numpyro")
dist = importlib.import_module("numpyro.distributions")


JaxModel = jax_models.JaxModel


def lines(rows):
    """A straight line through the origin, of two slopes, with unknown noise."""
    slopes = numpyro.sample("slopes", dist.Normal(0, 2).expand([2]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.5))
    with numpyro.plate("rows", len(rows)):
        numpyro.sample("y", dist.Normal(rows[:, 1:] @ slopes, noise), obs=rows[:, 0])


COLUMNS = "y", "x1", "x2"
THETA, OTHER = np.array([0.3, -0.5, 0.2]), np.array([-0.1, 0.4, -0.6])


@pytest.fixture(scope="module")
def model():
    return JaxModel.from_numpyro(lines, COLUMNS)(num_rows=200)


def log_prior(theta):
    noise = np.exp(theta[2])
    jacobian = theta[2]
    return (
        stats.norm.logpdf(theta[:2], 0, 2).sum()
        + stats.halfnorm.logpdf(noise, scale=1.5)
        + jacobian
    )


def test_theta_is_without_constraint_and_its_prior_has_the_jacobian(model):
    assert model.dimension == 3 and model.columns == COLUMNS
    assert model.parameter_names == ("slopes_0", "slopes_1", "unconstrained_noise")
    found = model.log_prior_ratio(THETA, OTHER)
    assert found == pytest.approx(log_prior(OTHER) - log_prior(THETA), rel=1e-12)
    gradient = [
        (log_prior(THETA + step) - log_prior(THETA - step)) / 2e-5 for step in 1e-5 * np.eye(3)
    ]
    assert model.grad_log_prior(THETA) == pytest.approx(gradient, rel=1e-7)
    assert model.parameters(THETA)["noise"] == pytest.approx(np.exp(0.2), rel=1e-12)


def test_the_sum_over_rows_is_the_likelihood(model):
    data = model.simulate(np.random.default_rng(1), THETA)

    def log_likelihood(theta):
        return stats.norm.logpdf(data[:, 0], data[:, 1:] @ theta[:2], np.exp(theta[2])).sum()

    found = model.likelihood(data).log_ratio(THETA, OTHER)
    assert found == pytest.approx(log_likelihood(OTHER) - log_likelihood(THETA), rel=1e-11)


def test_draws_of_the_prior_and_simulated_rows_are_those_of_the_model(model):
    rng = np.random.default_rng(2)
    draws = np.array([model.sample_prior(rng) for _ in range(400)])
    assert stats.kstest(draws[:, 0], stats.norm(0, 2).cdf).pvalue > 1e-3
    assert stats.kstest(np.exp(draws[:, 2]), stats.halfnorm(scale=1.5).cdf).pvalue > 1e-3
    rows = model.simulate(rng, THETA)
    residuals = (rows[:, 0] - rows[:, 1:] @ THETA[:2]) / np.exp(THETA[2])
    assert stats.kstest(residuals, stats.norm.cdf).pvalue > 1e-3


def test_a_file_may_give_the_class_another_name_than_its_function_has(tmp_path):
    (tmp_path / "sloped.py").write_text(
        "import numpyro\nimport numpyro.distributions as dist\n"
        "from dpmcmc.models.jax import JaxModel\n\n"
        "def sloped(rows):\n"
        "    slope = numpyro.sample('slope', dist.Normal(0, 1))\n"
        "    with numpyro.plate('rows', len(rows)):\n"
        "        numpyro.sample('y', dist.Normal(slope, 1), obs=rows[:, 0])\n\n"
        "Sloped = JaxModel.from_numpyro(sloped, ['y'])\n"
    )
    cls = registry.load(f"{tmp_path / 'sloped.py'}:Sloped")
    assert registry.load(reference(cls)) is cls  # as new processes find it


def test_a_support_may_depend_on_another_variable():
    def scaled(rows):
        top = numpyro.sample("top", dist.LogNormal(0, 1))
        part = numpyro.sample("part", dist.Uniform(0, top))
        with numpyro.plate("rows", len(rows)):
            numpyro.sample("y", dist.Normal(part, 1), obs=rows[:, 0])

    model = JaxModel.from_numpyro(scaled, ["y"])(num_rows=9)

    def density(theta):  # of theta_1, a logistic whatever top is
        return stats.norm.logpdf(theta[0]) + stats.logistic.logpdf(theta[1])

    at, other = np.array([0.2, -0.7]), np.array([-1.0, 0.9])
    assert model.log_prior_ratio(at, other) == pytest.approx(density(other) - density(at))


def test_rows_of_others_have_no_part_in_the_term_of_a_row():
    def centred(rows):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("rows", len(rows)):
            numpyro.sample("y", dist.Normal(slope + rows.mean(), 1), obs=rows[:, 0])

    model = JaxModel.from_numpyro(centred, ["y", "x"])(num_rows=3)
    rows = np.random.default_rng(3).standard_normal((3, 2))
    at, other = np.zeros(1), np.ones(1)
    before = model.likelihood(rows).log_ratio(at, other)
    changed = rows.copy()
    changed[2] += 5
    terms = stats.norm.logpdf(rows[:2, 0], rows[:2].mean(axis=1), 1)  # whatever the third is
    alone = stats.norm.logpdf(rows[:2, 0], 1 + rows[:2].mean(axis=1), 1) - terms
    last = [
        stats.norm.logpdf(r[0], 1 + r.mean(), 1) - stats.norm.logpdf(r[0], r.mean(), 1)
        for r in (rows[2], changed[2])
    ]
    assert before == pytest.approx(alone.sum() + last[0])
    after = model.likelihood(changed).log_ratio(at, other)
    assert after == pytest.approx(alone.sum() + last[1])


def latent_in_plate(rows):
    with numpyro.plate("rows", len(rows)):
        of_row = numpyro.sample("of_row", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(of_row, 1), obs=rows[:, 0])


def two_plates(rows):
    with numpyro.plate("groups", 2):
        means = numpyro.sample("means", dist.Normal(0, 1))
    with numpyro.plate("rows", len(rows)):
        numpyro.sample("y", dist.Normal(means[0], 1), obs=rows[:, 0])


def no_plate(rows):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mean, 1), obs=rows[:, 0])


def few_rows(rows):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("rows", 1):
        numpyro.sample("y", dist.Normal(mean, 1), obs=rows[:1, 0])


def outside(rows):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    numpyro.factor("weight", mean * rows.sum())
    with numpyro.plate("rows", len(rows)):
        numpyro.sample("y", dist.Normal(mean, 1), obs=rows[:, 0])


def discrete(rows):
    mean = numpyro.sample("mean", dist.Poisson(1))
    with numpyro.plate("rows", len(rows)):
        numpyro.sample("y", dist.Normal(mean, 1), obs=rows[:, 0])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (latent_in_plate, "latent_in_plate: of_row is a latent variable inside the plate"),
        (two_plates, "must have one plate, over the rows, not 2"),
        (no_plate, "must have one plate, over the rows, not 0"),
        (few_rows, "the plate rows must be over all rows"),
        (outside, "weight is observed outside the plate"),
        (discrete, "mean is discrete"),
    ],
)
def test_other_models_are_refused_in_a_line(written, expected):
    with pytest.raises(ValueError, match=expected) as caught:
        JaxModel.from_numpyro(written, ["y"])
    assert "\n" not in str(caught.value)
