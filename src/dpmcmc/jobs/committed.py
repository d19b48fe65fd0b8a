"""Committed results: docs/<study>, which anyone can read, and whether they are of the present code.

Pages are committed as executed notebooks and a README, which show on GitHub; `make site` makes a
site of them. Tables are committed with all else that pages need: the few draws that figures show
(`kept/`) and reference samples that take minutes (`reference/`). So pages are rendered anew without
a chain. The recipe of the tables (`dpmcmc.jobs.table.recipe`) is committed with them. Where a part
of it has changed, `attest` runs the first sample of each of its cells again: if all rows come out
as they were, the results are of the present code. `spot-check` does so with cells drawn at random.
Both run Snakemake's own workflow in a directory apart.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.files import JobError, read_json, write_json
from dpmcmc.frames import read_csv, whole, write_csv
from dpmcmc.jobs.data import held_out
from dpmcmc.jobs.metrics import chain_table, read_chain, sample_row
from dpmcmc.jobs.reports import describe_study
from dpmcmc.jobs.stale import FRONT, due, page_recipe, said_by, say_in
from dpmcmc.jobs.table import JOBS, recipe
from dpmcmc.jobs.tables import analysis_tables, study_tables
from dpmcmc.study.loading import load_study

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MEASURED = ("chains", "timings", "baselines", "starts", "budgets", "mixing")  # tables of jobs
# Tables of a job that reads chains, in its order, and the column of whole numbers that each has.
OF_CHAINS = {"chains": "changed_decisions", "timings": None, "budgets": "allowed_iterations"}
OF_CHAINS |= {"mixing": None}
WITHOUT_CHAINS = ("accounting", "certified", "audit")  # tables of jobs that touch no chain
# Rules of what is run again, once there are data and reference samples.
CHECKED = ["precompute", "compute_budget", "run_chain", "draw_baselines", "tabulate_baselines"]
CHECKED += ["compute_accounting_curve", "tabulate_accounting_curves", "audit_case"]
CHECKED += ["tabulate_audit", "certify_budget", "tabulate_certifications", "try_intervals"]
SPOT_CHECK_CHAINS = 40  # of a study
# CPU time of a chain, in the median of its cell, that is run again.
MOST_SECONDS = 2.0
MOST_NAMED = 3  # rows that differ, of a column


def docs(action, studies):
    """Render, check or renew committed results, by one of ACTIONS.

    Parameters
    ----------
    action : str
    studies : list of str
        Names; all that are committed if empty.

    Returns
    -------
    int
        Exit status: 0 if all is well.
    """
    if action not in ACTIONS:
        raise JobError(f"unknown action {action}; valid actions: {', '.join(ACTIONS)}")
    names = studies or sorted(path.parent.name for path in DOCS.glob("*/provenance.json"))
    return max([ACTIONS[action](study_of(name)) for name in names], default=0)


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


def say(study, text, lines=()):
    """Print what was found, and lines of what is wrong; the exit status."""
    print(f"docs/{study.name}: {text}", *lines, sep="\n  ")
    return int(bool(lines))


# -- Making and rendering --------------------------------------------------------------------------


def publish(study):
    """Put the pages and tables of a study that has run here in the place of the committed ones."""
    results = ROOT / "results" / study.name
    copy_results(results, study)
    record = record_of(study) | {"pages": page_recipe(study, results / "tables")}
    write_json(record, DOCS / study.name / "provenance.json")
    return say(study, "published")


def copy_results(results, study):
    """Copy what is committed of a study's results, all or nothing."""
    pages = study.notebooks.values()
    files = ["provenance.json", "study.json", "README.md"]
    files += [f"notebooks/{page}.ipynb" for page in study.notebooks]
    files += [f"tables/{table}.csv" for table in study.all_tables]
    files += [f"figures/{figure}.png" for page in pages for figure in page.figures]
    files += [f"reference/{model}.npy" for model in slow_references(study)]
    files += [path.relative_to(results) for path in results.glob("kept/**/*.*")]
    new = DOCS / f".{study.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    for file in files:
        (new / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(results / file, new / file)
    put_in_place(new, study)


def put_in_place(new, study):
    """Put a directory in the place of the committed results of a study."""
    shutil.rmtree(DOCS / study.name, ignore_errors=True)
    os.replace(new, DOCS / study.name)


def slow_references(study):
    """Models whose reference sample is no exact one, and takes minutes."""
    return [name for name in study.model_ids if study.models[name].reference != "exact"]


def pages(study):
    """Render all pages of a study from its committed tables, without a chain.

    A page whose kept files are not committed stays as it is.
    """
    from dpmcmc.reporting.pages import front_page

    record, committed = record_of(study), DOCS / study.name
    rendered = [
        name
        for name, page in study.notebooks.items()
        if all(list(committed.glob(f"kept/{file}*")) for file in page.kept)
    ]
    with scratch() as directory:
        results = directory / "results" / study.name
        shutil.copytree(committed, results)
        for file in ["study.json", *(f"notebooks/{name}.ipynb" for name in rendered)]:
            (results / file).unlink(missing_ok=True)
        derive(study, committed / "tables", results / "tables")
        now = page_recipe(study, results / "tables")
        was = {name: digest for name, digest in record.get("pages", {}).items() if name in now}
        made = was | {name: now[name] for name in [FRONT, *rendered]}
        record = renewed(record, study, ["tables"], pages=made)
        write_json(record, results / "provenance.json")
        models = {model for name in rendered for model in study.notebooks[name].data_models}
        make_samples(study, directory, models)
        rules = [f"render_{re.sub('[^0-9A-Za-z]', '_', name)}" for name in rendered]
        targets = [f"notebooks/{name}.ipynb" for name in rendered]
        run_workflow(study, directory, targets, ["describe_study", *rules])
        describe_study(study.description(), results / "study.json")  # with paths from here
        (results / "README.md").write_text(front_page(results), encoding="utf-8")
        copy_results(results, study)
    set_marks(study)
    text = f"{len(rendered)} of {len(study.notebooks)} pages rendered from tables"
    left = [name for name in study.notebooks if name not in rendered]
    say(study, text, [f"{name} stays as it is: kept/ has nothing of its chains" for name in left])
    return 0


def derive(study, measured, made):
    """Make the tables that follow from others: from those in one directory, in another."""
    of_study, of_analysis = (
        json.loads(JOBS[name].settings(study, None)) for name in ("study-tables", "analysis-tables")
    )
    study_tables(of_study, made, **{name: [measured / f"{name}.csv"] for name in MEASURED})
    if study.analysis_tables:
        given = {name: made / f"{name}.csv" for name in ("chains", "baselines", "starts", "models")}
        more = {
            name: [directory / f"{name}.csv"] if name in study.all_tables else []
            for name, directory in (("summary", made), ("accounting", measured))
        }
        analysis_tables(of_analysis, made, **given, **more)


def renewed(record, study, parts, **more):
    """A record whose recipe has the present digests of some parts, by name."""
    now, was = recipe(study), record.get("recipe", {})
    kept = {part: digest for part, digest in was.items() if part in now}
    return record | {"recipe": kept | {part: now[part] for part in parts}} | more


def extend(study):
    """Run the cells that the committed tables lack, and put their rows into these.

    They must be of models that the tables have, and come after all others of their model in the
    configuration, as their rows do. A part of the recipe is of the present code only if all of its
    cells ran here.
    """
    committed, record = DOCS / study.name, record_of(study)
    table, _ = committed_chains(study)
    known = {place.rpartition(",")[0] for place in table.index}
    new = {
        model: [cell for cell in study.cells_of(model) if "/".join(cell) not in known]
        for model in study.model_ids
    }
    new = {model: cells for model, cells in new.items() if cells}
    for model, cells in new.items():
        if model not in set(table["model"]):
            raise JobError(f"runs: {model} is a new model; `make docs-{study.name}` runs the study")
        if study.cells_of(model)[-len(cells) :] != cells:
            raise JobError(f"runs: new cells of {model} must come after all others of it")
    ran = [cell for cells in new.values() for cell in cells]
    parts = {part_of(cell) for cell in ran}
    parts -= {part_of(cell) for cell in study.cells if cell not in ran}
    with scratch() as directory:
        results = directory / "results" / study.name
        shutil.copytree(committed, results)
        make_samples(study, directory, new)
        targets = [
            f"chains/{'/'.join(cell)}/seed-{seed}.npz"
            for cell in ran
            for seed in study.seeds_of(cell)
        ]
        run_workflow(study, directory, targets, CHECKED)
        for model, cells in new.items():
            add_rows(study, model, cells, results)
        derive(study, results / "tables", results / "tables")
        copy = DOCS / f".{study.name}.new"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(committed, copy)
        shutil.copytree(results / "tables", copy / "tables", dirs_exist_ok=True)
        write_json(renewed(record, study, ["tables", *parts]), copy / "provenance.json")
        put_in_place(copy, study)
    set_marks(study)
    return say(study, f"cells put into the tables: {len(ran)}; `make pages` renders them")


def add_rows(study, model, cells, results):
    """Put the rows of new cells of a model into the tables of a study's results."""
    made = results / "new"
    made.mkdir(exist_ok=True)
    chain_table(
        study.chain_table(model, cells),
        results / f"reference/{model}.npy",
        results / f"chains/{model}",
        results / f"budgets/{model}",
        *(made / f"{name}.csv" for name in OF_CHAINS),
    )
    for name, counts in OF_CHAINS.items():
        path = results / f"tables/{name}.csv"
        old, new = read_csv(path), read_csv(made / f"{name}.csv")
        place = int(np.flatnonzero(old["model"] == model)[-1]) + 1
        table = pd.concat([old[:place], new, old[place:]], ignore_index=True)
        write_csv(whole(table, counts)[[*old, *new.columns.difference(old.columns)]], path)


def part_of(cell):
    """Part of the recipe that a cell is in."""
    return f"chains/{cell.model}/{cell.algorithm}"


# -- Checking --------------------------------------------------------------------------------------


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


def verify(study):
    """Say whether the tables of a study that has run here are those that were committed."""
    found = ROOT / "results" / study.name / "tables"
    if not found.exists():
        return say(study, "the study has not run here")
    names = [name for name in study.all_tables if name != "timings"]
    lines = table_differences(DOCS / study.name / "tables", found, names)
    return say(study, f"{'not ' if lines else ''}the tables of {found}, timings aside", lines)


def attest(study):
    """Run the first sample of a cell of every changed part again; if all rows are the same, say so.

    Of each part the cell of the shortest chains: spot checks are of all cells. Of reference samples
    that take minutes one of each kind, with its baselines; and of intervals those of one model.
    """
    record, parts = record_of(study), changed_parts(study)
    if not parts:
        return status(study)
    table, seconds = committed_chains(study)
    takes = {cell: seconds.get("/".join(cell), 0) for cell in study.cells}
    of_parts = {}
    for cell in sorted(study.cells, key=takes.get):
        of_parts.setdefault(part_of(cell), []).append(cell)
    cells = [of_parts[part][0] for part in of_parts if part in parts]
    one_of_each = {study.models[model].reference: model for model in slow_references(study)[::-1]}
    long = {*slow_references(study)} - {*one_of_each.values()}
    now = recipe(study)
    others = [part for part in parts if part in now and part.partition("/")[2] not in long]
    tried = [part for part in others if part.startswith("intervals/")]
    others = [part for part in others if part not in tried[1:]]
    lines = differences(study, [(cell, 0) for cell in cells], others)
    text = f"{len(cells)} of {len(table)} samples run again, in {len(parts)} changed parts"
    text += f", without long references: {', '.join(sorted(long))}" if long else ""
    text += f", {'which differ:' if lines else 'all identical'}"
    if not lines:
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        entry = {"date": date, "parts": parts, "result": text}
        more = {"attested": [*record.get("attested", []), entry], "config": study.config}
        record = renewed(record, study, now, **more)
        write_json(record, DOCS / study.name / "provenance.json")
        set_marks(study)
    return say(study, text, lines)


def spot_check(study):
    """Run cells that are drawn at random, by the commit, again and compare their rows."""
    command = ["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    commit, m = found.stdout.strip() or "none", study.chains_per_sample
    table, seconds = committed_chains(study)
    quick = [cell for cell in study.cells if seconds["/".join(cell)] <= MOST_SECONDS]
    places = [(cell, i) for cell in quick for i in range(len(study.seeds_of(cell)) // m)]
    rng = random.Random(f"{commit} {study.name}")
    drawn = rng.sample(places, min(len(places), SPOT_CHECK_CHAINS // m))
    lines = differences(study, drawn)
    text = (
        f"{len(drawn)} of {len(table)} rows of chains.csv run again, "
        f"{'which differ' if lines else 'all identical'} (drawn by commit {commit} from "
        f"{len(quick)} of {len(study.cells)} cells: a chain takes {MOST_SECONDS:g} s at most)"
    )
    return say(study, text, lines)


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
            given_iterations(run),
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


def given_iterations(run):
    """Iterations of a run that no epsilon names."""
    return run.iterations if run.epsilon is None else None


def differences(study, samples, parts=()):
    """Make some results again, in a directory apart, and compare them with the committed ones.

    Parameters
    ----------
    study : Study
    samples : list of (Cell, int)
        With the number of the sample.
    parts : iterable of str
        Parts of the recipe; those of chains are in `samples`.

    Returns
    -------
    list of str
        Lines of what differs; empty if all is the same.
    """
    committed = DOCS / study.name
    kinds = [part.partition("/")[::2] for part in parts]
    remade = [model for kind, model in kinds if kind == "reference"]
    of_models = sorted({model for kind, model in kinds if kind in ("reference", "baselines")})
    tried = [model for kind, model in kinds if kind == "intervals"]
    tables = [name for name in WITHOUT_CHAINS if name in parts]
    targets = [
        f"chains/{'/'.join(cell)}/seed-{seed}.npz"
        for cell, number in samples
        for seed in seeds_of_sample(study, number)
    ]
    targets += [f"tables/models/{model}/baselines.csv" for model in of_models]
    targets += [f"tables/models/{model}/intervals.csv" for model in tried]
    targets += [f"tables/{name}.csv" for name in tables]
    with scratch() as directory:
        results = directory / "results" / study.name
        slow = {file.stem: file for file in committed.glob("reference/*.npy")}
        for model in slow.keys() - set(remade):
            (results / "reference").mkdir(parents=True, exist_ok=True)
            shutil.copy(slow[model], results / "reference")
        make_samples(study, directory, {*of_models, *(cell.model for cell, _ in samples)})
        run_workflow(study, directory, targets, CHECKED)
        lines = table_differences(committed / "tables", results / "tables", tables)
        if "tables" in parts:
            derive(study, committed / "tables", directory / "derived")
            names = [*study.tables, *study.analysis_tables]
            lines += table_differences(committed / "tables", directory / "derived", names)
        pairs = [(model, name) for model in of_models for name in ("baselines", "starts")]
        for model, name in [*pairs, *((model, "intervals") for model in tried)]:
            was = read_csv(committed / f"tables/{name}.csv").query("model == @model")
            now = read_csv(results / f"tables/models/{model}/{name}.csv")
            lines += frame_differences(f"{name}.csv, {model}", was.reset_index(drop=True), now)
        for model in slow.keys() & set(remade):
            if not np.array_equal(
                np.load(slow[model]), np.load(results / f"reference/{model}.npy")
            ):
                lines.append(f"reference/{model}.npy differs")
        return lines + chain_differences(study, samples, results)


def seeds_of_sample(study, number):
    """Seeds of the chains of a sample."""
    m = study.chains_per_sample
    return range(number * m, (number + 1) * m)


def chain_differences(study, samples, results):
    """Rows of chains that ran again, beside the committed ones: lines of what differs."""
    rows = {}
    for model in dict.fromkeys(cell.model for cell, _ in samples):
        spec = study.chain_table(model)
        reference = np.load(results / f"reference/{model}.npy")
        given = spec, registry.build(spec["model_entry"]), reference, held_out(spec)
        for cell, number in samples:
            if cell.model == model:
                chains = {
                    seed: read_chain(results / "chains" / model, cell.algorithm, cell.run, seed)
                    for seed in seeds_of_sample(study, number)
                }
                labels = cell.algorithm, study.runs[cell].seed_label, number
                rows[f"{'/'.join(cell)}, {number}"] = sample_row(*given, chains, *labels)
    if not rows:
        return []
    table, _ = committed_chains(study)
    made = pd.DataFrame.from_dict(rows, orient="index")
    return frame_differences(
        "chains.csv", table.reindex(made.index), made.reindex(columns=table.columns)
    )


def table_differences(committed, found, names):
    """Lines of what differs between tables of two directories."""
    lines = []
    for name in names:
        files = [directory / f"{name}.csv" for directory in (committed, found)]
        missing = [f"{file} is not there" for file in files if not file.exists()]
        if missing or files[0].read_bytes() == files[1].read_bytes():
            lines += missing
        else:
            lines += frame_differences(f"{name}.csv", *map(read_csv, files)) or [
                f"{name}.csv has the same values in another notation"
            ]
    return lines


def frame_differences(name, was, now):
    """Lines that say in which columns two tables differ, by how much, and the first rows."""
    was, now = (table.dropna(axis=1, how="all") for table in (was, now))
    if list(was) != list(now) or len(was) != len(now):
        columns = ", ".join(was.columns.symmetric_difference(now.columns)) or "none"
        return [f"{name}: {len(was)} rows, now {len(now)}; columns in only one of them: {columns}"]
    lines = []
    for column in was:
        one, other = was[column], now[column]
        is_other = (one.to_numpy() != other.to_numpy()) & ~(one.isna() & other.isna()).to_numpy()
        if is_other.any():
            gaps = [
                pd.to_numeric(values[is_other], errors="coerce").to_numpy()
                for values in (one, other)
            ]
            by, rows = (
                np.abs(gaps[0] - gaps[1]).max(),
                list(map(str, was.index[is_other][:MOST_NAMED])),
            )
            far = f", by at most {by:.3g}" if by > 0 else ""
            count = f"{is_other.sum()} of {len(was)} rows"
            lines.append(f"{name}: {column} differs in {count}{far}: {'; '.join(rows)}")
    return lines


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


ACTIONS = {
    "publish": publish,
    "pages": pages,
    "extend": extend,
    "status": status,
    "mark": mark,
    "verify": verify,
    "attest": attest,
    "spot-check": spot_check,
}
