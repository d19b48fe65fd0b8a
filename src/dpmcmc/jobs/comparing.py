"""Committed tables beside those of the present code: of a study that ran here, or of some chains.

Where a part of the recipe has changed, `attest` runs the first sample of its quickest cell again:
if all rows come out as they were, the results are of the present code. `spot-check` does so with
cells drawn at random. Both run Snakemake's own workflow in a directory apart.
"""

import random
import shutil
import subprocess

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.files import write_json
from dpmcmc.frames import read_csv
from dpmcmc.jobs.committed import (
    DOCS,
    ROOT,
    WITHOUT_CHAINS,
    changed_parts,
    committed_chains,
    date,
    derive,
    part_of,
    record_of,
    renewed,
    run_again,
    say,
    scratch,
    set_marks,
    slow_references,
    status,
)
from dpmcmc.jobs.data import held_out
from dpmcmc.jobs.metrics import read_chain, sample_row
from dpmcmc.jobs.table import recipe

SPOT_CHECK_CHAINS = 40  # of a study
# CPU time of a chain, in the median of its cell, that is run again.
MOST_SECONDS = 2.0
MOST_NAMED = 3  # rows that differ, of a column


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
        entry = {"date": date(), "parts": parts, "result": text}
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
        f"{len(places)} rows in {len(quick)} of {len(study.cells)} cells, whose chains take "
        f"{MOST_SECONDS:g} s at most)"
    )
    return say(study, text, lines)


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
    chains = [(cell, seed) for cell, number in samples for seed in seeds_of_sample(study, number)]
    of_jobs = [f"models/{model}/baselines" for model in of_models]
    of_jobs += [f"models/{model}/intervals" for model in tried]
    with scratch() as directory:
        results = directory / "results" / study.name
        slow = {file.stem: file for file in committed.glob("reference/*.npy")}
        for model in slow.keys() - set(remade):
            (results / "reference").mkdir(parents=True, exist_ok=True)
            shutil.copy(slow[model], results / "reference")
        run_again(study, directory, chains, [*of_jobs, *tables], of_models)
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
    lines, both = [], was.compare(now)
    for column in both.columns.unique(0):
        pair = both[column].dropna(how="all")
        numbers = pair.apply(pd.to_numeric, errors="coerce").astype(float)
        by = numbers.diff(axis=1)["other"].abs().max(skipna=False)
        far = f", by at most {by:.3g}" if by > 0 else ""
        rows = "; ".join(map(str, pair.index[:MOST_NAMED]))
        lines.append(f"{name}: {column} differs in {len(pair)} of {len(was)} rows{far}: {rows}")
    return lines
