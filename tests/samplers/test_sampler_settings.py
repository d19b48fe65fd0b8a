"""Samplers and moves check their settings, which are their schema as well."""

import dataclasses
import math
import sys
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from test_samplers import make_target, streams

from dpmcmc.configuration.yaml_files import ConfigError, converted
from dpmcmc.samplers.barker_correction import Correction
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.exact_posterior import ExactPosterior
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_barker import MinibatchBarker, UnitCorrection
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, Move, OneComponentWalk
from dpmcmc.samplers.sghmc import SGHMC
from dpmcmc.samplers.start_point import StartPoint
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC
from dpmcmc.settings import in_short, is_plain, plain, precomputed, schema

WALK = GaussianWalk(0.3)
POSITIVE, NOISE, BOUND, SCALES, COUNT, STEPS, CHOICE, SEQUENCE, MOVE = range(9)  # keys of KINDS
MANY, LESS, DECAY, BATCHES = range(9, 13)

TRAJECTORY = {"step_size": 0.5, "num_integration_steps": 3}
BATCHES_OF = TRAJECTORY | {"batch_size": 20}
# A class, what it needs, and one of its fields, for each kind of field.
EXAMPLES = {
    POSITIVE: (HMC, TRAJECTORY, "step_size"),
    STEPS: (HMC, TRAJECTORY, "num_integration_steps"),
    SCALES: (GaussianWalk, {"proposal_scale": 0.5}, "proposal_scale"),
    MOVE: (Metropolis, {"move": WALK}, "move"),
    BOUND: (Metropolis, {"move": WALK}, "clip_bound"),
    NOISE: (DPPenalty, {"move": WALK, "noise_scale": 1, "clip_bound": 1}, "noise_scale"),
    SEQUENCE: (
        DPHMC,
        TRAJECTORY
        | {"noise_scale": 1, "gradient_noise_scale": 1, "clip_bound": 1, "gradient_clip_bound": 1},
        "step_size_sequence",
    ),
    COUNT: (DPBarker, {"move": WALK, "batch_size": 20}, "batch_size"),
    CHOICE: (DPBarker, {"move": WALK, "batch_size": 20}, "batch_variance"),
    DECAY: (SubsampledHMC, BATCHES_OF, "step_size_decay"),
    BATCHES: (SubsampledHMC, BATCHES_OF, "batches"),
    MANY: (SGHMC, BATCHES_OF | {"friction": 0.5}, "num_integration_steps"),
    LESS: (SGHMC, BATCHES_OF | {"friction": 0.5}, "gradient_error"),
}
NO_NUMBERS = ["1", "", None, True, {}, 1j, b"1", object(), np.datetime64("2021"), np.True_]
NO_SIZES = [0, 0.0, -0.0, -1, -1e-300, math.nan, -math.inf, np.float64("nan"), np.int64(0)]
NO_COUNTS = [*NO_NUMBERS, 0, -1, 2.0, 2.5, math.nan, math.inf, [3], np.float64(3), np.array([3])]
ONE_HALF = [np.float64(0.5), np.float32(0.5), np.array(0.5)]
ARRAYS = [np.array([0.5, 1.0]), np.array([1, 2]), np.array([0.5, 1.0], np.float32)]
SCHEMA = {"type": "number", "exclusiveMinimum": 0}
LARGEST = {"maximum": sys.float_info.max}
ONE = SCHEMA | LARGEST


class Kind(NamedTuple):
    """Values that a field takes, those that it refuses, and what its schema is."""

    right: list
    wrong: list
    schema: dict


KINDS = {
    POSITIVE: Kind(
        [0.5, 3, 1e-300, sys.float_info.max, *ONE_HALF, np.int64(2)],
        [*NO_NUMBERS, *NO_SIZES, math.inf, np.float64("inf"), 10**400, [1.0], np.ones(1)],
        ONE,
    ),
    BOUND: Kind(
        [0.5, 3, math.inf, np.float64("inf"), np.array(0.5)],
        [*NO_NUMBERS, *NO_SIZES, [1.0], np.ones(1)],
        SCHEMA,
    ),
    SCALES: Kind(
        [0.5, 3, *ONE_HALF, [0.5, 1], (0.5, 1.0), [np.float64(0.5), np.int64(2)], *ARRAYS],
        [*NO_NUMBERS, *NO_SIZES, math.inf, [], (), np.array([]), ["a"], [[1.0]], np.ones((2, 2))]
        + [[1.0, bad] for bad in (0, -1, math.nan, math.inf, None, True, "1")]
        + [np.array([1.0, bad]) for bad in (0, math.nan, math.inf)],
        {"anyOf": [ONE, {"type": "array", "items": ONE, "minItems": 1}]},
    ),
    COUNT: Kind(
        [1, 3, 10**9, np.int64(3), np.int32(3), np.uint8(3), np.array(3)],
        [*NO_COUNTS, 10**9 + 1, 10**400],
        {"type": "integer", "minimum": 1, "maximum": 10**9},
    ),
    STEPS: Kind(
        [1, 3, 100_000, np.int64(3)],
        [*NO_COUNTS, 100_001],
        {"type": "integer", "minimum": 1, "maximum": 100_000},
    ),
    CHOICE: Kind(
        ["published", "exact", np.str_("exact")],
        ["", "Exact", "x", None, 1, True, ["exact"], b"exact"],
        {"enum": ["exact", "published"]},
    ),
    SEQUENCE: Kind(
        ["constant", "van-der-corput"],
        ["", "Constant", "sobol", None, 1, True, ["constant"]],
        {"enum": ["constant", "van-der-corput"]},
    ),
    MANY: Kind(
        [2, 3, 100_000, np.int64(3)],
        [*NO_COUNTS, 100_001],
        {"type": "integer", "minimum": 1, "maximum": 100_000},
    ),
    LESS: Kind(  # than the friction, 0.5
        [0.25, 0, 0.0, np.float64(0.25), np.float32(0.25)],
        [*NO_NUMBERS, -1, -1e-300, math.nan, math.inf, -math.inf, [0.1]],
        {"type": "number", "minimum": 0} | LARGEST,
    ),
    DECAY: Kind(
        [0.5, 0, 1, *ONE_HALF],
        [*NO_NUMBERS, -1, -1e-300, 1.01, math.nan, math.inf, [0.1]],
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
    BATCHES: Kind(
        ["each-step", "trajectory"],
        ["", "Trajectory", "epoch", None, 1, True, ["trajectory"]],
        {"enum": ["each-step", "trajectory"]},
    ),
    MOVE: Kind(
        [WALK, OneComponentWalk([1.0, 2.0]), GuidedWalk(0.1)],
        [None, "GaussianWalk", GaussianWalk, 0.3, {}, StartPoint(), {"proposal_scale": 0.3}],
        {"title": "Move"},
    ),
}
KINDS[NOISE] = KINDS[POSITIVE]._replace(schema={"title": "noise"} | ONE)


OF_EACH_KIND = pytest.mark.parametrize(
    ("cls", "usual", "field", "kind"),
    [(*EXAMPLES[key], kind) for key, kind in KINDS.items()],
    ids=[EXAMPLES[key][2] for key in KINDS],
)


@OF_EACH_KIND
def test_a_wrong_value_is_refused_in_one_line_that_names_the_field(cls, usual, field, kind):
    for value in kind.wrong:
        with pytest.raises(ValueError, match=rf"^{cls.__name__}\.{field}: .+, not ") as error:
            cls(**usual | {field: value})
        message = str(error.value)
        assert message.endswith(f", not {in_short(value)}") and "\n" not in message
        assert error.value.__cause__ is None and error.value.__suppress_context__


@OF_EACH_KIND
def test_a_right_value_is_kept_and_one_of_numpy_becomes_one_of_python(cls, usual, field, kind):
    for value in kind.right:
        kept = getattr(cls(**usual | {field: value}), field)
        if type(value) in (int, float, str) or isinstance(value, Move):
            assert kept is value
        else:
            as_list = list(value) if isinstance(value, tuple) else plain(value)
            assert kept == as_list and is_plain(kept)


def test_a_setting_does_not_change_with_the_array_that_it_was_given_as():
    scales = np.array([0.5, 1.0])
    walk = GaussianWalk(scales)
    scales[:] = -1
    assert walk == GaussianWalk([0.5, 1.0]) == GaussianWalk((0.5, 1.0))


def test_a_message_says_what_would_be_right():
    long = list(range(100_000, 0, -1))
    for make, message in [
        (lambda: HMC(0.1, long), f"Expected int, not {str(long)[:200]}..."),
        (lambda: GaussianWalk(np.ones((2, 1))), "Expected float, not array([[1.], [1.]])"),
        (lambda: GaussianWalk([1.0, 0]), "Expected float > 0.0 - at $[1], not [1.0, 0]"),
        (lambda: ExactPosterior(0), "Expected int >= 1, not 0"),
        (lambda: HMC(0.1, 100_001), "Expected int <= 100000, not 100001"),
        (lambda: Metropolis(None), "Expected Move, not None"),
        (
            lambda: DPBarker(WALK, 20, batch_variance="x"),
            "Expected one of published, exact, not 'x'",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            make()
        assert str(error.value).partition(": ")[2] == message


@OF_EACH_KIND
def test_the_schema_has_the_range_of_a_field(cls, usual, field, kind):
    found = {field.name: field.type for field in msgspec.structs.fields(schema(cls))}
    if field != "move":
        assert msgspec.json.schema(found[field]) == kind.schema


@dataclasses.dataclass(frozen=True)
class Still(Move):
    def propose(self, rng, theta, memory):
        return theta, None, None


def without_move(cls, usual):
    """Schema and usual settings of a class, but for its move, which has an entry of its own."""
    settings = {key: value for key, value in usual.items() if key != "move"}
    return schema(cls, *[Still] * ("move" in usual)), settings


@OF_EACH_KIND
def test_the_schema_refuses_what_the_class_refuses(cls, usual, field, kind):
    """Of what a configuration can hold; in it, nothing is infinite."""
    found, settings = without_move(cls, usual)
    for value in kind.wrong if field != "move" else ():
        if is_plain(value) or type(value) is dict:
            with pytest.raises(ConfigError, match=rf"^here\.{field}"):
                converted(settings | {field: value}, found, "here")
    for value in kind.right if field != "move" else ():
        if is_plain(value) and value != math.inf:
            converted(settings | {field: value}, found, "here")


def test_the_schema_refuses_keys_that_are_unknown_or_missing():
    found, settings = without_move(*EXAMPLES[SEQUENCE][:2])
    converted(settings, found, "here")
    with pytest.raises(ConfigError, match=r"here: .*nothing"):
        converted(settings | {"nothing": 1}, found, "here")
    for key in settings:
        fewer = {k: v for k, v in settings.items() if k != key}
        with pytest.raises(ConfigError, match=rf"here: .*{key}"):
            converted(fewer, found, "here")


def test_what_a_sampler_needs_beside_settings_is_no_setting():
    assert precomputed(DPBarker) == precomputed(FullDataDPBarker) == {"correction": Correction}
    assert precomputed(MinibatchBarker) == {"correction": UnitCorrection}
    assert not precomputed(DPPenalty) and not precomputed(SGHMC)
    with pytest.raises(ValueError, match=r"DPBarker\.correction: Expected Correction, not 'exact'"):
        DPBarker(GaussianWalk(1.0), 20, "exact")


# -- What is accepted works ----------------------------------------------------------------------


def positions(sampler):
    target = make_target("banana")
    return run_chain(sampler, target, streams(3), np.array([0.5, 1.0, 0.0]), 200).positions


ALIKE = [
    [0.25, np.float64(0.25), np.float32(0.25), np.array(0.25), [0.25] * 3, np.full(3, 0.25)],
    [[0.25, 0.5, 1.0], (0.25, 0.5, 1.0), np.array([0.25, 0.5, 1.0], np.float32)],
    [[1, 1, 2], [1.0, 1.0, 2.0], np.array([1, 1, 2]), np.array([1.0, 1.0, 2.0])],
]


@pytest.mark.parametrize("alike", ALIKE)
@pytest.mark.parametrize("move", [GaussianWalk, GuidedWalk])
def test_scales_of_numpy_move_as_those_of_python(move, alike):
    first, *others = (positions(Metropolis(move(scale))) for scale in alike)
    assert len(np.unique(first, axis=0)) > 2
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.parametrize("alike", ALIKE[1:])
def test_masses_of_numpy_move_as_those_of_python(alike):
    for sampler in (HMC(0.1, 3), DPHMC(0.1, 0.1, 0.1, 3, 1.0, 1.0)):
        first, *others = (
            positions(dataclasses.replace(sampler, inverse_mass_matrix=mass)) for mass in alike
        )
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_numbers_of_numpy_decide_as_those_of_python():
    target = make_target("gaussian")

    def chain(number, count):
        samplers = (
            DPPenalty(WALK, number(0.1), number(1.0)),
            HMC(number(0.125), count(3), number(0.5), number(2.0)),
            DPHMC(number(0.1), number(0.1), number(0.125), count(3), number(1.0), number(1.0)),
            MinibatchDPPenalty(WALK, number(0.01), count(10), number(1.0)),
            ExactPosterior(count(7)),
        )
        return [run_chain(s, target, streams(3), np.zeros(2), 30).positions for s in samplers]

    expected = chain(float, int)
    for number, count in ((np.float64, np.int64), (np.array, np.array), (np.float64, np.int32)):
        for found, wanted in zip(chain(number, count), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
