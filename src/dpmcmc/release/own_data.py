"""The command `check` of a study's model: its data as a release will read them, for their owner."""

import sys
from itertools import chain
from pathlib import Path

from dpmcmc import registry
from dpmcmc.accounting.costs import preparation_noise
from dpmcmc.commands import check as of_classes
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.entries import check_settings, read_algorithm, read_model
from dpmcmc.configuration.keys import Algorithm, ModelKeys
from dpmcmc.configuration.yaml_files import ConfigError, check_known, converted, listed
from dpmcmc.data_files import DataFile
from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.evaluation.checking.fresh import unlike_alone
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.in_blocks import own_functions
from dpmcmc.models.regression import CovariateModel
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.reading import import_own
from dpmcmc.samplers.noisy_newton import NoisyNewton

EPSILON = 1  # at which settings are chosen to say how many rows get a weight


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
        config, folders = read_study(None, [Path(name)])
        entry = read_entry(name, config, folders, settings)
        findings = []
        if entry.data:
            findings = [
                *rows_and_ledger(entry),
                *prepared_alone(entry),
                *weighted_down(entry, config, folders),
            ]
    except (ConfigError, JobError, registry.UnknownName) as error:
        print(f"check: {error}", file=sys.stderr)
        return 2
    return of_classes.report(entry.id, chain(findings, of_classes.checks_of_entry(entry)))


def read_entry(file, config, folders, ids):
    """The entry of a model of a study's configuration, with its data."""
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


def prepared_alone(entry):
    """A finding about `prepare` of one's own: a release calls it on one row at a time."""
    if not {"prepare", "is_outcome"} & {*own_functions(type(entry.model))}:
        return
    rows = DataFile(entry.data["file"]).rows(entry.data["columns"])
    problem = unlike_alone(entry.model, [rows])
    found, allowed = problem or "the same", "the same"
    yield Finding(
        "prepare: each row of the file alone, as in a release", found, allowed, not problem
    )


def weighted_down(entry, config, folders):
    """Findings about rows of a regression that count less than fully, one for each noisy Newton."""
    model = entry.model
    if not isinstance(model, CovariateModel):
        return
    noise, target = preparation_noise(model.num_rows, EPSILON), None
    for name, keys in config["algorithms"].items():
        where = f"algorithms.{name}"
        algorithm = converted(keys, Algorithm, where)
        if algorithm.sampler != NoisyNewton.__name__:
            continue
        algorithm = read_algorithm(name, algorithm, folders)
        settings = algorithm.settings_on(entry.id)
        check_settings(algorithm, entry, settings, f"{where}.settings.{entry.id}")
        sampler = registry.build(algorithm.spec(settings)).with_preparation_noise(noise)
        target = target or Target(model, of_classes.data_of(entry))
        yield Finding(
            f"Rows that {name} gives a weight below 1 at its start, at epsilon {EPSILON}",
            f"{sampler.share_weighted_down(target):.0%} of the rows",
            "any share",
            True,
        )
