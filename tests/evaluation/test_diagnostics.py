"""R-hat and effective sample size: known answers, and chains that never move."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

from dpmcmc.evaluation.diagnostics import (
    bulk_size,
    effective_sample_size,
    r_hat,
    split_r_hat,
    tail_size,
)


def test_independent_draws_are_worth_their_number_and_agree():
    chains = np.random.default_rng(3).standard_normal((4, 1000, 2))
    assert 700 < effective_sample_size(chains[:1]) < 1300
    assert 0.99 < split_r_hat(chains) < 1.01


def test_several_chains_are_worth_what_they_are_together():
    chains = np.random.default_rng(8).standard_normal((4, 1000, 2))
    assert 3000 < effective_sample_size(chains) < 5200
    apart = chains + 5 * np.arange(4)[:, None, None]  # so they are worth little more than four
    assert effective_sample_size(apart) < 10
    assert effective_sample_size(np.arange(4.0)[:, None, None] * np.ones((4, 50, 2))) == 4


def test_correlated_draws_are_worth_what_the_autocorrelation_says():
    """AR(1) with coefficient phi: k (1 - phi) / (1 + phi)."""
    rng, phi, size = np.random.default_rng(4), 0.9, 20_000
    x = np.zeros((size, 2))
    noise = rng.standard_normal((size, 2))
    for i in range(1, size):
        x[i] = phi * x[i - 1] + noise[i]
    x[:, 1] = noise[:, 1]  # the worst component counts
    assert effective_sample_size(x[None]) == pytest.approx(size * 0.1 / 1.9, rel=0.25)


def test_ranks_alone_count():
    """So it is the same whatever increasing function is taken of the draws."""
    chains = np.random.default_rng(9).standard_normal((2, 500, 1)).cumsum(axis=1)
    chains -= 0.9 * np.roll(chains, 1, axis=1)
    expected = effective_sample_size(chains)
    assert effective_sample_size(np.exp(3 * chains)) == pytest.approx(expected, rel=1e-9)
    assert 10 < expected < 900


def test_chains_apart_and_chains_that_drift_do_not_agree():
    chains = np.random.default_rng(5).standard_normal((4, 500, 3))
    apart = chains + 3 * np.arange(4)[:, None, None] * [0, 0, 1]
    assert split_r_hat(apart) > 2
    drifting = chains + np.linspace(0, 5, 500)[:, None]
    within, between = 1 + 2.5**2 / 12, 8 / 7 * 1.25**2  # of eight halves
    assert split_r_hat(drifting) == pytest.approx(np.sqrt(1 + between / within), rel=0.05)


def test_what_never_moves_is_one_draw_and_never_agrees():
    starts = np.arange(4.0)[:, None, None] * np.ones((4, 50, 2))
    assert effective_sample_size(starts[:1]) == 1 and math.isinf(split_r_hat(starts))
    stuck = np.random.default_rng(6).standard_normal((4, 50, 2))
    stuck[:, :, 1] = starts[:, :, 0]  # in one component
    assert effective_sample_size(stuck[:1]) == 1 and math.isinf(split_r_hat(stuck))


@pytest.mark.parametrize("shape", [(4, 3, 2), (1, 50, 2), (4, 0, 2)])
def test_too_little_is_missing(shape):
    chains = np.random.default_rng(7).standard_normal(shape)
    assert math.isnan(split_r_hat(chains))
    assert math.isnan(effective_sample_size(chains[:1])) is (shape[1] < 4)


def chains_of_many_kinds():
    """Chains, (m, k): that mix, wander, repeat, stand still, and with draws that are not finite."""
    rng = np.random.default_rng(2)
    for m, k in ((1, 4), (2, 5), (3, 7), (4, 11), (4, 101), (9, 1000), (2, 1501)):
        x = rng.standard_normal((m, k))
        yield x
        yield x.cumsum(axis=1)
        yield np.exp(x.cumsum(axis=1)) * np.where(np.arange(k) % 2, 1, -1)
        yield np.repeat(x, 4, axis=1)[:, :k]
        yield x.round()
        yield np.where(np.arange(m)[:, None] == 0, 1.0, x)
        for value in (math.inf, -1e308, math.nan):
            y = x.copy()
            y[0, k // 2] = value
            yield y


def test_they_are_the_numbers_of_arviz_to_the_last_digit():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        import arviz

        for x in chains_of_many_kinds():
            mine = [bulk_size(x), tail_size(x)]
            theirs = [arviz.ess(x), arviz.ess(x, method="tail", prob=(0.05, 0.95))]
            if len(x) > 1:
                mine.append(r_hat(x))
                theirs.append(arviz.rhat(x))
            np.testing.assert_array_equal(mine, [float(value) for value in theirs])


def test_tables_of_chains_are_made_without_what_takes_seconds_to_import():
    code = (
        "import sys, dpmcmc_studies.jobs.chain_tables, dpmcmc.evaluation.long_run\n"
        "print({'arviz', 'matplotlib', 'xarray', 'scipy.stats'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
