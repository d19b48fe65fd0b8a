"""Orbits on batches: leapfrog's own invariant, all batches of few rows, simulated energies."""

import math
from dataclasses import dataclass
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import phase_space
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.rows import RowsModel
from dpmcmc.random_streams import three_streams
from dpmcmc.samplers.batch_gradients import batch_gradient
from dpmcmc.samplers.hmc import leapfrog
from phase_space import PARTS, READINGS, Experiment, judged

START = 0.0, 1.0
PERIOD = 2 * math.pi / math.sqrt(126)


@pytest.fixture(scope="module")
def target():
    model = Gaussian(500, 1.0, [[4.0]], [1.0])
    return Target(model, model.simulate(np.random.default_rng(1)))


@pytest.fixture(scope="module")
def potential(target):
    return phase_space.quadratic(target)


def centres_of(target, b, count, seed=0):
    streams = three_streams(np.random.SeedSequence(seed))
    return phase_space.batch_centres(streams, target, b, count)


def test_the_potential_is_that_of_the_posterior(target, potential):
    assert potential.curvature == pytest.approx(500 / 4 + 1)
    assert potential.centre == pytest.approx(target.data.sum() / 4 / 126)
    ratio = target.log_density_ratio(np.array([0.3]), np.array([1.2]))
    lost = potential.energy(0.3, 0.0) - potential.energy(1.2, 0.0)
    assert lost == pytest.approx(ratio)


@dataclass(frozen=True)
class Quartic(RowsModel):
    num_rows: int
    dimension = 1
    row_length = 1

    def log_likelihood(self, theta, rows):
        return -(theta[0] ** 4) * rows[:, 0] ** 2

    def gradient(self, theta, rows):
        return -4 * theta**3 * rows**2

    def log_prior_ratio(self, theta, theta_new):
        return (theta @ theta - theta_new @ theta_new) / 2

    def grad_log_prior(self, theta):
        return -theta


def test_other_posteriors_are_refused():
    model = Gaussian(5, 1.0, [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    with pytest.raises(ValueError, match="Gaussian: must have one parameter, not 2"):
        phase_space.quadratic(Target(model, np.ones((2, 5))))
    with pytest.raises(ValueError, match="Quartic: must have a normal posterior"):
        phase_space.quadratic(Target(Quartic(5), np.ones((5, 1))))


@pytest.mark.parametrize("h", [0.005, 0.05, 0.1, 0.17])
def test_leapfrog_stays_on_the_ellipse_of_its_batch(potential, h):
    q, p = phase_space.orbit(potential, *START, h, np.full(501, 0.4))
    invariant = p**2 + potential.stiffness(h) * (q - 0.4) ** 2
    assert invariant == pytest.approx(np.full(501, invariant[0]), rel=1e-9)
    assert (q.max() + q.min()) / 2 == pytest.approx(0.4, abs=2e-3)  # whatever the step


def test_an_orbit_is_that_of_leapfrog_on_the_rows(target, potential):
    """With the gradient of a batch itself, over several steps at a time."""
    batch = np.arange(0, 500, 10)
    centre = phase_space.row_centres(target, potential.curvature)[batch].mean()
    q, p = phase_space.orbit(potential, *START, 0.05, np.full(21, centre))

    def gradient(theta):
        return batch_gradient(target, theta, math.inf, batch, len(batch))[0]

    path = list(leapfrog(np.zeros(1), np.ones(1), gradient, 0.05, 20, 1.0))
    assert q[1:] == pytest.approx(np.array([theta[0] for theta, _ in path]))
    assert p[1:] == pytest.approx(np.array([momentum[0] for _, momentum in path]))
    expected = (target.data[0, batch].mean() * 500 / 4) / 126  # by hand
    assert centre == pytest.approx(expected)


def test_steps_that_are_not_stable_are_refused(potential):
    with pytest.raises(ValueError, match=r"step_size: must be below 0.1782 to be stable, not 0.18"):
        phase_space.orbit(potential, *START, 0.18, np.zeros(3))


def test_the_variance_of_a_centre_is_that_over_all_batches():
    model = Gaussian(9, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(2)))
    rows = phase_space.row_centres(target, phase_space.quadratic(target).curvature)
    for b in (1, 4, 8):
        centres = [np.mean(batch) for batch in combinations(rows, b)]
        assert phase_space.shift_variance(target, b) == pytest.approx(np.var(centres))
        assert np.mean(centres) == pytest.approx(phase_space.quadratic(target).centre)


@pytest.mark.parametrize("shift", [0.0, 0.3, -0.7, 0.02])
@pytest.mark.parametrize("h", [0.003, 0.05, 0.13])
def test_the_largest_energy_error_is_that_of_a_long_orbit(potential, h, shift):
    centres = np.full(20_001, potential.centre + shift)
    energies = potential.energy(*phase_space.orbit(potential, *START, h, centres))
    found = np.abs(energies - energies[0]).max()
    computed = phase_space.largest_energy_error(potential, *START, h, shift)
    assert found <= computed * (1 + 1e-9) and found == pytest.approx(computed, rel=1e-3)


def slope(errors, steps):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def test_no_step_size_removes_the_error_of_a_batch(potential):
    steps = np.geomspace(1e-4, 1e-2, 5)

    def errors(shift):
        return [phase_space.largest_energy_error(potential, *START, h, shift) for h in steps]

    assert slope(errors(0.0), steps) == pytest.approx(2, abs=0.01)
    assert slope(errors(0.3), steps) == pytest.approx(0, abs=0.01)
    assert phase_space.largest_energy_error(potential, *START, 0, 0.0) == pytest.approx(0, abs=1e-9)
    x = -potential.centre
    radius = math.sqrt((x - 0.3) ** 2 + 1 / 126)
    limit = 126 * 0.3 * (radius + 0.3 - x)
    assert phase_space.largest_energy_error(potential, *START, 0, 0.3) == pytest.approx(limit)
    assert errors(0.3)[0] == pytest.approx(limit, rel=1e-4)


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize(("b", "h"), [(10, 0.05), (50, 0.1), (250, 0.01)])
def test_energies_are_those_of_simulated_orbits(target, potential, b, h, friction):
    copies, counts = 4000, [1, 2, 20]
    centres = centres_of(target, b, 21 * copies).reshape(21, copies)
    noise = np.random.default_rng(3).standard_normal((20, copies))
    q, p = phase_space.orbit(potential, *START, h, centres, friction, noise)
    energies = potential.energy(q, p)[counts]
    variance = phase_space.shift_variance(target, b)
    mean, varying = phase_space.energy_moments(
        potential, [(1.0, 2.0), START], h, counts, variance, friction
    )
    error = np.abs(energies.mean(axis=1) - mean[:, 1])
    assert (error < 4 * np.sqrt(varying[:, 1] / copies)).all()
    assert energies.var(axis=1) == pytest.approx(varying[:, 1], rel=0.25)


def test_new_batches_make_a_random_walk_that_falls_as_the_root_of_the_step(target, potential):
    variance, energy = phase_space.shift_variance(target, 250), potential.energy(*START)
    counts = np.array([2000, 8000])
    time, errors = 5 * PERIOD, []
    for h, count in zip(time / counts, counts, strict=True):
        mean, varying = phase_space.energy_moments(potential, [START], h, [count], variance)
        push = h * time * 126**2 * variance
        assert mean.item() - energy == pytest.approx(push / 2, rel=0.02)
        assert varying.item() == pytest.approx(push * energy, rel=0.02)
        errors.append(math.hypot(mean.item() - energy, math.sqrt(varying.item())))
    assert slope(errors, time / counts) == pytest.approx(0.5, abs=0.01)


def test_a_balancing_friction_keeps_the_mean_energy(target, potential):
    variance, h, energy = phase_space.shift_variance(target, 100), 0.01, 20.0
    friction = phase_space.balancing_friction(potential, h, variance, energy)
    counts = 10_000 + np.arange(100)
    mean, _ = phase_space.energy_moments(potential, [START], h, counts, variance, friction)
    assert mean.mean() == pytest.approx(energy, rel=0.01)
    # Without the errors of batches it samples the posterior: both halves of the energy are 1 / 2.
    alone, varying = phase_space.energy_moments(potential, [START], h, counts, 0.0, friction)
    assert alone.mean() == pytest.approx(1, rel=0.01) and varying.mean() == pytest.approx(1, 0.02)
    with pytest.raises(ValueError, match="energy: must be above 1, not 1"):
        phase_space.balancing_friction(potential, h, variance, 1)


@pytest.fixture(scope="module")
def experiment():
    model = Gaussian(60, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    return Experiment.draw(1, target, [0.0, 1.0], [7, 30], 100, 60)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("reading", READINGS)
def test_all_rows_conserve_energy(experiment, reading):
    q, p = experiment.ends(60, reading, 0.01)
    assert q.shape == p.shape == (100, 60)
    energies = experiment.potential.energy(q, p) / experiment.energy
    assert energies == pytest.approx(np.ones((100, 60)), abs=1e-3)
    assert (q.std(axis=0) > 0.1).all()  # they go round
    assert experiment.expected(60, reading, 0.01) == pytest.approx(1, abs=1e-3)


def test_parts_are_a_partition_and_come_in_turn(experiment):
    parts = experiment.parts[30]
    assert parts.mean(axis=0) == pytest.approx(np.full(60, experiment.potential.centre))
    assert experiment.parts[7].shape == (8, 60)  # 4 rows are left out
    two = experiment.ends(30, PARTS, 0.1)
    q, p = experiment.start
    A, h = experiment.potential.curvature, 0.1
    for step in range(4):  # two trajectories, by hand
        for place in (step, step + 1):
            p = p + h / 2 * A * (parts[place % 2] - q)
            q = q + h * p if place == step else q
    assert [ends[1] for ends in two] == [pytest.approx(q), pytest.approx(p)]


def test_a_batch_errs_on_its_orbit_at_any_step(experiment):
    few, many, every = (experiment.orbit_errors(b, 0).mean() for b in (7, 30, 60))
    assert few > many > 0.05 and every == pytest.approx(0, abs=1e-9)


def test_verdicts_follow_the_rule():
    below, above = np.array([-1.0, -1.1, -0.9]), np.array([1.0, 1.1, 0.9])
    unsure = np.array([-1.0, 1.0, 0.1])
    rows = judged(
        {
            "a": [below] * 4 + [above],
            "b": [above, 0.5],
            "c": [below, above],
            "d": [unsure, unsure],
            "e": [-1.0],
        }
    )
    assert [row["verdict"] for row in rows] == [
        "confirmed",
        "not confirmed",
        "undecided",
        "undecided",
        "confirmed",
    ]
    assert [rows[0][side] for side in ("for", "against", "open")] == [4, 1, 0]
    assert rows[3]["open"] == 2
