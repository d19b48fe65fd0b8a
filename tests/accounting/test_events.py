"""Events of dp_accounting."""

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import dpmcmc
from dpmcmc.accounting import certified, rdp
from dpmcmc.accounting.events import dp_event
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism

RELATION = dp_accounting.NeighboringRelation
PENALTY = dpmcmc.DPPenalty(dpmcmc.GaussianWalk(0.1), noise_scale=1.0, clip_bound=3)


def test_its_accountant_agrees_for_methods_on_all_rows():
    event = PENALTY.dp_event(1000, 20)
    found = PLDAccountant(RELATION.ADD_OR_REMOVE_ONE).compose(event).get_epsilon(1e-5)
    ours = dpmcmc.epsilon(PENALTY, num_rows=1000, iterations=20, delta=1e-5)
    assert found == pytest.approx(ours, rel=1e-4)
    loose = PLDAccountant(RELATION.REPLACE_ONE).compose(event).get_epsilon(1e-5)
    assert loose > 1.5 * ours


def test_its_accountant_of_batches_is_valid_and_tighter_than_our_moments():
    releases = [(SubsampledGaussianMechanism(4.0, 0.02), 100)]
    accountant = RdpAccountant(neighboring_relation=RELATION.REPLACE_ONE)
    found = accountant.compose(dp_event(releases, 1000)).get_epsilon(1e-5)
    assert certified.epsilon(releases, 1e-5) <= found
    assert rdp.delta(releases, found) >= 1e-5


def test_what_has_no_exact_event_is_refused():
    barker = dpmcmc.DPBarker(dpmcmc.GaussianWalk(0.1), batch_size=100)
    with pytest.raises(ValueError, match="no event that is exactly a BarkerMechanism"):
        barker.dp_event(1000, 5)
    with pytest.raises(ValueError, match="Metropolis is not private"):
        dpmcmc.Metropolis(dpmcmc.GaussianWalk(0.1)).dp_event(1000, 5)
    with pytest.raises(ValueError, match="no batch of a whole number of rows"):
        dp_event([(SubsampledGaussianMechanism(4.0, 0.02), 1)], 1001)


def test_a_chain_of_no_iterations_is_no_event():
    assert PENALTY.dp_event(1000, 0) == dp_accounting.NoOpDpEvent()
