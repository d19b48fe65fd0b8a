"""Logistic regression on columns in their own units: a template for a release of your own file."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.regression import LogisticRegression
from dpmcmc.settings import Numbers, Positives


@dataclass(frozen=True)
class Loans(LogisticRegression):
    """P(repaid = 1) = sigma(theta . (1, z_1, z_2)), with z = (column - centre) / scale.

    Centres and scales must be public: what you know of ages and incomes without looking at these
    data. The mean of a column would be a release of its own, which nobody has paid for.
    """

    centre: Numbers
    scale: Positives

    columns = ("repaid", "age", "income")  # the outcome, 0 or 1, comes first
    parameter_names = ("intercept", "age", "income")

    def check(self):
        """Refuse lists of another length."""
        for name in ("centre", "scale"):
            if len(getattr(self, name)) != self.dimension - 1:
                raise ValueError(f"{name}: must have dimension - 1 = {self.dimension - 1} numbers")

    def prepare(self, rows):
        """Rows (y, 1, z_1, z_2) of those of the file."""
        z = (rows[:, 1:] - self.centre) / self.scale
        return super().prepare(np.column_stack([rows[:, 0], np.ones(len(rows)), z]))

    def simulate(self, rng, theta=None):
        """Rows at theta, by default a draw of the prior, of columns Normal(centre, scale^2)."""
        theta = self.sample_prior(rng) if theta is None else theta
        columns = self.centre + self.scale * rng.standard_normal((self.num_rows, len(self.scale)))
        rows = self.prepare(np.column_stack([np.zeros(self.num_rows), columns]))
        rows[:, 0] = self.outcomes(rng, rows[:, 1:] @ theta)
        return rows
