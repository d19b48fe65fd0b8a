"""The test of the noise itself: exact where noise is as declared, and of each release apart."""

import numpy as np
from scipy.stats import kstest

from dpmcmc.evaluation.noise import Noise
from dpmcmc.evaluation.recording import Released, Step


def step(rng, sds, factors=(1.0, 1.0), size=None):
    """An iteration with a release for each sd, whose noise is so many times as large."""
    released = []
    for sd, factor in zip(sds, factors, strict=True):
        statistic = rng.normal(3.0, 5.0, size)
        value = statistic + factor * sd * rng.standard_normal(size)
        released.append(Released(statistic, 1.0, sd, value, 0))
    return Step(None, True, released, [])


def found(rng, steps, *arguments, **options):
    noise = Noise()
    for _ in range(steps):
        noise.add(step(rng, *arguments, **options))
    return noise.found()


def test_p_values_of_right_noise_are_uniform():
    rng = np.random.default_rng(1)
    p_values = [found(rng, 30, (0.5,), (1.0,), size=3).p_value for _ in range(500)]
    assert kstest(p_values, "uniform").pvalue > 0.001


def test_of_several_releases_the_wrong_one_is_told_of_and_all_together_have_the_level():
    rng = np.random.default_rng(2)
    wrong = found(rng, 2000, (0.5, 2.0), (1.0, 0.9))
    assert abs(wrong.variance - 0.81) < 4 * 0.81 * np.sqrt(2 / 2000)
    assert wrong.num_values == 2000 and wrong.p_value < 1e-5
    p_values = np.array([found(rng, 30, (0.5, 2.0)).p_value for _ in range(500)])
    assert (p_values < 0.1).mean() < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 500)


def test_too_much_noise_is_found_too_and_a_preparation_is_apart():
    rng = np.random.default_rng(3)
    assert found(rng, 2000, (0.5,), (1.1,)).p_value < 1e-5
    noise = Noise()
    for _ in range(2000):
        noise.add(step(rng, (1.0,), (1.0,)))
        noise.add(step(rng, (1.0,), (0.9,)), is_preparation=True)
    assert abs(noise.found().variance - 0.81) < 0.1


def test_without_noise_or_numbers_there_is_nothing_to_find():
    noise = Noise()
    noise.add(Step(None, True, [Released(1.0, 1.0, 0.0, 1.0, 0)], []))
    noise.add(Step(None, True, [Released(np.nan, 1.0, 1.0, np.nan, 0)], []))
    variance, p_value, *counts = noise.found()
    assert np.isnan(variance) and p_value == 1 and counts == [0, 0]


def test_noise_that_rounding_hides_is_counted_by_itself():
    """Numbers about 1e16 are 2 apart: most of the noise is lost, and the rest is no normal."""
    rng, noise = np.random.default_rng(4), Noise()
    for _ in range(4000):
        statistic = np.array([0.0, 1e16])
        noise.add(
            Step(None, True, [Released(statistic, 1.0, 1.0, statistic + rng.normal(size=2), 0)], [])
        )
    found = noise.found()
    assert (found.num_values, found.hidden) == (4000, 4000)
    assert abs(found.variance - 1) < 4 * np.sqrt(2 / 4000) and found.p_value > 0.001
