"""Renyi DP of a batch drawn without replacement, and its conversion (thesis, Theorem 2.5).

Both of the chapter's RDP accountants amplify the Renyi curve of a mechanism on the batch by the
theorem of Wang, Balle and Kasiviswanathan (2019, Theorem 9), whose sum runs to j = alpha.
"""

import math

import numpy as np
from scipy.special import gammaln, logsumexp


def amplified_epsilon(alpha, sampling_probability, base_epsilon):
    """Renyi epsilon of order alpha after subsampling without replacement, substitution.

    Parameters
    ----------
    alpha : int
        Order, at least 2.
    sampling_probability : float
        q = b / n.
    base_epsilon : (alpha + 1,) array
        Renyi epsilon' of the mechanism on a batch at the orders 0 ... alpha; entries below 2 are
        not read.
    """
    log_q = math.log(sampling_probability)
    j = np.arange(2, alpha + 1)
    log_binomial = gammaln(alpha + 1) - gammaln(j + 1) - gammaln(alpha - j + 1)
    log_terms = j * log_q + log_binomial + (j - 1) * base_epsilon[2:] + math.log(2)
    # j = 2: min(4 (e^eps' - 1), 2 e^eps') in place of 2 e^eps'.
    second = base_epsilon[2]
    log_terms[0] += min(0.0, math.log(2) + math.log(-math.expm1(-second)))
    return float(np.logaddexp(0.0, logsumexp(log_terms))) / (alpha - 1)


def delta_of_renyi_curve(orders, epsilons, epsilon):
    """Smallest delta over the orders: exp((alpha - 1) (eps(alpha) - epsilon)), at most 1."""
    exponent = (orders - 1) * (epsilons - epsilon)
    return math.exp(min(0.0, float(exponent.min())))
