"""`check` finds the errors that one makes in a model, and none in a right one."""

import subprocess
import sys

import numpy as np
import pytest

from dpmcmc import cli, files
from dpmcmc.evaluation.checking import models, rows

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
SBC = "Simulated at draws of the prior: these rank evenly (SBC)"
PRIOR_STAYS = "Draws of sample_prior: stay in it by log_prior_ratio"
DATA = "Data: finite numbers, of the shape data_shape"
WITHOUT = "not tried: it has no "  # bounded_scores of its own, or tail_probabilities
GRADIENTS = "Gradient of a row: finite differences of its ratio"
JAX = "Gradient of a row: JAX's of log_likelihood_row"
EXACT = "Draws of sample_posterior: stay in it by HMC, Metropolis"
WRONG = {
    "a sign in the gradient": (
        {GRADIENT: f"-{GRADIENT}"},
        {GRADIENTS},
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


def changed(changes):
    """The right model with some of its text replaced."""
    source = RIGHT
    for right, wrong in changes.items():
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    return source


def run(tmp_path, capsys, source, *settings):
    """Exit status, and a table as `read` gives it."""
    path = tmp_path / f"line{len(list(tmp_path.glob('*.py')))}.py"  # a file is imported once
    path.write_text(source)
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", f"{path}:Line", *settings])
    output = capsys.readouterr().out
    print(output)
    return caught.value.code, read(output)


@pytest.fixture
def tried(monkeypatch):
    """Function that leaves some checks of a model, by what they try; all take seconds."""

    def leave(names):
        left = [check for check in models.CHECKS if check.__doc__.splitlines()[0][:-1] in names]
        assert len(left) == len(names)
        monkeypatch.setattr(models, "CHECKS", left)

    return leave


def read(output):
    """Rest of each row of a table by what was tried."""
    _, *rows, _ = output.splitlines()
    return {row[:64].strip(): row[64:].strip() for row in rows}


def failed(table):
    return {tried for tried, rest in table.items() if rest.endswith("FAILED")}


def test_a_right_model_passes(tmp_path, capsys):
    status, table = run(tmp_path, capsys, RIGHT, "num_rows=300", "prior_sd=1")
    assert status == 0
    assert sum(rest.endswith("ok") for rest in table.values()) == 21
    assert table[DATA].startswith("300 rows")
    assert table[JAX] == "not tried: no log_likelihood_row"


@pytest.mark.parametrize("error", WRONG)
def test_a_wrong_one_does_not(tmp_path, capsys, tried, error):
    changes, expected = WRONG[error]
    tried(expected)
    status, table = run(tmp_path, capsys, changed(changes))
    assert status == 1
    assert failed(table) == expected


def test_what_is_wrong_with_exact_draws_or_jax_shows(tmp_path, capsys, tried):
    more = """
    def log_likelihood_row(self, theta, row):
        return -0.5 * ((row[1] - theta[0] - theta[1] * row[0]) / self.sd) ** 2 + 0.01 * theta[0]

    def sample_posterior(self, rng, data, size):
        design = np.stack([np.ones(len(data)), data[:, 0]])
        precision = design @ design.T / self.sd**2  # the factor below is that of its half
        mean = np.linalg.solve(precision + np.eye(2) / self.prior_sd**2, design @ data[:, 1])
        factor = np.linalg.cholesky(np.linalg.inv(precision / 2))
        return mean / self.sd**2 + rng.standard_normal((size, 2)) @ factor.T
"""
    status, table = run(tmp_path, capsys, RIGHT + more)
    assert status == 1
    assert failed(table) == {JAX, EXACT}
    tried({JAX, EXACT})
    right = more.replace("precision / 2", "precision + np.eye(2) / self.prior_sd**2")
    status, table = run(tmp_path, capsys, RIGHT + right.replace(" + 0.01 * theta[0]", ""))
    assert status == 0
    assert table[JAX].endswith("ok")
    assert table[EXACT].endswith("ok")


def test_simulate_must_take_theta(tmp_path, capsys):
    source = changed(
        {
            "simulate(self, rng, theta=None)": "simulate(self, rng)",
            "if theta is None else theta": "",
        }
    )
    (tmp_path / "own.py").write_text(source)
    with pytest.raises(SystemExit):
        cli.main(["check", f"{tmp_path}/own.py:Line"])
    message = "Line.simulate must take theta: simulate(self, rng, theta=None)"
    assert message in capsys.readouterr().err


def test_a_model_without_data_is_checked_on_a_file(tmp_path, capsys):
    source = changed({"def simulate": "def simulate_nothing"}).replace("= 400", "= 2", 1)
    source = source.replace("    row_length = 2\n", "    row_length = 2\n    columns = 'x', 'y'\n")
    (tmp_path / "own.py").write_text(source)
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", f"{tmp_path}/own.py:Line"])
    assert caught.value.code == 2
    assert "Line has no simulate, so missing key data: a file" in capsys.readouterr().err
    rows = np.random.default_rng(5).standard_normal((300, 2))
    np.savetxt(tmp_path / "own.csv", rows, delimiter=",", header="x,y", comments="")
    status, table = run(tmp_path, capsys, source, f"data={tmp_path}/own.csv")
    assert status == 0
    assert table[DATA].startswith("300 rows, given") and table[GRADIENTS].endswith("ok")
    assert table[SBC].startswith("not tried: Line has no simulate")


def test_what_a_model_raises_on_data_of_a_file_is_told_without_its_message(tmp_path, capsys):
    source = changed({"def simulate": "def simulate_nothing"})
    source = source.replace("    row_length = 2\n", "    row_length = 2\n    columns = 'x', 'y'\n")
    quoting = "raise ValueError(f'cannot use {rows}')\n        residuals = self.residuals"
    source = source.replace("residuals = self.residuals", quoting, 1)
    np.savetxt(tmp_path / "own.csv", np.full((300, 2), 31415.5), delimiter=",", header="x,y")
    (tmp_path / "own.csv").write_text((tmp_path / "own.csv").read_text().replace("# ", ""))
    (tmp_path / "own.py").write_text(source)
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", f"{tmp_path}/own.py:Line", f"data={tmp_path}/own.csv"])
    output = capsys.readouterr()
    assert caught.value.code == 1 and "31415" not in output.out + output.err
    assert read(output.out)[GRADIENTS].startswith("ValueError (own.py, line ")


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (f"{GRADIENT}], axis=1) / self.s", "AttributeError: 'Line' object has no attribute 's'"),
        (f"{GRADIENT}]) / self.sd", "ValueError: Line.gradient: must return terms of 256 rows"),
        ("residuals * np.nan], axis=1) / self.sd", "nan (theta[0])"),
    ],
)
def test_an_exception_of_the_model_is_a_row(tmp_path, capsys, monkeypatch, wrong, expected):
    of_rows = [check for check in models.CHECKS if check.__module__ == rows.__name__]
    monkeypatch.setattr(models, "CHECKS", of_rows)
    status, table = run(tmp_path, capsys, changed({f"{GRADIENT}], axis=1) / self.sd": wrong}))
    assert status == 1
    assert table[GRADIENTS].startswith(expected)
    assert GRADIENTS in failed(table)
    assert not {tried for tried in failed(table) if tried.startswith("Prior")}


def test_data_that_cannot_be_read_are_a_row(tmp_path, capsys):
    status, table = run(tmp_path, capsys, changed({"[x, y], axis=1": "[x, x / 0 * 0], axis=1"}))
    assert status == 1
    assert failed(table) == {DATA, "Simulated at theta: the scores have mean 0"} | {
        tried
        for tried in table
        if tried.startswith("Simulated") and not table[tried].startswith(WITHOUT)
    }
    assert "400 of 800 are not" in table[DATA]
    assert table[GRADIENTS] == "not tried: the data cannot be read"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Bananas"], "unknown class Bananas; valid names: Banana, Circle, Gaussian, "),
        (["Banana", "dimension=2"], "Banana: missing key num_rows"),
        (["Circle", "color=red"], "Circle: unknown key color; valid keys:"),
        (["Circle", "sharpness"], "sharpness: must be key=value"),
        (["Circle", "sharpness=[1"], "sharpness: [1 is not valid YAML"),
        (["HMC"], "HMC: missing key step_size, num_integration_steps"),
        (["DPPenalty", "noise_scale=1"], "DPPenalty: missing key move; valid values: GaussianWalk"),
        (["GaussianWalk", "proposal_scale=no"], "GaussianWalk.proposal_scale: must be a"),
        (["none.py:Model"], "no file none.py in"),
        ([f"{__file__}:Model"], "test_check.py has no class Model"),
        ([f"{files.__file__}:JobError"], "must derive from one of dpmcmc.Model, dpmcmc.Sampler, "),
    ],
)
def test_a_wrong_name_or_setting_is_a_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", *arguments])
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("check: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_command_itself(tmp_path):
    (tmp_path / "line.py").write_text(changed({"-theta / self": "theta / self"}))
    command = [sys.executable, "-m", "dpmcmc", "check", "line.py:Line", "sd=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == ""
    assert failed(read(done.stdout)) == {"Prior gradient: finite differences of its ratio"}
    assert done.stdout.endswith("line.py:Line: 20 ok, 1 FAILED, 4 not tried\n")
