"""The log ratio of a batch, scaled to all rows, and how much it varies from batch to batch."""

import numpy as np

from dpmcmc.likelihoods.target import Target


def batch_log_ratio(
    target: Target,
    theta: np.ndarray,
    theta_new: np.ndarray,
    bound: float,
    batch: np.ndarray,
    batch_size: int,
    variance_factor: float,
) -> tuple[float, float, int]:
    """Log-likelihood ratio by the clipped ratios r of a batch, with its variance.

    Parameters
    ----------
    target : Target
    theta, theta_new : (d,) arrays
    bound : float
        Each row's ratio is clipped to [-bound, bound].
    batch : array
        From `dpmcmc.samplers.batches.draw_batch`.
    batch_size : int
        b.
    variance_factor : float
        f, from `dpmcmc.samplers.batches.batch_variance_factor`.

    Returns
    -------
    log_ratio : float
        a sum r with a = n T / b.
    variance : float
        Its variance over batches, as the batch itself tells: f a^2 (sum r^2 - (sum r)^2 / b).
    num_clipped : int
    """
    a = target.num_rows * target.likelihood_power / batch_size
    R, squares, num_clipped = target.clipped_batch_ratio(theta, theta_new, bound, batch)
    return a * R, variance_factor * a**2 * max(0.0, squares - R * R / batch_size), num_clipped
