"""The command `publish`: put results of studies into docs/, where everyone can read them.

Tables are committed, with all else that a run with reuse needs to render the pages without a chain:
what pages keep of chains (`kept/`), reference samples that take minutes (`reference/`), and the
fingerprints of all parts (`parts.csv`).
"""

import os
import shutil
from pathlib import Path

from dpmcmc.files import JobError
from dpmcmc_studies.jobs.parts import FILE, read_parts
from dpmcmc_studies.jobs.reuse import place_of
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
    files = ["provenance.json", FILE, "study.json", "README.md"]
    files += [f"pages/{page}.md" for page in study.notebooks]
    files += [f"tables/{table}.csv" for table in study.all_tables]
    files += [f"figures/{figure}.png" for page in pages for figure in page.figures]
    copies = {file: file for file in files}
    now, was = read_parts(results), read_parts(DOCS / study.name)
    for part in committed_files(study):
        kind, _, name = part.partition("/")
        if kind == "reference":
            place = place_of(part)
            is_it = was.get(part) == now.get(part)  # a run that takes all rows makes no copy of it
            copies[place] = DOCS / study.name / place if is_it else place
        else:
            for file in (
                f for kept in study.notebooks[name].kept for f in kept_files(results, kept)
            ):
                copies[f"{part}/{file}"] = f"kept/{file}"
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


def committed_files(study):
    """Parts that are committed as files: slow reference samples, and what pages keep of chains.

    A reference sample is slow if it is of a long run, or of many rows and not exact.
    """
    entries = {name: study.models[name] for name in study.model_ids}
    pages = [f"kept/{page}" for page, notebook in study.notebooks.items() if notebook.kept]
    return pages + [
        f"reference/{name}"
        for name, entry in entries.items()
        if entry.reference == "long-run"
        or (entry.reference != "exact" and entry.model.num_rows >= MANY_ROWS)
    ]
