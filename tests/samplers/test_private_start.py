"""Chains that start from a private answer, in units of its scale."""

import math

import numpy as np
import pytest
from conftest import mechanism_of
from row_models import PlainLogisticRows
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.recording import RecordedStreams

BANANA = dpmcmc.Banana(
    dimension=3,
    num_rows=300,
    curvature=0.5,
    prior_variance=1.0,
    likelihood_variances=[2.0, 0.5],
    true_position=[0.2, 1.0],
)
UNITS = np.array([0.1, -0.2, 0.3]), np.array([[0.5, 0, 0], [0.2, 0.4, 0], [-0.1, 0.3, 0.7]])
STATISTICS = dpmcmc.NoisyStatistics()


def logistic():
    """A model of rows with data."""
    model = PlainLogisticRows(3, 300)
    return dpmcmc.Target(model, model.simulate(np.random.default_rng(1)))


def banana():
    """An exponential family with data."""
    return dpmcmc.Target(BANANA, BANANA.simulate(np.random.default_rng(1)))


def robust():
    """A model in JAX with data."""
    pytest.importorskip("jax")
    from jax_models import LogisticJax

    model = LogisticJax(3, 300)
    return dpmcmc.Target(model, model.simulate(np.random.default_rng(1)))


@pytest.mark.parametrize("made", [banana, logistic])
def test_other_units_change_the_clip_of_gradients_and_nothing_else(made):
    target = made()
    view, (centre, factor) = target.in_units(*UNITS), UNITS
    z, z_new = np.array([0.3, -0.1, 0.4]), np.array([0.2, 0.5, -0.3])
    theta, theta_new = centre + factor @ z, centre + factor @ z_new
    for bound in (0.1, math.inf):
        assert view.clipped_log_likelihood_ratio(z, z_new, bound) == pytest.approx(
            target.clipped_log_likelihood_ratio(theta, theta_new, bound), rel=1e-9
        )
    rows = np.arange(300)
    gradients, _ = target.row_gradients(theta, rows=rows)
    gradients = gradients @ factor
    lengths = np.linalg.norm(gradients, axis=1)
    bound = np.median(lengths)
    expected = (gradients * np.minimum(1, bound / lengths)[:, None]).sum(axis=0)
    total, num_clipped = view.clipped_gradient(z, bound)
    assert total == pytest.approx(expected, rel=1e-9)
    assert num_clipped == (lengths > bound).sum()
    assert view.gradient(z) == pytest.approx(factor.T @ target.gradient(theta), rel=1e-9)
    assert view.log_density_ratio(z, z_new) == pytest.approx(
        target.log_density_ratio(theta, theta_new), rel=1e-9
    )
    assert target.in_units(*UNITS) is view


def test_models_of_jax_can_be_put_in_units():
    target = robust()
    view, (centre, factor) = target.in_units(*UNITS), UNITS
    z = np.array([0.3, -0.1, 0.4])
    assert view.gradient(z) == pytest.approx(
        factor.T @ target.gradient(centre + factor @ z), rel=1e-9
    )


def started(start=STATISTICS, **settings):
    """A chain from a private start."""
    chain = dpmcmc.DPPenalty(dpmcmc.GaussianWalk(0.3), noise_scale=0.2, clip_bound=0.2)
    return dpmcmc.PrivateStart(chain, start, **settings)


def test_start_and_steps_spend_the_budget_together():
    sampler = dpmcmc.for_budget(started(start_share=0.25), 300, 2.0)
    whole = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), 300, 2.0)
    assert sampler.start.noise_scale == pytest.approx(2 * whole.noise_scale, rel=1e-5)
    k = dpmcmc.iterations(sampler, 300, 2.0)
    assert dpmcmc.epsilon(sampler, 300, k) <= 2.0 < dpmcmc.epsilon(sampler, 300, k + 1)
    # Three quarters of mu^2 are left for the steps.
    step = mechanism_of(sampler.chain, 300).mu ** 2
    assert k == pytest.approx(0.75 / whole.noise_scale**2 / step, abs=1)
    # Each of two chains has a start of its own.
    of_two = dpmcmc.iterations(sampler, 300, 2.0, chains=2)
    assert of_two == pytest.approx(0.25 / whole.noise_scale**2 / step, abs=1)


@pytest.mark.parametrize(
    ("made", "start", "num_released"),
    [
        (banana, dpmcmc.NoisyStatistics(shares=[0.2, 0.8]), 4),  # two of how far rows are
        (logistic, dpmcmc.NoisyNewton(shares=[0.1, 0.3, 0.6]), 3),
    ],
)
def test_it_starts_at_a_draw_of_the_answer_and_its_scale_is_that_of_the_answer(
    made, start, num_released
):
    target = made()
    sampler = dpmcmc.for_budget(started(start, start_share=0.5), 300, 100.0)
    rng = RecordedStreams(*streams(3))
    step = rng.step(sampler, None, target)
    assert len(step.released) == num_released
    (centre, factor), _ = step.state.memory
    exact = long_chain(target)
    sd = exact.std(axis=0)
    assert np.abs((centre - exact.mean(axis=0)) / sd).max() < 1
    assert np.sqrt(np.diag(factor @ factor.T)) == pytest.approx(sd, rel=0.3)
    chain = dpmcmc.run_chain(sampler, target, streams(3), None, 50)
    assert math.isnan(chain.preparation.misfit)  # of the start it would say nothing of the chain
    assert (chain.start == step.state.position).all()
    assert 0.1 < chain.is_accepted.mean() < 1


def long_chain(target):
    """Draws of the posterior without privacy."""
    sampler = dpmcmc.HMC(0.03, 10)
    return dpmcmc.run_chain(sampler, target, streams(1), np.zeros(3), 2000).positions[500:]


def test_what_is_no_start_or_no_chain_is_refused():
    walk = dpmcmc.GaussianWalk(1.0)
    with pytest.raises(
        ValueError,
        match=r"^start: must prepare and have free steps, .*, not StartP",
    ):
        dpmcmc.PrivateStart(dpmcmc.DPPenalty(walk, 0.1, 1.0), dpmcmc.StartPoint())
    with pytest.raises(ValueError, match=r"^start: goes with a private chain, which Met"):
        dpmcmc.PrivateStart(dpmcmc.Metropolis(walk), dpmcmc.NoisyStatistics())
