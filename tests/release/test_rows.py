"""Sums for a release: what one row moves, rounding included, and the order of the file."""

import numpy as np
import pytest
from jax_models import BananaJax
from row_models import PlainBananaRows

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.rows import RowsModel
from dpmcmc.release.rows import RowByRow, in_file_order
from dpmcmc.release.streams import widening
from dpmcmc.samplers.safe_radius import (
    SHELLS_SENSITIVITY,
    SKEW_SENSITIVITY,
    sums_of_far_rows,
)

ROWS = 5000
HOSTILE = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e6, 0.0)
BANANA = Banana(
    dimension=2,
    num_rows=ROWS,
    curvature=3.0,
    prior_variance=1e3,
    likelihood_variances=[2, 0.5],
    true_position=[0, 1],
)
MODELS = {"affine": BANANA, "rows": PlainBananaRows(BANANA), "jax": BananaJax(BANANA)}


def hostile(rng, kind):
    """Rows (n, 2): clusters, offsets and far rows, in all sizes."""
    rows = rng.standard_normal((ROWS, 2)) * 10.0 ** rng.uniform(-2, 2)
    if kind % 3 == 1:
        rows += 10.0 ** rng.uniform(1, 9)
    if kind % 3 == 2:
        far = rng.integers(ROWS, size=ROWS // 20)
        rows[far] *= 10.0 ** rng.uniform(0, 12, (len(far), 1))
    return rows


def data_of(model, rows):
    return np.ascontiguousarray(rows.T if model is BANANA else rows)


def sums(target, theta, theta_new, bound, batch):
    """Everything of the rows that a sampler may release, by what one row moves it at most."""
    yield target.clipped_log_likelihood_ratio(theta, theta_new, bound)[0], 2 * bound
    yield target.clipped_gradient(theta, bound)[0], 2 * bound
    yield target.clipped_information(theta, bound)[0], 2 * bound
    for chosen in (batch, np.isin(np.arange(ROWS), batch)):
        yield target.clipped_batch_ratio(theta, theta_new, bound, chosen)[0], 2 * bound
        yield target.clipped_batch_gradient(theta, bound, chosen)[0], 2 * bound
    if hasattr(target.likelihood, "statistic_sum"):
        whiten = np.array([[2.0, 0.3], [0.0, 1.0]])
        yield target.clipped_statistics(theta, whiten, bound)[0], 2 * bound
        skew, shells = sums_of_far_rows(target.data, theta, whiten, 1.0)
        yield skew, SKEW_SENSITIVITY
        yield shells, SHELLS_SENSITIVITY


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_a_hostile_row_moves_no_sum_by_more_than_its_share(kind):
    model, rng, largest = MODELS[kind], np.random.default_rng(7), 0.0
    for trial in range(12):
        rows = hostile(rng, trial)
        theta = rows[rng.integers(ROWS)] + rng.standard_normal(2)
        theta_new = theta + rng.standard_normal(2) * 10.0 ** rng.uniform(-3, 1)
        bound = 10.0 ** rng.uniform(-3, 2)
        batch = rng.permutation(ROWS)[:700]
        changed = rows.copy()
        changed[batch[3]] = rng.choice(HOSTILE) if trial % 2 else rng.standard_normal(2)
        pair = [
            sums(RowByRow(model, data_of(model, one), "clip"), theta, theta_new, bound, batch)
            for one in (rows, changed)
        ]
        for (one, sensitivity), (other, _) in zip(*pair, strict=True):
            moved = np.linalg.norm(np.subtract(one, other)) / sensitivity
            largest = max(largest, moved)
            assert moved <= 1 + widening(ROWS, np.size(one))
    assert largest > 0.4  # the rows were hostile


@pytest.mark.parametrize("kind", MODELS)
def test_they_are_the_sums_of_other_targets(kind):
    model, rng = MODELS[kind], np.random.default_rng(1)
    data = data_of(model, rng.standard_normal((ROWS, 2)))
    theta, theta_new = np.array([0.1, 0.9]), np.array([0.2, 1.0])
    batch = rng.permutation(ROWS)[:700]
    pair = [sums(kind(model, data), theta, theta_new, 0.7, batch) for kind in (RowByRow, Target)]
    for (one, _), (other, _) in zip(*pair, strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9)


def test_shortcuts_are_not_taken(monkeypatch):
    from dpmcmc.likelihoods import affine

    def refuse(*_):
        raise AssertionError

    for name in ("RatioSums", "BatchRatioSums", "GradientSums", "BlockedGradients", "Blocks"):
        monkeypatch.setattr(affine, name, refuse)
    target = RowByRow(BANANA, BANANA.dataset(np.random.default_rng(1)))
    for _ in range(200):
        list(sums(target, np.zeros(2), np.ones(2), 0.5, np.arange(100)))
    target.clipped_gradient(np.zeros(2), np.inf)


def test_in_other_units_rows_are_read_by_themselves_as_well():
    target = RowByRow(BANANA, BANANA.dataset(np.random.default_rng(1)))
    inner = target.in_units(np.ones(2), np.eye(2))
    assert type(inner) is RowByRow
    assert type(inner.likelihood) is type(target.likelihood)


def test_rows_stay_in_the_order_of_the_file():
    rows = np.random.default_rng(1).standard_normal((50, 2))
    model = Gaussian(50, 1.0, [[1, 0], [0, 1]], [0.0, 0.0])
    assert (in_file_order(model, rows) == rows.T).all()
    assert (in_file_order(PlainBananaRows(BANANA), rows) == rows).all()
    assert not (model.from_rows(rows) == rows.T).all()


def test_models_that_see_rows_in_a_way_of_their_own_are_refused():
    class Sorts(PlainBananaRows):
        def from_rows(self, rows):
            return np.sort(rows, axis=0)

        def likelihood(self, data):
            return type("Own", (), {"num_rows": len(data)})()

    with pytest.raises(ValueError, match="has a from_rows of its own"):
        in_file_order(Sorts(BANANA), np.zeros((3, 2)))
    assert issubclass(Sorts, RowsModel)
    with pytest.raises(ValueError, match="has a likelihood of its own"):
        RowByRow(Sorts(BANANA), np.zeros((ROWS, 2)))
