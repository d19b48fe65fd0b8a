"""Energies of many trajectories, the rule of verdicts, and the figures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.reporting.figures import phase_space as figures
from dpmcmc.reporting.phase_space import (
    EACH,
    ON,
    PARTS,
    READINGS,
    Experiment,
    judged,
    with_error,
)


@pytest.fixture(scope="module")
def experiment():
    model = Gaussian(60, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    return Experiment.draw(1, target, [0.0, 1.0], [7, 30], 100, 60)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("reading", [EACH, ON])
@pytest.mark.parametrize("b", [7, 30])
def test_energies_are_as_expected_over_all_batches(experiment, b, reading, friction):
    found = experiment.energies(b, reading, 0.1, friction)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - experiment.expected(b, reading, 0.1, friction)) < 4 * error


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


def test_the_same_seed_draws_the_same(experiment):
    model = Gaussian(60, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    fewer = Experiment.draw(1, target, [0.0, 1.0], [7], 100, 60)
    assert (fewer.centres[7] == experiment.centres[7]).all()
    assert (fewer.noise[7] == experiment.noise[7]).all()


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
        "refuted",
        "undecided",
        "undecided",
        "confirmed",
    ]
    assert [rows[0][side] for side in ("for", "against", "open")] == [4, 1, 0]
    assert rows[3]["open"] == 2


def test_numbers_are_shown_as_exactly_as_they_are_known():
    values = np.array([1537.2, 2200.0, 900.0])
    assert with_error(values) == "1,546 ± 751"
    assert with_error(1 + 1e-5 * np.array([-1.0, 0.0, 1.0])) == "1.00000 ± 0.00001"
    assert with_error(np.full(4, 0.96123)) == "0.961"


def test_orbits_and_ends_lie_within_the_axes(experiment):
    potential = experiment.potential
    orbit = np.array([0.0, 2.0, 0.5]), np.array([1.0, -9.0, 3.0])
    far = np.array([0.5, 9.0]), np.array([1.0, -50.0])
    panels = {
        "one": {"all_rows": orbit, "batches": [far]},
        "two": {"all_rows": orbit, "batches": []},
    }
    one, two = figures.orbit_panels(potential, panels).axes
    assert one.get_ylim() == two.get_ylim() and one.get_ylim()[0] < -50
    assert one.get_xlim()[1] > 9
    ends = {"row": {"near": orbit, "far": far}}
    near, away = figures.end_panels(potential, experiment.energy, ends).axes
    assert near.get_ylim()[1] < away.get_ylim()[1]
    circles = [axis.lines[1].get_xydata() for axis in (near, away)]
    assert (circles[0] == circles[1]).all()
    assert potential.energy(*circles[0].T) == pytest.approx(np.full(201, experiment.energy))


def test_every_kind_of_error_is_drawn_and_named():
    steps, line = np.array([0.01, 0.1]), np.array([1.0, 2.0])
    batches = {10: line, 250: line}
    simulated = {("one_batch", 10): (steps, line), ("each_step", 250): (steps, line)}
    figure = figures.energy_error_figure(steps, line, batches, batches, simulated)
    assert len(figure.axes[0].lines) == 1 + 4 + 2
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["All rows", "Batches of 10", "Batches of 250", "One batch", "New each step"]
