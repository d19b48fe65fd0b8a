"""Put results in the place of the committed ones: of a study that ran, or rendered from tables."""

import os
import re
import shutil

import numpy as np
import pandas as pd

from dpmcmc.files import JobError, write_json
from dpmcmc.frames import read_csv, whole, write_csv
from dpmcmc.jobs.committed import (
    CHECKED,
    DOCS,
    ROOT,
    committed_chains,
    derive,
    make_samples,
    part_of,
    record_of,
    renewed,
    run_workflow,
    say,
    scratch,
    set_marks,
    slow_references,
)
from dpmcmc.jobs.metrics import chain_table
from dpmcmc.jobs.reports import describe_study
from dpmcmc.jobs.stale import FRONT, page_recipe

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
