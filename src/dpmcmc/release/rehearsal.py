"""The same release on simulated twins of the data: what it will be worth, in rows.

A twin has as many rows as the data, drawn at a theta of the prior. So settings, clip bounds and
epsilon are chosen without the data, and nothing is spent. A twin is simulated from the model, so
it lacks every feature of the data that the model does not describe: raw units, a missing
intercept, wrong outcomes or rows that do not fit.

Worth, coverage and width are those of `dpmcmc.evaluation.scores`, by draws of the exact posterior
of each twin.
"""

import numpy as np

from dpmcmc.evaluation import independence, scores
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain

EXACT_DRAWS = 1000
NO_INTERVALS = "no intervals: too few draws, or they diverge"
HEADER = ["rows", "epsilon", "draws", "worth", "+-", "90%_cover", "+-", "width", "verdict"]


def rehearsal(plans, twins, seed=0):
    """Rows of a table, one for each plan.

    Parameters
    ----------
    plans : list of Plan
        Of one model, with one number of rows, and one algorithm, at several epsilons.
    twins : int
        Data sets.
    seed : int

    Returns
    -------
    list of dict
        rows, epsilon and draws of the plan, and the `summary` of its scores over the twins.

    Raises
    ------
    JobError
        If the model cannot make twins, or their exact posteriors are not to be had.
    """
    if twins < 2:
        raise JobError(f"--twins: must be at least 2, not {twins}")
    part = plans[0].part
    model, found = part.model.model, [[] for _ in plans]
    prior = scores.prior_draws(model)
    samplers = [with_precomputed(plan.sampler) for plan in plans]
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
            of_plan.append(scores.interval_metrics(draws, exact, prior))
    return [row(plan, of_plan) for plan, of_plan in zip(plans, found, strict=True)]


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


def row(plan, found):
    """A row of the table."""
    metrics = {name: [one[name] for one in found] for name in found[0]}
    return {
        "rows": plan.model.num_rows,
        "epsilon": plan.epsilon,
        "draws": plan.chains * plan.kept,
    } | scores.summary(metrics)


def table(rows):
    """Rows as a text, with lines that explain the columns."""
    texts = [HEADER, *map(texts_of, rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(line[:-1], widths, strict=False))
        + f"  {line[-1]}"
        for line in texts
    ]
    return "\n".join([*lines, explained(rows[0]["samples"])])


def texts_of(row):
    """Cells of a row: worth that is not to be relied on in brackets, and a verdict."""
    keys = [f"{row['rows']:,}", f"{row['epsilon']:.4g}", f"{row['draws']:,}"]
    if row["not_scored"] == row["samples"]:
        return [*keys, *"-----", NO_INTERVALS]
    verdict, worth = row["honest"], f"{row['worth']:.0%}"
    if verdict != "honest":
        worth = f"({worth})"
    if verdict == "undecided":
        verdict += ": take more --twins"
    if row["not_scored"]:
        verdict += f"; {row['not_scored']} without intervals"
    others = f"{row['worth_se']:.0%}", f"{row['coverage']:.0%}", f"{row['coverage_se']:.0%}"
    return [*keys, worth, *others, f"{row['width']:.2f}", verdict]


def explained(twins):
    """Meaning of the columns, and limits of twins."""
    return f"""
Means over {twins} twins, with their standard errors (+-).
worth:     an exact posterior of so many of the rows is as good; in brackets unless honest
90%_cover: mass of the exact posterior in the 90 % intervals
width:     of these intervals, in widths of the exact posterior's
honest:    they cover at least {scores.LEAST_COVERAGE:.0%}, with {scores.CONFIDENCE:.0%} confidence
A twin is simulated from the model, so it lacks what the model does not describe, such as raw units
or wrong outcomes. The owner checks the data by `python -m dpmcmc check STUDY MODEL`."""
