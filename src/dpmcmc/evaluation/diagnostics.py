"""Whether chains have mixed: effective sample size and split R-hat, by ArviZ.

Vehtari et al. (2021), Rank-normalization, folding, and localization: an improved R-hat.
"""

import math
import warnings

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # a notice of its next version, once a day
    import arviz

LEAST_DRAWS = 4  # of a chain, for either number


def effective_sample_size(chains):
    """Bulk effective sample size of chains together: the least over the components.

    Parameters
    ----------
    chains : (m, k, d) array

    Returns
    -------
    float
        m for chains that never move, each of which says no more than one draw; NaN for fewer than
        `LEAST_DRAWS` draws.
    """
    if chains.shape[1] < LEAST_DRAWS:
        return math.nan
    components = np.moveaxis(chains, 2, 0)
    sizes = (arviz.ess(x) if np.ptp(x, axis=1).any() else len(x) for x in components)
    return float(min(sizes))


def split_r_hat(chains):
    """Rank-normalised split R-hat of chains as long as each other: the largest over the components.

    Parameters
    ----------
    chains : (m, k, d) array

    Returns
    -------
    float
        Infinite where no chain moves, and they start apart; NaN for fewer than two chains or fewer
        than `LEAST_DRAWS` draws.
    """
    if len(chains) < 2 or chains.shape[1] < LEAST_DRAWS:
        return math.nan
    if not np.ptp(chains, axis=1).any():
        return math.inf
    with warnings.catch_warnings():  # of a component in which no chain moves, and of ArviZ's end
        warnings.simplefilter("ignore")
        r_hats = [float(arviz.rhat(x)) for x in np.moveaxis(chains, 2, 0)]
    return max(math.inf if math.isnan(r_hat) else r_hat for r_hat in r_hats)
