"""The same release on simulated twins of the data: what it will be worth, in rows.

A twin has as many rows as the data, drawn at a theta of the prior. So settings, clip bounds and
epsilon are chosen without the data, and nothing is spent. A twin is simulated from the model, so
it lacks every feature of the data that the model does not describe: raw units, a missing
intercept, wrong outcomes or rows that do not fit.

Worth, coverage and width are those of `dpmcmc.evaluation.scores`, by draws of the exact posterior
of each twin. How these were made stands below the table.
"""

from collections import Counter

import numpy as np
from tqdm import tqdm

from dpmcmc.evaluation import importance, scores
from dpmcmc.evaluation.independence import NotNearlyNormal
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.release.plan import start_position
from dpmcmc.samplers.chain import run_chain

EXACT_DRAWS = 1000
OF_MODEL = "the model itself"
LEFT_OUT = "left out"  # twins whose posterior is not nearly normal
LAWS = "simulate", "simulate_rare"  # methods that make twins
NAMES = {LAWS[0]: "covariates of the model", LAWS[1]: "rare covariates"}
WHAT_RARE = "by turns rare binary and of heavy tails, in place of those of the model"
BAR_AFTER = 2  # seconds: then a bar shows how many twins are done, if a terminal is there
NO_INTERVALS = "no intervals"  # verdict where any twin has none of its own
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
        rows, epsilon and draws of the plan; law of the covariates; exact, how many of the twins
        have exact draws of each kind; and the `summary` of its scores over the twins. Plans are
        there once more if the model has a second law of covariates. A twin whose posterior is not
        nearly normal is left out, and counted in exact.

    Raises
    ------
    JobError
        If the model cannot make twins, or fewer than two have an exact posterior.
    """
    if twins < 2:
        raise JobError(f"--twins: must be at least 2, not {twins}")
    part = plans[0].part
    model, rows = part.model.model, []
    prior = scores.prior_draws(model)
    prior = None if prior is None else model.in_file_units(prior)
    samplers = [with_precomputed(plan.sampler) for plan in plans]
    for law in LAWS:
        found, kinds = [[] for _ in plans], Counter()
        what = f"{model.num_rows:,} rows, {NAMES[law]}"
        bar = {"leave": False, "delay": BAR_AFTER, "disable": None, "unit": "twin"}
        for twin in tqdm(range(twins), what, **bar):
            labels = seed, "rehearsal", part.model.id, twin
            rng = generator(*labels)
            try:
                truth = model.sample_prior(rng)
                target = Target(model, getattr(model, law)(rng, truth))
                exact, kind = exact_draws(rng, target)
                exact = model.in_file_units(exact)
            except NotImplementedError as error:
                if law == LAWS[0]:
                    raise JobError(f"models.{part.model.id}: {error}") from None
                return rows
            except NotNearlyNormal as error:
                kinds[LEFT_OUT], refusal = kinds[LEFT_OUT] + 1, error
                continue
            kinds[kind] += 1
            for plan, sampler, of_plan in zip(plans, samplers, found, strict=True):
                draws = model.in_file_units(released(plan, sampler, target, labels))
                of_plan.append(scores.interval_metrics(draws, exact, prior))
        if twins - kinds[LEFT_OUT] >= 2:
            both = zip(plans, found, strict=True)
            rows += [row(plan, of_plan, law, kinds) for plan, of_plan in both]
        elif law == LAWS[0]:
            raise JobError(f"models.{part.model.id}: {refusal}") from None
        else:
            rows[-1] = rows[-1] | {"exact": rows[-1]["exact"] + kinds}
    return rows


def exact_draws(rng, target):
    """Draws of the posterior of a twin, (EXACT_DRAWS, d), and how they were made."""
    model = target.model
    if type(model).sample_posterior is not Model.sample_posterior:
        return model.sample_posterior(rng, target.data, EXACT_DRAWS), OF_MODEL
    return importance.sample(rng, target, EXACT_DRAWS)


def released(plan, sampler, target, labels):
    """Draws of a release on a twin, without those that a chain spends on its way."""
    parts = []
    for chain in range(plan.chains):
        more = plan.part.algorithm.id, plan.epsilon, chain
        rng = three_streams(seed_sequence(*labels, *more))
        start = start_position(plan.start, target.model, rng.proposal)
        positions = run_chain(
            sampler, target, rng, start, plan.iterations, plan.kept or None
        ).positions
        parts.append(positions if plan.part.algorithm.has_free_steps else kept_draws(positions))
    return np.concatenate(parts)


def row(plan, found, law, kinds):
    """A row of the table."""
    metrics = {name: [one[name] for one in found] for name in found[0]}
    of_all = scores.summary(metrics)
    if of_all["not_scored"]:
        of_all["honest"] = NO_INTERVALS  # those of the prior cover
    return {
        "rows": plan.model.num_rows,
        "epsilon": plan.epsilon,
        "draws": plan.chains * plan.kept,
        "law": law,
        "exact": kinds,
    } | of_all


def table(rows):
    """Rows as a text, with lines that explain the columns."""
    texts = [HEADER, *map(texts_of, rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(line[:-1], widths, strict=False))
        + f"  {line[-1]}"
        for line in texts
    ]
    by_law = {row["law"]: Counter(row["exact"]) for row in rows}
    return "\n".join([*lines, explained(rows[0]["samples"], by_law)])


def texts_of(row):
    """Cells of a row: worth that is not to be relied on in brackets, and a verdict."""
    keys = [f"{row['rows']:,}", f"{row['epsilon']:.4g}", f"{row['draws']:,}"]
    if row["not_scored"] == row["samples"]:
        return [*keys, *"-----", f"{NO_INTERVALS}: too few draws, or they diverge"]
    verdict, worth = row["honest"], f"{row['worth']:.0%}"
    if verdict != "honest":
        worth = f"({worth})"
    if verdict == "undecided":
        verdict += ": take more --twins"
    if row["not_scored"]:
        verdict = f"{NO_INTERVALS} in {row['not_scored']} of {row['samples']} twins"
    if row["law"] != LAWS[0]:
        verdict += f"; {NAMES[row['law']]}"
    others = f"{row['worth_se']:.0%}", f"{row['coverage']:.0%}", f"{row['coverage_se']:.0%}"
    return [*keys, worth, *others, f"{row['width']:.2f}", verdict]


def explained(twins, by_law):
    """Meaning of the columns, and limits of twins; by law, the exact draws of twins by kind."""
    kinds = sum(by_law.values(), Counter())
    left_out = ""
    if kinds[LEFT_OUT]:
        left_out = f"\nTwins left out, as their posterior is not nearly normal: {kinds[LEFT_OUT]}."
    rare = f"{NAMES[LAWS[1]]}: {WHAT_RARE}\n" if LAWS[1] in by_law else ""
    return f"""
Means over {twins} twins, with their standard errors (+-).
worth:     an exact posterior of so many of the rows is as good; in brackets unless honest
90%_cover: mass of the exact posterior in the 90 % intervals
width:     of these intervals, in widths of the exact posterior's
honest:    they cover at least {scores.LEAST_COVERAGE:.0%}, with {scores.CONFIDENCE:.0%} confidence
{rare}Exact draws by {"; by ".join(kind for kind in kinds if kind != LEFT_OUT)}.{left_out}
A twin is simulated from the model, so it lacks what the model does not describe, such as raw units
or wrong outcomes. The owner checks the data by `python -m dpmcmc check STUDY MODEL`."""
