"""SGHMC and HMC on batches: their boxes by hand, linear maps, and limits that must coincide."""

import math

import numpy as np
import pytest

import dpmcmc
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.sghmc import DPSGHMC, SGHMC
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC

NUM_ROWS = 40


@pytest.fixture(scope="module")
def target():
    """A normal mean: a posterior of precision 11 about a mean near 1."""
    model = dpmcmc.Gaussian(
        num_rows=NUM_ROWS, prior_variance=1.0, covariance=[[4.0]], true_position=[1.0]
    )
    return dpmcmc.Target(model, model.simulate(np.random.default_rng(5)))


def posterior(target):
    """Precision, and mean, of the normal mean."""
    precision = 1 + NUM_ROWS / 4
    return precision, target.data.sum() / 4 / precision


class Noiseless(dpmcmc.Streams):
    """Streams that mechanism without noise."""

    def add_noise(self, statistic, sensitivity, sd):
        return statistic


@pytest.mark.parametrize("sampler_class", [SGHMC, DPSGHMC])
def test_a_trajectory_is_that_of_the_box(target, sampler_class):
    """Algorithm 2, with the signs of Chen et al.: by hand, with the same random numbers."""
    h, J, C, B = 0.05, 4, 3.0, 1.0
    sampler = sampler_class(h, J, NUM_ROWS, C, B, gradient_clip_bound=1e9)
    rng, twin = dpmcmc.streams(3), dpmcmc.streams(3)
    state = sampler.init(rng, np.array([0.4]))
    precision, mean = posterior(target)
    theta = 0.4
    for t in (1, 2, 3):
        state, info = sampler.step(rng, state, target)
        h_t = h * t ** (-1 / 3)
        p = twin.proposal.standard_normal()
        for _ in range(J):
            theta = theta + h_t * p
            dpmcmc.draw_batch(twin, NUM_ROWS, NUM_ROWS)
            noise = (twin.noise if sampler_class is DPSGHMC else twin.proposal).standard_normal()
            p = p - h_t * precision * (theta - mean) - h_t * C * p
            p = p + math.sqrt(2 * (C - B) * h_t) * noise
        assert state.position[0] == pytest.approx(theta, rel=1e-10)
        assert info.is_accepted and math.isnan(info.clip_fraction)
    assert state.memory == 4


def test_sums_of_batches_are_scaled_up_to_all_rows_at_the_power_of_the_likelihood(target):
    """With tempered_rows = b the factor is 1: the plain sum of the thesis's private runs."""
    one_step = {"step_size_decay": 0, "gradient_clip_bound": 1e9}
    for tempered_rows, factor in ((NUM_ROWS, 4.0), (10, 1.0), (1, 0.1)):
        alike = dpmcmc.Target(target.model, np.full((1, NUM_ROWS), 7.0))
        alike.likelihood_power = tempered_rows / NUM_ROWS
        sampler = DPSGHMC(0.1, 2, 10, 1.0, **one_step)
        rng = Noiseless(*(np.random.default_rng(i) for i in range(3)))
        start = sampler.init(rng, np.zeros(1))
        p = np.random.default_rng(0).standard_normal()
        theta = 0.1 * p
        p = p + 0.1 * (factor * 10 * (7 - theta) / 4 - theta) - 0.1 * p
        state, _ = sampler.step(rng, start, alike)
        assert state.position[0] == pytest.approx(theta + 0.1 * p, rel=1e-9)


def stationary_variance(precision, h, J, C, noise_variance):
    """Of the position, by the linear map of a trajectory and its fresh momentum and noise."""
    step = np.array([[1.0, h], [-h * precision, 1 - h * C - h * h * precision]])
    at_end = np.linalg.matrix_power(step, J)
    from_noise = sum(noise_variance * np.linalg.matrix_power(step, i)[0, 1] ** 2 for i in range(J))
    return (at_end[0, 1] ** 2 + from_noise) / (1 - at_end[0, 0] ** 2)


@pytest.mark.parametrize(("sampler_class", "C"), [(SGHMC, 1.0), (DPSGHMC, 8.0)])
def test_on_all_rows_it_is_a_linear_map(target, sampler_class, C):
    """Variance of the chain against that of the map, within four standard errors."""
    h, J, iterations, chains = 0.1, 5, 400, 20
    sampler = sampler_class(h, J, NUM_ROWS, C, gradient_clip_bound=1e9, step_size_decay=0)
    precision, mean = posterior(target)
    expected = stationary_variance(precision, h, J, C, 2 * C * h)
    found = []
    for seed in range(chains):
        chain = dpmcmc.run_chain(sampler, target, dpmcmc.streams(seed), [mean], iterations)
        found.append(((chain.positions[50:, 0] - mean) ** 2).mean())
    error = np.std(found, ddof=1) / math.sqrt(chains)
    assert np.mean(found) == pytest.approx(expected, abs=4 * error)
    assert abs(expected - 1 / precision) > error  # so that it is not the posterior's


def test_without_friction_on_all_rows_it_is_hmc_that_always_accepts(target):
    exact = HMC(0.1, 7, 2.0)
    for batches in ("each-step", "trajectory"):
        sampler = SubsampledHMC(
            0.1, 7, NUM_ROWS, batches=batches, inverse_mass_matrix=2.0, step_size_decay=0
        )
        rng, twin = dpmcmc.streams(1), dpmcmc.streams(1)
        state, other = sampler.init(rng, np.array([1.2])), exact.init(twin, np.array([1.2]))
        accepted = 0
        for _ in range(20):
            other = other._replace(position=state.position)
            other, info = exact.step(twin, other, target)
            state, _ = sampler.step(rng, state, target)
            if info.is_accepted:
                accepted += 1
                assert state.position == pytest.approx(other.position, rel=1e-12)
        assert accepted > 10


def test_a_batch_for_a_trajectory_is_drawn_once_and_for_each_gradient_otherwise(target):
    class Counting(dpmcmc.Streams):
        drawn = 0

        def batch(self, *arguments):
            type(self).drawn += 1
            return super().batch(*arguments)

    for batches, count in (("trajectory", 1), ("each-step", 8)):
        Counting.drawn = 0
        sampler = SubsampledHMC(0.1, 7, 10, batches=batches)
        rng = Counting(*dpmcmc.streams(1))
        sampler.step(rng, sampler.init(rng, np.zeros(1)), target)
        assert Counting.drawn == count


def test_steps_decrease_as_the_thesis_says():
    sampler = SGHMC(1.7, 10, 5, 0.15)
    assert sampler.step_size_of(1) == 1.7
    assert sampler.step_size_of(8) == pytest.approx(0.85)
    assert sampler.step_size_of(1500) == pytest.approx(1.7 * 1500 ** (-1 / 3))
    assert SGHMC(1.7, 10, 5, 0.15, step_size_decay=0).step_size_of(1500) == 1.7


def test_what_is_told_to_the_accountant_is_what_is_released():
    """Of every trajectory: the noise over the sensitivity, where the chain is."""
    sampler = DPSGHMC(0.4, 3, 10, 2.0, 0.5, gradient_clip_bound=0.7)
    releases = sampler.releases(NUM_ROWS, 0.5, 27)
    told = [mechanism for mechanism, count in releases for _ in range(count)]
    assert len(told) == 3 * 27
    for t in (1, 4, 27):
        h = sampler.step_size_of(t)
        sensitivity = h * NUM_ROWS * 0.5 / 10 * 2 * 0.7
        expected = 2 * (2.0 - 0.5) * h / sensitivity**2
        for mechanism in told[3 * t - 3 : 3 * t]:
            assert mechanism.noise_variance == pytest.approx(expected, rel=1e-12)


def test_gradients_are_clipped_row_by_row(target):
    """A far row moves the sum by the bound, however many others there are."""
    sampler = DPSGHMC(0.1, 2, NUM_ROWS, 1.0, gradient_clip_bound=0.5, step_size_decay=0)
    far = target.data.copy()
    far[0, 0] = 1e9
    ends = []
    for data in (target.data, far):
        rng = Noiseless(*(np.random.default_rng(i) for i in range(3)))
        state = sampler.init(rng, np.array([1.0]))
        new = dpmcmc.Target(target.model, data)
        ends.append(sampler.step(rng, state, new)[0].position[0])
    assert 0 < abs(ends[1] - ends[0]) <= 0.1 * 0.1 * 2 * 0.5 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_integration_steps": 1}, "num_integration_steps: must be at least 2, not 1"),
        ({"gradient_error": 2.0}, "gradient_error: must be below friction = 2, not 2"),
        ({"step_size_decay": 1.5}, r"SGHMC\.step_size_decay"),
        ({"gradient_clip_bound": 0}, r"SGHMC\.gradient_clip_bound"),
    ],
)
def test_settings_that_make_no_sampler_are_refused(change, message):
    settings = {"step_size": 0.1, "num_integration_steps": 5, "batch_size": 10, "friction": 2.0}
    for cls in (SGHMC, DPSGHMC):
        with pytest.raises(ValueError, match=message):
            cls(**{**settings, "gradient_clip_bound": 1.0, **change})


def test_a_private_one_needs_a_finite_bound():
    with pytest.raises(TypeError, match="gradient_clip_bound"):
        DPSGHMC(0.1, 5, 10, 2.0)
    with pytest.raises(ValueError, match="gradient_clip_bound"):
        DPSGHMC(0.1, 5, 10, 2.0, gradient_clip_bound=math.inf)


def test_chains_that_share_a_budget_each_start_with_the_least_noise(config, tmp_path):
    from conftest import ROOT

    from dpmcmc import registry
    from dpmcmc.configuration.yaml_files import merged
    from dpmcmc.files import read_json
    from dpmcmc_studies.jobs.budgets import budget
    from dpmcmc_studies.study.study import StudyConfig

    algorithm = {
        "sampler": "DPSGHMC",
        "accountant": "certified",
        "settings": {
            "flat-banana-2d": {
                "step_size": 1e-6,
                "num_integration_steps": 3,
                "batch_size": 100,
                "friction": 5,
                "gradient_clip_bound": 1,
            }
        },
    }
    overlay = {
        "study": "shared",
        "seeds": 4,
        "chains_per_sample": 2,
        "runs": [{"models": ["flat-banana-2d"], "algorithms": ["dp-sghmc"], "iterations": [10]}],
        "algorithms": {"dp-sghmc": algorithm},
        "notebooks": None,
        "accounting_curves": None,
        "tuning": None,
    }
    study = StudyConfig(merged(config, overlay), ROOT)
    spec = study.budget(study.cells[0])
    budget(spec, tmp_path / "budget.json")
    spent = read_json(tmp_path / "budget.json")["spent_epsilon"]
    of = registry.build(spec.sampler), spec.num_rows
    power = spec.likelihood_power
    assert spent == dpmcmc.epsilon(*of, 10, likelihood_power=power, chains=2)
    assert spent > dpmcmc.epsilon(*of, 20, likelihood_power=power)
