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
        If there is no such study, model, algorithm or run, with those that there are; or if the
        study was not run to its end.
    """
    from dpmcmc.evaluation.diagnostics import arviz
    from dpmcmc.study.runs import Run

    if (epsilon is None) == (run is None):
        raise JobError("either an epsilon or a run must be given")
    run = Run(float(epsilon), None, {}, None).path if run is None else run
    require("study", study, [path.parent.name for path in Path(results).glob("*/study.json")])
    description = read_json(Path(results, study, "study.json"))
    require("model", model, description["models"])
    require("algorithm", algorithm, description["algorithms"])
    of_pair = Path(results, study, "chains", model, algorithm)
    folders = {path.parent for path in of_pair.rglob("seed-*.npz")}
    require("run", run, [folder.relative_to(of_pair).as_posix() for folder in folders])
    seeds = description.get("fewer_seeds", {}).get(f"{model}/{algorithm}/{run}")
    chains = read_chains(of_pair / run, seeds or description["seeds"])
    budget = read_json(Path(results, study, "budgets", model, algorithm, f"{run}.json"))

    positions, is_accepted = (
        np.stack([chain[name] for chain in chains]) for name in ("positions", "is_accepted")
    )
    draws = positions.shape[1]
    first = draws - len(kept_draws(positions[0]))  # that is kept
    groups = {}
    for group, name, values in (
        ("posterior", "theta", positions),
        ("sample_stats", "is_accepted", is_accepted),
    ):
        if values.shape[1] == draws:
            groups[group] = {name: values[:, first:]}
            if burn_in:
                groups[f"warmup_{group}"] = {name: values[:, :first]}

    of_algorithm, of_model = description["algorithms"][algorithm], description["models"][model]
    settings = of_algorithm["settings"][model] | json.loads(str(chains[0]["varied"]))
    attributes = {
        "study": study,
        "model": model,
        "algorithm": algorithm,
        "run": run,
        "sampler": of_algorithm["sampler"],
        "accountant": budget["accountant"],
        "epsilon": budget["epsilon"],
        "spent_epsilon": budget["spent_epsilon"],
        "delta": budget["target_delta"],
        "iterations": budget["iterations"],
        "settings": json.dumps(settings),
        "model_settings": json.dumps(of_model["entry"]),
        "start": json.dumps([chain["start"].tolist() for chain in chains]),
    }
    components = of_model.get("parameter_names", range(of_model["dimension"]))
    with warnings.catch_warnings():  # of fewer draws than chains, as small budgets give
        warnings.simplefilter("ignore", UserWarning)
        return arviz.from_dict(
            **groups,
            save_warmup=burn_in,
            dims={"theta": ["component"]},
            coords={"component": list(components)},
            attrs={key: value for key, value in attributes.items() if value is not None},
        )


def require(kind, name, valid):
    """Raise a JobError for a name that is not there, with those that are."""
    if name not in valid:
        names = ", ".join(sorted(valid)) or "none, run the study to its end"
        raise JobError(f"unknown {kind} {name}; valid: {names}")


def read_chains(directory, seeds):
    """Contents of the chains of a run, one for each seed, all of one length."""
    paths = [directory / f"seed-{seed}.npz" for seed in range(seeds)]
    chains = [read_npz(path) for path in paths if path.is_file()]
    lengths = {(len(chain["positions"]), len(chain["is_accepted"])) for chain in chains}
    if len(chains) < seeds or len(lengths) > 1:
        raise JobError(f"{directory}: not {seeds} chains of one length; run the study to its end")
    return chains
