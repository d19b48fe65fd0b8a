"""The same release on simulated twins of the data: what it will be worth, in rows.

A twin has as many rows as the data, drawn at a theta of the prior. So settings, clip bounds and
epsilon are chosen without the data, and nothing is spent. Further twins leave the model, by the
laws that it names (`Model.other_laws`): their exact posterior is still that of the model. A twin
lacks what no law describes: raw units, a missing intercept or wrong outcomes.

Worth, coverage and width are those of `dpmcmc.evaluation.scores`, by draws of the exact posterior
of each twin. How these were made stands below the table.
"""

from collections import Counter
from functools import partial

import numpy as np
from tqdm import tqdm

from dpmcmc.evaluation import importance, references, scores
from dpmcmc.evaluation.independence import NotNearlyNormal
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model, laws_of
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.release import rehearsed
from dpmcmc.release.running import start_position
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.one_shot import does_fit

EXACT_DRAWS = 1000
OF_MODEL = "the model itself"
LEFT_OUT = "left out"  # twins without draws of an exact posterior
OWN_LAW = "rows of the model"
REFERENCES = ("grid", "long-run")  # for posteriors that are not nearly normal
BAR_AFTER = 2  # seconds: then a bar shows how many twins are done, if a terminal is there
NO_INTERVALS = "no intervals"  # verdict where any twin has none of its own
HEADER = ["rows", "epsilon", "draws", "worth", "+-", "90%_cover", "+-", "width", "verdict"]


class NoExactDraws(JobError):
    """The reference that a study names gives no draws of a twin's posterior."""


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
        rows, epsilon and draws of the plan; law of the twins' rows, and what it is, in words;
        exact, how many of the twins have exact draws of each kind; does_not_fit, how many a release
        says that of; components, for rows of the model the worth of each alone; and the `summary`
        of its scores over the twins. All plans are there once for each law. A twin whose posterior
        is not nearly normal has the reference that the study names; if it names none, or this
        fails, the twin is left out, and counted in exact.

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
    for law, words in {OWN_LAW: "", **laws_of(model)}.items():
        simulate = model.simulate if law == OWN_LAW else partial(model.simulate_as, law)
        found, kinds = [[] for _ in plans], Counter()
        what = f"{model.num_rows:,} rows, {law}"
        bar = {"leave": False, "delay": BAR_AFTER, "disable": None, "unit": "twin"}
        for twin in tqdm(range(twins), what, **bar):
            labels = seed, "rehearsal", part.model.id, twin
            rng = generator(*labels)
            try:
                truth = model.sample_prior(rng)
                target = Target(model, simulate(rng, truth))
                exact, kind = exact_draws(rng, target, part.model.reference)
                exact = model.in_file_units(exact)
            except NotImplementedError as error:
                raise JobError(f"models.{part.model.id}: {error}") from None
            except (NotNearlyNormal, NoExactDraws) as error:
                kinds[LEFT_OUT], refusal = kinds[LEFT_OUT] + 1, error
                continue
            kinds[kind] += 1
            for plan, sampler, of_plan in zip(plans, samplers, found, strict=True):
                draws, fits = released(plan, sampler, target, labels)
                sample = model.in_file_units(draws), exact, prior
                metrics = scores.interval_metrics(*sample)
                components = scores.component_ratios(*sample) if law == OWN_LAW else []
                of_plan.append(metrics | {"fits": fits, "components": components})
        if twins - kinds[LEFT_OUT] >= 2:
            both = zip(plans, found, strict=True)
            rows += [row(plan, of_plan, law, words, kinds) for plan, of_plan in both]
        elif law == OWN_LAW:
            raise JobError(f"models.{part.model.id}: {refusal}") from None
        else:
            rows[-1] = rows[-1] | {"exact": rows[-1]["exact"] + kinds}
    return rows


def exact_draws(rng, target, reference=None):
    """Draws of the posterior of a twin, (EXACT_DRAWS, d), and how they were made.

    A reference of the study, grid or long-run, is for a posterior that is not nearly normal.
    """
    model = target.model
    if type(model).sample_posterior is not Model.sample_posterior:
        return model.sample_posterior(rng, target.data, EXACT_DRAWS), OF_MODEL
    try:
        return importance.sample(rng, target, EXACT_DRAWS)
    except NotNearlyNormal:
        if reference not in REFERENCES:
            raise
    try:
        return references.sample(reference, rng, target, EXACT_DRAWS), f"reference: {reference}"
    except JobError as error:
        raise NoExactDraws(str(error)) from None


def released(plan, sampler, target, labels):
    """Draws of a release on a twin, without those that a chain spends on its way; if they fit."""
    parts, fits = [], True
    for number in range(plan.chains):
        more = plan.part.algorithm.id, plan.epsilon, number
        rng = three_streams(seed_sequence(*labels, *more))
        start = start_position(plan.start, target.model, rng.proposal)
        chain = run_chain(sampler, target, rng, start, plan.iterations, plan.kept or None)
        positions = chain.positions
        if of_start := chain.preparation:
            fits = fits and does_fit(of_start.misfit, of_start.far)
        parts.append(positions if plan.part.algorithm.has_free_steps else kept_draws(positions))
    return np.concatenate(parts), fits


def row(plan, found, law, words, kinds):
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
        "law_in_words": words,
        "exact": kinds,
        "does_not_fit": metrics["fits"].count(False),
        "components": worths_of_components(plan.names, metrics["components"]),
    } | of_all


def worths_of_components(names, ratios):
    """Worth by the intervals of each component alone, by its name; score ratios are (twins, d)."""
    means = np.mean(ratios, axis=0)  # other laws have no ratios
    worths = [float(scores.worth(mean, 0.0)[0]) for mean in means]
    return dict(zip(names, worths, strict=False))


def table(rows):
    """Rows as a text, with lines that explain the columns."""
    texts = [HEADER, *map(texts_of, rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(line[:-1], widths, strict=False))
        + f"  {line[-1]}"
        for line in texts
    ]
    return "\n".join([*lines, explained(rows), *by_component(rows)])


def by_component(rows):
    """Lines on the worth of single components, where one is worth half of another or less."""
    rows = [row for row in rows if row["law"] == OWN_LAW and is_uneven(row["components"])]
    if not rows:
        return []
    sizes = sorted({row["rows"] for row in rows})
    lines = ["", "Worth by component, as the mean is over all, for rows of the model:"]
    for row in rows:
        worths = ", ".join(f"{name} {worth:.0%}" for name, worth in row["components"].items())
        size = f"{row['rows']:,} rows, " * (len(sizes) > 1)
        lines.append(f"{size}epsilon {row['epsilon']:.4g}: {worths}")
    return lines


def is_uneven(components):
    """True if one component is worth half of another or less."""
    worths = list(components.values())
    return 2 * min(worths) <= max(worths)


def texts_of(row):
    """Cells of a row: worth that is not to be relied on in brackets, and a verdict."""
    keys = [f"{row['rows']:,}", f"{row['epsilon']:.4g}", f"{row['draws']:,}"]
    if row["not_scored"] == row["samples"]:
        return [*keys, *"-----", f"{NO_INTERVALS}: too few draws, or they diverge"]
    verdict, worth = row["honest"], f"{row['worth']:.0%}"
    if verdict != "honest":
        worth = f"({worth})"
    if verdict == rehearsed.UNDECIDED:
        verdict += f": {rehearsed.how_to_decide(row)}"
    if row["not_scored"]:
        verdict = f"{NO_INTERVALS} in {row['not_scored']} of {row['samples']} twins"
    if row["law"] != OWN_LAW:
        verdict += f"; {row['law']}"
    if row["does_not_fit"]:
        verdict += f"; does not fit: {row['does_not_fit']} of {row['samples']}"
    others = f"{row['worth_se']:.0%}", f"{row['coverage']:.0%}", f"{row['coverage_se']:.0%}"
    return [*keys, worth, *others, f"{row['width']:.2f}", verdict]


def explained(rows):
    """Meaning of the columns and of the laws, and limits of twins."""
    laws = {row["law"]: row["law_in_words"] for row in rows}
    kinds = sum(({row["law"]: Counter(row["exact"]) for row in rows}).values(), Counter())
    left_out = ""
    if kinds[LEFT_OUT]:
        left_out = f"\nTwins left out, as nothing gives their exact posterior: {kinds[LEFT_OUT]}."
    is_unfit = any(row["does_not_fit"] for row in rows)
    unfit = "does not fit: twins whose statement says that intervals do not hold\n" * is_unfit
    others = [f"{law}: {words}" for law, words in laws.items() if words]
    if others:
        others.insert(0, "After a verdict, laws of rows that do not follow the model:")
    others = "".join(f"{line}\n" for line in others)
    return f"""
Means over {rows[0]["samples"]} twins, with their standard errors (+-).
worth:     an exact posterior of so many of the rows is as good; in brackets unless honest
90%_cover: mass of the exact posterior in the 90 % intervals
width:     of these intervals, in widths of the exact posterior's
honest:    they cover at least {scores.LEAST_COVERAGE:.0%}, with {scores.CONFIDENCE:.0%} confidence
{unfit}{others}Exact draws by {"; by ".join(kind for kind in kinds if kind != LEFT_OUT)}.{left_out}
A twin is simulated, so it lacks what no law describes, such as raw units or wrong outcomes. The
owner checks the data by `python -m dpmcmc check STUDY MODEL`."""
