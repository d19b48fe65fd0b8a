"""Committed results: docs/<study>, which anyone can read, and whether they are of the present code.

Tables are committed with all else that pages need: the few draws that figures show (`kept/`) and
reference samples that take minutes (`reference/`). So pages are rendered anew without a chain. The
recipe of the tables (`dpmcmc.jobs.table.recipe`) is committed with them. Where a part of it has
changed, `attest` runs the first sample of each of its cells again: if all rows come out as they
were, the results are of the present code. `spot-check` does so with cells drawn at random. Both run
Snakemake's own workflow in a directory apart.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.files import JobError, read_json, write_json
from dpmcmc.frames import read_csv
from dpmcmc.jobs.data import held_out
from dpmcmc.jobs.metrics import read_chain, sample_row
from dpmcmc.jobs.reports import index
from dpmcmc.jobs.table import JOBS, recipe
from dpmcmc.jobs.tables import analysis_tables, study_tables
from dpmcmc.study.loading import load_study

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MEASURED = ("chains", "timings", "baselines", "starts", "budgets", "mixing")  # tables of jobs
WITHOUT_CHAINS = ("accounting", "certified", "audit")  # tables of jobs that touch no chain
# Rules of what is run again, once there are data and reference samples.
CHECKED = ["precompute", "compute_budget", "run_chain", "draw_baselines", "tabulate_baselines"]
CHECKED += ["compute_accounting_curve", "tabulate_accounting_curves", "audit_case"]
CHECKED += ["tabulate_audit", "certify_budget", "tabulate_certifications"]
SPOT_CHECK_CHAINS = 40  # of a study
# CPU time of a chain, in the median of its cell, that is run again.
SPOT_CHECK_SECONDS = 3.0
ATTEST_SECONDS = 60.0
MOST_NAMED = 3  # rows that differ, of a column


def docs(action, studies):
    """Render, check or renew committed results: publish, pages, status, verify, attest, spot-check.

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
    copy_results(ROOT / "results" / study.name, study)
    return say(study, "published")


def copy_results(results, study):
    """Copy what is committed of a study's results, all or nothing."""
    pages = study.notebooks.values()
    files = ["provenance.json", "study.json", "index.html", "README.md"]
    files += [f"notebooks/{page}.html" for page in study.notebooks]
    files += [f"tables/{table}.csv" for table in study.all_tables]
    files += [f"figures/{figure}.png" for page in pages for figure in page.figures]
    files += [f"reference/{model}.npy" for model in slow_references(study)]
    files += [path.relative_to(results) for path in results.glob("kept/**/*.*")]
    new = DOCS / f".{study.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    for file in files:
        (new / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(results / file, new / file)
    shutil.rmtree(DOCS / study.name, ignore_errors=True)
    os.replace(new, DOCS / study.name)


def slow_references(study):
    """Models whose reference sample is no exact one, and takes minutes."""
    return [name for name in study.model_ids if study.models[name].reference != "exact"]


def pages(study):
    """Render all pages of a study from its committed tables, without a chain.

    A page whose kept files are not committed stays as it is.
    """
    record, committed, place = record_of(study), DOCS / study.name, f"results/{study.name}"
    rendered = [
        name
        for name, page in study.notebooks.items()
        if all(list(committed.glob(f"kept/{file}*")) for file in page.kept)
    ]
    with scratch() as directory:
        results = directory / place
        shutil.copytree(committed, results, ignore=shutil.ignore_patterns("reference"))
        for file in ["study.json", *(f"notebooks/{name}.html" for name in rendered)]:
            (results / file).unlink(missing_ok=True)
        derive(study, committed / "tables", results / "tables")
        write_json(renewed(record, study, ["tables"]), results / "provenance.json")
        models = {model for name in rendered for model in study.notebooks[name].data_models}
        make_samples(study, directory, sorted(models))
        rules = [f"render_{re.sub('[^0-9A-Za-z]', '_', name)}" for name in rendered]
        targets = [f"{place}/notebooks/{name}.html" for name in rendered]
        run_workflow(study, directory, targets, ["describe_study", *rules])
        index(results, results / "index.html", results / "README.md")
        for model in slow_references(study):
            copy_reference(study, model, results)
        copy_results(results, study)
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


# -- Checking --------------------------------------------------------------------------------------


def changed_parts(study):
    """Parts of the recipe that are not as they were: names, sorted."""
    was, now = record_of(study).get("recipe", {}), recipe(study)
    return sorted(part for part in was.keys() | now.keys() if was.get(part) != now.get(part))


def status(study):
    """Say whether the committed results are of the present code and settings."""
    parts = changed_parts(study)
    if not parts:
        return say(study, "of the present code and settings")
    advice = f"`make attest STUDY={study.name}` shows whether their numbers are the same"
    text = f"older than the code in {len(parts)} of {len(recipe(study))} parts; {advice}:"
    return say(study, text, parts)


def verify(study):
    """Say whether the tables of a study that has run here are those that were committed."""
    found = ROOT / "results" / study.name / "tables"
    if not found.exists():
        return say(study, "the study has not run here")
    names = [name for name in study.all_tables if name != "timings"]
    lines = table_differences(DOCS / study.name / "tables", found, names)
    return say(study, f"{'not ' if lines else ''}the tables of {found}, timings aside", lines)


def attest(study):
    """Run the first sample of every changed part again; if all rows are the same, record that."""
    record, parts, seconds = record_of(study), changed_parts(study), chain_seconds(study)
    if not parts:
        return status(study)
    changed = [c for c in study.cells if f"chains/{c.model}/{c.algorithm}" in parts]
    cells = [cell for cell in changed if seconds[cell] <= ATTEST_SECONDS]
    left = [f"{'/'.join(c)} ({seconds[c]:.0f} s a chain)" for c in changed if c not in cells]
    others = [part for part in parts if part in recipe(study)]
    lines = differences(study, {cell: [0] for cell in cells}, others)
    text = f"{len(cells)} of {num_samples(study)} samples run again, in {len(parts)} changed parts"
    text += f", without cells of long chains: {', '.join(left)}" if left else ""
    text += f", {'which differ:' if lines else 'all identical'}"
    if not lines:
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        entry = {"date": date, "parts": parts, "result": text}
        more = {"attested": [*record.get("attested", []), entry], "config": study.config}
        record = renewed(record, study, recipe(study), **more)
        write_json(record, DOCS / study.name / "provenance.json")
    return say(study, text, lines)


def spot_check(study):
    """Run cells that are drawn at random, by the commit, again and compare their rows."""
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    commit = found.stdout.strip()[:8] or "none"
    rng, m, seconds = (
        random.Random(f"{commit} {study.name}"),
        study.chains_per_sample,
        chain_seconds(study),
    )
    quick = [cell for cell in study.cells if seconds[cell] <= SPOT_CHECK_SECONDS]
    places = [(cell, i) for cell in quick for i in range(len(study.seeds_of(cell)) // m)]
    drawn = {}
    for cell, number in rng.sample(places, min(len(places), SPOT_CHECK_CHAINS // m)):
        drawn.setdefault(cell, []).append(number)
    lines = differences(study, drawn)
    count = sum(map(len, drawn.values()))
    text = (
        f"{count} of {num_samples(study)} rows of chains.csv run again, "
        f"{'which differ' if lines else 'all identical'} (drawn by commit {commit} from "
        f"{len(quick)} of {len(study.cells)} cells: a chain takes {SPOT_CHECK_SECONDS:g} s at most)"
    )
    return say(study, text, lines)


def chain_seconds(study):
    """CPU time of a chain of each cell, in the median, as committed: {cell: seconds}."""
    timings, seconds = read_csv(DOCS / study.name / "tables/timings.csv"), {}
    for model, of_model in timings.groupby("model", sort=False)["cpu_seconds"]:
        ends = np.cumsum([len(study.seeds_of(cell)) for cell in study.cells_of(model)])
        parts = np.split(of_model.to_numpy(), ends[:-1])  # cells stand one after another
        seconds |= dict(zip(study.cells_of(model), map(np.median, parts), strict=True))
    return seconds


def num_samples(study):
    """Rows of the table `chains`."""
    return sum(len(study.seeds_of(cell)) // study.chains_per_sample for cell in study.cells)


def differences(study, samples, parts=()):
    """Make some results again, in a directory apart, and compare them with the committed ones.

    Parameters
    ----------
    study : Study
    samples : dict of Cell to list of int
        Numbers of samples.
    parts : iterable of str
        Parts of the recipe; those of chains are in `samples`.

    Returns
    -------
    list of str
        Lines of what differs; empty if all is the same.
    """
    committed, place, m = DOCS / study.name, f"results/{study.name}", study.chains_per_sample
    kinds = [part.partition("/")[::2] for part in parts]
    remade = [model for kind, model in kinds if kind == "reference"]
    of_models = sorted({model for kind, model in kinds if kind in ("reference", "baselines")})
    tables = [name for name in WITHOUT_CHAINS if name in parts]
    targets = [
        f"chains/{'/'.join(cell)}/seed-{seed}.npz"
        for cell, numbers in samples.items()
        for number in numbers
        for seed in range(number * m, (number + 1) * m)
    ]
    targets += [f"tables/models/{model}/baselines.csv" for model in of_models]
    targets += [f"tables/{name}.csv" for name in tables]
    with scratch() as directory:
        results, lines = directory / place, []
        models = sorted({*of_models, *(cell.model for cell in samples)})
        make_samples(study, directory, models, remade)
        run_workflow(study, directory, [f"{place}/{target}" for target in targets], CHECKED)
        lines += table_differences(committed / "tables", results / "tables", tables)
        if "tables" in parts:
            derive(study, committed / "tables", directory / "derived")
            names = [*study.tables, *study.analysis_tables]
            lines += table_differences(committed / "tables", directory / "derived", names)
        for model in of_models:
            for name in ("baselines", "starts"):
                was = read_csv(committed / f"tables/{name}.csv").query("model == @model")
                now = read_csv(results / f"tables/models/{model}/{name}.csv")
                lines += frame_differences(f"{name}.csv, {model}", was.reset_index(drop=True), now)
        for model in remade:
            if model in slow_references(study):
                was, now = (np.load(top / f"reference/{model}.npy") for top in (committed, results))
                lines += [] if np.array_equal(was, now) else [f"reference/{model}.npy differs"]
        return lines + chain_differences(study, samples, results)


def chain_differences(study, samples, results):
    """Rows of chains that ran again, beside the committed ones: lines of what differs."""
    table, m = read_csv(DOCS / study.name / "tables/chains.csv"), study.chains_per_sample
    was, now = [], {}
    for model in dict.fromkeys(cell.model for cell in samples):
        spec = study.chain_table(model)
        given = (
            spec,
            registry.build(spec["model_entry"]),
            np.load(results / f"reference/{model}.npy"),
        )
        others = held_out(spec)
        for cell in [cell for cell in samples if cell.model == model]:
            rows, label = (
                rows_of(table, study, cell).set_index("seed", drop=False),
                study.runs[cell].seed_label,
            )
            for number in samples[cell]:
                seeds = range(number * m, (number + 1) * m)
                place = results / "chains" / model
                chains = {s: read_chain(place, cell.algorithm, cell.run, s) for s in seeds}
                row = sample_row(*given, others, chains, cell.algorithm, label, number)
                now[f"{'/'.join(cell)}, {number}"] = row
                was.append(rows.loc[[number]])
    if not now:
        return []
    made = pd.DataFrame.from_dict(now, orient="index")
    committed = pd.concat(was).set_axis(made.index)
    return frame_differences("chains.csv", committed, made.reindex(columns=table.columns))


def rows_of(table, study, cell):
    """Rows of the table `chains` that are of a cell."""
    run = study.runs[cell]
    is_of = (table["model"] == cell.model) & (table["algorithm"] == cell.algorithm)
    if run.epsilon is None:
        is_of &= table["epsilon"].isna() & (table["iterations"] == run.iterations)
    else:
        is_of &= table["epsilon"] == run.epsilon
    for key in study.swept:
        is_of &= table[key] == run.varied[key] if key in run.varied else table[key].isna()
    return table[is_of]


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
                f"{name}.csv has the same values, written otherwise"
            ]
    return lines


def frame_differences(name, was, now):
    """Lines that say in which columns two tables differ, by how much, and the first rows."""
    was, now = (table.dropna(axis=1, how="all") for table in (was, now))
    if list(was) != list(now) or len(was) != len(now):
        columns = ", ".join(was.columns.symmetric_difference(now.columns)) or "none"
        return [f"{name}: {len(was)} rows, now {len(now)}; columns in one alone: {columns}"]
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


class ScratchDirectory(TemporaryDirectory):
    """A temporary directory below results/, as a path."""

    def __enter__(self):
        return Path(super().__enter__())


def scratch():
    """A directory for results that are compared or moved, and then deleted."""
    (ROOT / "results").mkdir(exist_ok=True)
    return ScratchDirectory(dir=ROOT / "results", prefix=".scratch-")


def make_samples(study, directory, models, remade=()):
    """Make data and reference samples of models; slow ones are copied, but for those `remade`."""
    copied = [model for model in models if model in slow_references(study) and model not in remade]
    files = [f"data/{model}.npy" for model in models]
    files += [f"reference/{model}.npy" for model in models if model not in copied]
    targets = [f"results/{study.name}/{file}" for file in files]
    run_workflow(study, directory, targets, ["simulate_dataset", "draw_reference"])
    for model in copied:
        copy_reference(study, model, directory / "results" / study.name)


def copy_reference(study, model, results):
    """Copy a committed reference sample."""
    (results / "reference").mkdir(parents=True, exist_ok=True)
    shutil.copy(DOCS / study.name / f"reference/{model}.npy", results / "reference")


def run_workflow(study, directory, targets, rules):
    """Make some files in a directory by some rules of the workflow alone."""
    if not targets:
        return
    command = [Path(sys.executable).with_name("snakemake"), "--snakefile", ROOT / "Snakefile"]
    command += ["--directory", directory, "--cores", os.environ.get("CORES", "all"), "--nocolor"]
    command += ["--quiet", "all", "--rerun-triggers", "params", "--config", "committed=true"]
    command += [word for file in file_of(study.name) for word in ("--configfile", file)]
    command += ["--allowed-rules", *rules, "--", *targets]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise JobError(f"the workflow failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


ACTIONS = {
    "publish": publish,
    "pages": pages,
    "status": status,
    "verify": verify,
    "attest": attest,
    "spot-check": spot_check,
}
