"""The three kinds of likelihood give the same sums, and deal alike with rows not finite."""

import math
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jax_models import BananaJax, LogisticJax
from row_models import BananaRows, LogisticRows, PlainBananaRows, PlainLogisticRows

from dpmcmc.likelihoods import rows as rows_likelihood
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.jax import JaxModel
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows

CLOSE = 1e-10


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of rows that are not the whole data set."""
    monkeypatch.setattr(rows_likelihood, "BLOCK", 2048)


def batches(rng, n):
    """Indices and masks of few rows, of many, of one and of all."""
    for b in {1, n // 7 + 1, n}:
        yield rng.choice(n, b, replace=False)
    for share in (0.0, 0.02, 0.6, 1.0):
        yield rng.random(n) < share


def positions(rng, centre, count):
    """Steps of all sizes about a point; in part of one component."""
    for i in range(count):
        theta = centre + 10.0 ** rng.uniform(-2, 0) * rng.standard_normal(len(centre))
        step = 10.0 ** rng.uniform(-2.5, 0.3) * rng.standard_normal(len(centre))
        if i % 3 == 0:
            step[1:] = 0
        yield theta, theta + step


def check_ratios(result, ratios, bound):
    """(total, squares, clipped) against those of the ratios of single rows."""
    clipped = np.clip(ratios, -bound, bound)
    total, squares, num_clipped = result
    assert total == pytest.approx(clipped.sum(), rel=CLOSE, abs=CLOSE * abs(clipped).sum())
    assert squares == pytest.approx((clipped**2).sum(), rel=CLOSE)
    assert num_clipped == (abs(ratios) > bound).sum()


def check_gradients(result, gradients, bound):
    norms = np.linalg.norm(gradients, axis=1)
    clipped = gradients * np.minimum(1, bound / norms)[:, None]
    total, num_clipped = result
    scale = np.minimum(norms, bound).sum()
    np.testing.assert_allclose(total, clipped.sum(axis=0), rtol=0, atol=CLOSE * scale)
    assert num_clipped == (norms > bound).sum()


def check(target, rng, ratios_of, gradients_of, count=12):
    """A target against the ratios (n,) and gradients (n, d) of single rows."""
    n = target.num_rows
    for theta, theta_new in positions(rng, target.model.true_theta, count):
        ratios, gradients = ratios_of(theta, theta_new), gradients_of(theta)
        norms = np.linalg.norm(gradients, axis=1)
        prior = target.model.log_prior_ratio(theta, theta_new)
        exact = target.likelihood_power * ratios.sum() + prior
        scale = abs(ratios).sum() + abs(prior)
        assert target.log_density_ratio(theta, theta_new) == pytest.approx(
            exact, rel=CLOSE, abs=CLOSE * scale
        )
        for share in (0.0, 0.3, 0.9, 2.0, math.inf):
            bound, gradient_bound = share * abs(ratios).max(), (share or 1e-12) * norms.max()
            total, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
            check_ratios(
                (total, (np.clip(ratios, -bound, bound) ** 2).sum(), num_clipped), ratios, bound
            )
            check_gradients(
                target.clipped_gradient(theta, gradient_bound), gradients, gradient_bound
            )
        bound, gradient_bound = 0.4 * abs(ratios).max(), 0.4 * norms.max()
        for batch in batches(rng, n):
            result = target.clipped_batch_ratio(theta, theta_new, bound, batch)
            check_ratios(result, ratios[batch], bound)
            result = target.clipped_batch_gradient(theta, gradient_bound, batch)
            check_gradients(result, gradients[batch], gradient_bound)


@pytest.mark.parametrize(
    ("kind", "n", "d"),
    [
        (kind, n, d)
        for kind in (None, PlainBananaRows, BananaRows, BananaJax)
        for n, d in ((2, 2), (4097, 2), (9001, 5))
        if kind is None or n != 4097  # from where on an exponential family prepares its rows
    ],
)
def test_every_kind_gives_the_sums_of_the_banana(kind, n, d, small_blocks):
    rng = np.random.default_rng(n)
    banana = Banana(d, n, 1.5, 1000, [20, 2.5], [0, 3], n // 2)
    statistics = banana.dataset(rng)
    target = Target(kind(banana), statistics.T) if kind else Target(banana, statistics)

    def ratios(theta, theta_new):
        slope, intercept = banana.ratio_coefficients(theta, theta_new)
        return slope @ statistics - intercept

    def gradients(theta):
        jacobian, offset = banana.gradient_coefficients(theta)
        return statistics.T @ jacobian - offset

    check(target, rng, ratios, gradients)


@pytest.mark.parametrize("kind", [PlainLogisticRows, LogisticRows, LogisticJax])
@pytest.mark.parametrize(("n", "d"), [(9001, 10)])
def test_every_kind_gives_the_sums_of_a_logistic_regression(kind, n, d, small_blocks):
    rng = np.random.default_rng(n)
    model = kind(d, n)
    data = model.simulate(rng)
    x, y = data[:, :-1], data[:, -1]

    def ratios(theta, theta_new):
        sign = 2 * y - 1
        return np.logaddexp(0, -sign * (x @ theta)) - np.logaddexp(0, -sign * (x @ theta_new))

    def gradients(theta):
        return (y - 1 / (1 + np.exp(-x @ theta)))[:, None] * x

    check(Target(model, data), rng, ratios, gradients)


class Linear:
    """ln p(x | theta) = theta . x - theta . theta / 2, up to a constant: x ~ N(theta, I)."""

    dimension = row_length = 2
    true_theta = np.zeros(2)

    def log_prior_ratio(self, theta, theta_new):
        return 0.0


@dataclass(frozen=True)
class LinearFamily(Linear, ExponentialFamily):
    num_rows: Rows

    def ratio_coefficients(self, theta, theta_new):
        return theta_new - theta, 0.5 * (theta_new @ theta_new - theta @ theta)

    def gradient_coefficients(self, theta):
        return np.eye(2), theta


@dataclass(frozen=True)
class LinearRows(Linear, RowsModel):
    num_rows: Rows

    def log_likelihood(self, theta, rows):
        return rows @ theta - 0.5 * (theta @ theta)

    def gradient(self, theta, rows):
        return rows - theta


@dataclass(frozen=True)
class LinearJax(Linear, JaxModel):
    num_rows: Rows

    def log_likelihood_row(self, theta, row):
        return row @ theta - 0.5 * (theta @ theta)


KINDS = [LinearFamily, LinearRows, LinearJax]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("kind", "n"), [(LinearFamily, 50), *((kind, 5000) for kind in KINDS)])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_that_are_not_finite_are_clipped_alike(kind, n, bad, small_blocks):
    """A ratio that is no number counts as 0, an infinite one as the bound, a gradient as zero."""
    rng = np.random.default_rng(n)
    data = rng.standard_normal((n, 2))
    theta, theta_new, bound = np.array([-0.5, -0.2]), np.array([0.7, 0.4]), 1.0
    i = n // 2
    others = np.delete(np.arange(n), i)
    ratios = data @ (theta_new - theta) - 0.5 * (theta_new @ theta_new - theta @ theta)
    clipped = np.clip(ratios[others], -bound, bound)
    gradients = data[others] - theta
    norms = np.linalg.norm(gradients, axis=1)
    gradient = (gradients * np.minimum(1, bound / norms)[:, None]).sum(axis=0)
    counts = (abs(ratios[others]) > bound).sum() + 1, (norms > bound).sum() + 1
    total = clipped.sum() + (0.0 if math.isnan(bad) else math.copysign(bound, bad))
    squares = (clipped**2).sum() + (0.0 if math.isnan(bad) else bound**2)
    data[i, 0] = bad
    target = Target(kind(n), data.T if kind is LinearFamily else data, nonfinite="clip")
    found = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
    assert found == (pytest.approx(total, rel=CLOSE), counts[0])
    for batch in (np.arange(n), np.full(n, True)):
        found = target.clipped_batch_ratio(theta, theta_new, bound, batch)
        assert found == (pytest.approx(total), pytest.approx(squares), counts[0])
        found, count = target.clipped_batch_gradient(theta, bound, batch)
        np.testing.assert_allclose(found, gradient, rtol=CLOSE)
        assert count == counts[1]
    found, count = target.clipped_gradient(theta, bound)
    np.testing.assert_allclose(found, gradient, rtol=CLOSE)
    assert count == counts[1]
    found, count = target.clipped_gradient(theta, math.inf)
    np.testing.assert_allclose(found, gradients.sum(axis=0), rtol=CLOSE)
    assert count == 1
    assert not math.isfinite(target.log_density_ratio(theta, theta_new))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_proposal_that_is_not_finite_is_rejected_without_reading_the_data(kind, bad):
    target = Target(kind(10), np.full((2, 10) if kind is LinearFamily else (10, 2), 0.5))
    theta, theta_new = np.zeros(2), np.array([0.1, bad])
    with np.errstate(all="ignore"):
        target.likelihood.statistics = target.likelihood.rows = None
        assert target.clipped_log_likelihood_ratio(theta, theta_new, 1.0) == (-math.inf, 0)
        result = target.clipped_batch_ratio(theta, theta_new, 1.0, np.arange(3))
        assert result == (-math.inf, 0.0, 0)


def test_no_size_of_a_batch_is_compiled_anew():
    banana = Banana(2, 9001, 1.5, 1000, [20, 2.5], [0, 3])
    model = BananaJax(banana)
    theta = banana.true_theta
    for seed in range(2):  # of data sets that share what is compiled
        target = Target(model, model.simulate(np.random.default_rng(seed)))
        for size in (1, 10, 4096, 4097, 9001):
            target.clipped_batch_ratio(theta, theta + 0.1, 1.0, np.arange(size))
            target.clipped_batch_gradient(theta, 1.0, np.arange(9001) < size)
        target.clipped_gradient(theta, 2.0)
        target.clipped_log_likelihood_ratio(theta, theta + 0.2, math.inf)
    compiled = [
        function for one in (model.passes.ratios, model.passes.gradients) for function in one
    ]
    assert [function._cache_size() for function in compiled] == [1] * 4


@pytest.mark.parametrize("n", [100, 4096, 4097, 9001])
def test_one_call_for_all_rows_gives_the_digits_of_a_call_a_block(n):
    banana = Banana(2, n, 1.5, 1000, [20, 2.5], [0, 3])
    model, theta = BananaJax(banana), np.array(banana.true_theta)
    rows = model.simulate(np.random.default_rng(3))
    rows[n // 2], rows[n // 3] = np.nan, 1e300
    target, every = Target(model, rows, nonfinite="clip"), np.arange(n)
    for bound in (0.01, 1.0, math.inf):
        ratios, gradients = (theta, theta + 0.1, bound), (theta, bound)
        of_blocks = target.clipped_batch_ratio(*ratios, every)
        assert target.likelihood.batch_ratio_sum(*ratios) == of_blocks
        total, num_clipped = target.clipped_batch_gradient(*gradients, every)
        of_all, num_of_all = target.clipped_gradient(*gradients)
        assert of_all.tolist() == total.tolist() and num_of_all == num_clipped >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_that_was_used_can_be_pickled(kind):
    """As for processes that are spawned."""
    target = Target(kind(10), np.full((2, 10) if kind is LinearFamily else (10, 2), 0.5))
    arguments = np.zeros(2), np.array([0.1, 0.2]), 1.0
    total = target.clipped_log_likelihood_ratio(*arguments)
    again = pickle.loads(pickle.dumps(target))
    assert again.clipped_log_likelihood_ratio(*arguments) == total


def test_jax_computes_with_64_bits():
    assert jnp.zeros(1).dtype == np.float64


def imported_with_jax(platform, before=""):
    """Process that sets JAX's platform, and takes a gradient sum of a model in JAX."""
    code = f"""import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import jax, numpy as np
{before}
from jax_models import LogisticJax
from dpmcmc.likelihoods.target import Target
print(Target(LogisticJax(2, 3), np.eye(3)).gradient(np.ones(2)).tobytes().hex())
print(jax.default_backend())"""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"JAX_PLATFORMS": platform},
        capture_output=True,
        text=True,
    )


def test_jax_computes_on_the_cpu_whatever_its_platform_is_set_to():
    outputs = {imported_with_jax(platform).stdout for platform in ("cpu", "cuda", "tpu,cpu")}
    assert len(outputs) == 1 and outputs.pop().endswith("\ncpu\n")


def test_jax_that_has_started_on_an_accelerator_is_refused_with_one_line():
    """There is none here: JAX is made to say so."""
    result = imported_with_jax("cpu", 'jax.default_backend = lambda: "gpu"')
    *_, line = result.stderr.splitlines()
    assert result.returncode == 1 and not result.stdout
    assert re.match("ImportError: models written in JAX run on the CPU only, .* on gpu in", line)


@pytest.mark.parametrize("batch_kind", ["indices", "mask"])
def test_memory_stays_flat_whatever_the_number_of_rows(batch_kind):
    n, most = 10**7, 8e6  # bytes, of data of 160 million
    rows = np.zeros((n, 2))
    batch = np.arange(n // 100) if batch_kind == "indices" else np.arange(n) % 9 == 0
    for kind in (LinearRows, BananaRows):
        model = kind(n) if kind is LinearRows else kind(Banana(2, n, 1, 1, [1], [0]))
        tracemalloc.start()
        target = Target(model, rows)
        target.clipped_log_likelihood_ratio(np.zeros(2), np.ones(2), 0.5)
        target.clipped_batch_ratio(np.zeros(2), np.ones(2), 0.5, batch)
        target.clipped_gradient(np.ones(2), 0.5)
        target.clipped_batch_gradient(np.ones(2), 0.5, batch)
        target.log_density_ratio(np.zeros(2), np.ones(2))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < most


@dataclass(frozen=True)
class Summed(LinearRows):
    """Mistaken: sums of rows, which no clip could bound."""

    def log_likelihood(self, theta, rows):
        return super().log_likelihood(theta, rows).sum()

    def gradient(self, theta, rows):
        return super().gradient(theta, rows).sum(axis=0)


@dataclass(frozen=True)
class SingleJax(LinearJax):
    """Mistaken: terms of single precision, whose sum one row moves by more than the clip allows."""

    def log_likelihood_row(self, theta, row):
        return super().log_likelihood_row(theta, row).astype(np.float32)


def test_terms_of_single_precision_are_refused():
    model = SingleJax(num_rows=3)
    target = Target(model, np.ones(model.data_shape))
    theta = np.ones(model.dimension)
    with pytest.raises(ValueError, match="must return float64, not float32"):
        target.clipped_log_likelihood_ratio(theta, 2 * theta, 1.0)


@dataclass(frozen=True)
class SummedJax(LinearJax):
    def log_likelihood_row(self, theta, row):
        return row * theta


def test_a_model_that_returns_another_shape_is_refused():
    target = Target(Summed(10), np.zeros((10, 2)))
    with pytest.raises(ValueError, match=r"Summed.log_likelihood: must return .*\(10,\) .* \(\)"):
        target.clipped_log_likelihood_ratio(np.zeros(2), np.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"Summed.gradient: must return .*\(10, 2\) .* \(2,\)"):
        target.clipped_gradient(np.zeros(2), 1.0)
    target = Target(SummedJax(10), np.zeros((10, 2)))
    with pytest.raises(ValueError, match="must return a scalar"):
        target.clipped_log_likelihood_ratio(np.zeros(2), np.ones(2), 1.0)
