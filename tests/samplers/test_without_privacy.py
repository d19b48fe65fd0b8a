"""Samplers that are none: exact draws of the posterior, and a chain that never moves."""

import numpy as np
import pytest
from conftest import SMALL_MODELS
from scipy import stats
from test_samplers import make_target, observables, streams

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.exact_posterior import ExactPosterior
from dpmcmc.samplers.start_point import StartPoint


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("at_once", [1, 700, 10_000])
def test_exact_draws_have_the_distribution_of_the_posterior(model, at_once):
    target, size = make_target(model), 4000
    start = np.full(target.model.dimension, 50.0)  # far away, and forgotten
    found = run_chain(ExactPosterior(at_once), target, streams(2), start, size).positions
    expected = target.model.sample_posterior(np.random.default_rng(9), target.data, size)
    assert found.shape == expected.shape and len(np.unique(found, axis=0)) == size
    for a, b in zip(found.T, expected.T, strict=True):
        assert stats.ks_2samp(a, b).pvalue > 1e-4
    centre, spread = expected.mean(axis=0), expected.std(axis=0)
    a, b = (observables(sample, None, centre, spread) for sample in (found, expected))
    errors = np.sqrt((a.var(axis=0) + b.var(axis=0)) / size)
    assert abs((a.mean(axis=0) - b.mean(axis=0)) / errors).max() < 4.5
    # No draw tells of the one before it.
    z = (found - centre) / spread
    assert abs((z[1:] * z[:-1]).mean(axis=0)).max() < 4.5 / np.sqrt(size)


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 15])
def test_draws_come_from_the_stream_of_proposals_as_many_as_asked(count):
    target = make_target("banana")
    chain = run_chain(ExactPosterior(7), target, streams(4), np.zeros(3), count)
    rng = streams(4).proposal
    batches = [target.model.sample_posterior(rng, target.data, 7) for _ in range(3)]
    np.testing.assert_array_equal(chain.positions, np.concatenate(batches)[:count])
    assert chain.is_accepted.all() and not chain.is_changed.any()
    assert (chain.clip_fraction == 0).all()


def test_the_data_are_read_once_for_so_many_draws(monkeypatch):
    target, asked = make_target("gaussian"), []
    sample = type(target.model).sample_posterior
    monkeypatch.setattr(
        type(target.model),
        "sample_posterior",
        lambda self, rng, data, size: asked.append(size) or sample(self, rng, data, size),
    )
    run_chain(ExactPosterior(10), target, streams(4), np.zeros(2), 31)
    run_chain(ExactPosterior(), target, streams(4), np.zeros(2), 1000)
    assert asked == [10, 10, 10, 10, 1000]


def test_two_chains_of_one_sampler_do_not_share_draws():
    """What is drawn ahead belongs to the chain, not to the settings."""
    target, sampler = make_target("gaussian"), ExactPosterior(50)
    first, second = (
        run_chain(sampler, target, streams(seed), np.zeros(2), 20).positions for seed in (1, 2)
    )
    assert not np.isin(first, second).any()
    again = run_chain(sampler, target, streams(1), np.ones(2), 20).positions
    np.testing.assert_array_equal(again, first)


class NoDraws(type(SMALL_MODELS["gaussian"])):
    """A model whose posterior nobody can draw from."""

    sample_posterior = ExponentialFamily.sample_posterior


def test_a_model_without_exact_draws_is_named():
    model = NoDraws(30, 2.0, [[1.0]], [0.3])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    with pytest.raises(NotImplementedError, match=r"^NoDraws has no sample_posterior"):
        run_chain(ExactPosterior(), target, streams(1), np.zeros(1), 1)


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("count", [0, 1, 50])
def test_a_chain_at_its_start_point_never_moves(model, count):
    target, rng = make_target(model), streams(1)
    start = np.random.default_rng(3).standard_normal(target.model.dimension)
    chain = run_chain(StartPoint(), target, rng, start, count)
    np.testing.assert_array_equal(chain.positions, np.tile(start, (count, 1)))
    assert not chain.is_accepted.any() and (chain.clip_fraction == 0).all()
    for used, fresh in zip(rng, streams(1), strict=True):  # and draws nothing
        assert used.bit_generator.state == fresh.bit_generator.state


def test_neither_claims_to_be_private():
    assert not ExactPosterior.is_private and not StartPoint.is_private
