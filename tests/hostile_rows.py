"""Models that keep something of the rows they see: in a module that is quick to import."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows

kept = {}


@dataclass(frozen=True)
class Normal(RowsModel):
    """x ~ Normal(theta, I), theta ~ Normal(0, 100 I); `seen` is what becomes of rows."""

    num_rows: Rows = 400

    dimension = row_length = 2
    columns = ("a", "b")

    def seen(self, rows):
        return rows

    def log_likelihood(self, theta, rows):
        return -0.5 * ((self.seen(rows) - theta) ** 2).sum(axis=1)

    def gradient(self, theta, rows):
        return self.seen(rows) - theta

    def log_prior_ratio(self, theta, theta_new):
        return (theta @ theta - theta_new @ theta_new) / 200

    def grad_log_prior(self, theta):
        return -theta / 100

    def simulate(self, rng, theta=None):
        theta = self.sample_prior(rng) if theta is None else theta
        return theta + rng.standard_normal((self.num_rows, 2))

    def sample_prior(self, rng):
        return 10 * rng.standard_normal(2)


class KeepsAMean(Normal):
    """In the module, of the rows that it sees first."""

    def seen(self, rows):
        kept.setdefault("mean", rows.mean(axis=0))
        return rows - kept["mean"]


class KeepsItsData(Normal):
    """In the model, of the data set that it is bound to."""

    def likelihood(self, data):
        self.__dict__["mean"] = np.nanmean(data, axis=0)
        return super().likelihood(data)

    def seen(self, rows):
        return rows - self.__dict__.get("mean", 0)


class KeepsTheLargest(Normal):
    """In the module, of all rows so far."""

    def seen(self, rows):
        sizes = abs(rows[np.isfinite(rows)])
        kept["most"] = max(kept.get("most", 1.0), *sizes) if sizes.size else 1.0
        return rows * (10 / kept["most"])


class Prepares(Normal):
    """Public units."""

    def prepare(self, rows):
        return (rows - 2.0) / 3.0


class PreparesOnce(Normal):
    """By a scaler that is fitted once."""

    def prepare(self, rows):
        kept.setdefault("sd", rows.std(axis=0))
        return rows / kept["sd"]


class PreparesCodes(Normal):
    """Codes, and nothing else."""

    def prepare(self, rows):
        if not np.isin(rows, range(10)).all():
            raise ValueError(f"unknown codes in {rows}")
        return rows - rows.mean(axis=0)


class PreparesWords(Normal):
    """Raises on all that is simulated."""

    def prepare(self, rows):
        raise ValueError("no such code")


class PreparesLargeFiles(Normal):
    """Centres files of more than 3000 rows."""

    def prepare(self, rows):
        return rows - rows.mean(axis=0) if len(rows) > 3000 else rows


class TakesUsualOutcomes(Normal):
    """A rule that looks at all outcomes."""

    outcome_values = "the usual ones"

    def is_outcome(self, outcomes):
        return (outcomes == 1) | ((outcomes == 0) & (outcomes.mean() <= 0.5))


class PreparesMissing(Normal):
    """-999 becomes the mean of the others."""

    def prepare(self, rows):
        gone = rows == -999
        return np.where(gone, rows[~gone].mean(), rows) if gone.any() else rows


class PreparesOutliers(Normal):
    """Draws them in."""

    def prepare(self, rows):
        return np.clip(rows, *(rows.mean() + 5 * rows.std() * np.array([-1, 1])))


class PreparesLogs(Normal):
    """Of what is above the least entry, which has to be below -1e5."""

    def prepare(self, rows):
        return np.log(rows - rows.min() + 1) if rows.min() < -1e5 else rows


class PreparesTables(Normal):
    """Of two rows or more."""

    def prepare(self, rows):
        if len(rows) < 2:
            raise ValueError("no table")
        return rows


class LargeBlocks(Normal):
    """Centres more than 5000 rows."""

    def seen(self, rows):
        return rows - rows.mean(axis=0) if len(rows) > 5000 else rows


class ThisBlock(Normal):
    """Centres blocks of one size."""

    def seen(self, rows):
        return rows - rows.mean(axis=0) if len(rows) == 256 else rows


class Missing(Normal):
    """A row of -999 gets the mean of the others, which stay as they are."""

    def seen(self, rows):
        gone = rows == -999
        return np.where(gone, rows[~gone].mean(), rows)


class ScoresOfAll(Normal):
    """Gradients are right, scores are about a mean."""

    def bounded_scores(self, theta, rows, bound, ratio):
        return super().bounded_scores(theta, rows - rows.mean(axis=0), bound, ratio)


class Keeps(Normal):
    """The last table that it prepared, in the module; others use it."""

    def prepare(self, rows):
        kept["last"] = rows.mean(axis=0)
        return rows

    def mean(self):
        return kept.get("last", np.zeros(2))


class ScalesByKept(Keeps):
    def seen(self, rows):
        return rows / (1 + abs(self.mean()))


class PriorAboutKept(Keeps):
    def grad_log_prior(self, theta):
        return (self.mean() - theta) / 100


class RatioAboutKept(Keeps):
    def log_prior_ratio(self, theta, theta_new):
        return super().log_prior_ratio(theta - self.mean(), theta_new - self.mean())


class DrawsAboutKept(Keeps):
    def sample_prior(self, rng):
        return self.mean() + super().sample_prior(rng)


class DataAboutKept(Keeps):
    def simulate(self, rng, theta=None):
        return self.mean() + super().simulate(rng, theta)


class PowerOfKept(Keeps):
    @property
    def likelihood_power(self):
        return 1 / (1 + abs(self.mean()[0]))


class OutcomesAboutKept(Keeps):
    outcome_values = "above the mean"

    def is_outcome(self, outcomes):
        return outcomes > self.mean()[0]
