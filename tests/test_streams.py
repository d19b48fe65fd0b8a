"""Random streams: reproducible, and no two jobs share one."""

import itertools

import numpy as np
from conftest import SMALL_MODELS

from dpmcmc.streams import chain_streams, generator, start_point


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
