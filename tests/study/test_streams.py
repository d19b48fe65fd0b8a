"""Random streams: reproducible, and no two jobs share one."""

import itertools
import json

import numpy as np
from conftest import SMALL_MODELS

from dpmcmc.files import read_npz, write_json
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.random_streams import chain_streams, generator, start_point
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc_studies.jobs.chains import chain
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.runs import Run

STOPS = ["1", "11", "iterations-1", "iterations-11"]


def first_draws(rng):
    return tuple(rng.random(3))


def test_a_stream_is_the_same_in_every_version_of_the_package():
    # Changing these numbers changes every result of every study.
    np.testing.assert_array_equal(
        generator(2021, "data", "circle").integers(1_000_000, size=3), [112169, 903398, 537143]
    )


def test_no_two_jobs_share_a_stream():
    labels = itertools.product([1, 2], ["a", "a-b"], ["dp-penalty", "dp-hmc"], STOPS, [1, 11])
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


def test_chains_of_a_sweep_share_streams_over_what_is_swept_alone():
    """The label of their streams says what stops them, never what is varied."""
    alike = [Run(None, 30, {"clip_bound": 2.0}, 0.05), Run(None, 30, {"clip_bound": 4.0}, 0.05)]
    alike += [Run(None, 30, {}, None)]
    assert {run.seed_label for run in alike} == {"iterations-30"}
    assert len({run.path for run in alike}) == 3
    others = [Run(None, 31, {"clip_bound": 2.0}, 0.05), Run(30.0, None, {"clip_bound": 2.0}, None)]
    assert len({run.seed_label for run in [alike[0], *others]}) == 3


def test_a_chain_has_the_streams_that_the_published_study_gave_it():
    # As for the stream above: hashes of purpose and labels, and three children of each.
    draws = [rng.integers(1_000_000) for rng in chain_streams(2021, "circle", "dp-hmc", "0.5", 3)]
    assert draws == [129623, 782957, 404230]


def test_start_points_may_be_spread_about_the_truth():
    """As in section 6.2, whatever the posterior is like; still by model and seed alone."""
    model, reference = SMALL_MODELS["banana"], np.full((10, 3), np.nan)

    def points(study_seed, model_id, start_sd=0.05, count=4000):
        return np.array(
            [
                start_point(study_seed, model_id, model, reference, seed, start_sd)
                for seed in range(count)
            ]
        )

    deviations = (points(1, "a") - model.true_theta) / 0.05
    # Standard errors: 1 / sqrt(n) of a mean, 1 / sqrt(2 n) of a standard deviation.
    np.testing.assert_allclose(deviations.mean(axis=0), 0, atol=4.5 / 4000**0.5)
    np.testing.assert_allclose(deviations.std(axis=0), 1, atol=4.5 / 8000**0.5)
    np.testing.assert_array_equal(points(1, "a", count=5), points(1, "a", count=9)[:5])
    wider = points(1, "a", 0.1, 5) - model.true_theta
    np.testing.assert_allclose(wider, 2 * (points(1, "a", count=5) - model.true_theta))
    for other in (points(2, "a", count=5), points(1, "b", count=5)):
        assert not np.isin(other, points(1, "a", count=5)).any()


BANANA = {
    "dimension": 2,
    "num_rows": 50,
    "curvature": 1.0,
    "prior_variance": 10.0,
    "likelihood_variances": [2.0],
    "true_position": [0.0],
}


def test_a_chain_of_a_sweep_is_the_sampler_of_its_settings(tmp_path):
    model = Banana(**BANANA)
    data = model.simulate(np.random.default_rng(1))
    np.save(tmp_path / "data.npy", data)
    np.save(tmp_path / "reference.npy", np.zeros((10, 2)))
    cost = dict.fromkeys(["epsilon", "target_delta", "accountant"]) | {"iterations": 80}
    write_json(cost, tmp_path / "budget.json")
    spec = specs.Chain(
        study_seed=5,
        model="small",
        model_entry={"class": "dpmcmc.models.banana:Banana"} | BANANA,
        algorithm="rwmh",
        sampler={
            "class": "dpmcmc.samplers.metropolis:Metropolis",
            "move": {"class": "dpmcmc.samplers.moves:GaussianWalk", "proposal_scale": 0.4},
            "clip_bound": 0.5,
        },
        run="iterations-80",
        varied={"clip_bound": 0.5},
        start_sd=0.3,
        seed=7,
    )
    files = (tmp_path / name for name in ("data.npy", "reference.npy", "budget.json"))
    chain(spec, *files, [], tmp_path / "chain.npz")
    contents = read_npz(tmp_path / "chain.npz")
    start = start_point(5, "small", model, None, 7, 0.3)
    expected = run_chain(
        Metropolis(GaussianWalk(0.4), clip_bound=0.5),
        Target(model, data),
        chain_streams(5, "small", "rwmh", "iterations-80", 7),
        start,
        80,
    )
    np.testing.assert_array_equal(contents["positions"], expected.positions)
    np.testing.assert_array_equal(contents["start"], start)
    record, changed, varied = (
        json.loads(str(contents[key])) for key in ("record", "changed", "varied")
    )
    assert changed == {"changed_decisions": expected.is_changed.sum()}
    assert changed["changed_decisions"] > 0 and varied == {"clip_bound": 0.5}
    assert record["acceptance_rate"] == expected.is_accepted.mean()
    assert record["clip_fraction"] == expected.clip_fraction.mean() > 0
    assert (record["model"], record["sample"], record["iterations"]) == ("small", 7, 80)
    assert record["epsilon"] is None and record["delta"] is None
