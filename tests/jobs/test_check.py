"""`check` finds the errors that one makes in a model, and none in a right one."""

import subprocess
import sys

import pytest

from dpmcmc import cli

RIGHT = '''
from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Positive, Rows


@dataclass(frozen=True)
class Line(RowsModel):
    """y ~ Normal(theta_0 + theta_1 x, sd^2); theta ~ Normal(0, prior_sd^2 I); a row is (x, y)."""

    num_rows: Rows = 400
    sd: Positive = 2.0
    prior_sd: Positive = 1.5

    dimension = 2
    row_length = 2
    true_theta = np.array([0.5, -1.0])

    def residuals(self, theta, rows):
        return (rows[:, 1] - theta[0] - theta[1] * rows[:, 0]) / self.sd

    def log_likelihood(self, theta, rows):
        return -0.5 * self.residuals(theta, rows) ** 2

    def log_likelihood_ratio(self, theta, theta_new, rows):
        before, after = self.residuals(theta, rows), self.residuals(theta_new, rows)
        return 0.5 * (before - after) * (before + after)

    def gradient(self, theta, rows):
        residuals = self.residuals(theta, rows)
        return np.stack([residuals, residuals * rows[:, 0]], axis=1) / self.sd

    def log_prior_ratio(self, theta, theta_new):
        return (theta @ theta - theta_new @ theta_new) / (2 * self.prior_sd**2)

    def grad_log_prior(self, theta):
        return -theta / self.prior_sd**2

    def sample_prior(self, rng):
        return self.prior_sd * rng.standard_normal(2)

    def simulate(self, rng, theta=None):
        theta = self.true_theta if theta is None else theta
        x = rng.standard_normal(self.num_rows)
        y = theta[0] + theta[1] * x + self.sd * rng.standard_normal(self.num_rows)
        return np.stack([x, y], axis=1)
'''
# What is written in place of what, and the checks that must see it.
RATIO, GRADIENT = "0.5 * (before - after)", "residuals * rows[:, 0]"
PRIOR_RATIO = "(theta @ theta - theta_new @ theta_new) / (2 * self.prior_sd**2)"
RESIDUALS = "(rows[:, 1] - theta[0] - theta[1] * rows[:, 0]) / self.sd"
SBC = "Simulated at draws of the prior: these rank evenly (SBC)"
PRIOR_STAYS = "Draws of sample_prior: stay in it by log_prior_ratio"
WRONG = {
    "a sign in the gradient": (
        {GRADIENT: f"-{GRADIENT}"},
        {"Gradient of a row: finite differences of its ratio"},
    ),
    "a prior forgotten in the ratio": (
        {PRIOR_RATIO: "0.0"},
        {"Prior gradient: finite differences of its ratio", PRIOR_STAYS, SBC},
    ),
    "a prior forgotten": (
        {PRIOR_RATIO: "0.0", "-theta / self.prior_sd**2": "0.0 * theta"},
        {PRIOR_STAYS, SBC},
    ),
    "rows less the mean of their block": (
        {"rows[:, 1] - ": "rows[:, 1] - rows[:, 1].mean() - "},
        {
            "Clipped ratios: a batch or block sums as its rows alone",
            "Clipped gradients: a batch or block sums as its rows alone",
            "Clipped ratios: what one other row changes in their sum",
            "Clipped gradients: what one other row changes in their sum",
            "Rows not finite or huge: a batch sums as its rows alone",
        },
    ),
    "a ratio without its factor": (
        {RATIO: "(before - after)"},
        {"Ratio of a row: the difference of log_likelihood"},
    ),
    "a variance for an sd": (
        {"self.sd * rng": "self.sd**2 * rng"},
        {"Simulated at theta: the scores vary as the Hessian says"},
    ),
}


def run(tmp_path, capsys, source, *settings):
    """Exit status, and the verdict on what was tried."""
    path = tmp_path / "line.py"
    path.write_text(source)
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", f"{path}:Line", *settings])
    output = capsys.readouterr().out
    print(output)
    return caught.value.code, read(output)


def read(output):
    """Verdicts of a table by what was tried."""
    _, *rows, _ = output.splitlines()
    return {row[:59].strip(): row.split()[-1] for row in rows}


def test_a_right_model_passes(tmp_path, capsys):
    status, verdicts = run(tmp_path, capsys, RIGHT)
    assert status == 0
    assert list(verdicts.values()).count("ok") == 17
    assert SBC in verdicts


@pytest.mark.parametrize("error", WRONG)
def test_a_wrong_one_does_not(tmp_path, capsys, error):
    changes, expected = WRONG[error]
    source = RIGHT
    for right, wrong in changes.items():
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    status, verdicts = run(tmp_path, capsys, source)
    assert status == 1
    assert {tried for tried, verdict in verdicts.items() if verdict == "FAILED"} >= expected
