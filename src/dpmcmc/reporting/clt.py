"""Proposals of a study's chains, and how normal the sums over their batches are."""

import numpy as np
import pandas as pd

from dpmcmc.evaluation import batch_sums
from dpmcmc.reporting.draws import release_draws
from dpmcmc.samplers.barker_correction import fit_correction
from dpmcmc.study.streams import generator, seed_sequence, three_streams

ROWS = 20_000  # that stand for all in a distribution


def proposals(study, model, algorithm, epsilon, count):
    """Places of a chain, evenly spaced among the kept draws, and a proposal from each.

    Parameters
    ----------
    study : Study
    model, algorithm : str
        Ids; the algorithm has a move.
    epsilon : float
        Of the cell, whose first chain is taken.
    count : int

    Returns
    -------
    list of ((d,) array, (d,) array)
    """
    draws = release_draws(study, model, algorithm, f"epsilon-{epsilon:g}", 0)[0]
    move = study.sampler(algorithm, model).move
    rng = three_streams(seed_sequence(study.seed, "clt-proposals", model, algorithm))
    memory = move.init(rng, draws.shape[1])
    found = []
    for theta in draws[np.linspace(0, len(draws) - 1, count).astype(int)]:
        theta_new, memory, _ = move.propose(rng, theta, memory)
        found.append((theta, theta_new))
    return found


def normality(study, cells, is_barker, count, batches, sizes):
    """How normal the sums are that a test takes for normal, and what it does to acceptance.

    Parameters
    ----------
    study : Study
    cells : DataFrame
        `model`, `algorithm` and `epsilon` of chains.
    is_barker : bool
        Whether the algorithms are DP Barker's, or else the minibatch penalty's.
    count : int
        Proposals a cell.
    batches : int
        Simulated for the acceptance probability.
    sizes : list of int
        Of batches, beside the sampler's own. DP Barker clips at a bound that goes with them.

    Returns
    -------
    DataFrame
        One row a proposal and size of batches: `model`, `algorithm`, `step` (number), `batch_size`,
        `skewness` and `distance` of the sum from the normal distribution, `clip_fraction`, `bound`
        of the distance by Berry and Esseen and `printed_bound`. For the sampler's own size
        (`is_own`) also `probability` of acceptance, its `error` and that one's `standard_error`.
    """
    rows, correction = [], fit_correction() if is_barker else None
    bound_of = batch_sums.barker_bound if is_barker else batch_sums.penalty_bound
    for cell in cells.itertuples():
        target, own = study.target(cell.model), study.sampler(cell.algorithm, cell.model)
        n = target.num_rows
        some = generator(study.seed, "clt-rows", cell.model).permutation(n)[:ROWS]
        places = proposals(study, cell.model, cell.algorithm, cell.epsilon, count)
        for step, (theta, theta_new) in enumerate(places):
            for b in sorted({own.batch_size, *(size for size in sizes if 2 * size <= n)}):
                sampler = study.sampler(cell.algorithm, cell.model, batch_size=b)
                bound = bound_of(sampler, target, theta, theta_new)
                ratios = batch_sums.row_ratios(target, theta, theta_new, bound, some)
                row = {"model": cell.model, "algorithm": cell.algorithm, "step": step}
                row |= {"batch_size": b, "is_own": b == own.batch_size}
                row |= {
                    "skewness": batch_sums.skewness(ratios, b, n),
                    "distance": batch_sums.kolmogorov_distance(ratios, b, n),
                    "clip_fraction": float((np.abs(ratios) >= bound).mean()),
                    "bound": batch_sums.berry_esseen(ratios, b, 1 / ratios.std()),
                    "printed_bound": batch_sums.berry_esseen(ratios, b, n),
                }
                if b == own.batch_size:
                    rng = three_streams(
                        seed_sequence(study.seed, "clt", cell.model, cell.algorithm, step)
                    )
                    at = (theta, theta_new, batches)
                    found = (
                        batch_sums.barker_error(rng, target, sampler, correction, *at)
                        if is_barker
                        else batch_sums.penalty_error(rng, target, sampler, *at)
                    )
                    names = ("probability", "error", "standard_error")
                    row |= dict(zip(names, found, strict=True))
                rows.append(row)
    return pd.DataFrame(rows)
