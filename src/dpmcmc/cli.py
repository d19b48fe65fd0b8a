"""One command for each rule of the workflow: `python -m dpmcmc chain ...`.

`--spec` is a JSON object of the job's own settings (see `dpmcmc.study.Study`); every other option
is a path.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from dpmcmc.files import JobError, read_csv, read_json, replacing, write_csv, write_json
from dpmcmc.jobs.jobs import jobs


def main(arguments=None):
    """Run one command; exits with one line on stderr for what the user can mend."""
    name, *options = (sys.argv[1:] if arguments is None else arguments) or [""]
    commands = {function.__name__.replace("_", "-"): function for function in OPTIONS}
    if name not in commands:
        sys.exit(f"usage: python -m dpmcmc command ...; the commands are {', '.join(commands)}")
    function = commands[name]
    parser = argparse.ArgumentParser(
        prog=f"python -m dpmcmc {name}", description=function.__doc__.splitlines()[0]
    )
    for option in OPTIONS[function].split():
        kind = json.loads if option == "spec" else str
        many = option[-1] if option[-1] in "+*" else None
        parser.add_argument(f"--{option.rstrip('+*')}", type=kind, required=True, nargs=many)
    try:
        function(**vars(parser.parse_args(options)))
    except (JobError, OSError) as error:
        sys.exit(f"{name}: {error}")
    except MemoryError as error:
        sys.exit(f"{name}: not enough memory ({error})")


def study_tables(spec, chains, timings, baselines, budgets, clipping, output):
    """Put the tables of all models together, and summarise them, in the directory `output`."""
    from dpmcmc.evaluation import tables

    write_tables(tables.study_tables(spec, chains, timings, baselines, budgets, clipping), output)


def analysis_tables(chains, baselines, accounting, clipping, output):
    """Rank the algorithms and judge the chapter's claims, in the directory `output`."""
    from dpmcmc.evaluation import tables

    optional = {
        name: read_csv(*paths)
        for name, paths in (("accounting", accounting), ("clipping", clipping))
        if paths
    }
    write_tables(tables.analysis_tables(read_csv(chains), read_csv(baselines), **optional), output)


def write_tables(tables, directory):
    """Write data frames, a dict by name, as CSV files."""
    for name, table in tables.items():
        write_csv(table, Path(directory, f"{name}.csv"))


def joined_table(parts, output):
    """Put tables of the same columns together."""
    from dpmcmc.evaluation import tables

    write_csv(tables.concatenate(parts), output)


def search(spec, correction, journal, output, best):
    """Search the settings of an algorithm on a model."""
    from dpmcmc.evaluation import tuning

    tuning.search(spec, correction, journal, output, best)


def tuning_tables(trials, best, output):
    """Put the searches together, and the settings found, in the directory `output`."""
    from dpmcmc.evaluation import tuning

    tuning.gather(trials, best, output)


def notebook(spec, notebook, output, html, failed):
    """Execute a notebook with the parameters of the spec; write it and its rendered page.

    A notebook that fails is kept, with its traceback, under the name `failed`.
    """
    from dpmcmc.reporting import notebooks, pages

    with replacing(output) as executed, replacing(html) as page:
        try:
            notebooks.execute(notebook, executed.name, spec)
        except notebooks.NotebookError as error:
            Path(failed).parent.mkdir(parents=True, exist_ok=True)
            os.replace(executed.name, failed)
            raise JobError(f"{error}; the notebook with its traceback is {failed}") from None
        page.write(pages.notebook_page(executed.name).encode())


def provenance(spec, output):
    """Record what made the study."""
    from dpmcmc.reporting.provenance import record

    write_json(record(**spec), output)


def index(results, output, readme):
    """Write the page that leads to all results, and a short one for readers of a repository."""
    from dpmcmc.reporting import pages

    contents = pages.contents(results)
    for template, path in (("index.html.j2", output), ("readme.md.j2", readme)):
        with replacing(path) as file:
            file.write(pages.render(template, **contents).encode())


def docs_status(docs, root, changes):
    """Say whether committed results come from the source and settings of this checkout."""
    from dpmcmc.reporting.provenance import tree_digest
    from dpmcmc.study.study import merged, read_config

    record = Path(docs, "provenance.json")
    if not record.exists():
        raise JobError(f"{record} is missing; `make docs` writes it")
    made = read_json(record)
    source, config = tree_digest(root), {}
    for path in (Path(root, "config.yaml"), *changes):
        config = merged(config, read_config(path))
    reasons = []
    if made["source"] != source:
        reasons.append(f"the source is {source} now")
    if made["config"] != config:
        reasons.append("the settings have changed")
    state = f"older than the code: {' and '.join(reasons)}" if reasons else "up to date"
    print(f"{docs}, made on {made['date']} from source {made['source']}, is {state}")


# Options of each command; with * or + they take any number of paths.
OPTIONS = {
    jobs.dataset: "spec output",
    jobs.reference: "spec dataset output",
    jobs.baselines: "spec dataset output",
    jobs.budget: "spec output",
    jobs.certification: "spec budget output",
    jobs.accounting_curve: "spec output",
    jobs.correction: "output",
    jobs.audit_case: "spec correction* output",
    jobs.chain: "spec dataset reference budget correction* output",
    jobs.clipped_chain: "spec dataset output",
    jobs.baseline_table: "spec reference baselines output",
    jobs.chain_table: "spec reference chains budgets output timings budget-table",
    jobs.clipping_table: "spec reference chains output",
    study_tables: "spec chains+ timings+ baselines+ budgets+ clipping* output",
    analysis_tables: "chains baselines accounting* clipping* output",
    joined_table: "parts+ output",
    search: "spec correction* journal output best",
    tuning_tables: "trials+ best+ output",
    provenance: "spec output",
    index: "results output readme",
    docs_status: "docs root changes*",
    notebook: "spec notebook output html failed",
}
