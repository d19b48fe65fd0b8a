"""A sampler of one's own runs the planned chain on twins: late looks at rows show."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from leaking import AddsNoNoise, Plain
from test_same_distribution import MODEL as GAUSSIAN
from test_same_distribution import SAMPLERS

from dpmcmc.release.own_code import same_chain
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.sampler import Info, State

MODEL = Plain(num_rows=60)
LATE = 40


@dataclass(frozen=True)
class Walks(AddsNoNoise):
    """Steps along a noisy gradient of a batch; `by` is what else it uses from `LATE` on."""

    batch_size: int = 20

    def init(self, rng, position):
        return State(position, 0)

    def step(self, rng, state, target):
        batch = draw_batch(rng, target.num_rows, self.batch_size)
        total, clipped = target.clipped_batch_gradient(state.position, 1.0, batch)
        noisy = rng.add_noise(total, 2.0, 2.0 * self.noise_scale)
        number = state.memory + 1
        more = self.by(total, clipped, batch) if number >= LATE else 0.0
        return State(state.position + 1e-3 * (noisy + more), number), Info(True, 0.0)

    def by(self, total, clipped, batch):
        return 0.0


class ByTheShare(Walks):
    def by(self, total, clipped, batch):
        return clipped / self.batch_size


class ByTheSum(Walks):
    def by(self, total, clipped, batch):
        return total


class ByTheBatch(Walks):
    def by(self, total, clipped, batch):
        return float(np.flatnonzero(batch)[0] if batch.dtype == bool else batch[0])


class Remembers(Walks):
    """Keeps the largest sum of all its chains in the module."""

    largest = np.zeros(1)

    def by(self, total, clipped, batch):
        np.maximum(self.largest, abs(total), out=self.largest)
        return self.largest.copy()


class Accepts(AddsNoNoise):
    """Its positions are right; what it accepts is not."""

    def step(self, rng, state, target):
        total, _ = target.clipped_gradient(state.position, 1.0)
        after, info = super().step(rng, state, target)
        return after, info._replace(is_accepted=int(1e6 * total[0]) % 2 == 0)


def planned(sampler, **settings):
    plan = SimpleNamespace(sampler=sampler(), model=MODEL, iterations=60, start="prior")
    vars(plan).update(settings)
    return plan


@pytest.mark.parametrize("sampler", [AddsNoNoise, Walks])
@pytest.mark.parametrize("start", ["prior", [0.5]])
def test_a_sampler_that_knows_its_releases_alone_passes(sampler, start):
    found = same_chain(planned(sampler, start=start))
    assert found.passed and found.found == "the same for 60 iterations"


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_of_the_package_pass(name):
    plan = planned(lambda: SAMPLERS[name], model=replace(GAUSSIAN, num_rows=110), start=[0.3, 0.3])
    assert same_chain(plan).passed


@pytest.mark.parametrize("sampler", [ByTheShare, ByTheSum, ByTheBatch, Remembers])
def test_a_look_at_rows_or_batch_in_a_late_iteration_shows(sampler):
    found = same_chain(planned(sampler))
    assert found.passed is False
    assert found.found.startswith("another from iteration 4")
    assert same_chain(planned(sampler, iterations=LATE - 1)).passed


def test_what_is_accepted_is_compared_too():
    assert same_chain(planned(Accepts)).passed is False


def test_long_chains_are_cut():
    plan = planned(AddsNoNoise, iterations=10**6, model=replace(MODEL, num_rows=6))
    assert same_chain(plan).found == "the same for 3,000 iterations"
