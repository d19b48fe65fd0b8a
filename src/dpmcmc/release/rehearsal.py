"""The same release on simulated twins of the data: what its intervals will be worth.

A twin has as many rows as the data, drawn at a theta of the prior. So settings, clip bounds and
epsilon are chosen without the data, and nothing is spent. A twin has only what the model knows: it
does not show raw units, a missing intercept, wrong outcomes or rows that do not fit.

The coverage of an interval is the mass of the exact posterior within it. Given the data, the theta
of a twin is a draw of the exact posterior, so the mean over twins is how often intervals hold that
theta; but the mass varies far less than one hit or miss of it.
"""

import numpy as np
from scipy.stats import t as student

from dpmcmc.evaluation import independence
from dpmcmc.evaluation.coverage import of_data_set, summary
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain

EXACT_DRAWS = 500
LEAST_DRAWS = 4  # of which an interval can be made
MOST_WIDTH = 3.0  # of usable intervals, in widths of the exact posterior's
LEVEL = 0.9
HONEST = 0.87  # coverage of honest intervals, at least
LEAST_TWINS = 20  # from whose spread a standard error can be taken
CONFIDENCE = 0.99  # on each side; masses are skewed, so with few twins it is less (0.93 with 20)
COLUMNS = (
    ("epsilon", "{:.4g}"),
    ("draws", "{:,}"),
    ("coverage", "{:.0%}"),
    ("error", "{:.0%}"),
    ("width", "{:.2f}"),
    ("off", "{:.2f}"),
    ("verdict", "{}"),
)
HEADER = ["epsilon", "draws", "90%_cover", "+-", "width", "mean_off", "verdict"]


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
        epsilon (None for the exact posterior), draws, coverage of the 90 % intervals (the mean over
        twins and components) and half the width of its confidence interval, their width in widths
        of the exact posterior's, how far the mean is off in its standard deviations (medians over
        the twins), and a verdict.

    Raises
    ------
    JobError
        If the model cannot make twins, or their exact posteriors are not to be had.
    """
    if twins < 2:
        raise JobError(f"--twins: must be at least 2, not {twins}")
    part = plans[0].part
    model, found = part.model.model, [[] for _ in plans]
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
            if len(draws) >= LEAST_DRAWS:
                with np.errstate(all="ignore"):  # of a chain that never moved
                    of_twin = of_data_set(truth, draws, exact)
                of_plan.append(of_twin | {"mass": mass_within(draws, exact)})
    rows = [row(plan, of_plan) for plan, of_plan in zip(plans, found, strict=True)]
    if any(found):
        best = {"draws": EXACT_DRAWS, "coverage": LEVEL, "error": 0.0, "width": 1.0, "off": 0.0}
        rows.insert(0, {"epsilon": None} | best | {"verdict": "the exact posterior, not private"})
    return rows


def mass_within(draws, exact):
    """Share of exact draws (k, d) within the intervals of other draws, the mean over components."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return ((low <= exact) & (exact <= high)).mean()


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
    keys = {"epsilon": plan.epsilon, "draws": plan.chains * plan.kept}
    if not found:
        missing = dict.fromkeys(("coverage", "error", "width", "off"))
        return keys | missing | {"verdict": "too few draws"}
    of_all = summary(found)
    coverage, error = mean_and_error([one["mass"] for one in found])
    width = of_all["width_90"]
    if coverage + error < HONEST:
        verdict = "intervals are too short: not to be believed"
    elif not width <= MOST_WIDTH:
        verdict = f"more than {MOST_WIDTH:g} times as wide"
    elif len(found) < LEAST_TWINS:
        verdict = f"cannot tell: at least {LEAST_TWINS} twins are needed"
    elif not coverage - error >= HONEST:
        verdict = f"cannot tell if they cover {HONEST:.0%}: take more --twins"
    else:
        verdict = "usable"
    return keys | {
        "coverage": coverage,
        "error": error,
        "width": width,
        "off": of_all["mean_error"],
        "verdict": verdict,
    }


def mean_and_error(values):
    """Mean of independent values and half the width of its confidence interval (Student's t)."""
    count = len(values)
    return np.mean(values), student.ppf(CONFIDENCE, count - 1) * np.std(values, ddof=1) / count**0.5


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
    """What the columns mean, and what twins cannot show."""
    return f"""
90%_cover: mass of the exact posterior in the 90 % intervals, the mean over {twins} twins, and how
           well this mean is known (+-)
width:     of these intervals, in widths of the exact posterior's (median)
mean_off:  of the released mean from the exact one, in the posterior's standard deviations (median)
usable:    coverage is at least {HONEST:.0%}, also less its +-, and width is at most {MOST_WIDTH:g}
A twin has only what the model knows. It does not show raw units, a missing intercept or wrong
outcomes: `python -m dpmcmc check STUDY MODEL` looks at the data, for their owner."""
