"""A posterior with two modes of which exact draws are known, by rejection."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Positive, Rows


@dataclass(frozen=True)
class Mixture(RowsModel):
    """x ~ N(theta_1, 1) or N(theta_2, 1), by even chance; prior theta ~ N(0, prior_sd^2 I).

    The posterior is the same with the components of theta exchanged.
    """

    num_rows: Rows
    prior_sd: Positive = 3.0

    dimension = 2
    row_length = 1

    def log_likelihood(self, theta, rows):
        return np.logaddexp.reduce(-((rows - theta) ** 2) / 2, axis=1)

    def gradient(self, theta, rows):
        logs = -((rows - theta) ** 2) / 2
        shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        return shares * (rows - theta)

    def log_prior_ratio(self, theta, theta_new):
        return (theta - theta_new) @ (theta + theta_new) / (2 * self.prior_sd**2)

    def grad_log_prior(self, theta):
        return -theta / self.prior_sd**2


def mixture_data(distance, count):
    """Two clusters of rows, that far apart."""
    cluster = np.linspace(-1.5, 1.5, count // 2)
    return np.concatenate([cluster - distance / 2, cluster + distance / 2])[:, None]


def exact_draws(rng, model, data, size):
    """Draws of the posterior of a mixture by rejection from the prior, (size, 2)."""

    def log_likelihood(theta):  # (k, 2) -> (k,)
        return np.logaddexp.reduce(-((data - theta[:, None]) ** 2) / 2, axis=2).sum(axis=1)

    start = np.array([data.min(), data.max()])
    best = -minimize(lambda theta: -log_likelihood(theta[None])[0], start).fun + 1e-6
    found = np.empty((0, 2))
    while len(found) < size:
        theta = model.prior_sd * rng.standard_normal((200_000, 2))
        log_ratio = log_likelihood(theta) - best
        assert log_ratio.max() <= 0
        found = np.concatenate([found, theta[-rng.standard_exponential(len(theta)) < log_ratio]])
    return found[:size]
