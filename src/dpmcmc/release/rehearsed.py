"""Verdicts of rehearsals: lines of the ledger, which a later release looks up.

A rehearsal reads no data. Its line in the ledger has a digest of all that it ran: model, method,
settings, epsilon, delta, number of draws, and the package. A release with the same digest prints
the verdict, and its statement has it.
"""

import hashlib
import json
import math

from dpmcmc.evaluation import scores
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.code import digest_of_package, digests_of, settings_of
from dpmcmc.release.lines import today

KIND = "rehearsed"
UNDECIDED = "undecided"  # verdict of `dpmcmc.evaluation.scores`
MOST_TWINS = 1000  # that a rehearsal is advised to take
# Of a row of a rehearsal, for each law of rows.
KEPT = ("law", "samples", "honest", "worth", "worth_se", "coverage", "coverage_se", "does_not_fit")


def digest(planned):
    """Digest of all that a plan runs; none of it is secret."""
    part = planned.part
    specs = settings_of(part.model.spec), settings_of(planned.spec)
    size = planned.epsilon, planned.delta, planned.chains, planned.iterations, planned.kept
    what = [*specs, *size, planned.start, digests_of(part.files), digest_of_package()]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def note(data, planned, rows):
    """Append what a rehearsal has said of a plan.

    Parameters
    ----------
    data : path
    planned : Plan
    rows : list of dict
        Rows of `dpmcmc.release.rehearsal.rehearsal` for this plan, one for each law.
    """
    line = {"kind": KIND, "model": planned.part.model.id, "algorithm": planned.part.algorithm.id}
    line |= {"epsilon": planned.epsilon, "digest": digest(planned)}
    line |= {"said": [kept(row) for row in rows], "date": today()}
    with ledgers.opened_to_write(ledgers.path_of(data)) as (ledger, descriptor):
        ledgers.write(ledger, descriptor, line)


def kept(row):
    """What a line has of a row: of components the least and the largest worth, and no name."""
    worths = row["components"].values()
    ends = {"components": [min(worths), max(worths)]} if worths else {}
    return {name: row[name] for name in KEPT} | ends


def found(ledger, planned):
    """What the last rehearsal of a plan has said: a dict for each law, or None."""
    value = digest(planned)
    lines = [one for one in ledger.lines if one["kind"] == KIND and one["digest"] == value]
    return lines[-1]["said"] if lines else None


def in_words(said):
    """Lines on what a rehearsal has said, the law of the model first."""
    first, *others = said
    least, most = first.get("components", (1, 1))  # which former lines lack
    lines = [
        f"worth {first['worth']:.0%} +- {first['worth_se']:.0%} of the rows on {first['samples']} "
        "simulated twins",
        *[f"single components: worth {least:.0%} to {most:.0%}"] * (2 * least <= most),
        f"intervals: {in_short(first)}",
    ]
    if others:
        lines.append("rows that leave the model:")
    return lines + [f"  {one['law']}: {in_short(one)}" for one in others]


def how_to_decide(one):
    """What would decide on a law that is undecided: so many twins, or nothing."""
    count = one["samples"]
    needed = scores.deciding_count(one["coverage"], one["coverage_se"], count)
    if needed > MOST_TWINS:
        return f"too near {scores.LEAST_COVERAGE:.0%}"
    return f"take --twins {math.ceil(max(needed, 2 * count) / 10) * 10}"


def in_short(one):
    """Verdict and coverage of a law."""
    verdict = one["honest"]
    if verdict == UNDECIDED:
        verdict += f": {how_to_decide(one)}"
    cover = f"{one['coverage']:.0%} +- {one['coverage_se']:.0%}"
    unfit = f", does not fit {one['does_not_fit']} of {one['samples']}" * bool(one["does_not_fit"])
    return f"{verdict} (90 % intervals cover {cover}{unfit})"
