"""All checks of a model, in their order."""

from dataclasses import replace

from dpmcmc.evaluation.checking import fresh, posteriors, row_independence, rows
from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.findings import find_all
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.random_streams import generator

CHECKS = [
    rows.data_are_read,
    rows.ratio_antisymmetric,
    rows.ratio_adds_up,
    rows.ratio_is_difference,
    rows.gradient_differences,
    rows.gradient_of_jax,
    rows.ratio_sums,
    rows.gradient_sums,
    rows.ratio_of_a_substituted_row,
    rows.gradient_of_a_substituted_row,
    rows.rows_not_finite,
    row_independence.other_rows_stay,
    fresh.others_stay_in_new_processes,
    fresh.others_first_in_new_processes,
    fresh.rows_prepared_alone,
    rows.prior_antisymmetric,
    rows.prior_adds_up,
    rows.prior_gradient,
    posteriors.prior_draws_stay,
    posteriors.scores_have_mean_zero,
    posteriors.scores_have_the_information,
    posteriors.bounded_scores_have_mean_zero,
    posteriors.outcomes_are_as_seldom_far,
    posteriors.simulation_based_calibration,
    posteriors.exact_draws_stay,
]


def check_model(model, data=None, seed=0):
    """Try all that can be tried of a model; yields a `Finding` after each check.

    Parameters
    ----------
    model : Model
    data : array, optional
        Those of a model that has its own, of which nothing is quoted; by default they are
        simulated.
    seed : int
    """
    case = Case(without_ranges(model), generator(seed, "check"), data)
    calls = ((check, case, generator(seed, "check", check.__name__)) for check in CHECKS)
    yield from find_all(calls, is_secret=data is not None)


def without_ranges(model):
    """The model whose simulated values follow its likelihood, as no range cuts them."""
    return replace(model, ranges=None) if isinstance(model, NormalColumns) else model
