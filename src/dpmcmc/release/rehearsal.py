"""The same release on simulated twins of the data: what its intervals will be worth.

A twin has as many rows as the data, drawn at a theta of the prior. So settings, clip bounds and
epsilon are chosen without the data, and nothing is spent. What a twin has not is what the model
does not know: real covariates, and rows that do not fit.
"""

import math

import numpy as np

from dpmcmc.evaluation import independence
from dpmcmc.evaluation.coverage import of_data_set, summary
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.precomputed import with_needed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain

EXACT_DRAWS = 500
LEAST_DRAWS = 4  # of which an interval can be made
MOST_WIDTH = 3.0  # of usable intervals, in widths of the exact posterior's
LEVEL = 0.9
LEAST_TWINS = 20  # that show whether intervals are honest
COLUMNS = (
    ("epsilon", "{:.4g}"),
    ("draws", "{:,}"),
    ("coverage", "{:.0%}"),
    ("width", "{:.2f}"),
    ("off", "{:.2f}"),
    ("verdict", "{}"),
)
HEADER = ["epsilon", "draws", "90%_cover", "width", "mean_off", "verdict"]


def rehearsal(plans, twins, seed=0):
    """Rows of a table, one for each plan, and one for the exact posterior, which comes first.

    Parameters
    ----------
    plans : list of Plan
        Of one model and algorithm, at several epsilons.
    twins : int
        Data sets.
    seed : int

    Returns
    -------
    list of dict
        epsilon (None for the exact posterior), draws, coverage of the 90 % intervals, their width
        in widths of the exact posterior's, how far the mean is off in its standard deviations
        (medians over the twins), and a verdict.

    Raises
    ------
    JobError
        If the model cannot make twins, or their exact posteriors are not to be had.
    """
    if twins < 2:
        raise JobError(f"--twins: must be at least 2, not {twins}")
    part = plans[0].part
    model, found = part.model.model, [[] for _ in plans]
    samplers = [with_needed(plan.sampler) for plan in plans]
    for twin in range(twins):
        labels = seed, "rehearsal", part.model.id, twin
        rng = generator(*labels)
        try:
            truth = model.sample_prior(rng)
            target = Target(model, model.simulate(rng, truth))
            exact = exact_draws(rng, target)
        except NotImplementedError as error:
            raise JobError(f"models.{part.model.id}: {error}") from None
        for plan, sampler, of_plan in zip(plans, samplers, found, strict=True):
            draws = released(plan, sampler, target, labels)
            if len(draws) >= LEAST_DRAWS:
                with np.errstate(all="ignore"):  # of a chain that never moved
                    of_plan.append(of_data_set(truth, draws, exact))
    rows = [row(plan, of_plan, twins) for plan, of_plan in zip(plans, found, strict=True)]
    if any(found):
        coverage = summary(next(filter(None, found)))["exact_coverage_90"]
        best = {"draws": EXACT_DRAWS, "coverage": coverage, "width": 1.0, "off": 0.0}
        rows.insert(0, {"epsilon": None} | best | {"verdict": "the exact posterior, not private"})
    return rows


def exact_draws(rng, target):
    """Draws of the posterior of a twin, (EXACT_DRAWS, d)."""
    model = target.model
    if type(model).sample_posterior is not Model.sample_posterior:
        return model.sample_posterior(rng, target.data, EXACT_DRAWS)
    return independence.sample(rng, target, EXACT_DRAWS)


def released(plan, sampler, target, labels):
    """Draws of a release on a twin, without those that a chain spends on its way."""
    parts = []
    for chain in range(plan.chains):
        more = plan.part.algorithm.id, plan.epsilon, chain
        rng = three_streams(seed_sequence(*labels, *more))
        start = plan.start
        if start in ("prior", "preparation"):
            start = target.model.sample_prior(rng.proposal) if start == "prior" else None
        positions = run_chain(
            sampler, target, rng, start, plan.iterations, plan.kept or None
        ).positions
        parts.append(positions if plan.part.algorithm.has_free_steps else kept_draws(positions))
    return np.concatenate(parts)


def row(plan, found, twins):
    """A row of the table."""
    keys = {"epsilon": plan.epsilon, "draws": plan.chains * plan.kept}
    if not found:
        return keys | dict.fromkeys(("coverage", "width", "off")) | {"verdict": "too few draws"}
    of_all = summary(found)
    coverage, width = of_all["coverage_90"], of_all["width_90"]
    if not coverage >= LEVEL - chance(twins):
        verdict = "intervals are too short: not to be believed"
    elif twins < LEAST_TWINS:
        verdict = f"too few twins to tell: at least {LEAST_TWINS} are needed"
    elif not width <= MOST_WIDTH:
        verdict = f"honest, and more than {MOST_WIDTH:g} times as wide"
    else:
        verdict = "usable"
    off = of_all["mean_error"]
    return keys | {"coverage": coverage, "width": width, "off": off, "verdict": verdict}


def chance(twins):
    """How well a coverage is known: two standard errors, at most, of one at its level."""
    return 2 * math.sqrt(LEVEL * (1 - LEVEL) / twins)


def table(rows, twins):
    """Rows as a text, with lines that explain the columns."""
    texts = [
        ["-" if row[name] is None else form.format(row[name]) for name, form in COLUMNS]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(HEADER, *texts, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(line[:-1], widths, strict=False))
        + f"  {line[-1]}"
        for line in [HEADER, *texts]
    ]
    return "\n".join([*lines, explained(twins)])


def explained(twins):
    """What the columns mean."""
    return f"""
90%_cover: how often 90 % intervals hold the theta that the twin was drawn at; with {twins} twins,
           known to +-{100 * chance(twins):.0f} points
width:     of these intervals, in widths of the exact posterior's (median)
mean_off:  of the released mean from the exact one, in the posterior's standard deviations (median)
usable:    they cover as they say, and are at most {MOST_WIDTH:g} times as wide"""
