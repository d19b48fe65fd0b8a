"""Checks of a study that span its models, algorithms and sections; each raises a ConfigError."""

import msgspec

from dpmcmc.accounting.accountants import name_in_tables
from dpmcmc.configuration.entries import check_settings, find_accountant, simulates
from dpmcmc.configuration.yaml_files import ConfigError, check_known, listed


def check_all_settings(study):
    """Settings must be for known models, and complete and valid on each where they run."""
    for name, algorithm in study.algorithms.items():
        for key in ("settings", "settings_at"):
            models = getattr(algorithm, key)
            check_known(models, study.models, f"algorithms.{name}.{key}", "model")
    given = {(model, a.id) for a in study.algorithms.values() for model in a.settings}
    running = {cell[:2] for cell in study.cells}
    for model, name in sorted(running - given):
        fields = msgspec.structs.fields(study.algorithms[name].schema())
        if any(field.required for field in fields):
            raise ConfigError(
                f"algorithms.{name}.settings: no settings for model {model}, which runs; "
                f"there are settings for: {listed(study.algorithms[name].settings)}"
            )
    swept = {cell: run.varied for cell, run in study.runs.items() if run.varied}
    plain = {cell[:2] for cell in study.cells if cell not in swept}
    searched = {search[:2] for search in study.searches}
    plain |= given - {cell[:2] for cell in swept} | given & searched
    for model, name, *run in [*sorted(plain), *swept]:
        where = f"algorithms.{name}.settings.{model}"
        if run:
            where = f"runs: {name} on {model}, {run[0]}"
        algorithm = study.algorithms[name]
        settings = algorithm.settings_on(model, swept.get((model, name, *run)))
        check_settings(algorithm, study.models[model], settings, where)
    for name, algorithm in study.algorithms.items():
        for model, at in algorithm.settings_at.items():
            for epsilon in at:
                where = f"algorithms.{name}.settings_at.{model}.{epsilon:g}"
                settings = algorithm.settings_on(model, epsilon=epsilon)
                check_settings(algorithm, study.models[model], settings, where)


def check_seeds(study):
    """Chains must make whole samples."""
    given = {"seeds": study.config.seeds}
    for i, entry in enumerate(study.config.runs):
        given[f"runs[{i}].max_seeds"] = entry.max_seeds or 0
    for where, seeds in given.items():
        if seeds % study.chains_per_sample:
            raise ConfigError(
                f"{where}: must be a multiple of chains_per_sample = "
                f"{study.chains_per_sample}, not {seeds}"
            )


def check_models(study):
    """Models whose settings others have must be known, and have settings of their own."""
    for name, entry in study.models.items():
        where = f"models.{name}.same_settings_as"
        if other := entry.same_settings_as:
            check_known([other], study.models, where, "model")
            if study.models[other].same_settings_as:
                raise ConfigError(f"{where}: {other} itself has settings of another model")
        if study.chains_per_sample > 1 and study.has_data_sets(name):
            raise ConfigError(
                f"chains_per_sample: must be 1 with several data sets of {name}, "
                f"not {study.chains_per_sample}"
            )


def check_places(algorithms):
    """Check that `variant_of` names a known algorithm that is not a variant itself."""
    valid = [name for name, algorithm in algorithms.items() if algorithm.variant_of is None]
    for name, algorithm in algorithms.items():
        if name not in valid:
            where = f"algorithms.{name}.variant_of"
            check_known([algorithm.variant_of], valid, where, "algorithm")


def read_curves(study, folders):
    """Accountants of the curves, by algorithm and name in tables; checked.

    Curves must be of a known model and of algorithms with settings on it.
    """
    curves = study.config.accounting_curves
    if curves is None:
        return {}
    model, where = curves.model, "accounting_curves"
    check_known([model], study.models, f"{where}.model", "model")
    if not curves.epsilons.low < curves.epsilons.high:
        raise ConfigError(f"{where}.epsilons: from must be less than to")
    references = {}
    for name, accountants in curves.curves.items():
        algorithm = study.algorithms.get(name)
        if algorithm is None or model not in algorithm.settings or not algorithm.is_private:
            raise ConfigError(f"{where}.curves: {name} has no settings for model {model}")
        for accountant in accountants:
            reference = find_accountant(accountant, f"{where}.curves.{name}", folders)
            check_settings(
                msgspec.structs.replace(algorithm, accountant=reference),
                study.models[model],
                algorithm.settings[model],
                f"{where}.curves.{name}",
            )
            references[name, name_in_tables(reference)] = reference
    return references


def check_intervals(study):
    """Models and algorithms of intervals must be known, and run together at an epsilon."""
    entry = study.config.intervals
    if entry is None:
        return
    check_known(entry.models, study.models, "intervals.models", "model")
    check_known(entry.algorithms, study.algorithms, "intervals.algorithms", "algorithm")
    for model in entry.models:
        if not study.interval_cells(model):
            raise ConfigError(
                f"intervals.models: no algorithm of intervals.algorithms runs on {model} by epsilon"
            )


def check_tuning(study):
    """Each algorithm must have settings for some model, and of each pair one must be searched."""
    if study.config.tuning is None:
        return
    models, names = study.config.tuning.models, study.config.tuning.algorithms
    check_known(models, study.models, "tuning.models", "model")
    check_known(names, study.algorithms, "tuning.algorithms", "algorithm")
    if bool(models) != bool(names):
        raise ConfigError("tuning: models and algorithms go together; one of these keys is missing")
    schemas = [algorithm.schema().__struct_fields__ for algorithm in study.algorithms.values()]
    known = dict.fromkeys(key for fields in schemas for key in fields)
    check_known(study.config.tuning.fixed, names, "tuning.fixed", "algorithm")
    factors = study.config.tuning.factors
    check_known(factors, known, "tuning.factors", "key")
    for model in models:
        cls = type(study.models[model].model)
        if not simulates(cls):
            raise ConfigError(
                f"tuning.models: {model} cannot be tuned: tuning needs simulated data, and "
                f"{cls.__name__} has no simulate"
            )
    for name in names:
        if not study.algorithms[name].settings.keys() & set(models):
            raise ConfigError(
                f"algorithms.{name}.settings: no settings for a model of tuning.models, which are: "
                f"{listed(models)}"
            )
    searched = {model for model, *_ in study.searches}
    for model in models:
        if model not in searched:
            raise ConfigError(
                f"tuning.models: no algorithm of tuning.algorithms has settings for {model}"
            )
    for model, name, _ in study.searches:
        settings = study.algorithms[name].settings[model]
        if not settings.keys() & factors.keys():
            raise ConfigError(
                f"tuning.factors: names no setting of {name} on {model}, "
                f"which has: {listed(settings)}"
            )
