"""Chains for ArviZ, of a study or of one's own."""

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError, read_json, read_npz
from dpmcmc.samplers.chain import Chain

if TYPE_CHECKING:
    import arviz
    import xarray


def to_arviz(
    results: str | PathLike[str] | Chain | Sequence[Chain],
    study: str | None = None,
    model: str | None = None,
    algorithm: str | None = None,
    epsilon: float | None = None,
    *,
    run: str | None = None,
    burn_in: bool = False,
) -> "arviz.InferenceData | xarray.DataTree":
    """Chains of one cell of a study, or of `run_chain`, for ArviZ. The variable is theta.

    Parameters
    ----------
    results : path, Chain or list of Chain
        The folder of the results of all studies, "results": the seeds of a cell are the chains. Or
        chains of one length, with which only `burn_in` may be given.
    study, model, algorithm : str
        Ids.
    epsilon : float, optional
        Of a run to an epsilon.
    run : str, optional
        In place of epsilon, the name of any run, as in the paths of its chains:
        "iterations-3000", or "iterations-3000/clip_bound-2" of a sweep.
    burn_in : bool
        Whether to keep the draws that the study drops as burn-in: the first floor((k - 1) / 2) of
        k. They are in groups of their own, `warmup_posterior` and `warmup_sample_stats`. So ArviZ
        computes from `posterior` with the same draws as the study's tables in either case.

    Returns
    -------
    arviz.InferenceData, or xarray.DataTree of ArviZ 1
        `posterior`: theta (chain, draw, component). Components have the names that the model gives
        (`parameter_names`), or by 0 to d - 1. `sample_stats`: is_accepted, unless the
        study has thinned the positions (`stored_draws`). Attributes: study, model, algorithm, run,
        sampler, accountant, epsilon, spent_epsilon, delta, iterations (of one chain, thinned or
        not), and as JSON `settings`, `model_settings` and `start`, a point for each chain. Those
        that do not apply are left out, as epsilon is without privacy.

    Raises
    ------
    JobError
        If there is no such study, model, algorithm or run, with those that there are; if the study
        was not run to its end, or chains are not of one length.
    """
    if not isinstance(results, str | PathLike):
        own = [results] if isinstance(results, Chain) else results
        if not isinstance(own, Sequence) or not all(isinstance(chain, Chain) for chain in own):
            raise JobError("results: must be the path of results, or chains of dpmcmc.run_chain")
        if len({chain.positions.shape + chain.is_accepted.shape for chain in own}) != 1:
            raise JobError("results: must be chains of one length, at least one")
        return inference_data([chain._asdict() for chain in own], burn_in)
    if (epsilon is None) == (run is None):
        raise JobError("either an epsilon or a run must be given")
    if epsilon is not None:
        run = f"epsilon-{float(epsilon):g}"
    study = require(
        "study", study, [path.parent.name for path in Path(results).glob("*/study.json")]
    )
    description = read_json(Path(results, study, "study.json"))
    model = require("model", model, description["models"])
    algorithm = require("algorithm", algorithm, description["algorithms"])
    of_pair = Path(results, study, "chains", model, algorithm)
    folders = {path.parent for path in of_pair.rglob("seed-*.npz")}
    run = require("run", run, [folder.relative_to(of_pair).as_posix() for folder in folders])
    seeds = description.get("fewer_seeds", {}).get(f"{model}/{algorithm}/{run}")
    chains = read_chains(of_pair / run, seeds or description["seeds"])
    budget = read_json(Path(results, study, "budgets", model, algorithm, f"{run}.json"))

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
    return inference_data(chains, burn_in, of_model.get("parameter_names"), attributes)


def inference_data(
    chains: list[dict[str, Any]],
    burn_in: bool,
    names: Sequence[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> "arviz.InferenceData | xarray.DataTree":
    """Chains, as dicts of arrays, as ArviZ has them.

    Parameters
    ----------
    chains : list of dict
        With `positions` and `is_accepted`, of one length.
    burn_in : bool
        As for `to_arviz`.
    names : list of str, optional
        Of the components.
    attributes : dict
        Those that are None are left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # a notice of its next version, once a day
        import arviz

    positions, is_accepted = (
        np.stack([chain[name] for chain in chains]) for name in ("positions", "is_accepted")
    )
    draws = positions.shape[1]
    first = draws - len(kept_draws(positions[0]))  # that is kept
    groups: dict[str, Any] = {}
    for group, name, values in (
        ("posterior", "theta", positions),
        ("sample_stats", "is_accepted", is_accepted),
    ):
        if values.shape[1] == draws:
            groups[group] = {name: values[:, first:]}
            if burn_in:
                groups[f"warmup_{group}"] = {name: values[:, :first]}
    attributes = {key: value for key, value in (attributes or {}).items() if value is not None}
    options: dict[str, Any] = {
        "save_warmup": burn_in,
        "dims": {"theta": ["component"]},
        "coords": {"component": list(names or range(positions.shape[2]))},
    }
    with warnings.catch_warnings():  # of fewer draws than chains, as small budgets give
        warnings.simplefilter("ignore", UserWarning)
        if arviz.__version__.startswith("0."):
            return arviz.from_dict(**groups, attrs=attributes, **options)
        return arviz.from_dict(groups, attrs={"/": attributes}, **options)


def require(kind: str, name: str | None, valid: Collection[str]) -> str:
    """A name; raises a JobError if it is not there, with those that are."""
    if name is None or name not in valid:
        names = ", ".join(sorted(valid)) or "none, run the study to its end"
        raise JobError(f"unknown {kind} {name}; valid: {names}")
    return name


def read_chains(directory: Path, seeds: int) -> list[dict[str, np.ndarray]]:
    """Contents of the chains of a run, one for each seed, all of one length."""
    paths = [directory / f"seed-{seed}.npz" for seed in range(seeds)]
    chains = [read_npz(path) for path in paths if path.is_file()]
    lengths = {(len(chain["positions"]), len(chain["is_accepted"])) for chain in chains}
    if len(chains) < seeds or len(lengths) > 1:
        raise JobError(f"{directory}: not {seeds} chains of one length; run the study to its end")
    return chains
