"""Corrections of Barker's test, fitted: their errors, the paper's claim, and biases of walks."""

from functools import cached_property, partial

import numpy as np
import pandas as pd
from scipy.special import expit

from correction import atoms, largest_error, mixture, ridge, stationary_bias
from dpmcmc.random_streams import generator
from dpmcmc_studies.analysis.claims import verdict

NAMES = RIDGE, MIXTURE, OURS = "Ridge regression", "Mixture", "Atoms"
BETTER = 10  # times that an error is smaller: "significantly"
GRID = np.linspace(-4, 4, 321)  # of walks
TARGETS = {  # log densities on the grid
    "Normal(0, 1)": -(GRID**2) / 2,
    "Two normals, at ±2, sd 0.5": np.logaddexp(-2 * (GRID + 2) ** 2, -2 * (GRID - 2) ** 2),
}
STEPS = 0.1, 0.5, 2  # standard deviations of proposals
ERRORS = {"median": "largest error", "min": "least of the fits", "max": "most of the fits"}


class Corrections:
    """Corrections for some variances C.

    Parameters
    ----------
    seed : int
        Of the study.
    noise_variances : list of float
        C.
    starts : int
        Fits of the mixture, from random starts.
    places : int
        Of the ridge's grid.

    Attributes
    ----------
    fitted : dict of (str, float) to NormalMixture
        By name and variance, of the mixture the first fit.
    errors : DataFrame
        Columns `correction`, `noise_variance`, `error`: one row a fit.
    """

    def __init__(self, seed, noise_variances, starts, places):
        self.fitted, rows = {}, []
        for variance in noise_variances:
            fits = [(RIDGE, ridge(variance, places)), (OURS, atoms(variance))]
            for start in range(starts):
                fits.append((MIXTURE, mixture(variance, generator(seed, "mixture", start))))
            for name, fit in fits:
                self.fitted.setdefault((name, variance), fit)
                row = {"correction": name, "noise_variance": variance}
                rows.append(row | {"error": largest_error(fit, variance)})
        self.errors = pd.DataFrame(rows)

    @cached_property
    def median(self):
        """Median error by correction and variance."""
        return self.errors.groupby(["correction", "noise_variance"])["error"].median()

    def is_better(self, variance):
        """Mark the fits of the mixture with a tenth of the ridge's error, (starts,) of bool."""
        of_mixture = self.errors["correction"] == MIXTURE
        is_cell = of_mixture & (self.errors["noise_variance"] == variance)
        return BETTER * self.errors["error"][is_cell] < self.median[RIDGE, variance]

    def verdict(self, variance):
        """Verdict on the claim that the mixture's error is significantly smaller: of all fits."""
        sides = ["for" if better else "against" for better in self.is_better(variance)]
        return verdict(sides, share=1)

    def accuracy(self, up_to):
        """Largest median error of the atoms for variances up to one."""
        variances = self.errors["noise_variance"].unique()
        return max(self.median[OURS, variance] for variance in variances if variance <= up_to)

    def table(self, variances):
        """Table of the errors for some variances: a DataFrame, with formats of `error_formats`."""
        shown = self.errors[self.errors["noise_variance"].isin(variances)]
        table = shown.groupby(["noise_variance", "correction"], sort=False)["error"]
        table = table.agg([*ERRORS]).reset_index()
        table["of masses below 0"] = [
            self.fitted[name, variance].negative_share if name == RIDGE else np.nan
            for variance, name in table[["noise_variance", "correction"]].itertuples(index=False)
        ]
        table["noise_variance"] = table["noise_variance"].map("C = {:g}".format)
        return table.rename(columns={"noise_variance": "C"} | ERRORS)

    def bias_table(self, variances):
        """Total variation of what walks leave invariant from their target: a DataFrame.

        A column a correction, a row a target, a width of proposals and a variance.
        """
        rows = [
            {"target": target, "proposal sd": f"{step:g}", "C": f"{variance:g}"}
            | {name: self.bias(name, variance, density, step) for name in NAMES}
            for target, density in TARGETS.items()
            for step in STEPS
            for variance in variances
        ]
        return pd.DataFrame(rows)

    def bias(self, name, variance, log_density, step):
        """Total variation for one walk: see `correction.stationary_bias`."""
        acceptance = partial(self.fitted[name, variance].distribution, noise_variance=variance)
        return stationary_bias(acceptance, log_density, step / (GRID[1] - GRID[0]))


def error_formats():
    """Formats of the columns of `Corrections.table`."""
    return dict.fromkeys(ERRORS.values(), ".1e") | {"of masses below 0": ".1%"}


def rounding():
    """Total variation by the logistic distribution itself: rounding alone."""
    return max(stationary_bias(expit, log_density, 20) for log_density in TARGETS.values())
