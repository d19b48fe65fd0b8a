"""Random streams: reproducible, and no two jobs share one."""

import inspect
import itertools
import json

import numpy as np
from conftest import SMALL_MODELS

from dpmcmc.files import read_npz
from dpmcmc.jobs import jobs
from dpmcmc.likelihoods.target import Target
from dpmcmc.models import build_model
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.study.streams import (
    chain_streams,
    clipping_start_point,
    clipping_streams,
    generator,
    start_point,
)


def first_draws(rng):
    return tuple(rng.random(3))


def test_a_stream_is_the_same_in_every_version_of_the_package():
    # Changing these numbers changes every result of every study.
    np.testing.assert_array_equal(
        generator(2021, "data", "circle").integers(1_000_000, size=3), [112169, 903398, 537143]
    )


def test_no_two_jobs_share_a_stream():
    labels = itertools.product([1, 2], ["a", "a-b"], ["dp-penalty", "dp-hmc"], ["1", "11"], [1, 11])
    draws = [first_draws(rng) for job in labels for rng in chain_streams(*job)]
    draws += [first_draws(generator(1, purpose, "a")) for purpose in ("data", "reference", "start")]
    draws += [first_draws(generator(1, "start", "a", seed)) for seed in (0, 1)]
    draws += [first_draws(generator(1, "audit", case)) for case in ("a", "a-1")]
    draws += [first_draws(generator(1, "start", "a-0", 1)), first_draws(generator(1, "data"))]
    assert len(set(draws)) == len(draws)


def test_start_points_depend_on_model_and_seed_alone():
    model, reference = SMALL_MODELS["banana"], np.random.default_rng(0).standard_normal((100, 3))
    points = [tuple(start_point(1, "banana", model, reference, seed)) for seed in range(20)]
    points += [tuple(start_point(1, "other", model, reference, seed)) for seed in range(20)]
    points += [tuple(start_point(2, "banana", model, reference, seed)) for seed in range(20)]
    points.append(tuple(model.start_point(generator(1, "data", "banana"), reference)))
    assert len(set(points)) == 61
    points = points[:20]
    again = [tuple(start_point(1, "banana", model, reference, seed)) for seed in range(20)]
    assert points == again
    # Normal(true theta, s^2 I), s the mean of the reference's standard deviations.
    points = [start_point(1, "banana", model, reference, seed) for seed in range(4000)]
    z = (np.array(points) - model.true_theta) / reference.std(axis=0, ddof=1).mean()
    assert abs(z.mean(axis=0)).max() < 4.5 / np.sqrt(4000)
    assert abs((z**2).mean(axis=0) - 1).max() < 4.5 * np.sqrt(2 / 4000)


def test_a_circle_starts_where_its_configuration_says():
    model, reference = SMALL_MODELS["circle"], np.full((10, 2), 50.0)
    points = [start_point(1, "circle", model, reference, seed) for seed in range(4000)]
    z = (np.array(points) - [0.0, 1.0]) / model.start_sd
    assert abs(z.mean(axis=0)).max() < 4.5 / np.sqrt(4000)
    assert abs((z**2).mean(axis=0) - 1).max() < 4.5 * np.sqrt(2 / 4000)


def test_chains_of_the_clipping_study_share_streams_over_bounds_alone():
    jobs = itertools.product([1, 2], ["a", "b"], ["rwmh", "hmc"], [0, 1])
    draws = [first_draws(rng) for job in jobs for rng in clipping_streams(*job)]
    draws += [first_draws(rng) for rng in chain_streams(1, "a", "rwmh", "1", 0)]
    assert len(set(draws)) == len(draws) == 2**4 * 3 + 3
    assert "bound" not in inspect.signature(clipping_streams).parameters


def test_start_points_of_the_clipping_study_are_spread_about_the_truth():
    model = SMALL_MODELS["banana"]
    points = np.array([clipping_start_point(1, "a", model, 0.05, seed) for seed in range(4000)])
    deviations = (points - model.true_theta) / 0.05
    # Standard errors: 1 / sqrt(n) of a mean, 1 / sqrt(2 n) of a standard deviation.
    np.testing.assert_allclose(deviations.mean(axis=0), 0, atol=4.5 / 4000**0.5)
    np.testing.assert_allclose(deviations.std(axis=0), 1, atol=4.5 / 8000**0.5)


def test_a_clipped_chain_is_the_sampler_of_its_settings(tmp_path):
    settings = {
        "kind": "banana",
        "dimension": 2,
        "num_rows": 50,
        "curvature": 1.0,
        "prior_variance": 10.0,
        "likelihood_variances": [2.0],
        "true_position": [0.0],
    }
    model = build_model(settings)
    data = model.simulate(np.random.default_rng(1))
    np.save(tmp_path / "data.npy", data)
    spec = {
        "study_seed": 5,
        "model": "small",
        "model_settings": settings,
        "algorithm": "rwmh",
        "settings": {"iterations": 80, "proposal_scale": 0.4},
        "start_sd": 0.3,
        "bound": "0.5",
        "seed": 7,
    }
    jobs.clipped_chain(spec, tmp_path / "data.npy", tmp_path / "chain.npz")
    contents = read_npz(tmp_path / "chain.npz")
    start = clipping_start_point(5, "small", model, 0.3, 7)
    expected = run_chain(
        Metropolis(GaussianWalk(0.4), clip_bound=0.5),
        Target(model, data),
        clipping_streams(5, "small", "rwmh", 7),
        start,
        80,
    )
    np.testing.assert_array_equal(contents["positions"], expected.positions)
    np.testing.assert_array_equal(contents["start"], start)
    record = json.loads(str(contents["record"]))
    assert record["changed_decisions"] == expected.is_changed.sum() > 0
    assert record["acceptance_rate"] == expected.is_accepted.mean()
    assert record["clip_fraction"] == expected.clip_fraction.mean() > 0
    assert (record["dim"], record["bound"], record["iterations"]) == (2, 0.5, 80)
