"""Samplers and moves check their settings, which are their schema as well."""

import dataclasses
import math
import sys
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from test_samplers import make_target, streams

from dpmcmc import registry
from dpmcmc.configuration.yaml_files import ConfigError, converted
from dpmcmc.samplers.barker_correction import Correction
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.dp_sgnht import DPSGNHT
from dpmcmc.samplers.exact_posterior import ExactPosterior
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_barker import MinibatchBarker, UnitCorrection
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, Move, OneComponentWalk
from dpmcmc.samplers.sghmc import DPSGHMC, SGHMC
from dpmcmc.samplers.start_point import StartPoint
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC
from dpmcmc.settings import in_short, is_plain, plain, precomputed, schema

WALK = GaussianWalk(0.3)
POSITIVE, NOISE, BOUND, SCALES, COUNT, STEPS, CHOICE, SEQUENCE, MOVE = range(9)  # keys of KINDS
MANY, LESS, DECAY, BATCHES = range(9, 13)

SGHMC_FIELDS = {
    "step_size": POSITIVE,
    "num_integration_steps": MANY,
    "batch_size": COUNT,
    "friction": POSITIVE,
}
SGHMC_DEFAULTS = {"step_size_decay": DECAY, "gradient_error": LESS, "inverse_mass_matrix": SCALES}

# Fields of classes, in which each kind of field occurs: required ones, and those with a default.
FIELDS = {
    GaussianWalk: ({"proposal_scale": SCALES}, {}),
    OneComponentWalk: ({"proposal_scale": SCALES}, {}),
    GuidedWalk: ({"proposal_scale": SCALES}, {}),
    Metropolis: ({"move": MOVE}, {"clip_bound": BOUND}),
    HMC: (
        {"step_size": POSITIVE, "num_integration_steps": STEPS},
        {"inverse_mass_matrix": SCALES, "clip_bound": BOUND, "gradient_clip_bound": BOUND},
    ),
    DPPenalty: ({"move": MOVE, "noise_scale": NOISE, "clip_bound": POSITIVE}, {}),
    DPHMC: (
        {
            "noise_scale": NOISE,
            "gradient_noise_scale": NOISE,
            "step_size": POSITIVE,
            "num_integration_steps": STEPS,
            "clip_bound": POSITIVE,
            "gradient_clip_bound": POSITIVE,
        },
        {"inverse_mass_matrix": SCALES, "step_size_sequence": SEQUENCE},
    ),
    DPSGLD: (
        {"step_size": POSITIVE, "batch_size": COUNT, "gradient_clip_bound": POSITIVE},
        {"temperature": POSITIVE},
    ),
    DPSGNHT: (
        {
            "step_size": POSITIVE,
            "batch_size": COUNT,
            "gradient_clip_bound": POSITIVE,
            "diffusion": POSITIVE,
        },
        {},
    ),
    MinibatchDPPenalty: (
        {"move": MOVE, "noise_variance": NOISE, "batch_size": COUNT, "clip_bound": POSITIVE},
        {"sensitivity": CHOICE, "batch_variance": CHOICE},
    ),
    DPBarker: ({"move": MOVE, "batch_size": COUNT}, {"batch_variance": CHOICE}),
    MinibatchBarker: ({"move": MOVE, "batch_size": COUNT}, {"clip_bound": BOUND}),
    FullDataDPBarker: ({"move": MOVE, "clip_bound": POSITIVE}, {}),
    SubsampledHMC: (
        {"step_size": POSITIVE, "num_integration_steps": STEPS, "batch_size": COUNT},
        {
            "step_size_decay": DECAY,
            "batches": BATCHES,
            "gradient_clip_bound": BOUND,
            "inverse_mass_matrix": SCALES,
        },
    ),
    SGHMC: (SGHMC_FIELDS, SGHMC_DEFAULTS | {"gradient_clip_bound": BOUND}),
    DPSGHMC: (SGHMC_FIELDS | {"gradient_clip_bound": POSITIVE}, SGHMC_DEFAULTS),
    ExactPosterior: ({}, {"draws_at_once": COUNT}),
    StartPoint: ({}, {}),
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


def usual(cls):
    """What the class needs: the first right value of each."""
    return {key: KINDS[kind].right[0] for key, kind in FIELDS[cls][0].items()}


def all_fields(cls):
    return FIELDS[cls][0] | FIELDS[cls][1]


FIRST = {}  # a class, its field and the values, of each kind
for cls in FIELDS:
    for field, kind in all_fields(cls).items():
        FIRST.setdefault(kind, (cls, field, KINDS[kind]))
OF_EACH_KIND = pytest.mark.parametrize(
    ("cls", "field", "kind"), FIRST.values(), ids=[field for _, field, _ in FIRST.values()]
)


@pytest.mark.parametrize("name", registry.names("sampler"))
def test_every_sampler_of_the_package_has_a_schema_of_its_fields(name):
    cls = registry.load(registry.resolve("sampler", name))
    fields = {field.name for field in dataclasses.fields(cls)} - precomputed(cls).keys()
    assert {field.name for field in msgspec.structs.fields(schema(cls))} == fields


@OF_EACH_KIND
def test_a_wrong_value_is_refused_in_one_line_that_names_the_field(cls, field, kind):
    for value in kind.wrong:
        with pytest.raises(ValueError, match=rf"^{cls.__name__}\.{field}: .+, not ") as error:
            cls(**usual(cls) | {field: value})
        message = str(error.value)
        assert message.endswith(f", not {in_short(value)}") and "\n" not in message
        assert error.value.__cause__ is None and error.value.__suppress_context__


@OF_EACH_KIND
def test_a_right_value_is_kept_and_one_of_numpy_becomes_one_of_python(cls, field, kind):
    for value in kind.right:
        kept = getattr(cls(**usual(cls) | {field: value}), field)
        if type(value) in (int, float, str) or isinstance(value, Move):
            assert kept is value
        else:
            as_list = list(value) if isinstance(value, tuple) else plain(value)
            assert kept == as_list and is_plain(kept)


@pytest.mark.parametrize("cls", FIELDS)
def test_every_field_of_every_class_is_checked_now_and_later(cls):
    right = cls(**usual(cls))
    for field in all_fields(cls):
        with pytest.raises(ValueError, match=rf"^{cls.__name__}\.{field}: .+, not None$"):
            cls(**usual(cls) | {field: None})
        with pytest.raises(ValueError, match=rf"^{cls.__name__}\.{field}: "):
            dataclasses.replace(right, **{field: None})
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(right, field, None)


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


@pytest.mark.parametrize("cls", FIELDS)
def test_the_schema_has_every_field_its_range_and_what_is_required(cls):
    found = {field.name: field for field in msgspec.structs.fields(schema(cls))}
    expected = all_fields(cls)
    assert found.keys() == expected.keys()
    for field, kind in expected.items():
        if kind != MOVE:
            assert msgspec.json.schema(found[field].type) == KINDS[kind].schema
    assert [name for name, field in found.items() if field.required] == list(FIELDS[cls][0])
    beside = {field.name for field in dataclasses.fields(cls)} - found.keys()
    assert beside == precomputed(cls).keys()


@dataclasses.dataclass(frozen=True)
class Still(Move):
    def propose(self, rng, theta, memory):
        return theta, None, None


def without_move(cls):
    """Schema and usual settings of a class, but for its move, which has an entry of its own."""
    settings = {k: v for k, v in usual(cls).items() if k != "move"}
    return schema(cls, *[Still] * ("move" in all_fields(cls))), settings


@OF_EACH_KIND
def test_the_schema_refuses_what_the_class_refuses(cls, field, kind):
    """Of what a configuration can hold; in it, nothing is infinite."""
    found, settings = without_move(cls)
    for value in kind.wrong if field != "move" else ():
        if is_plain(value) or type(value) is dict:
            with pytest.raises(ConfigError, match=rf"^here\.{field}"):
                converted(settings | {field: value}, found, "here")
    for value in kind.right if field != "move" else ():
        if is_plain(value) and value != math.inf:
            converted(settings | {field: value}, found, "here")


def test_the_schema_refuses_keys_that_are_unknown_or_missing():
    found, settings = without_move(DPHMC)
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
    barker = (DPBarker, FullDataDPBarker, MinibatchBarker)
    assert all(not precomputed(cls) for cls in FIELDS if cls not in barker)
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
