"""The page on phase space: verdicts on planted errors and energies, and energy errors by step."""

from types import SimpleNamespace

import numpy as np
import pytest

import orbits
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from orbits import PARTS, READINGS, Orbits, errors_by_step
from phase_space import Experiment, judged

SMALL, MIDDLE, LARGE, FRICTION = 0.005, 0.05, 0.1, 0.0008
SEEDS = 1e-3 * np.linspace(-1, 1, 9)
AS_SAID = {  # mean energy above that on all rows, by setting and rows: all claims hold
    "plain": {10: 4.0, 50: 2.0, 250: 1.0},
    "slow": {10: 0.4, 50: 0.2, 250: 0.1},
    "printed": {10: 3.0, 50: 0.5, 250: -0.5},
    "per_step": {10: 1.0, 50: 0.0, 250: -0.2},
    "right": {10: 1.0, 50: 0.0, 250: -0.3},
}
ORBIT_ERRORS = {10: 2.0, 50: 1.0, 250: 0.5, 500: 0.01}


def planted(above, errors=ORBIT_ERRORS, steep=1.0):
    """Orbits on an experiment whose energies and errors are given."""
    variances = {10: 0.4, 50: 0.08, 250: 0.01}

    def energies(b, reading, step_size, friction):
        names = {(of.step_size, of.friction): name for name, of in found.settings.items()}
        name = names[step_size, friction]
        return 1 + (above[name][b] if b != 500 else 0) + SEEDS

    def orbit_errors(b, step_size):
        return errors[b] * (steep if step_size == LARGE else 1) + SEEDS

    experiment = SimpleNamespace(
        num_rows=500,
        variances=variances,
        potential=SimpleNamespace(curvature=126.0, centre=1.0),
        energy=63.0,
        energies=energies,
        orbit_errors=orbit_errors,
        expected=lambda *of: 1.0,
    )
    found = Orbits(experiment, [10, 50, 250], SMALL, MIDDLE, LARGE, FRICTION, 50)
    return found


def verdicts(above, slopes=0.0, **more):
    rows = judged(planted(above, **more).claims(dict.fromkeys((10, 50, 250), slopes)))
    return {row["the thesis says"]: row["verdict"] for row in rows}


def test_each_claim_is_confirmed_by_what_it_says():
    found = verdicts(AS_SAID)
    assert len(found) == 13 and set(found.values()) == {"confirmed"}


@pytest.mark.parametrize(
    ("changed", "refuted"),
    [
        ({"plain": {10: -4.0, 50: -2.0, 250: -1.0}}, "stray"),
        ({"plain": {10: 1.0, 50: 2.0, 250: 4.0}}, "less with larger batches"),
        ({"slow": {10: 3.0, 50: 1.5, 250: 0.9}}, "considerable gains"),
        ({"printed": {10: 5.0, 50: 3.0, 250: 2.0}}, "closer at b = 50"),
        ({"printed": {10: 3.0, 50: 1.5, 250: 0.5}}, "nearly right"),
        ({"printed": {10: 3.0, 50: 0.5, 250: 0.5}}, "and puts larger batches inside"),
        ({"per_step": {10: 1.0, 50: 0.0, 250: 0.2}}, "The same, with parts in turn"),
        ({"right": {10: -1.0, 50: 0.0, 250: 0.3}}, "fitted to the batch"),
    ],
)
def test_a_claim_is_refuted_by_the_contrary(changed, refuted):
    found = verdicts(AS_SAID | changed)
    (verdict,) = (verdict for claim, verdict in found.items() if refuted in claim)
    assert verdict == "not confirmed"


def test_claims_on_orbits_are_refuted_by_the_contrary():
    rising = {10: 0.5, 50: 1.0, 250: 2.0, 500: 4.0}
    found = verdicts(AS_SAID, errors=rising, slopes=2.0)
    first, second, drastic, betancourt, *_ = found.values()
    assert (first, second, betancourt) == ("not confirmed",) * 3 and drastic == "confirmed"
    assert [*verdicts(AS_SAID, steep=5.0).values()][2] == "undecided"  # of the large step alone


def test_energies_are_above_those_of_all_rows_with_the_same_steps():
    found = planted(AS_SAID)
    np.testing.assert_allclose(found.above(PARTS, 10, "slow"), 0.4)
    table = found.energy_table()
    assert len(table) == len(READINGS) * 4
    assert table[0]["step 0.05"] == "5.0000 ± 0.0005 (1)"
    assert table[-1]["step 0.05"] == "1.0000 ± 0.0005"  # without brackets, of parts in turn
    assert found.error_table()[-1]["rows of the batch"] == "all"


def test_friction_balances_at_the_energy_that_it_is_said_to():
    found = planted(AS_SAID)
    balancing, added = found.balancing[50], MIDDLE * 126.0**2 * 0.08
    assert balancing * (2 * 63.0 - 2) == pytest.approx(added)
    assert (2 * found.balanced - 2) * FRICTION == pytest.approx(added)
    assert found.taken == pytest.approx(FRICTION * MIDDLE * 10)
    assert found.settings["per_step"] == (MIDDLE, 0.016)


@pytest.fixture(scope="module")
def real():
    model = Gaussian(200, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    experiment = Experiment.draw(1, target, (0.0, 1.0), [10, 50], 100, 4)
    return Orbits(experiment, [10, 50], SMALL, MIDDLE, LARGE, FRICTION, 50)


def test_errors_go_with_the_square_of_the_step_its_root_or_not_at_all(real):
    found = errors_by_step(real, periods=5)
    assert (np.diff(found.steps) > 0).all()
    assert found.slope(found.all_rows) == pytest.approx(2, abs=0.01)
    for slope in found.slopes(found.one_batch).values():
        assert slope == pytest.approx(0, abs=0.01)
    for slope in found.slopes(found.each_step).values():
        assert slope == pytest.approx(0.5, abs=0.05)


def test_simulated_errors_are_those_in_closed_form(real):
    experiment, h = real.experiment, 0.01
    exact = orbits.orbit_error(experiment, h, real.shifts(10))
    assert orbits.simulated(experiment, h, 10, 60, True) == pytest.approx(exact, rel=0.15)
    exact = orbits.walk_error(experiment, h, 10, 60)
    assert orbits.simulated(experiment, h, 10, 60, False) == pytest.approx(exact, rel=0.5)
