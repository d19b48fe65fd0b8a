"""What the thesis pays, for one row added or removed and Poisson sampling."""

import math

import numpy as np
import pytest
from conftest import chosen

import add_remove_pld
import add_remove_rdp
import dpmcmc
from dpmcmc.accounting import certified, gaussian
from dpmcmc.accounting.accountants import epsilon_of
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.accounting.releases import growing_noise

Q = 0.01


def thesis(iterations, step_size=3.0, friction=1.0, bound=0.7, num_rows=10_000):
    """Releases of a run of the thesis: plain sums over batches of a hundredth, J = 10."""
    b = int(Q * num_rows)
    sampler = dpmcmc.DPSGHMC(step_size, 10, b, friction, gradient_clip_bound=bound)
    return sampler.releases(num_rows, b / num_rows, iterations)


def test_noise_of_a_run_is_that_of_the_thesis():
    """Section 6.5: sigma_t^2 = 2 (C - B) / (h_t L^2), over what a row added moves the sum by."""
    for t, (mechanism, count) in enumerate(thesis(200), 1):
        expected = math.sqrt(2 / (3 * t ** (-1 / 3) * 0.7**2))
        assert add_remove_pld.noise_multiplier(mechanism) == pytest.approx(expected, rel=1e-12)
        assert mechanism.sampling_probability == Q and count == 10


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(1e-6, 0.8848), (1e-5, 0.7658), (1e-4, 0.632), (1e-3, 0.4749), (1e-2, 0.2749)],
)
def test_table_6_3(delta, expected):
    found = add_remove_pld.epsilon(thesis(200), delta)
    assert expected - 5e-5 <= found <= 1.005 * expected


@pytest.mark.parametrize(
    ("trajectories", "printed"),
    chosen([(100, 0.609), (500, 1.040), (1000, 1.324)], (100, 0.609)),
)
def test_table_6_3_by_iterations(trajectories, printed):
    found = add_remove_pld.epsilon(thesis(trajectories), 1e-5)
    assert printed <= found <= 1.01 * printed


@pytest.mark.parametrize(
    ("step_size", "friction", "bound", "expected"),
    chosen(
        [(1.7, 0.15, 1.0, 9.24), (2, 0.05, 0.7, 18.54), (3, 0.7, 0.8, 2.258)],
        (3, 0.7, 0.8, 2.258),
    ),
)
def test_private_runs_of_sections_6_3_and_6_5(step_size, friction, bound, expected):
    found = add_remove_pld.epsilon(thesis(1500, step_size, friction, bound), 1e-5)
    assert found == pytest.approx(expected, rel=0.005)


def test_a_current_renyi_accountant_is_far_below_the_thesis_s():
    found = add_remove_rdp.epsilon(thesis(200), 1e-5)
    assert 0.9931 <= found + 5e-5 <= 1.005 * 0.9931
    assert found > add_remove_pld.epsilon(thesis(200), 1e-5)


def test_under_substitution_it_costs_several_times_as_much():
    assert certified.epsilon(thesis(200), 1e-5) == pytest.approx(3.507, rel=0.005)
    replaced = add_remove_pld.composition(tuple(thesis(200)), is_replaced=True)
    assert 0.7658 < replaced.get_epsilon_for_delta(1e-5) < 3.507


def test_add_remove_on_all_rows_is_the_gaussian_of_half_the_sensitivity():
    releases = growing_noise(SubsampledGaussianMechanism(50.0, 1.0), 0.5, 2, 30)
    mu = math.sqrt(sum(2 / (4 * 50 * t**0.5) for t in range(1, 31)))
    for module in (add_remove_pld, add_remove_rdp):
        found = module.epsilon(releases, 1e-5)
        exact = gaussian.epsilon([(GaussianMechanism(mu), 1)], 1e-5)
        assert exact * (1 - 1e-3) <= found <= 1.3 * exact
    assert add_remove_pld.epsilon(releases, 1e-5) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("module", [add_remove_pld, add_remove_rdp])
@pytest.mark.parametrize("mechanism", [GaussianMechanism(0.1), BarkerMechanism(100, Q)])
def test_what_is_no_sum_has_no_price_under_the_other_relation(module, mechanism):
    with pytest.raises(
        TypeError, match=r"add-remove-\w+ prices a SubsampledGaussianMechanism, not a"
    ):
        module.check([(mechanism, 1)])


@pytest.mark.parametrize("module", [add_remove_pld, add_remove_rdp])
def test_costs_grow_with_the_iterations_and_fall_with_epsilon(module):
    costs = [epsilon_of(module, thesis(k), 1e-5) for k in (0, 5, 20, 40)]
    assert costs[0] == 0 and (np.diff(costs) > 0).all()
    deltas = [module.delta(thesis(20), epsilon) for epsilon in (0.0, 0.3, 1.0)]
    assert (np.diff(deltas) < 0).all() and module.delta(thesis(0), 0.5) == 0
    assert module.delta(thesis(20), costs[2]) <= 1e-5 * (1 + 1e-6)
