"""Draws of a nearly normal posterior, by independent proposals from about its mode."""

import numpy as np

from dpmcmc.evaluation.long_run import diagnose
from dpmcmc.evaluation.modes import find_modes
from dpmcmc.files import JobError

DEGREES = 20  # of Student's t that proposals are of: tails heavier than those of the posterior
SPACING = 4  # iterations for each draw
LEAST_ACCEPTANCE = 0.5
BURN_IN = 100


def sample(rng, target, size):
    """Draws of a posterior, (size, d), nearly independent and in random order.

    Metropolis-Hastings with proposals from a Student t about the mode, with the mode's covariance:
    exact whatever the posterior, and quick where it is nearly normal (Tierney 1994, section 2.3.3).
    A run is accepted with a rate of at least 1/2, effective sample sizes (bulk and tail; Vehtari et
    al. 2021) of at least the draws asked for, and one mode.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    size : int

    Raises
    ------
    JobError
        If that is not reached.
    """
    modes = find_modes(rng, target)
    if len(modes) > 1:
        raise refused(f"{len(modes)} modes were found")
    mode, d = modes[0], target.model.dimension
    factor = np.linalg.cholesky(mode.covariance)
    z, log_weight = np.zeros(d), 0.0
    positions, num_accepted = [], 0
    for i in range(BURN_IN + SPACING * size):
        z_new = rng.standard_normal(d) / np.sqrt(rng.chisquare(DEGREES) / DEGREES)
        log_density = target.log_density_ratio(mode.position, mode.position + factor @ z_new)
        log_proposal = -(DEGREES + d) / 2 * np.log1p(z_new @ z_new / DEGREES)
        new = log_density - log_proposal
        if -rng.standard_exponential() < new - log_weight:
            z, log_weight = z_new, new
            num_accepted += i >= BURN_IN
        if i >= BURN_IN:
            positions.append(mode.position + factor @ z)
    draws = np.array(positions)
    ess = diagnose(draws[None])["ESS"].min()
    if num_accepted < LEAST_ACCEPTANCE * len(draws) or ess < size:
        rate = num_accepted / len(draws)
        raise refused(f"{rate:.0%} of proposals were accepted, effective sample size {ess:.0f}")
    return draws[rng.permutation(np.arange(SPACING - 1, len(draws), SPACING))]


class NotNearlyNormal(JobError):
    """A posterior that independent proposals do not draw from."""


def refused(found):
    """A NotNearlyNormal error."""
    return NotNearlyNormal(
        f"the posterior is not nearly normal, as reference: normal asks for: {found}; take "
        "reference: long-run"
    )
