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
# Rules of what is run again, once there are data and reference samples.
CHECKED = ["precompute", "compute_budget", "run_chain", "draw_baselines", "tabulate_baselines"]
CHECKED += ["compute_accounting_curve", "tabulate_accounting_curves", "audit_case"]
CHECKED += ["tabulate_audit", "certify_budget", "tabulate_certifications"]
WHOLE_TABLES = ("accounting", "certified", "audit")  # of jobs that touch no chain
CHAINS = 40  # that a spot check runs again, of a study
# CPU time of a chain, in the median of its cell, that is run again.
SPOT_CHECK_SECONDS = 3.0
ATTEST_SECONDS = 60.0


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
    return max([ACTIONS[action](name, study_of(name)) for name in names], default=0)


def file_of(name):
    """File of a study, by its name; None for that of config.yaml."""
    file = ROOT / f"studies/{name}/study.yaml"
    return file if file.exists() else None


def study_of(name):
    """A study of this checkout, by its name."""
    study = load_study(ROOT, [file_of(name)] if file_of(name) else [])
    if study.name != name:
        known = ", ".join(sorted(path.parent.name for path in ROOT.glob("studies/*/study.yaml")))
        raise JobError(f"there is no study {name}; valid names: {study.name}, {known}")
    return study


def committed_record(name):
    """What made the committed results of a study."""
    path = DOCS / name / "provenance.json"
    if not path.exists():
        raise JobError(f"{path} is missing; `make docs-{name}` runs the study and writes it")
    return read_json(path)


# -- Making and rendering --------------------------------------------------------------------------


def publish(name, study):
    """Put the pages and tables of a study that has run here in the place of the committed ones."""
    copy_results(ROOT / "results" / name, DOCS / name, study)
    return 0


def copy_results(results, docs, study):
    """Copy what is committed of a study's results."""
    parts = {
        ".": ("provenance.json", "study.json", "index.html", "README.md"),
        "notebooks": [f"{page}.html" for page in study.notebooks],
        "tables": [f"{table}.csv" for table in study.all_tables],
        "figures": [f"{f}.png" for page in study.notebooks.values() for f in page.figures],
        "reference": [f"{model}.npy" for model in slow_references(study)],
    }
    new = docs.with_name(f".{docs.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    for directory, files in parts.items():
        (new / directory).mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(results / directory / file, new / directory / file)
    if (results / "kept").exists():
        shutil.copytree(results / "kept", new / "kept")
    shutil.rmtree(docs, ignore_errors=True)
    os.replace(new, docs)


def slow_references(study):
    """Models whose reference sample is no exact one, and takes minutes."""
    return [name for name in study.model_ids if study.models[name].reference != "exact"]


def pages(name, study):
    """Render all pages of a study from its committed tables, without a chain.

    A page whose kept files are not committed stays as it is.
    """
    record, committed = committed_record(name), DOCS / name
    rendered = [
        page
        for page, notebook in study.notebooks.items()
        if all(list(committed.glob(f"kept/{file}*")) for file in notebook.kept)
    ]
    with scratch() as directory:
        results = directory / "results" / name
        shutil.copytree(committed, results, ignore=shutil.ignore_patterns("reference"))
        for page in rendered:
            (results / f"notebooks/{page}.html").unlink(missing_ok=True)
        (results / "study.json").unlink(missing_ok=True)
        derive(study, committed / "tables", results / "tables")
        write_json(renewed(record, study, "tables"), results / "provenance.json")
        models = {model for page in rendered for model in study.notebooks[page].data_models}
        make_samples(name, study, directory, sorted(models))
        rules = ["describe_study"]
        rules += [f"render_{re.sub('[^0-9A-Za-z]', '_', page)}" for page in rendered]
        targets = [f"results/{name}/notebooks/{page}.html" for page in rendered]
        run_workflow(name, directory, targets, rules)
        index(results, results / "index.html", results / "README.md")
        copy_results(results, committed, study)
    left = [page for page in study.notebooks if page not in rendered]
    print(f"docs/{name}: {len(rendered)} pages rendered from tables")
    print(*(f"  {page} stays as it is: what it keeps of chains is not there" for page in left))
    return 0


def derive(study, measured, made):
    """Make the tables that follow from others: from those in one directory, in another."""
    settings = {
        name: json.loads(JOBS[name].settings(study, None))
        for name in ("study-tables", "analysis-tables")
    }
    parts = {name: [measured / f"{name}.csv"] for name in MEASURED}
    study_tables(settings["study-tables"], made, **parts)
    if study.analysis_tables:
        given = {name: made / f"{name}.csv" for name in ("chains", "baselines", "starts", "models")}
        more = {
            name: [directory / f"{name}.csv"] if name in study.all_tables else []
            for name, directory in (("summary", made), ("accounting", measured))
        }
        analysis_tables(settings["analysis-tables"], made, **given, **more)


def renewed(record, study, *parts, **more):
    """A record whose recipe has the present digests of some parts, by name."""
    now = recipe(study)
    kept = {part: digest for part, digest in record.get("recipe", {}).items() if part in now}
    return record | {"recipe": kept | {part: now[part] for part in parts}} | more


# -- Checking --------------------------------------------------------------------------------------


def changed_parts(record, study):
    """Parts of the recipe that are not as they were: names, sorted."""
    was, now = record.get("recipe", {}), recipe(study)
    return sorted(part for part in was.keys() | now.keys() if was.get(part) != now.get(part))


def status(name, study):
    """Say whether the committed results are of the present code and settings."""
    record = committed_record(name)
    parts = changed_parts(record, study)
    if not parts:
        print(f"docs/{name}: of the present code and settings")
        return 0
    print(f"docs/{name}: older than the code in {len(parts)} of {len(recipe(study))} parts:")
    print(*(f"  {part}" for part in parts), sep="\n")
    print(f"  `make attest STUDY={name}` shows whether their numbers are the same")
    return 1


def verify(name, study):
    """Say whether the tables of a study that has run here are those that were committed."""
    found, committed = (ROOT / "results" / name / "tables", DOCS / name / "tables")
    if not found.exists():
        print(f"{name}: has not run here")
        return 0
    lines = []
    for table in study.all_tables:
        if table != "timings":
            lines += table_differences(committed / f"{table}.csv", found / f"{table}.csv")
    print(f"{name}: {'not the tables' if lines else 'the tables'} of docs/{name}, timings aside")
    print(*(f"  {line}" for line in lines), sep="\n", end="\n" if lines else "")
    return int(bool(lines))


def attest(name, study):
    """Run the first sample of every changed part again; if all rows are the same, record that."""
    record = committed_record(name)
    parts = changed_parts(record, study)
    if not parts:
        return status(name, study)
    gone = [part for part in parts if part not in recipe(study)]
    seconds = chain_seconds(name, study)
    changed = [c for c in study.cells if f"chains/{c.model}/{c.algorithm}" in parts]
    cells = [cell for cell in changed if seconds[cell] <= ATTEST_SECONDS]
    left = [f"{'/'.join(c)} ({seconds[c]:.0f} s a chain)" for c in changed if c not in cells]
    others = [part for part in parts if not part.startswith("chains/") and part not in gone]
    lines, count = compared_again(name, study, {cell: [0] for cell in cells}, others)
    said = f"{count} of {num_samples(study)} samples run again, in {len(parts)} changed parts"
    said += f", without cells of long chains: {', '.join(left)}" if left else ""
    print(f"docs/{name}: {said}, {'which differ:' if lines else 'all identical'}")
    print(*(f"  {line}" for line in lines), sep="\n", end="\n" if lines else "")
    if lines:
        return 1
    entry = {"date": now_text(), "parts": parts, "result": f"{said}, all identical"}
    attested = [*record.get("attested", []), entry]
    more = {"attested": attested, "config": study.config}
    write_json(renewed(record, study, *recipe(study), **more), provenance_path(name))
    return 0


def provenance_path(name):
    """Record of what made the committed results of a study."""
    return DOCS / name / "provenance.json"


def spot_check(name, study):
    """Run cells that are drawn at random, by the commit, again and compare their rows."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    rng = random.Random(f"{commit} {name}")
    m = study.chains_per_sample
    seconds = chain_seconds(name, study)
    quick = [cell for cell in study.cells if seconds[cell] <= SPOT_CHECK_SECONDS]
    places = [(cell, i) for cell in quick for i in range(len(study.seeds_of(cell)) // m)]
    drawn = {}
    for cell, number in rng.sample(places, min(len(places), CHAINS // m)):
        drawn.setdefault(cell, []).append(number)
    lines, count = compared_again(name, study, drawn)
    print(
        f"docs/{name}: {count} of {num_samples(study)} rows of chains.csv run again, "
        f"{'which differ:' if lines else 'all identical'} (drawn by commit {commit[:8]} from "
        f"{len(quick)} of {len(study.cells)} cells: a chain takes {SPOT_CHECK_SECONDS:g} s at most)"
    )
    print(*(f"  {line}" for line in lines), sep="\n", end="\n" if lines else "")
    return int(bool(lines))


def chain_seconds(name, study):
    """CPU time of a chain of each cell, in the median, as committed: {cell: seconds}."""
    timings, seconds = read_csv(DOCS / name / "tables/timings.csv"), {}
    for model, of_model in timings.groupby("model", sort=False)["cpu_seconds"]:
        ends = np.cumsum([len(study.seeds_of(cell)) for cell in study.cells_of(model)])
        parts = np.split(of_model.to_numpy(), ends[:-1])  # cells stand one after another
        seconds |= dict(zip(study.cells_of(model), map(np.median, parts), strict=True))
    return seconds


def num_samples(study):
    """Rows of the table `chains`."""
    return sum(len(study.seeds_of(cell)) // study.chains_per_sample for cell in study.cells)


def compared_again(name, study, samples, parts=()):
    """Make some results again, in a directory apart, and compare them with the committed ones.

    Parameters
    ----------
    name : str
    study : Study
    samples : dict of Cell to list of int
        Numbers of samples.
    parts : iterable of str
        Parts of the recipe, beside those of chains.

    Returns
    -------
    lines : list of str
        What differs; empty if all is the same.
    count : int
        Samples that ran.
    """
    committed, m = DOCS / name, study.chains_per_sample
    with scratch() as directory:
        results = directory / "results" / name
        remade = [p.partition("/")[2] for p in parts if p.startswith("reference/")]
        of_models = sorted({*remade, *(p[10:] for p in parts if p.startswith("baselines/"))})
        models = sorted({*of_models, *(cell.model for cell in samples)})
        make_samples(name, study, directory, models, remade)
        targets = [
            f"chains/{'/'.join(cell)}/seed-{seed}.npz"
            for cell, numbers in samples.items()
            for number in numbers
            for seed in range(number * m, (number + 1) * m)
        ]
        targets += [
            f"tables/models/{model}/{table}.csv"
            for model in of_models
            for table in ("baselines", "starts")
        ]
        tables = [part for part in parts if part in WHOLE_TABLES]
        targets += [f"tables/{table}.csv" for table in tables]
        run_workflow(name, directory, [f"results/{name}/{target}" for target in targets], CHECKED)
        lines = []
        for table in tables:
            lines += table_differences(
                committed / f"tables/{table}.csv", results / f"tables/{table}.csv"
            )
        for model in of_models:
            lines += model_differences(committed, results, study, model)
        if "tables" in parts:
            lines += derived_differences(committed, directory, study)
        lines += chain_differences(committed, results, study, samples)
    return lines, sum(map(len, samples.values()))


def chain_differences(committed, results, study, samples):
    """Rows of chains that ran again, beside the committed ones: lines of what differs."""
    table, lines = read_csv(committed / "tables/chains.csv"), []
    for model in dict.fromkeys(cell.model for cell in samples):
        spec = study.chain_table(model)
        built, others = registry.build(spec["model_entry"]), held_out(spec)
        reference = np.load(results / f"reference/{model}.npy")
        for cell in [cell for cell in samples if cell.model == model]:
            stream, place = study.runs[cell].seed_label, results / "chains" / model
            for number in samples[cell]:
                seeds = range(
                    number * study.chains_per_sample, (number + 1) * study.chains_per_sample
                )
                chains = {s: read_chain(place, cell.algorithm, cell.run, s) for s in seeds}
                labels = cell.algorithm, stream, number
                row = sample_row(spec, built, reference, others, chains, *labels)
                rows = rows_of(table, study, cell)
                lines += row_differences(
                    rows[rows["seed"] == number], row, f"{'/'.join(cell)}, {number}"
                )
    return lines


def rows_of(table, study, cell):
    """Rows of a table of chains that are of a cell."""
    run = study.runs[cell]
    is_of = (table["model"] == cell.model) & (table["algorithm"] == cell.algorithm)
    if run.epsilon is None:
        is_of &= table["epsilon"].isna()
        is_of &= table["iterations"] == run.iterations
    else:
        is_of &= table["epsilon"] == run.epsilon
    for key in study.swept:
        is_of &= table[key] == run.varied[key] if key in run.varied else table[key].isna()
    return table[is_of]


def row_differences(rows, row, where):
    """What differs between the one row of a data frame and a dict, exactly: a line, if anything."""
    if len(rows) != 1:
        return [f"{where}: {len(rows)} committed rows"]
    made = pd.DataFrame([row]).reindex(columns=rows.columns)
    committed = rows.iloc[0]
    differing = [
        column
        for column in rows
        if not (pd.isna(made[column][0]) and pd.isna(committed[column]))
        and made[column][0] != committed[column]
    ]
    return (
        [f"{where}: {', '.join(f'{c} {committed[c]} -> {made[c][0]}' for c in differing)}"]
        if differing
        else []
    )


def model_differences(committed, results, study, model):
    """Reference sample, exact samples and start points of a model that were made again."""
    lines = []
    if model in slow_references(study):
        was, now = (np.load(top / f"reference/{model}.npy") for top in (committed, results))
        lines += [] if np.array_equal(was, now) else [f"reference/{model}.npy differs"]
    for name in ("baselines", "starts"):
        table = read_csv(committed / f"tables/{name}.csv")
        was = table[table["model"] == model].reset_index(drop=True).dropna(axis=1, how="all")
        now = read_csv(results / f"tables/models/{model}/{name}.csv").dropna(axis=1, how="all")
        lines += (
            []
            if was.astype(object).equals(now.astype(object))
            else [f"{name}.csv differs for {model}"]
        )
    return lines


def derived_differences(committed, directory, study):
    """Tables that follow from others, made again from the committed ones."""
    tables, made = committed / "tables", directory / "derived"
    derive(study, tables, made)
    names = [*study.tables, *study.analysis_tables]
    return [d for n in names for d in table_differences(tables / f"{n}.csv", made / f"{n}.csv")]


def table_differences(committed, found):
    """Lines that say in which columns two tables differ, in how many rows, by how much at most."""
    if not (committed.exists() and found.exists()):
        return [f"{committed.name} is not in {(found if committed.exists() else committed).parent}"]
    if committed.read_bytes() == found.read_bytes():
        return []
    was, now = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (committed, found))
    if list(was) != list(now) or len(was) != len(now):
        return [
            f"{committed.name}: {len(was)} rows of {', '.join(was)}; "
            f"now {len(now)} of {', '.join(now)}"
        ]
    lines = []
    for column in was:
        rows = was[column] != now[column]
        if rows.any():
            gaps = (pd.to_numeric(t[column][rows], errors="coerce") for t in (was, now))
            most = abs(next(gaps) - next(gaps)).max()
            by = f", by at most {most:.3g}" if most > 0 else ""
            lines.append(
                f"{committed.name}: {column} differs in {rows.sum()} of {len(was)} rows{by}"
            )
    return lines


# -- Running ---------------------------------------------------------------------------------------


def scratch():
    """A directory for results that are compared or moved, and then deleted."""
    (ROOT / "results").mkdir(exist_ok=True)
    return ScratchDirectory(dir=ROOT / "results", prefix=".scratch-")


class ScratchDirectory(TemporaryDirectory):
    """A temporary directory, as a path."""

    def __enter__(self):
        return Path(super().__enter__())


def make_samples(name, study, directory, models, remade=()):
    """Make data and reference samples of models; slow ones are copied, but for those `remade`."""
    copied = [model for model in models if model in slow_references(study) and model not in remade]
    targets = [f"data/{model}.npy" for model in models]
    targets += [f"reference/{model}.npy" for model in models if model not in copied]
    targets = [f"results/{name}/{target}" for target in targets]
    run_workflow(name, directory, targets, ["simulate_dataset", "draw_reference"])
    for model in copied:
        file = f"results/{name}/reference/{model}.npy"
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOCS / name / f"reference/{model}.npy", directory / file)


def run_workflow(name, directory, targets, rules):
    """Make some files in a directory by some rules of the workflow alone."""
    if not targets:
        return
    file, cores = file_of(name), os.environ.get("CORES", "all")
    command = [Path(sys.executable).with_name("snakemake"), "--snakefile", ROOT / "Snakefile"]
    command += ["--directory", directory, "--cores", cores, "--quiet", "all", "--nocolor"]
    command += ["--rerun-triggers", "params", "--config", "committed=true"]
    command += ["--configfile", file] if file else []
    command += ["--allowed-rules", *rules]
    done = subprocess.run(
        [*map(str, command), "--", *targets], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise JobError(f"the workflow failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def now_text():
    """Date and time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


ACTIONS = {
    "publish": publish,
    "pages": pages,
    "status": status,
    "verify": verify,
    "attest": attest,
    "spot-check": spot_check,
}
