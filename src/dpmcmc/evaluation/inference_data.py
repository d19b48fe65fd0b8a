"""Chains of a study for ArviZ."""

import json
import warnings
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError, read_json, read_npz

if TYPE_CHECKING:
    import arviz


def to_arviz(
    results: str | PathLike[str],
    study: str,
    model: str,
    algorithm: str,
    epsilon: float | None = None,
    *,
    run: str | None = None,
    burn_in: bool = False,
) -> "arviz.InferenceData":
    """Chains of one cell of a study: the seeds are the chains, theta is the variable.

    Parameters
    ----------
    results : path
        Folder of the results of all studies, "results".
    study, model, algorithm : str
        Ids.
    epsilon : float, optional
        Of a run to an epsilon.
    run : str, optional
        In place of epsilon, the name of any run as it stands in the paths of its chains:
        "iterations-3000", or "iterations-3000/clip_bound-2" of a sweep.
    burn_in : bool
        Whether to keep the draws that the study takes for burn-in, and leaves out of its metrics:
        the first floor((k - 1) / 2) of k. They are in groups of their own, `warmup_posterior` and
        `warmup_sample_stats`, so that what ArviZ computes of `posterior` is of the same draws as
        the study's tables, with them or without.

    Returns
    -------
    arviz.InferenceData
        `posterior`: theta (chain, draw, component). Components go by the names that the study tells
        (`parameter_names` of the model), or by 0 to d - 1. `sample_stats`: is_accepted, unless the
        study has thinned the positions (`stored_draws`). Attributes: study, model, algorithm, run,
        sampler, accountant, epsilon, spent_epsilon, delta, iterations (of one chain, thinned or
        not), and as JSON `settings`, `model_settings` and `start`, a point for each chain. Those
        that do not apply are left out, as epsilon is without privacy.

    Raises
    ------
    JobError
        If there is no such study, model, algorithm or run, with those that there are; or if chains
        of it are missing or damaged.
    """
    from dpmcmc.evaluation.diagnostics import arviz

    told = described(Path(results), study)
    require_known("model", model, told["models"], study)
    require_known("algorithm", algorithm, told["algorithms"], study)
    run = run_name(epsilon, run)
    place = Path(model, algorithm)
    seeds = told.get("fewer_seeds", {}).get(f"{model}/{algorithm}/{run}", told["seeds"])
    chains = read_chains(Path(results, study, "chains", place), run, seeds)
    budget = read_json(Path(results, study, "budgets", place, f"{run}.json"))
    varied = json.loads(str(chains[0]["varied"]))

    groups = {"posterior": {"theta": stacked(chains, "positions")}}
    if all(len(chain["is_accepted"]) == len(chain["positions"]) for chain in chains):
        groups["sample_stats"] = {"is_accepted": stacked(chains, "is_accepted")}
    kept = {group: parts(arrays, kept_draws) for group, arrays in groups.items()}
    if burn_in:
        kept |= {f"warmup_{group}": parts(arrays, dropped) for group, arrays in groups.items()}

    algorithm_told, model_told = told["algorithms"][algorithm], told["models"][model]
    attributes = {
        "study": study,
        "model": model,
        "algorithm": algorithm,
        "run": run,
        "sampler": algorithm_told["sampler"],
        "accountant": budget["accountant"],
        "epsilon": budget["epsilon"],
        "spent_epsilon": budget["spent_epsilon"],
        "delta": budget["target_delta"],
        "iterations": budget["iterations"],
        "settings": json.dumps(algorithm_told["settings"][model] | varied),
        "model_settings": json.dumps(model_told["entry"]),
        "start": json.dumps([chain["start"].tolist() for chain in chains]),
    }
    components = model_told.get("parameter_names", range(model_told["dimension"]))
    with warnings.catch_warnings():  # of fewer draws than chains, as small budgets give
        warnings.simplefilter("ignore", UserWarning)
        return arviz.from_dict(
            **kept,
            save_warmup=burn_in,
            dims={"theta": ["component"]},
            coords={"component": list(components)},
            attrs={key: value for key, value in attributes.items() if value is not None},
        )


def described(results, study):
    """What a study's pages are told of it."""
    path = results / study / "study.json"
    if not path.is_file():
        known = sorted(found.parent.name for found in results.glob("*/study.json"))
        if (results / study).is_dir():
            raise JobError(f"{path} is not there; have Snakemake make it, or the whole study")
        raise JobError(f"unknown study {study}; studies in {results}: {', '.join(known) or 'none'}")
    return read_json(path)


def require_known(kind, name, known, study):
    """Raise a JobError for a model or algorithm that does not run in the study."""
    if name not in known:
        raise JobError(f"unknown {kind} {name}; {kind}s of {study}: {', '.join(known)}")


def run_name(epsilon, run):
    """Name of a run in paths."""
    from dpmcmc.study.runs import Run

    if (epsilon is None) == (run is None):
        raise JobError("either an epsilon or a run must be given")
    return run if epsilon is None else Run(float(epsilon), None, {}, None).path


def read_chains(directory, run, seeds):
    """Contents of the chains of a run, one for each seed."""
    paths = [directory / run / f"seed-{seed}.npz" for seed in range(seeds)]
    missing = [path.name for path in paths if not path.is_file()]
    if len(missing) == len(paths):
        folders = {path.parent for path in directory.rglob("seed-*.npz")}
        runs = sorted(folder.relative_to(directory).as_posix() for folder in folders)
        raise JobError(f"no chains in {directory / run}; runs there: {', '.join(runs) or 'none'}")
    if missing:
        raise JobError(
            f"{directory / run}: {len(missing)} of {seeds} chains are missing, the first one is "
            f"{missing[0]}; run the study to its end"
        )
    chains = [read_npz(path) for path in paths]
    if len({chain["positions"].shape for chain in chains}) > 1:
        raise JobError(f"{directory / run}: chains differ in length; run the study to its end")
    return chains


def stacked(chains, name):
    """An array of all chains, (m, ...)."""
    return np.stack([chain[name] for chain in chains])


def parts(arrays, part):
    """Arrays of all chains, with a part of each chain's draws."""
    return {name: np.stack([part(values) for values in array]) for name, array in arrays.items()}


def dropped(draws):
    """The draws of burn-in: those that `kept_draws` leaves out."""
    return draws[: len(draws) - len(kept_draws(draws))]
