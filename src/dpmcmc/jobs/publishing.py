"""Put results in the place of the committed ones: of a study that ran, or rendered from tables."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc.files import JobError, write_json
from dpmcmc.frames import read_csv, whole, write_csv
from dpmcmc.jobs.committed import (
    DOCS,
    ROOT,
    WITHOUT_CHAINS,
    changed_parts,
    committed_chains,
    date,
    derive,
    make_samples,
    part_of,
    record_of,
    renewed,
    run_again,
    run_workflow,
    say,
    scratch,
    set_marks,
    slow_references,
)
from dpmcmc.jobs.metrics import chain_table
from dpmcmc.jobs.reports import describe_study
from dpmcmc.jobs.stale import FRONT, page_recipe
from dpmcmc.jobs.table import recipe

# Tables of a job that reads chains, in its order, and the column of whole numbers that each has.
OF_CHAINS = {"chains": "changed_decisions", "timings": None, "budgets": "allowed_iterations"}
OF_CHAINS |= {"mixing": None}


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
    files += [f"pages/{page}.md" for page in study.notebooks]
    files += [f"tables/{table}.csv" for table in study.all_tables]
    files += [f"figures/{figure}.png" for page in pages for figure in page.figures]
    files += [f"reference/{model}.npy" for model in slow_references(study)]
    kept = filter(Path.is_file, results.glob("kept/**/*"))
    files += [path.relative_to(results) for path in kept]
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
        for file in ["study.json", *(f"pages/{name}.md" for name in rendered)]:
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
        targets = [f"pages/{name}.md" for name in rendered]
        run_workflow(study, directory, targets, ["describe_study", *rules])
        describe_study(study.description(), results / "study.json")  # with paths from here
        (results / "README.md").write_text(front_page(results), encoding="utf-8")
        copy_results(results, study)
    set_marks(study)
    text = f"{len(rendered)} of {len(study.notebooks)} pages rendered from tables"
    left = [name for name in study.notebooks if name not in rendered]
    say(study, text, [f"{name} stays as it is: kept/ has nothing of its chains" for name in left])
    return 0


def update(study):
    """Run the parts of the recipe that have changed, and put their rows into the committed tables.

    Reference samples stay as they are: where these have changed, the study has to run. So has one
    that lost a cell, as the tables do not say which rows were its. What pages keep of chains that
    ran anew is dropped, so that these pages stay old until the study runs.
    """
    committed, record, parts = DOCS / study.name, record_of(study), changed_parts(study)
    if wrong := [part for part in parts if part.partition("/")[0] in ("reference", "baselines")]:
        text = f"reference samples or baselines are others ({', '.join(wrong)})"
        raise JobError(f"{text}; `make docs-{study.name}` runs the study")
    ran = [cell for cell in study.cells if part_of(cell) in parts]
    tried = [model for model in study.interval_models if f"intervals/{model}" in parts]
    tables = [name for name in WITHOUT_CHAINS if name in parts and name in study.all_tables]
    print(f"parts that changed: {len(parts)}; cells that run anew: {len(ran)}", flush=True)
    with scratch() as directory:
        results = directory / "results" / study.name
        shutil.copytree(committed, results)
        for name in tables:
            (results / f"tables/{name}.csv").unlink(missing_ok=True)
        chains = [(cell, seed) for cell in ran for seed in study.seeds_of(cell)]
        of_jobs = [f"models/{model}/intervals" for model in tried]
        run_again(study, directory, chains, [*of_jobs, *tables])
        put_chain_rows(study, ran, results)
        if study.interval_models:
            put_interval_rows(study, tried, results)
        derive(study, results / "tables", results / "tables")
        copy = DOCS / f".{study.name}.new"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(committed, copy, ignore=shutil.ignore_patterns("tables"))
        (copy / "tables").mkdir()
        for name in study.all_tables:
            shutil.copy(results / f"tables/{name}.csv", copy / "tables")
        for file in kept_of(study, {cell.model for cell in ran}):
            for path in copy.glob(f"kept/{file}*"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        entry = {"date": date(), "parts": parts}
        more = {"updated": [*record.get("updated", []), entry], "config": study.config}
        write_json(renewed(record, study, recipe(study), **more), copy / "provenance.json")
        put_in_place(copy, study)
    set_marks(study)
    return say(study, f"cells put into the tables: {len(ran)}; `make pages` renders them")


def kept_of(study, models):
    """Names of the files that pages keep of chains of some models."""
    pages = [page for page in study.notebooks.values() if models.intersection(page.chain_models)]
    return [file for page in pages for file in page.kept]


def put_chain_rows(study, ran, results):
    """Put the rows of cells that ran into the tables of chains, in the order of the study.

    The tables have the rows of one cell after another, all in the same order.
    """
    table, _ = committed_chains(study)
    old = table.index.str.rpartition(",").get_level_values(0)
    if not set(old) <= {"/".join(cell) for cell in study.cells}:
        raise JobError(f"the study lost a cell; `make docs-{study.name}` runs the study")
    rows = {name: rows_by_cell(study, results / "tables", name, old) for name in OF_CHAINS}
    for model in dict.fromkeys(cell.model for cell in ran):
        cells, made = [cell for cell in ran if cell.model == model], results / "new"
        made.mkdir(exist_ok=True)
        chain_table(
            study.chain_table(model, cells),
            results / f"reference/{model}.npy",
            results / f"chains/{model}",
            results / f"budgets/{model}",
            *(made / f"{name}.csv" for name in OF_CHAINS),
        )
        m = study.chains_per_sample
        new = ["/".join(cell) for cell in cells for _ in range(len(study.seeds_of(cell)) // m)]
        for name in OF_CHAINS:
            rows[name] |= rows_by_cell(study, made, name, new)
    for name, counts in OF_CHAINS.items():
        was = read_csv(results / f"tables/{name}.csv")
        of_models = [study.cells_of(model) for model in study.model_ids]
        of_cells = [rows[name]["/".join(cell)] for cells in of_models for cell in cells]
        put = pd.concat(of_cells, ignore_index=True)
        columns = [*was, *put.columns.difference(was.columns)]
        write_csv(whole(put[columns], counts), results / f"tables/{name}.csv")


def rows_by_cell(study, tables, name, cells):
    """Rows of a table of chains by cell; `cells` are those of the rows of `chains`, in order."""
    cells = {
        "chains": list(cells),
        "timings": np.repeat(cells, study.chains_per_sample),
    }.get(name, list(dict.fromkeys(cells)))
    return dict(list(read_csv(tables / f"{name}.csv").groupby(pd.Series(cells), sort=False)))


def put_interval_rows(study, models, results):
    """Put the rows of some models into the table of intervals."""
    path = results / "tables/intervals.csv"
    was = read_csv(path) if path.exists() else pd.DataFrame(columns=["model"])
    parts = [
        read_csv(results / f"tables/models/{model}/intervals.csv")
        if model in models
        else was[was["model"] == model]
        for model in study.interval_models
    ]
    write_csv(pd.concat(parts, ignore_index=True), path)
