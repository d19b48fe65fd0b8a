"""The numbers of docs/release.md on two public data sets: affairs and visits to a doctor.

    python docs/release/public_data.py FOLDER

The files are those of statsmodels (`pip install statsmodels`, in an environment of its own or in
this one): `fair` (Fair 1978) and `randhie` (the RAND experiment on health insurance). FOLDER gets
affairs.csv, visits.csv and public_data.yaml, by which `ledger`, `check`, `rehearse` and `release`
work as on data of one's own; files that are there already are kept.

Printed are means over 40 releases of each data set at epsilon 1, by published seeds, against the
exact posterior: worth, coverage and width as of `dpmcmc rehearse`. The data are public. Of secret
data such a comparison would itself be a release.
"""

import os
import shutil
import sys
from pathlib import Path

import numpy as np

from dpmcmc.data_files import DataFile, prepared
from dpmcmc.evaluation import scores
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part
from dpmcmc.release.rehearsal import exact_draws, released

STUDY = Path(__file__).with_suffix(".yaml")
OUTCOMES = {"affairs": ("affairs", "affair"), "visits": ("mdvis", "any_visit")}
RELEASES, EPSILON = 40, 1
HEADER = "| data | rows | d | worth | coverage | width | mean off, in posterior sds |"


def write(folder):
    """Write both files, with the outcome as 0 or 1: whether there was any."""
    from statsmodels.datasets import fair, randhie

    for (name, (amount, outcome)), source in zip(OUTCOMES.items(), (fair, randhie), strict=True):
        table = source.load_pandas().data
        table[outcome] = (table.pop(amount) > 0).astype(int)
        table.to_csv(folder / f"{name}.csv", index=False)


def measured(name):
    """A row of the table, in Markdown."""
    rows = DataFile(f"{name}.csv").num_rows
    part = read_part(STUDY.name, name, "newton", rows)
    planned = plan(part, EPSILON, 0.1 / rows)
    model, labels = planned.model, (0, "public-data", name)
    target = Target(model, prepared(model, DataFile(part.model.data), part.columns))
    exact = model.in_file_units(exact_draws(generator(*labels, "exact"), target)[0])
    prior = model.in_file_units(scores.prior_draws(model))
    sampler, found, errors = with_precomputed(planned.sampler), [], []
    for release in range(RELEASES):
        draws, _ = released(planned, sampler, target, (*labels, release))
        draws = model.in_file_units(draws)
        found.append(scores.interval_metrics(draws, exact, prior))
        errors.append((draws.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0))
    summary = scores.summary({key: [one[key] for one in found] for key in found[0]})
    worth, coverage = (
        f"{summary[key]:.0%} ± {summary[f'{key}_se']:.0%}" for key in ("worth", "coverage")
    )
    off = np.sqrt(np.mean(np.square(errors)))
    return (
        f"| {name} | {rows:,} | {model.dimension} | {worth} | {coverage} | "
        f"{summary['width']:.2f} | {off:.2f} |"
    )


def main(folder):
    """Write what is missing, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    if not all((folder / f"{name}.csv").is_file() for name in OUTCOMES):
        write(folder)
    shutil.copy(STUDY, folder)
    os.chdir(folder)
    print(HEADER, "|---" * HEADER.count(" | ") + "|---|", sep="\n")
    for name in OUTCOMES:
        print(measured(name), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
