"""The command `check-results`: compute parts of committed results anew, and compare every digit.

Parts are drawn at random, by the commit, so that each commit checks others. They run in Snakemake's
own workflow, in a directory apart, and take nothing of their own results from what is committed.
"""

import json
import os
import random
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from dpmcmc.evaluation.scores import prior_draws
from dpmcmc.files import JobError, write_json
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.budgets import noise_of
from dpmcmc_studies.jobs.chain_files import Given
from dpmcmc_studies.jobs.chain_tables import sample_row
from dpmcmc_studies.jobs.parts import CELL, KINDS, OF_CHAINS, rows_of, write_parts
from dpmcmc_studies.jobs.parts import FILE as PARTS_FILE
from dpmcmc_studies.jobs.publishing import DOCS, ROOT, committed_files, committed_studies
from dpmcmc_studies.jobs.reuse import Reuse, is_named
from dpmcmc_studies.jobs.score_tables import score_row
from dpmcmc_studies.study.loading import load_study, study_files
from dpmcmc_studies.study.old import FILE

CHAINS = 10  # that are run of a study, unless more are asked for
MODELS = 2  # of a study, from which they are drawn: each needs data and a reference sample
SECONDS = 20.0  # CPU time of chains of a study: some 140 of all seven, and 200 with all else
MOST_SECONDS = 2.0  # of a chain, in the median of its cell; one chain may take longer
BUDGETS = 2  # that are computed anew of a study; others are taken from what is committed
OF_CELLS = ["widened_ratio", "run"]  # columns that a row made for one sample lacks
MOST_NAMED = 3  # rows that differ, of a column


def check_results(studies, chains=CHAINS, renew=False):
    """Compute some committed results anew and compare every digit; the exit status.

    Parameters
    ----------
    studies : list of str
        Names; all that are committed if empty.
    chains : int
        How many are run of each study, in cells drawn at random.
    renew : bool
        After a refactoring: run a chain of each algorithm on each model whose fingerprint has
        changed instead. If all digits are the same, committed rows get the present fingerprints.
    """
    problems = 0
    for name in studies or committed_studies():
        study = load_study(ROOT, study_files(ROOT, name))
        reuse = Reuse(study, DOCS / study.name, is_assumed=True)
        for line in old_results(reuse):
            print(f"docs/{study.name}: {line}", flush=True)
        samples, parts = changed(reuse) if renew else drawn(reuse, int(chains))
        lines = needless(reuse) + differences(reuse, samples, parts, has_new_budgets=renew)
        text = f"computed anew: samples of chains {len(samples)}, other parts {len(parts)}; "
        text += "these differ:" if lines else "all identical"
        if renew and not lines:
            renew_fingerprints(reuse)
            text += "; committed rows have the present fingerprints"
        print(f"docs/{study.name}: {text}", *lines, sep="\n  ", flush=True)
        problems += bool(lines)
    return min(problems, 1)


# -- Old parts -------------------------------------------------------------------------------------


def known_old(reuse):
    """Old parts that docs/old.yaml names: they are not compared."""
    names = [name for old in reuse.study.old for name in old.names]
    return [part for part in reuse.old() if is_named(part, names)]


def old_results(reuse):
    """A line for each entry of docs/old.yaml: what is old, why, and what renewing would cost."""
    seconds = seconds_of_chains(reuse)
    for old in reuse.study.old:
        parts = [part for part in reuse.old() if is_named(part, old.names)]
        cells = [part.partition("/")[2] for part in parts if part.startswith("chains/")]
        counts = {"/".join(cell): len(reuse.study.seeds_of(cell)) for cell in reuse.study.cells}
        cost = sum(seconds.get(cell, 0) * counts[cell] for cell in cells) / 60
        yield (
            f"{len(parts)} old parts, not compared, as {old.reason.rstrip('.')}: "
            f"{', '.join(old.names)}; chains to renew them took {cost:.1f} CPU minutes"
        )


def needless(reuse):
    """A line for each name in docs/old.yaml that names no old part."""
    return [
        f"{FILE}: {name} is not old any more: take it out"
        for old in reuse.study.old
        for name in old.names
        if not any(is_named(part, [name]) for part in reuse.old())
    ]


# -- Which parts -----------------------------------------------------------------------------------


def drawn(reuse, chains):
    """Pairs (cell, sample) of so many chains, and one other part, drawn by the commit."""
    study, m, old = reuse.study, reuse.study.chains_per_sample, {*known_old(reuse)}
    command = ["git", "-C", ROOT, "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    rng = random.Random(f"{found.stdout.strip()} {study.name}")
    seconds, slow = seconds_of_chains(reuse), slow_models(reuse)
    cells = [
        cell
        for cell in study.cells
        if "/".join(cell) in seconds
        and old.isdisjoint(f"{kind}/{'/'.join(cell)}" for kind in OF_CHAINS)
    ]
    models = sorted({cell.model for cell in cells})
    models = rng.sample(models, min(len(models), MODELS))
    places = [
        (cell, number)
        for cell in cells
        if cell.model in models
        for number in range(len(study.seeds_of(cell)) // m)
    ]
    rng.shuffle(places)
    of_places = [m * seconds["/".join(cell)] for cell, _ in places]
    samples = [places[i] for i in within(of_places, chains // m, SECONDS, m * MOST_SECONDS)]
    quick = [
        part
        for part in reuse.committed
        if part.startswith(("baselines/", "audit/", "certified/"))
        and part in reuse.fingerprints.names
        and part not in old
        and part.partition("/")[2] not in slow
    ]
    return samples, rng.sample(quick, min(len(quick), 1))


def within(seconds, count, total, most):
    """Places of at most so many costs: together at most a total, and at most one above `most`."""
    chosen, left, has_long = [], total, False
    for i, cost in enumerate(seconds):
        is_long = cost > most
        if len(chosen) < count and cost <= left and not (is_long and has_long):
            chosen.append(i)
            left -= cost
            has_long |= is_long
    return chosen


def changed(reuse):
    """One quick sample of each algorithm on each model that has changed, and other such parts.

    Left out are intervals of all models but one, and parts whose reference takes minutes.
    """
    study, seconds = reuse.study, seconds_of_chains(reuse)
    known = known_old(reuse)
    old = [part for part in reuse.old() if part not in known]
    cells = sorted(study.cells, key=lambda cell: seconds.get("/".join(cell), 0))
    quickest = {}
    for cell in cells:
        if any(f"{kind}/{'/'.join(cell)}" in old for kind in OF_CHAINS):
            quickest.setdefault(cell[:2], (cell, 0))
    slow = slow_models(reuse)
    others = [
        part
        for part in old
        if not part.startswith(("chains/", "scores/", "intervals/"))
        and part.partition("/")[2] not in slow
    ]
    intervals = [part for part in old if part.startswith("intervals/")]
    return [*quickest.values()], others + intervals[:1]


def slow_models(reuse):
    """Models whose reference sample is committed, since it takes minutes."""
    return {part.partition("/")[2] for part in reuse.committed if part.startswith("reference/")}


def seconds_of_chains(reuse):
    """CPU seconds of a chain of each cell, in the median, by its path."""
    timings = read_csv(reuse.directory / "tables/timings.csv")
    medians = timings.groupby(CELL)["cpu_seconds"].median()
    return {"/".join(cell): seconds for cell, seconds in medians.items()}


# -- Running and comparing -------------------------------------------------------------------------


def differences(reuse, samples, parts, has_new_budgets):
    """Compute samples and parts anew; lines of what differs from the committed ones.

    Unless all budgets are new, those of most cells are taken from what is committed.
    """
    study = reuse.study
    m = study.chains_per_sample
    seeds = {place: range(place[1] * m, (place[1] + 1) * m) for place in samples}
    targets = [f"chains/{'/'.join(c)}/seed-{i}.npz" for (c, _), of in seeds.items() for i in of]
    targets += [f"reference/{model}.npy" for model in {cell.model for cell, _ in samples}]
    files = {}
    for part in parts:
        kind, _, ids = part.partition("/")
        for file in map(Path, KINDS[kind].files):
            table = kind if "{}" in file.stem else file.stem
            files[str(file).format(ids)] = table, part
    with scratch() as directory:
        results = directory / "results" / study.name
        if not has_new_budgets:
            write_budgets(reuse, [cell for cell, _ in samples], results)
        run_workflow(study, directory, [*targets, *files], parts)
        lines = sample_differences(reuse, seeds, results)
        for file, (name, part) in files.items():
            lines += frame_differences(
                f"{name}.csv, {part}",
                committed_part(reuse, name, part),
                read_csv(results / file),
            )
    return lines


def write_budgets(reuse, cells, results):
    """Write committed budgets where a run looks for them, but for those that are computed anew."""
    study = reuse.study
    for cell in sorted(set(cells), key=cells.index)[BUDGETS:]:
        spec = study.budget(cell)
        noise = noise_of(spec, spec.epsilon) if spec.accountant else {}  # which tables have not
        rows = committed_part(reuse, "budgets", f"chains/{'/'.join(cell)}")
        row = rows.drop(columns="run").astype(object).where(rows.notna(), None).iloc[0].to_dict()
        path = results / f"budgets/{'/'.join(cell)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(row | {"iterations": int(row["iterations"])} | noise, path)


@contextmanager
def scratch():
    """A directory below results/ for what is compared, and then deleted."""
    (ROOT / "results").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "results", prefix=".scratch-") as directory:
        yield Path(directory)


def run_workflow(study, directory, targets, anew):
    """Make files of a study's results in a directory, with some parts computed anew."""
    command = [Path(sys.executable).with_name("snakemake"), "--snakefile", ROOT / "Snakefile"]
    command += ["--directory", directory, "--cores", os.environ.get("CORES", "all"), "--nocolor"]
    command += ["--quiet", "all"]
    command += ["--config", "reuse=true", "assume=true", f"anew={json.dumps(anew)}"]
    command += [word for file in study_files(ROOT, study.name) for word in ("--configfile", file)]
    command += ["--", *(f"results/{study.name}/{target}" for target in targets)]
    output = {"encoding": "utf-8", "errors": "replace", "capture_output": True}
    done = subprocess.run([*map(str, command)], check=False, **output)
    if done.returncode:
        raise JobError(f"the workflow failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def committed_part(reuse, table, part):
    """Committed rows of a part in a table."""
    return rows_of(read_csv(reuse.directory / f"tables/{table}.csv"), part).reset_index(drop=True)


def sample_differences(reuse, seeds, results):
    """Rows of chains that ran anew, beside the committed ones: lines of what differs."""
    study, given = reuse.study, {}
    was, now = ({"chains": {}, "scores": {}} for _ in range(2))
    for (cell, number), of_sample in seeds.items():
        if cell.model not in given:
            reference = results / f"reference/{cell.model}.npy"
            given[cell.model] = Given(study.chain_table(cell.model), results, reference)
        model = given[cell.model]
        chains = model.chains(cell.algorithm, cell.run, of_sample)
        labels = cell.algorithm, study.runs[cell].seed_label, number
        made = {"chains": sample_row(model, chains, *labels)}
        if f"scores/{'/'.join(cell)}" in reuse.committed:
            made["scores"] = score_row(model, prior_draws(model.model), chains, number)
        for name, row in made.items():
            rows = committed_part(reuse, name, f"{name}/{'/'.join(cell)}")
            place = f"{'/'.join(cell)}, {number}"
            now[name][place] = row
            # All samples of a cell together decide by how much intervals are widened.
            was[name][place] = (
                rows[rows["sample"] == number].iloc[0].drop(OF_CELLS, errors="ignore")
            )
    lines = []
    for name in was:
        if was[name]:
            frames = (pd.DataFrame.from_dict(rows[name], orient="index") for rows in (was, now))
            lines += frame_differences(f"{name}.csv", *frames)
    return lines


def frame_differences(name, was, now):
    """Lines that say in which columns two tables differ, by how much, and the first rows."""
    was, now = (table.dropna(axis=1, how="all") for table in (was, now))
    if {*was} != {*now} or len(was) != len(now):
        columns = ", ".join(was.columns.symmetric_difference(now.columns)) or "none"
        return [f"{name}: {len(was)} rows, now {len(now)}; columns in only one of them: {columns}"]
    lines, both = [], was.compare(now[[*was]])
    for column in both.columns.unique(0):
        pair = both[column].dropna(how="all")
        numbers = pair.apply(pd.to_numeric, errors="coerce").astype(float)
        by = numbers.diff(axis=1)["other"].abs().max(skipna=False)
        far = f", by at most {by:.3g}" if by > 0 else ""
        rows = "; ".join(map(str, pair.index[:MOST_NAMED]))
        lines.append(f"{name}: {column} differs in {len(pair)} of {len(was)} rows{far}: {rows}")
    return lines


def renew_fingerprints(reuse):
    """Give committed parts the present fingerprints.

    Those that docs/old.yaml names keep theirs, and so do those that the study has no more.
    """
    present = {*reuse.fingerprints.names, *committed_files(reuse.study)} - {*known_old(reuse)}
    now = {part: reuse.fingerprints[part] for part in reuse.committed if part in present}
    write_parts(reuse.committed | now, reuse.directory / PARTS_FILE)
