"""The banana and a logistic regression as models of rows, in JAX."""

from dataclasses import dataclass

import jax
from row_models import Logistic, Rewritten

from dpmcmc.models.banana import Banana
from dpmcmc.models.jax import JaxModel


@dataclass(frozen=True)
class BananaJax(Rewritten, JaxModel):
    banana: Banana

    def log_likelihood_row(self, theta, row):
        mean = theta.at[1].add(self.banana.curvature * theta[0] ** 2)
        return -0.5 * ((row - mean) ** 2 * self.banana.precisions).sum()


@dataclass(frozen=True)
class LogisticJax(Logistic, JaxModel):
    def log_likelihood_row(self, theta, row):
        z = row[:-1] @ theta
        return row[-1] * z - jax.nn.softplus(z)
