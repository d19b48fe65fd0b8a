"""Cases for checks of a model: data, positions, and the values of single rows.

All goes through `Target`, as samplers do, so that checks are the same for all kinds of likelihood.
The value of a single row comes from a batch of that row alone.
"""

import dataclasses
import math
from functools import cached_property

import numpy as np

from dpmcmc.evaluation.checking.findings import NotTried, optional
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.in_blocks import in_blocks

MOST_ROWS = 5000  # read
SOME_ROWS = 100  # looked at one by one
FEW_ROWS = 40  # of which gradients are taken by finite differences


class Case:
    """A model with data, and the positions at which checks look at it.

    Parameters
    ----------
    model : Model
    rng : numpy.random.Generator
    data : array, optional
        Those of a model that has its own; by default they are simulated. Of more than `most_rows`
        rows so many are taken, if the model's `num_rows` can be set.
    most_rows : int
    """

    def __init__(self, model, rng, data=None, most_rows=MOST_ROWS):
        self.configured, self.rng, self.given = model, rng, data
        self.most_rows = most_rows

    @cached_property
    def model(self):
        """The model, of not too many rows; code of one's own sees them as in a release."""
        return in_blocks(self.plain)

    @cached_property
    def plain(self):
        """The same, as a study has it."""
        return with_rows(self.configured, min(self.most_rows, self.configured.num_rows))

    def read(self):
        """The data as a `Target`; raises whatever the model does."""
        data = self.given
        if data is None:
            data = optional(self.model.dataset, self.rng)
        elif self.model.num_rows < self.configured.num_rows:
            some = self.rng.choice(self.configured.num_rows, self.model.num_rows, replace=False)
            data = np.take(data, some, axis=row_axis(self.model))
        return Target(self.model, data)

    @cached_property
    def _target(self):
        try:
            return self.read()
        except NotTried as why:
            return str(why)
        except Exception:
            return "the data cannot be read"

    @property
    def target(self):
        """The data as a `Target`; `NotTried` without data."""
        if isinstance(self._target, str):
            raise NotTried(self._target)
        return self._target

    @cached_property
    def rows(self):
        """Indices of rows, (k,)."""
        n = self.target.num_rows
        return self.rng.permutation(n)[:MOST_ROWS]

    @cached_property
    def centre(self):
        """The true theta, (d,); 0 for a model that has none."""
        theta = self.model.true_theta
        return np.zeros(self.model.dimension) if theta is None else np.asarray(theta, dtype=float)

    @cached_property
    def row_scale(self):
        """Steps of theta_j near the centre that change one row's log-likelihood noticeably, (d,).

        1 without data or gradients, whose own checks say what is wrong: those of the prior go on.
        """
        try:
            gradients = row_gradients(self.target, self.centre, self.rows[:FEW_ROWS])
        except Exception:
            return np.ones(self.model.dimension)
        return scale_of(gradients)

    @cached_property
    def thetas(self):
        """Four positions about the centre, as wide as a posterior, (4, d)."""
        spread = self.row_scale / math.sqrt(self.model.num_rows)
        return np.array([self.near(self.rng, factor * spread) for factor in (1, 1, 3, 3)])

    def near(self, rng, spread):
        """A position Normal(centre, spread^2) to which the prior gives a density, (d,)."""
        for _ in range(100):
            theta = self.centre + spread * rng.standard_normal(self.model.dimension)
            if math.isfinite(self.model.log_prior_ratio(self.centre, theta)):
                return theta
        raise ValueError("true_theta: must be where the prior has a density")

    @property
    def pairs(self):
        """Steps from one position to another."""
        return list(zip(self.thetas, np.roll(self.thetas, -1, axis=0), strict=True))


def with_rows(model, num_rows):
    """The model with another number of rows, if that can be set."""
    try:
        return dataclasses.replace(model, num_rows=num_rows)
    except (TypeError, ValueError):
        return model


def simulate_at(model, rng, theta):
    """A data set at theta; `NotTried` where the model cannot make it."""
    return optional(model.simulate, rng, theta)


def row_axis(model):
    """Axis of a data set along which its rows are."""
    return 1 if isinstance(model, ExponentialFamily) else 0


def scale_of(gradients):
    """1 / root mean square of gradients (k, d), of each component; 1 where that is no number."""
    sizes = np.sqrt((gradients**2).mean(axis=0))
    return np.where(np.isfinite(sizes) & (sizes > 0), 1 / np.where(sizes > 0, sizes, 1), 1.0)


def row_ratios(target, theta, theta_new, rows, bound=math.inf):
    """Ratios of single rows, (k,); NaN where one is clipped at infinity, so is none."""
    ratios, is_clipped = target.row_ratios(theta, theta_new, bound, rows)
    return np.where(is_clipped, math.nan, ratios)


def row_gradients(target, theta, rows):
    """Gradients of single rows, (k, d); NaN where one is not finite."""
    gradients, is_clipped = target.row_gradients(theta, math.inf, rows)
    return np.where(is_clipped[:, None], math.nan, gradients)
