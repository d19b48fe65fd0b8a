"""A regression of radon with heavy tails and unknown noise, written in NumPyro."""

import numpyro
import numpyro.distributions as dist

from dpmcmc.models.jax import JaxModel


def radon(rows):
    """Log radon of a house depends on the log uranium of its county, with heavy tails."""
    intercept = numpyro.sample("intercept", dist.Normal(0, 2))
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    with numpyro.plate("houses", len(rows)):
        mean = intercept + slope * rows[:, 1]
        numpyro.sample("log_radon", dist.StudentT(4, mean, noise), obs=rows[:, 0])


Radon = JaxModel.from_numpyro(radon, ["log_radon", "log_uranium"])
