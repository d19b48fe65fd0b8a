"""The gradient of the log posterior by a batch, and how far one row moves it."""

import numpy as np

from dpmcmc.likelihoods.target import Target


def batch_gradient(
    target: Target, theta: np.ndarray, bound: float, batch: np.ndarray, batch_size: int
) -> tuple[np.ndarray, float]:
    """Gradient of the log posterior by the clipped gradients of the rows of a batch.

    Parameters
    ----------
    target : Target
    theta : (d,) array
    bound : float
        Largest Euclidean norm of one row's gradient.
    batch : array
        From `dpmcmc.samplers.batches.draw_batch`.
    batch_size : int
        b.

    Returns
    -------
    gradient : (d,) array
        That of the log prior, and n T / b times the sum over the batch.
    clip_fraction : float
        Share of the batch's rows that were clipped.
    """
    scale = target.num_rows * target.likelihood_power / batch_size
    G, num_clipped = target.clipped_batch_gradient(theta, bound, batch)
    return target.model.grad_log_prior(theta) + scale * G, num_clipped / batch_size


def step_sensitivity(
    step: float, bound: float, batch_size: int, num_rows: int, likelihood_power: float
) -> float:
    """The most that one row of the batch, replaced, moves `step` times that gradient, in the norm.

    Twice the bound, n T / b times.
    """
    scale = num_rows * likelihood_power / batch_size
    return step * scale * 2 * bound
