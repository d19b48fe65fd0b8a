"""Proposals of a study's chains, and how normal the sums over their batches are."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.evaluation import batch_sums
from dpmcmc.likelihoods.target import Target
from dpmcmc.reporting.draws import run_of, sample_draws
from dpmcmc.samplers.barker_correction import fit_correction
from dpmcmc.samplers.dp_barker import DPBarker
from dpmcmc.study.streams import seed_sequence, three_streams


class Proposal(NamedTuple):
    """A step that a chain might take."""

    model: str
    algorithm: str
    target: Target
    theta: np.ndarray
    theta_new: np.ndarray
    ratios: np.ndarray  # of all rows, not clipped


def proposals(study, model, algorithm, run, count):
    """Proposals from places of a chain, evenly spaced among the kept draws.

    Parameters
    ----------
    study : Study
    model, algorithm : str
        Ids; the algorithm has a move.
    run : str
        As it stands in paths; the first chain is taken.
    count : int

    Returns
    -------
    list of Proposal
    """
    draws = sample_draws(study, model, algorithm, run, 0)[0]
    move, target = study.sampler(algorithm, model).move, study.target(model)
    rng = three_streams(seed_sequence(study.seed, "clt-proposals", model, algorithm))
    rows = np.arange(target.num_rows)
    memory = move.init(rng, draws.shape[1])
    found = []
    for theta in draws[np.linspace(0, len(draws) - 1, count).astype(int)]:
        theta_new, memory, _ = move.propose(rng, theta, memory)
        ratios = batch_sums.row_ratios(target, theta, theta_new, np.inf, rows)
        found.append(Proposal(model, algorithm, target, theta, theta_new, ratios))
    return found


def run_as_set(study, cell):
    """Run, as it stands in paths, of a cell's chains whose swept settings are the algorithm's own.

    Parameters
    ----------
    study : Study
    cell : DataFrame
        Rows of the table `chains`, of one model and algorithm.
    """
    model, algorithm = cell.iloc[0][["model", "algorithm"]]
    own = study.algorithms[algorithm]["settings"][model]
    swept = [key for key in own if key in cell and cell[key].notna().any()]
    is_own = np.logical_and.reduce(
        [np.ones(len(cell), dtype=bool), *(np.isclose(cell[key], own[key]) for key in swept)]
    )
    return run_of(study, cell[is_own].iloc[0])


def clipped(study, proposal, batch_size=None):
    """Sampler with batches of a size, by default its own; its clip bound; clipped ratios."""
    changes = {} if batch_size is None else {"batch_size": batch_size}
    sampler = study.sampler(proposal.algorithm, proposal.model, **changes)
    bound = sampler.row_bound(proposal.target, proposal.theta, proposal.theta_new)
    return sampler, bound, proposal.ratios.clip(-bound, bound)


def normality(study, found, batches, sizes):
    """How normal the sums are that a test takes for normal, and what it does to acceptance.

    Parameters
    ----------
    study : Study
    found : list of Proposal
        Of algorithms whose sampler is DP Barker or the minibatch penalty.
    batches : int
        Simulated for the acceptance probability.
    sizes : list of int
        Of batches, beside the sampler's own. DP Barker clips at a bound that goes with them.

    Returns
    -------
    DataFrame
        One row a proposal and size of batches: `model`, `algorithm`, `proposal` (number),
        `batch_size`, `skewness` and `distance` of the sum from the normal distribution,
        `clip_fraction`, and the bounds of the distance `berry_esseen`, `self_normalised` and
        `printed`. For the sampler's own size (`is_own`) also `probability` of acceptance, its
        `error` and that one's `standard_error`. Where all ratios are clipped alike the sum is
        constant, and what compares it with a normal one is NaN.
    """
    rows, correction = [], fit_correction()
    for number, proposal in enumerate(found):
        target, n = proposal.target, proposal.target.num_rows
        own = study.sampler(proposal.algorithm, proposal.model).batch_size
        for b in sorted({own, *(size for size in sizes if 2 * size <= n)}):
            sampler, bound, ratios = clipped(study, proposal, b)
            berry_esseen, self_normalised = batch_sums.normal_bounds(ratios, b)
            row = {
                "model": proposal.model,
                "algorithm": proposal.algorithm,
                "proposal": number,
                "batch_size": b,
                "is_own": b == own,
                "skewness": batch_sums.skewness(ratios, b, n),
                "distance": batch_sums.kolmogorov_distance(ratios, b, n),
                "clip_fraction": float((np.abs(proposal.ratios) > bound).mean()),
                "berry_esseen": berry_esseen,
                "self_normalised": self_normalised,
                "printed": batch_sums.printed_bound(ratios, b, n, target.likelihood_power),
            }
            if b == own:
                labels = (proposal.model, proposal.algorithm, number)
                rng = three_streams(seed_sequence(study.seed, "clt", *labels))
                step = (proposal.theta, proposal.theta_new, batches)
                if isinstance(sampler, DPBarker):
                    of_step = batch_sums.barker_error(rng, target, sampler, correction, *step)
                else:
                    of_step = batch_sums.penalty_error(rng, target, sampler, *step)
                row |= zip(("probability", "error", "standard_error"), of_step, strict=True)
            rows.append(row)
    return pd.DataFrame(rows)
