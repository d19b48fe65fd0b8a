"""The command `check` of a study's model: its data as a release will read them, for their owner."""

import sys
from itertools import chain
from pathlib import Path

from dpmcmc import registry
from dpmcmc.commands import check as of_classes
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.entries import read_model
from dpmcmc.configuration.keys import ModelKeys
from dpmcmc.configuration.yaml_files import ConfigError, check_known, converted, listed
from dpmcmc.data_files import DataFile
from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.reading import import_own


def check(name, settings):
    """Check FILE.yaml MODEL, with its data and their ledger; or a class, with settings key=value.

    A study's file and the id of a model in it: its entry and its data are read as a release reads
    them. A class FILE.py:CLASS, or one of the package: see `dpmcmc.commands.check`.

    Returns
    -------
    int
        Exit status: 0 if no check failed, 1 if one did, 2 if the name, a setting or the data are
        wrong.
    """
    if Path(name).suffix not in (".yaml", ".yml"):
        return of_classes.check(name, settings)
    try:
        entry = read_entry(name, settings)
        findings = [*rows_and_ledger(entry)] if entry.data else []
    except (ConfigError, JobError, registry.UnknownName) as error:
        print(f"check: {error}", file=sys.stderr)
        return 2
    return of_classes.report(entry.id, chain(findings, of_classes.checks_of_entry(entry)))


def read_entry(file, ids):
    """The entry of a model of a study's file, with its data."""
    config, folders = read_study(None, [Path(file)])
    if len(ids) != 1:
        raise ConfigError(f"{file}: give the id of one model: {listed(config['models'])}")
    check_known(ids, config["models"], "model", "model")
    (model,) = ids
    entry, where = config["models"][model], f"models.{model}"
    import_own(converted(entry, ModelKeys, where), where, folders)
    return read_model(model, entry, folders)


def rows_and_ledger(entry):
    """Findings about the number of rows, and the file, against the ledger if there is one."""
    file, rows = entry.data["file"], entry.model.num_rows
    kept = f"{rows:,} of {DataFile(file).num_rows:,}"
    if not ledgers.path_of(file).exists():
        yield Finding("Rows that the model keeps", kept, "no ledger yet", True)
        return
    ledger = ledgers.read(file)
    budget, declared = ledger.budget, ledger.declared_rows
    allowed = " or ".join(f"{count:,}" for count in declared)
    yield Finding("Rows that the model keeps", kept, allowed, rows in declared)
    is_same = ledgers.fingerprint(Path(file).read_bytes(), budget.salt) == budget.fingerprint
    found = "the same" if is_same else "another; `ledger change` records it"
    yield Finding("The file of the data", found, "the ledger's", is_same)
