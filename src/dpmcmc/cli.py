"""One command for each rule of the workflow: `python -m dpmcmc chain ...`.

`--spec` is a JSON object of the job's own settings (see `dpmcmc.study.study.Study`); every other
option is a path.
"""

import argparse
import json
import sys
from importlib import import_module

from dpmcmc.files import JobError

# Module and function of each command, and its options; with * or + these take any number of paths.
COMMANDS = {
    "dataset": ("data.dataset", "spec output"),
    "reference": ("data.reference", "spec dataset output"),
    "baselines": ("data.baselines", "spec dataset output"),
    "needed": ("samplers.compute_needed", "spec output"),
    "budget": ("budgets.budget", "spec output"),
    "certification": ("budgets.certification", "spec budget output"),
    "accounting-curve": ("budgets.accounting_curve", "spec output"),
    "chain": ("chains.chain", "spec dataset reference budget needed* output"),
    "baseline-table": ("metrics.baseline_table", "spec reference baselines output starts"),
    "chain-table": (
        "metrics.chain_table",
        "spec reference chains budgets output timings budget-table mixing",
    ),
    "study-tables": (
        "tables.study_tables",
        "spec chains+ timings+ baselines+ starts+ budgets+ mixing+ output",
    ),
    "analysis-tables": (
        "tables.analysis_tables",
        "spec chains baselines starts models summary* accounting* output",
    ),
    "joined-table": ("tables.joined_table", "parts+ output"),
    "audit-case": ("audits.audit_case", "spec output"),
    "search": ("tuning.search", "spec needed* journal output best"),
    "tuning-tables": ("tuning.tuning_tables", "trials+ best+ output"),
    "study": ("reports.describe_study", "spec output"),
    "provenance": ("reports.provenance", "spec output"),
    "index": ("reports.index", "results output readme"),
    "verify": ("reports.verify", "results docs"),
    "docs-status": ("reports.docs_status", "docs root changes*"),
    "notebook": ("reports.notebook", "spec notebook output html failed"),
}


def main(arguments=None):
    """Run one command; exits with one line on stderr for what the user can mend."""
    name, *options = (sys.argv[1:] if arguments is None else arguments) or [""]
    if name not in COMMANDS:
        sys.exit(f"usage: python -m dpmcmc command ...; the commands are {', '.join(COMMANDS)}")
    place, known = COMMANDS[name]
    module, _, attribute = place.partition(".")
    function = getattr(import_module(f"dpmcmc.jobs.{module}"), attribute)
    parser = argparse.ArgumentParser(
        prog=f"python -m dpmcmc {name}", description=function.__doc__.splitlines()[0]
    )
    for option in known.split():
        kind = json.loads if option == "spec" else str
        many = option[-1] if option[-1] in "+*" else None
        parser.add_argument(f"--{option.rstrip('+*')}", type=kind, required=True, nargs=many)
    try:
        function(**vars(parser.parse_args(options)))
    except (JobError, OSError) as error:
        sys.exit(f"{name}: {error}")
    except MemoryError as error:
        sys.exit(f"{name}: not enough memory ({error})")
