"""The command `publish`: put results of studies into docs/, where everyone can read them.

Tables are committed, with all else that a run with reuse needs to render the pages without a chain:
what pages keep of chains (`kept/`) and reference samples that take minutes (`reference/`). The last
two have their fingerprint in their names, rows of tables have it in a column.
"""

import os
import shutil
from pathlib import Path

from dpmcmc.files import JobError
from dpmcmc_studies.jobs.fingerprints import Fingerprints
from dpmcmc_studies.study.loading import load_study, study_files

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MANY_ROWS = 50_000  # a reference sample of fewer takes seconds, except by a long run


def publish(studies):
    """Replace committed pages and tables of studies by those in results/."""
    for name in studies or committed_studies():
        publish_study(load_study(ROOT, study_files(ROOT, name)))
        print(f"docs/{name}: published")
    return 0


def committed_studies():
    """Names of the studies in docs/, sorted."""
    return sorted(path.parent.name for path in DOCS.glob("[!.]*/provenance.json"))


def publish_study(study):
    """Copy the results of a study that are committed, all or nothing."""
    results, pages = ROOT / "results" / study.name, study.notebooks.values()
    files = ["provenance.json", "study.json", "README.md"]
    files += [f"pages/{page}.md" for page in study.notebooks]
    files += [f"tables/{table}.csv" for table in study.all_tables]
    files += [f"figures/{figure}.png" for page in pages for figure in page.figures]
    copies = {file: file for file in files}
    fingerprints = Fingerprints(study)
    for model in slow_references(study):
        place = f"reference/{model}-{fingerprints[f'reference/{model}']}.npy"
        committed = DOCS / study.name / place  # a run that takes all rows makes no copy of it
        copies[place] = committed if committed.exists() else f"reference/{model}.npy"
    for page, notebook in study.notebooks.items():
        for name in notebook.kept:
            for file in kept_files(results, name):
                place = f"kept/{page}-{fingerprints[f'kept/{page}']}"
                copies[f"{place}/{file}"] = f"kept/{file}"
    new = DOCS / f".{study.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    for place, file in copies.items():
        (new / place).parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy(results / file, new / place)
        except FileNotFoundError:
            shutil.rmtree(new)
            raise JobError(f"{results / file} is missing: run the study first") from None
    replace_folder(new, DOCS / study.name)


def replace_folder(new, place):
    """Put a folder in the place of another, which is there, or beside it, until the new one is."""
    old = place.with_name(f".{place.name}.old")
    if place.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.replace(place, old)
    os.replace(new, place)
    shutil.rmtree(old, ignore_errors=True)


def kept_files(results, name):
    """Files that a page keeps under a name, relative to `kept` of the results."""
    kept = results / "kept"
    found = [*kept.glob(f"{name}.*"), *kept.glob(f"{name}/**/*.*")]
    return sorted(path.relative_to(kept).as_posix() for path in found)


def slow_references(study):
    """Models whose reference sample takes minutes: of a long run, or of many rows and not exact."""
    entries = {name: study.models[name] for name in study.model_ids}
    return [
        name
        for name, entry in entries.items()
        if entry.reference == "long-run"
        or (entry.reference != "exact" and entry.model.num_rows >= MANY_ROWS)
    ]
