"""Committed results: docs/<study>, which anyone can read, and whether they are of the present code.

Pages are committed in Markdown, a README among them, which show on GitHub; `make site` makes a
site of them. Tables are committed with all else that pages need: the few draws that figures show
(`kept/`) and reference samples that take minutes (`reference/`). So pages are rendered anew without
a chain. The recipe of the tables (`dpmcmc.jobs.table.recipe`) is committed with them. Where a part
of it has changed, results are old until they are attested (`dpmcmc.jobs.comparing`).
"""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpmcmc.files import JobError, read_json
from dpmcmc.frames import read_csv
from dpmcmc.jobs.stale import due, said_by, say_in
from dpmcmc.jobs.table import JOBS, recipe
from dpmcmc.jobs.tables import analysis_tables, study_tables
from dpmcmc.study.loading import load_study
from dpmcmc.study.study import MEASURED

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MANY_ROWS = 50_000  # a reference sample of fewer takes seconds, but for a long run
# Rules of what is run again, once there are data and reference samples.
CHECKED = ["precompute", "compute_budget", "run_chain", "draw_baselines", "tabulate_baselines"]
CHECKED += ["compute_accounting_curve", "audit_case", "certify_budget", "try_intervals"]
CHECKED += ["join_table"]
WITHOUT_CHAINS = ("accounting", "certified", "audit")  # tables of jobs that touch no chain


def file_of(name):
    """Files of a study, by its name: a list, empty for that of config.yaml."""
    file = ROOT / f"studies/{name}/study.yaml"
    return [file] if file.exists() else []


def study_of(name):
    """A study of this checkout, by its name."""
    study = load_study(ROOT, file_of(name))
    if study.name != name:
        known = ", ".join(sorted(path.parent.name for path in ROOT.glob("studies/*/study.yaml")))
        raise JobError(f"there is no study {name}; valid names: {study.name}, {known}")
    return study


def record_of(study):
    """What made the committed results of a study."""
    path = DOCS / study.name / "provenance.json"
    if not path.exists():
        raise JobError(f"{path} is missing; `make docs-{study.name}` runs the study and writes it")
    return read_json(path)


def date():
    """The present date, as records have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def renewed(record, study, parts, **more):
    """A record whose recipe has the present digests of some parts, by name."""
    now, was = recipe(study), record.get("recipe", {})
    kept = {part: digest for part, digest in was.items() if part in now}
    return record | {"recipe": kept | {part: now[part] for part in parts}} | more


def committed_chains(study):
    """The committed table `chains`, and the CPU time of a chain of each cell, in the median.

    Rows of the first go by cell and number, `model/algorithm/run, 0`, those of the second by cell.
    """
    directory = DOCS / study.name / "tables"
    table, timings = (read_csv(directory / f"{name}.csv") for name in ("chains", "timings"))
    names = {
        (
            *cell[:2],
            run.epsilon,
            run.iterations if run.epsilon is None else None,
            *map(run.varied.get, study.swept),
        ): "/".join(cell)
        for cell, run in study.runs.items()
    }
    keys = table.reindex(columns=["model", "algorithm", "epsilon", "iterations", *study.swept])
    keys["iterations"] = keys["iterations"].where(keys["epsilon"].isna())
    keys = keys.astype(object).where(keys.notna(), None)
    cells = [names.get(key, "of no cell") for key in keys.itertuples(index=False, name=None)]
    # Both tables have cells in the same order.
    of_cells = timings["cpu_seconds"].groupby(np.repeat(cells, study.chains_per_sample))
    places = [f"{cell}, {number}" for cell, number in zip(cells, table["seed"], strict=True)]
    return table.set_axis(places), of_cells.median()


def part_of(cell):
    """Part of the recipe that a cell is in."""
    return f"chains/{cell.model}/{cell.algorithm}"


def slow_references(study):
    """Models whose reference sample takes minutes: of a long run, or of many rows and not exact."""
    entries = {name: study.models[name] for name in study.model_ids}
    return [
        name
        for name, entry in entries.items()
        if entry.reference == "long-run"
        or (entry.reference != "exact" and entry.model.num_rows >= MANY_ROWS)
    ]


def say(study, text, lines=()):
    """Print what was found, and lines of what is wrong; the exit status."""
    print(f"docs/{study.name}: {text}", *lines, sep="\n  ")
    return int(bool(lines))


# -- Age -------------------------------------------------------------------------------------------


def changed_parts(study):
    """Parts of the recipe that are not as they were: names, sorted."""
    was, now = record_of(study).get("recipe", {}), recipe(study)
    return sorted(part for part in was.keys() | now.keys() if was.get(part) != now.get(part))


def status(study):
    """Say whether the committed results are of the present code and settings.

    It fails where a page is older than what it shows and does not say so.
    """
    parts, text = changed_parts(study), "of the present code and settings"
    if parts:
        advice = f"`make attest STUDY={study.name}` shows whether their numbers are the same"
        text = f"older than the code in {len(parts)} of {len(recipe(study))} parts; {advice}:"
        say(study, text, parts)
    marks = marks_of(study, parts)
    if old := [path.stem for path, mark in marks.items() if mark]:
        text = f"pages that are older than what they show: {', '.join(old)}"
    wrong = [
        f"{path.name} {'does not say that it is old' if mark else 'says that it is old and is not'}"
        for path, mark in marks.items()
        if said_by(path) != mark
    ]
    return say(study, text + ("; `make docs-mark` corrects this:" if wrong else ""), wrong)


def marks_of(study, parts):
    """What each committed page of a study has to say of its age, by its path; of changed parts."""
    return due(study, DOCS / study.name, record_of(study), bool(parts))


def set_marks(study):
    """Let the committed pages of a study say whether they are old."""
    for path, mark in marks_of(study, changed_parts(study)).items():
        if said_by(path) != mark:
            say_in(path, mark)


def mark(study):
    """Let pages that are older than what they show say so, and the others no more."""
    set_marks(study)
    return status(study)


# -- Running ---------------------------------------------------------------------------------------


@contextmanager
def scratch():
    """A directory below results/ for what is compared or moved, and then deleted."""
    (ROOT / "results").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "results", prefix=".scratch-") as directory:
        yield Path(directory)


def make_samples(study, directory, models):
    """Make the data of models, and the reference samples that are not there."""
    files = [f"data/{model}.npy" for model in models]
    files += [f"reference/{model}.npy" for model in models]
    is_there = (directory / "results" / study.name).joinpath
    targets = [file for file in files if not is_there(file).exists()]
    run_workflow(study, directory, targets, ["simulate_dataset", "draw_reference"])


def run_workflow(study, directory, targets, rules):
    """Make some files of a study's results, in a directory, by some rules of the workflow alone."""
    if not targets:
        return
    command = [Path(sys.executable).with_name("snakemake"), "--snakefile", ROOT / "Snakefile"]
    command += ["--directory", directory, "--cores", os.environ.get("CORES", "all"), "--nocolor"]
    command += ["--quiet", "all", "--rerun-triggers", "params", "--config", "committed=true"]
    command += [word for file in file_of(study.name) for word in ("--configfile", file)]
    command += ["--allowed-rules", *rules, "--"]
    command += [f"results/{study.name}/{target}" for target in targets]
    output = {"encoding": "utf-8", "errors": "replace", "capture_output": True}
    done = subprocess.run([*map(str, command)], check=False, **output)
    if done.returncode:
        raise JobError(f"the workflow failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def run_again(study, directory, chains, tables, models=()):
    """Make chains and tables of jobs anew, by the workflow, in a directory.

    Parameters
    ----------
    study : Study
    directory : Path
    chains : list of (Cell, int)
        With the seed.
    tables : list of str
        Paths below the study's tables, without suffix.
    models : iterable of str
        Those whose data and reference samples the tables need.
    """
    make_samples(study, directory, {*models, *(cell.model for cell, _ in chains)})
    targets = [f"chains/{'/'.join(cell)}/seed-{seed}.npz" for cell, seed in chains]
    targets += [f"tables/{table}.csv" for table in tables]
    run_workflow(study, directory, targets, CHECKED)


def derive(study, measured, made):
    """Make the tables that follow from others: from those in one directory, in another."""
    of_study, of_analysis = (
        json.loads(JOBS[name].settings(study, None)) for name in ("study-tables", "analysis-tables")
    )
    parts = [measured / f"{name}.csv" for name in MEASURED]
    study_tables(of_study, parts, made)
    if study.analysis_tables:
        given = [
            (measured if name == "accounting" else made) / f"{name}.csv"
            for name in study.analysed_tables
        ]
        analysis_tables(of_analysis, given, made)
