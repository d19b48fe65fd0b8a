"""Checks of a study that span its models, algorithms and sections; each raises a ConfigError."""

import msgspec

from dpmcmc import registry
from dpmcmc.accounting.accountants import name_in_tables
from dpmcmc.accounting.growing_noise import GrowingNoise
from dpmcmc.study.config import ConfigError, listed
from dpmcmc.study.entries import check_settings, find_accountant, simulates
from dpmcmc.study.runs import check_known


def check_all_settings(study):
    """Settings must be for known models, and complete and valid on each where they run."""
    ran = {(cell.model, cell.algorithm) for cell, run in study.runs.items() if not run.varied}
    swept = [cell for cell, run in study.runs.items() if run.varied]
    for algorithm in study.algorithms.values():
        where = f"algorithms.{algorithm.id}.settings"
        for model in algorithm.settings:
            if model not in study.models:
                raise ConfigError(
                    f"{where}.{model}: unknown model; valid models: {listed(study.models)}"
                )
            if not any((model, algorithm.id) == cell[:2] for cell in swept):
                ran.add((model, algorithm.id))
    for model, name in sorted(ran):
        algorithm = study.algorithms[name]
        where = where_settings(model, algorithm)
        check_settings(algorithm, study.models[model], algorithm.settings_on(model), where)
    for cell in swept:
        algorithm, model = study.algorithms[cell.algorithm], study.models[cell.model]
        where_settings(cell.model, algorithm)
        where = f"runs: {cell.algorithm} on {cell.model}, {cell.run}"
        check_settings(algorithm, model, study.settings(cell), where)


def check_samples(study):
    """Noise that grows within a chain starts anew in the next, so such chains share no sample."""
    if study.chains_per_sample == 1:
        return
    run = [(cell.model, cell.algorithm, study.settings(cell)) for cell in study.runs]
    tuned = [(m, a, study.algorithms[a].settings_on(m)) for m, a in study.searches]
    for name, algorithm, settings in run + tuned:
        entry, model = study.algorithms[algorithm], study.models[name].model
        if not entry.is_private:
            continue
        sampler = registry.build(entry.spec(settings))
        sample = sampler.mechanism(model.num_rows, model.likelihood_power)
        if isinstance(sample, GrowingNoise) and sample.exponent > 0:
            raise ConfigError(
                f"chains_per_sample: must be 1 with {algorithm} on {name}, whose noise grows "
                f"within a chain, not {study.chains_per_sample}"
            )


def where_settings(model, algorithm):
    """Keys that lead to settings; a ConfigError if there are none, and some are needed."""
    where = f"algorithms.{algorithm.id}.settings"
    if model not in algorithm.settings and any(
        field.required for field in msgspec.structs.fields(algorithm.schema())
    ):
        raise ConfigError(
            f"{where}: no settings for model {model}, which runs; "
            f"there are settings for: {listed(algorithm.settings)}"
        )
    return f"{where}.{model}"


def check_seeds(study):
    """Chains must make whole samples."""
    given = {"seeds": study.config["seeds"]}
    for i, entry in enumerate(study.config["runs"]):
        given[f"runs[{i}].max_seeds"] = entry.get("max_seeds", 0)
    for where, seeds in given.items():
        if seeds % study.chains_per_sample:
            raise ConfigError(
                f"{where}: must be a multiple of chains_per_sample = "
                f"{study.chains_per_sample}, not {seeds}"
            )


def check_places(algorithms):
    """What an algorithm stands in for must be known, and stand in for nothing itself."""
    for algorithm in algorithms.values():
        other = algorithm.in_place_of
        if other is None:
            continue
        where = f"algorithms.{algorithm.id}.in_place_of"
        if other not in algorithms or algorithms[other].in_place_of is not None:
            valid = [n for n, entry in algorithms.items() if entry.in_place_of is None]
            raise ConfigError(
                f"{where}: unknown algorithm {other}; valid algorithms: {listed(valid)}"
            )


def read_curves(study, folders):
    """Accountants of the curves, by algorithm and name in tables; checked.

    Curves must be of a known model and of algorithms with settings on it.
    """
    curves = study.config.get("accounting_curves")
    if curves is None:
        return {}
    model, where = curves["model"], "accounting_curves"
    if model not in study.models:
        raise ConfigError(
            f"{where}.model: unknown model {model}; valid models: {listed(study.models)}"
        )
    if not curves["epsilons"]["from"] < curves["epsilons"]["to"]:
        raise ConfigError(f"{where}.epsilons: from must be less than to")
    found = {}
    for name, accountants in curves["curves"].items():
        algorithm = study.algorithms.get(name)
        if algorithm is None or model not in algorithm.settings or not algorithm.is_private:
            raise ConfigError(f"{where}.curves: {name} has no settings for model {model}")
        for accountant in accountants:
            reference = find_accountant(accountant, f"{where}.curves.{name}", folders)
            check_settings(
                algorithm._replace(accountant=reference),
                study.models[model],
                algorithm.settings[model],
                f"{where}.curves.{name}",
            )
            found[name, name_in_tables(reference)] = reference
    return found


def check_tuning(study):
    """Pairs must be known and have settings, and of each some setting must be searched."""
    check_known("tuning", study.tuning, study.models, study.algorithms)
    if bool(study.tuning["models"]) != bool(study.tuning["algorithms"]):
        raise ConfigError("tuning: models and algorithms go together; one of these keys is missing")
    schemas = [algorithm.schema().__struct_fields__ for algorithm in study.algorithms.values()]
    known = list(dict.fromkeys(key for fields in schemas for key in fields))
    for key in study.tuning.get("factors", {}):
        if key not in known:
            raise ConfigError(f"tuning.factors: unknown key {key}; valid keys: {listed(known)}")
    for model in study.tuning["models"]:
        cls = type(study.models[model].model)
        if not simulates(cls):
            raise ConfigError(
                f"tuning.models: {model} cannot be tuned, which is done on simulated data, and "
                f"{cls.__name__} has no simulate"
            )
    for model, algorithm in study.searches:
        settings = study.algorithms[algorithm].settings.get(model)
        if settings is None:
            raise ConfigError(
                f"algorithms.{algorithm}.settings: no settings for model {model}, "
                "which tuning asks for"
            )
        if not settings.keys() & study.tuning["factors"].keys():
            raise ConfigError(
                f"tuning.factors: names no setting of {algorithm} on {model}, "
                f"which has: {listed(settings)}"
            )
