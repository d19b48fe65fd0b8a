"""What pages on softmax regression compare: samples of powers of a posterior, and accuracies."""

import numpy as np

from dpmcmc.evaluation.metrics import median_bandwidth, mmd, sd_ratio, thin

MARGIN = 0.01  # of accuracy: less than this is no difference to anyone who uses it
PAIRS, MOST = 500, 6000  # as of studies: pairs of the bandwidth, draws of the MMD


def contrasts(model, draws):
    """Coefficients less those of the last class, (k, 3 (K - 1)): all that the likelihood sees.

    Parameters
    ----------
    model : Softmax
        With a baseline or without.
    draws : (k, d) array
    """
    if model.has_baseline:
        return draws
    coefficients = draws.reshape(len(draws), 3, model.num_classes)
    return (coefficients[..., :-1] - coefficients[..., -1:]).reshape(len(draws), -1)


def distance(rng, draws, reference):
    """MMD of two samples, and standard deviations of the first over those of the second."""
    draws = thin(draws, MOST)
    bandwidth = median_bandwidth(rng, draws, reference, PAIRS)
    return mmd(draws, reference, bandwidth), sd_ratio(draws, reference)


def sd_difference(draws, reference):
    """Mean over the components of |s - s_reference|, standard deviations of two samples.

    The thesis on DP SGHMC measures so how near a sample is to the posterior (section 6.4).
    """
    return float(np.abs(draws.std(axis=0, ddof=1) - reference.std(axis=0, ddof=1)).mean())


def judged(gaps, is_for, is_against):
    """Verdict on a claim of several comparisons: all of them for it, any against it, or neither.

    Parameters
    ----------
    gaps : list of Estimate
    is_for, is_against : function
        Of a gap, with its interval.
    """
    if any(map(is_against, gaps)):
        return "refuted"
    return "confirmed" if gaps and all(map(is_for, gaps)) else "undecided"
