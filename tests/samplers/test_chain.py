"""What enters a chain is checked: its streams and its start."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.random_streams import streams
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.sampler import Sampler
from dpmcmc.samplers.streams import Streams

GENERATORS = [np.random.default_rng(seed) for seed in range(3)]
MODEL = Gaussian(10, 1.0, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
TARGET = Target(MODEL, np.zeros((2, 10)))


@dataclass(frozen=True)
class Still(Sampler):
    """A sampler that stays where it is."""

    def step(self, rng, state, target):
        raise NotImplementedError


def test_streams_are_known_by_name():
    rng = Streams(*GENERATORS)
    assert [rng.proposal, rng.acceptance, rng.noise] == GENERATORS == list(rng)


@pytest.mark.parametrize(
    "wrong",
    [[], GENERATORS[:2], [*GENERATORS, np.random.default_rng(4)], [1, 2, 3], [None] * 3],
)
def test_streams_are_three_generators(wrong):
    with pytest.raises(ValueError, match=r"^streams: must be three numpy.random.Generator, not \("):
        Streams(*wrong)


def test_streams_are_three_different_generators():
    first, second, _ = GENERATORS
    for wrong in (
        (first, second, first),
        (first, second, np.random.Generator(second.bit_generator)),
        (first, second, np.random.default_rng(0)),  # another, with the same numbers
    ):
        with pytest.raises(ValueError, match="streams: must be three different generators"):
            Streams(*wrong)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0.0, 0.0, 0.0], r"start: must be of shape \(2,\), not \(3,\)"),
        ([[0.0, 0.0]], r"start: must be of shape \(2,\), not \(1, 2\)"),
        (0.0, r"start: must be of shape \(2,\), not \(\)"),
        ([0.0, math.nan], r"start: must be finite, not \[0.0, nan\]"),
        ([math.inf, 0.0], "start: must be finite"),
        ("ab", "start: must be 2 numbers, not 'ab'"),
    ],
)
def test_a_chain_starts_at_a_point(start, message):
    with pytest.raises(ValueError, match=message):
        run_chain(Still(), TARGET, Streams(*GENERATORS), start, 0)
    chain = run_chain(Still(), TARGET, Streams(*GENERATORS), [0.5, 1], 0)
    assert chain.positions.shape == (0, 2)
    assert chain.start.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"sampler": Metropolis},
            "sampler: must be an object such as .*, not the class Metropolis",
        ),
        ({"target": np.zeros((2, 10))}, r"target: .* dpmcmc.Target\(model, data\), not ndarray"),
        ({"rng": np.random.default_rng(1)}, r"rng: .* dpmcmc.streams\(\), not Generator"),
        ({"rng": 1}, "rng: .*, not int"),
        ({"num_iterations": -1}, "num_iterations: must be a whole number of at least 0, not -1"),
        ({"num_iterations": 10.0}, "num_iterations: .*, not 10.0"),
        ({"max_positions": 0}, "max_positions: must be a whole number of at least 1, not 0"),
    ],
)
def test_what_is_no_part_of_a_chain_is_named(changes, message):
    parts = {"sampler": Metropolis(GaussianWalk(1.0)), "target": TARGET, "rng": streams()}
    with pytest.raises(ValueError, match=f"^{message}$"):
        run_chain(**parts | {"start": [0, 0], "num_iterations": 1} | changes)


def test_a_target_is_of_a_model_and_not_of_its_class():
    for wrong, name in ((Gaussian, "the class Gaussian"), (np.zeros((2, 10)), "ndarray")):
        with pytest.raises(ValueError, match=f"^model: must be an object such as .*, not {name}$"):
            Target(wrong, np.zeros((2, 10)))


def test_streams_of_words_of_32_bits_are_refused():
    """Batches are drawn from words of 64: half of their bits would always be 0."""
    old = np.random.Generator(np.random.MT19937(1))
    with pytest.raises(ValueError, match="must have words of 64 bits, such as PCG64, not MT19937"):
        Streams(np.random.default_rng(1), np.random.default_rng(2), old)


def test_streams_are_checked_when_one_is_replaced():
    rng = Streams(*map(np.random.default_rng, range(3)))
    with pytest.raises(ValueError, match="not one given twice"):
        rng._replace(noise=rng.acceptance)
