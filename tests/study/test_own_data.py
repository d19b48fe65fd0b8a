"""Data and reference of a model's entry: what jobs are told, and what is refused at load time."""

import subprocess
import sys
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import yaml
from conftest import ROOT
from msgspec import to_builtins
from msgspec.structs import replace

from dpmcmc.configuration.yaml_files import ConfigError, merged
from dpmcmc.files import JobError
from dpmcmc_studies.jobs import data as jobs
from dpmcmc_studies.jobs.fingerprints import Fingerprints
from dpmcmc_studies.jobs.table import JOBS
from dpmcmc_studies.study.loading import load_study
from dpmcmc_studies.study.study import StudyConfig

MODEL = '''
from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Positive, Rows


@dataclass(frozen=True)
class Line(RowsModel):
    """y ~ N(theta_1 + theta_2 x, 1), prior theta ~ N(0, prior_variance I)."""

    num_rows: Rows
    prior_variance: Positive = 100.0

    dimension = row_length = 2
    columns = ("x", "y")

    def log_likelihood(self, theta, rows):
        return -((rows[:, 1] - theta[0] - theta[1] * rows[:, 0]) ** 2) / 2

    def gradient(self, theta, rows):
        residuals = rows[:, 1] - theta[0] - theta[1] * rows[:, 0]
        return np.column_stack([residuals, residuals * rows[:, 0]])

    def log_prior_ratio(self, theta, theta_new):
        return (theta - theta_new) @ (theta + theta_new) / (2 * self.prior_variance)

    def grad_log_prior(self, theta):
        return -theta / self.prior_variance


@dataclass(frozen=True)
class Columned(Line):
    columns: int = 3


@dataclass(frozen=True)
class Fixed(Line):
    num_rows = 7

    def __init__(self):
        pass


@dataclass(frozen=True)
class Failing(Line):
    def prepare(self, rows):
        return rows / {}


@dataclass(frozen=True)
class Simulating(Line):
    def simulate(self, rng, theta=None):
        return rng.standard_normal((self.num_rows, 2))
'''


def write_data(path, count=50, value=0.5):
    x = np.linspace(-1, 1, count)
    lines = [f"{a},{1 + a + value * np.sin(9 * a)},secret" for a in x]
    path.write_text("\n".join(["x,y,name", *lines]) + "\n")


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "line.py").write_text(MODEL)
    write_data(tmp_path / "line.csv")
    return tmp_path


@pytest.fixture
def make(config, directory):
    """Function from an entry of a model to the study in which it is beside the others."""

    def study(entry, **changes):
        models = {"line": {"kind": "line.py:Line"} | entry}
        changed = merged(config, changes | {"models": models})
        return StudyConfig(changed, ROOT, [directory, ROOT])

    return study


def test_jobs_are_told_the_file_its_columns_and_digest(make, directory, config):
    study = make({"data": "line.csv"})
    entry = study.models["line"]
    assert entry.model.num_rows == entry.spec["num_rows"] == 50
    spec = study.dataset("line")
    assert spec.data.columns == ["x", "y"]
    assert spec.data.file.endswith("line.csv") and len(spec.data.digest) == 16
    assert study.models["line"].reference == "grid"
    assert study.reference("line").reference == study.baselines("line").reference == "grid"
    before = StudyConfig(config, ROOT)
    for told in ("dataset", "reference", "baselines"):  # of a simulated model nothing else
        assert getattr(study, told)("circle") == getattr(before, told)("circle")
        assert not {"data", "reference"} & to_builtins(getattr(study, told)("circle")).keys()
    write_data(directory / "line.csv", value=0.6)
    after = make({"data": "line.csv"}).dataset("line")
    assert after != spec and after.data.digest != spec.data.digest
    after.data.digest = spec.data.digest
    assert after == spec


def test_what_is_published_is_the_same_whatever_the_values_of_a_data_file(make, directory):
    """No study.json and no fingerprint confirms a guess of a row; jobs see the change."""

    def told():
        runs = [{"models": ["line"], "algorithms": ["rwmh"], "iterations": [10]}]
        settings = {"algorithms": {"rwmh": {"settings": {"line": {"proposal_scale": 1.0}}}}}
        study = make({"data": "line.csv", "held_out": 0.2}, runs=runs, **settings)
        fingerprints = Fingerprints(study)
        of_parts = [fingerprints[part] for part in fingerprints.names]
        of = SimpleNamespace(model="line")
        return [of_parts, study.describe_study()], JOBS["dataset"].settings(study, of)

    (published, job) = told()
    assert b"digest" not in msgspec.json.encode(published[1]) and "digest" in job
    write_data(directory / "line.csv", value=0.6)
    again, other_job = told()
    assert again == published and other_job != job
    write_data(directory / "line.csv", count=60)  # n is public
    assert told()[0][0] != published[0]


def test_columns_of_the_entry_win(make, directory):
    study = make({"data": "line.csv", "columns": ["y", "x"]})
    assert study.dataset("line").data.columns == ["y", "x"]


def test_a_reference_is_as_exact_as_can_be_or_as_asked(make):
    entry = {"data": "line.csv"}
    assert make(entry | {"reference": "long-run"}).reference("line").reference == "long-run"
    study = make(entry)
    assert {study.models[name].reference for name in study.models if name != "line"} == {"exact"}
    changes = {"kind": "Banana", "reference": "long-run"}
    study = make(study.config.models["gauss-30d"] | changes)
    assert study.reference("line").reference == "long-run"


BANANA = {"kind": "Banana", "dimension": 3, "curvature": 1, "prior_variance": 1}
BANANA |= {"likelihood_variances": [1], "true_position": [0], "num_rows": 9}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"data": "none.csv"}, "models.line.data: .*none.csv cannot be read: No such file"),
        ({"data": "line.txt"}, "models.line.data: line.txt: must end in .csv, .parquet, .npy"),
        ({"data": 3}, "models.line.data: must be a text, not 3"),
        ({"data": "line.csv", "columns": "x"}, "models.line.columns: must be a list, not 'x'"),
        (
            {"data": "line.csv", "columns": [1, 2]},
            r"models.line.columns\[0\]: must be a text, not 1",
        ),
        ({"data": "line.csv", "columns": ["x", "x"]}, "models.line: columns lists an entry twice"),
        (
            {"data": "line.csv", "columns": ["x", "z"]},
            "models.line.data: line.csv: its first line does not name z",
        ),
        (
            {"data": "line.csv", "columns": ["x", "name"]},
            r"models.line.data: line.csv: row 1 of column name is no number; recode it \(and 49",
        ),
        (
            {"data": "line.csv", "columns": ["x"]},
            r"models.line.data: Line: columns x make data of shape \(50, 1\), not \(50, 2\)",
        ),
        ({"data": "line.csv", "num_rows": 50}, "models.line.num_rows: must not be given with data"),
        ({"data": "line.csv", "prior": 1}, "models.line: unknown key prior; valid keys: num_rows"),
        (
            {"data": "line.csv", "prior_variance": -1},
            "models.line.prior_variance: must be a number >",
        ),
        ({"held_out": 0.2, "num_rows": 9}, "models.line.held_out: needs the key data, a file"),
        ({"data": "line.csv", "held_out": 0}, "models.line.held_out: must be a number > 0"),
        ({"data": "line.csv", "held_out": 1}, "models.line.held_out: must be a number < 1"),
        ({"data": "line.csv", "held_out": "a"}, "models.line.held_out: must be a number, not"),
        (
            {"data": "line.csv", "held_out": 0.005},
            "models.line.held_out: must leave at least 2 rows and hold out at least 1, not 50 and",
        ),
        (
            {"data": "line.csv", "held_out": 0.98},
            "models.line.held_out: must leave .* not 1 and 49",
        ),
        ({"columns": ["x"], "num_rows": 9}, "models.line.columns: needs the key data, a file"),
        ({"num_rows": 9}, "models.line: Line has no simulate, so missing key data: a file"),
        ({"kind": "line.py:Columned"}, "models.line.kind: Columned has a field columns, which an"),
        ({"kind": "line.py:Fixed", "data": "line.csv"}, "models.line: .*"),
        (
            {"kind": "line.py:Failing", "data": "line.csv"},
            r"models.line.data: Failing.prepare: TypeError \(line.py, line \d+\)",
        ),
        (
            {"data": "line.csv", "reference": "exact"},
            "models.line.reference: exact is not possible for Line .*; valid values: grid, long",
        ),
        (
            {"data": "line.csv", "reference": "mcmc"},
            "models.line.reference: mcmc is not possible for Line .*; valid values: grid, long-run",
        ),
        (
            BANANA | {"reference": "grid"},
            "models.line.reference: grid is not .*grid dimension = 2.; valid values: exact, long",
        ),
    ],
)
def test_a_bad_entry_gets_one_line(make, entry, message):
    with pytest.raises(ConfigError, match=message) as error:
        make(entry)
    assert "\n" not in str(error.value) and "secret" not in str(error.value)


TUNING = {"tuning": {"models": ["line"], "algorithms": ["dp-penalty"]}}
SETTINGS = {"noise_scale": 1, "clip_bound": 1, "proposal_scale": 0.1}
ALGORITHM = {"dp-penalty": {"settings": {"line": SETTINGS}}}


def test_only_a_model_that_simulates_is_tuned(make):
    entry = {"data": "line.csv"}
    with pytest.raises(ConfigError, match=r"tuning.models: line cannot be tuned.*Line has no sim"):
        make(entry, algorithms=ALGORITHM, **TUNING)
    study = make(entry | {"kind": "line.py:Simulating"}, algorithms=ALGORITHM, **TUNING)
    spec = study.search("line", "dp-penalty", 4)
    assert spec.twins.reference == "grid" and spec.budget.num_rows == 50


def test_the_file_is_relative_to_the_one_that_names_it(directory, config):
    overlay = directory / "study.yaml"
    models = {"line": {"kind": "line.py:Line", "data": "line.csv"}}
    runs = [{"models": ["line"], "algorithms": ["start"], "iterations": [5]}]
    overlay.write_text(yaml.safe_dump({"study": "own", "models": models, "runs": runs}))
    study = load_study(ROOT, [overlay])
    assert study.models["line"].model.num_rows == 50


def test_the_job_reads_what_was_checked_and_nothing_else(make, directory, tmp_path):
    study = make({"data": "line.csv", "reference": "long-run"})
    spec, output = study.dataset("line"), tmp_path / "line.npy"
    jobs.dataset(spec, output)
    data = np.load(output)
    assert data.shape == (50, 2) and data[0, 0] == -1
    reference = tmp_path / "reference.npy"
    jobs.reference(replace(study.reference("line"), draws=500), output, reference)
    baselines = replace(study.baselines("line"), draws=200, samples=3)
    jobs.baselines(baselines, output, tmp_path / "baselines.npy")
    samples = np.load(tmp_path / "baselines.npy")
    assert samples.shape == (3, 200, 2) and not np.array_equal(samples[0], samples[1])
    # Normal by conjugacy: the samples have its moments.
    design = np.column_stack([np.ones(50), data[:, 0]])
    covariance = np.linalg.inv(design.T @ design + np.eye(2) / 100)
    mean = covariance @ design.T @ data[:, 1]
    for draws in (np.load(reference), *samples):
        z = (draws.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / len(draws))
        assert abs(z).max() < 4.5
    output.unlink()
    write_data(directory / "line.csv", value=0.6)
    with pytest.raises(JobError, match=r"model line: .*line.csv has changed since the workflow"):
        jobs.dataset(spec, output)
    (directory / "line.csv").unlink()
    with pytest.raises(JobError, match=r"model line: .*line.csv cannot be read"):
        jobs.dataset(spec, output)
    assert not output.exists()


def test_rows_are_held_out_of_the_data_set_and_of_nothing_twice(make, directory, tmp_path):
    study = make({"data": "line.csv", "held_out": 0.3})
    spec, told = study.dataset("line"), study.baseline_table("line")
    assert study.models["line"].model.num_rows == spec.model_entry["num_rows"] == 35
    assert spec.data.held_out == 0.3 and study.chain_table("line").data == spec.data
    jobs.dataset(spec, tmp_path / "line.npy")
    data, held_out = np.load(tmp_path / "line.npy"), jobs.held_out(told)
    assert data.shape == (35, 2) and held_out.shape == (15, 2)
    for rows in (data, held_out):  # x rises in the file
        assert (np.diff(rows[:, 0]) > 0).all()
    assert len({*data[:, 0], *held_out[:, 0]}) == 50
    np.testing.assert_array_equal(jobs.held_out(told), held_out)
    seeded = make({"data": "line.csv", "held_out": 0.3}, seed=study.config.seed + 1)
    assert not np.array_equal(jobs.held_out(seeded.dataset("line")), held_out)
    whole = make({"data": "line.csv"}).dataset("line")
    assert whole.data.held_out is None and jobs.held_out(whole) is None
    assert jobs.held_out(study.dataset("circle")) is None
    write_data(directory / "line.csv", value=0.6)
    with pytest.raises(JobError, match=r"line.csv has changed since the workflow"):
        jobs.held_out(told)


def test_a_release_is_priced_for_the_rows_that_stay(make):
    run = [{"models": ["line"], "algorithms": ["dp-penalty"], "epsilons": [4]}]
    study = make({"data": "line.csv", "held_out": 0.3}, algorithms=ALGORITHM, runs=run)
    spec = study.budget(study.cells[0])
    assert spec.num_rows == 35 and spec.delta == study.config.delta_times_n / 35


def test_a_run_that_does_not_converge_names_the_model(make, directory, tmp_path, monkeypatch):
    from dpmcmc.evaluation import long_run

    study = make({"data": "line.csv", "reference": "long-run"})
    jobs.dataset(study.dataset("line"), tmp_path / "line.npy")
    monkeypatch.setattr(long_run, "CONVERGED_R_HAT", 0.5)
    monkeypatch.setattr(long_run, "DOUBLINGS", 0)
    with pytest.raises(JobError, match="model line: the long run for its reference reached R-hat"):
        jobs.reference(study.reference("line"), tmp_path / "line.npy", tmp_path / "r.npy")
    assert not (tmp_path / "r.npy").exists()


def test_start_points_without_a_true_theta_centre_on_the_reference(make):
    from dpmcmc.random_streams import start_point

    model = make({"data": "line.csv"}).models["line"].model
    reference = 7 + np.random.default_rng(1).standard_normal((500, 2))
    for start_sd in (None, 1.0):
        points = [start_point(1, "line", model, reference, seed, start_sd) for seed in range(900)]
        assert abs(np.mean(points, axis=0) - reference.mean(axis=0)).max() < 4.5 * 1.05 / 30


def test_a_study_without_data_loads_without_pandas():
    script = (
        "import sys; from dpmcmc_studies.study.loading import load_study; load_study('.'); "
        "print({'pandas', 'pyarrow', 'arviz'} & sys.modules.keys())"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert found.stdout.strip() == "set()"
