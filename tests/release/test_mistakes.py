"""Mistakes that can be known without the data: each ends in one line, and spends nothing."""

import ctypes
import json
import os
import subprocess
import sys
import types
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
import pytest
import yaml
from places import ROWS

from dpmcmc.files import JobError
from dpmcmc.release import command, launcher, ledger, libraries, noise, own_code, statement
from dpmcmc.release.data_process import answered, apart, as_parquet
from dpmcmc.release.launcher import Drawn, problem_of, spec_of
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part

LOGISTIC = {"kind": "LogisticRegression", "dimension": 2, "prior_variance": 1}
LOGISTIC |= {"covariate_bound": 2, "columns": ["y", "a", "b"]}
GAUSSIAN = {"kind": "Gaussian", "prior_variance": 1, "covariance": [[1]], "columns": ["x"]}
CIRCLE = {"kind": "Circle", "sharpness": 0.02, "radius_mean": 2, "radius_sd": 1, "columns": ["x"]}
CIRCLE |= {"start_mean": [0, 1], "start_sd": 1}
OWN = """
import numpy as np
from dataclasses import dataclass, replace
from dpmcmc.accounting.mechanisms import GaussianMechanism, SubsampledGaussianMechanism
from dpmcmc.models.model import Model
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.dp_sgld import DPSGLD
from leaking import AddsNoNoise, Plain


class Raises(Plain):
    def prepare(self, rows):
        return rows[:, [0, 5]]


class Flat(Plain):
    def prepare(self, rows):
        return rows[:, 0]


class Reorders(Plain):
    def from_rows(self, rows):
        return rows[::-1]


class Silent(Plain):
    simulate = Model.simulate


class Rounds(AddsNoNoise):
    \"\"\"More releases than are declared, of many rows.\"\"\"

    def step(self, rng, state, target):
        for _ in range(1 + target.num_rows // 1000):
            state, info = super().step(rng, state, target)
        return state, info


class Quieter(AddsNoNoise):
    \"\"\"Less noise than is declared, of many rows.\"\"\"

    def step(self, rng, state, target):
        scale = 2.9 if target.num_rows > 1000 else 3.0
        return AddsNoNoise.step(replace(self, noise_scale=scale), rng, state, target)


@dataclass(frozen=True)
class Larger(DPSGLD):
    \"\"\"Larger batches than are declared, of many rows.\"\"\"

    def gradient(self, rng, target, theta):
        n = target.num_rows
        batch = draw_batch(rng, n, self.batch_size + n // 1000)
        total, _ = target.clipped_batch_gradient(theta, self.gradient_clip_bound, batch)
        return n * target.likelihood_power / self.batch_size * total, 0.0


class Forgets(AddsNoNoise):
    \"\"\"A step that fails late.\"\"\"

    scales = [1.0] * 500

    def init(self, rng, position):
        return State(position, 0)

    def step(self, rng, state, target):
        new, info = super().step(rng, state, target)
        return State(new.position * self.scales[state.memory], state.memory + 1), info


class Diverges(Forgets):
    scales = [10.0] * 10_000
"""
NEWTON = {"sampler": "NoisyNewton", "settings": {"gradient_clip_bound": 2}}
STATISTICS = {"sampler": "NoisyStatistics"}


def of_own(sampler, **settings):
    return {"sampler": f"own.py:{sampler}", "settings": settings}


def with_(entry, **settings):
    return entry | {"settings": entry.get("settings", {}) | settings}


# What is wrong: model, algorithm, options and what the line says.
MISTAKES = {
    "four columns for dimension 2": (
        LOGISTIC | {"columns": ["y", "a", "b", "c"]},
        NEWTON,
        [],
        "models.mine.columns: must be 3, the outcome and 2 covariates, not 4",
    ),
    "a column with a space at its end": (
        LOGISTIC | {"columns": ["y", "a", "b "]},
        NEWTON,
        [],
        "columns: b : data.csv has no such columns, or no line of names",
    ),
    "a misspelt column": (
        GAUSSIAN | {"columns": ["y"], "data": "data.parquet"},
        STATISTICS,
        [],
        "columns: y: data.parquet has no such columns, or no line of names, as its ledger has rec",
    ),
    "noisy statistics of a regression": (
        LOGISTIC,
        STATISTICS,
        [],
        "needs a model with has_constant_covariance, which LogisticRegression does not have",
    ),
    "first_centre of a wrong length": (
        GAUSSIAN,
        with_(STATISTICS, first_centre=[0, 0], first_radius=5),
        [],
        "first_centre: must be a list of 1 numbers, not 2",
    ),
    "no first_radius for a flat prior": (
        CIRCLE,
        STATISTICS,
        [],
        "first_radius: must be given, as Circle has no sample_prior",
    ),
    "start of a wrong length": (
        LOGISTIC,
        with_(NEWTON, start=[0, 0, 0]),
        [],
        "start: must be a number or a list of 2 numbers, not 3",
    ),
    "--start of a wrong length": (
        GAUSSIAN,
        {"sampler": "DPPenalty", "move": "GaussianWalk"}
        | {"settings": {"noise_scale": 2, "proposal_scale": 0.3, "clip_bound": 1}},
        ["--start", "1,2"],
        "--start: must be prior, preparation, or 1 numbers with commas between them, not 1,2",
    ),
    "--start prior without a proper prior": (
        CIRCLE,
        {"sampler": "DPPenalty", "move": "GaussianWalk"}
        | {"settings": {"noise_scale": 2, "proposal_scale": 0.3, "clip_bound": 1}},
        ["--start", "prior"],
        "--start: Circle has no sample_prior; give numbers",
    ),
    "a batch of more rows than there are": (
        GAUSSIAN,
        {"sampler": "DPSGLD"}
        | {"settings": {"step_size": 0.01, "batch_size": 61, "gradient_clip_bound": 2}},
        ["--start", "0"],
        "batch_size: must be at most num_rows = 60, not 61",
    ),
    "prepare that raises": (
        {"kind": "own.py:Raises"},
        NEWTON,
        [],
        "index 5 is out of bounds for axis 1 with size 2 (IndexError in own.py, line 15)",
    ),
    "prepare that makes a vector": (
        {"kind": "own.py:Flat"},
        NEWTON,
        [],
        "own.py:Flat does not pass its check, so nothing was started: prepare and is_outcome: each "
        "row by itself, in new processes: does not return rows",
    ),
    "from_rows of one's own": (
        {"kind": "own.py:Reorders"},
        NEWTON,
        [],
        "model: Reorders has a from_rows of its own",
    ),
    "a model of one's own without simulate": (
        {"kind": "own.py:Silent"},
        NEWTON,
        [],
        "Silent has no simulate: it cannot make data",
    ),
    "more releases than declared": (
        {"kind": "leaking.py:Plain"},
        of_own("Rounds"),
        ["--start", "0", "--rows", "3000"],
        "more would be released than was declared: the sum of (sensitivity / sd)^2 is ",
    ),
    "less noise than declared": (
        {"kind": "leaking.py:Plain"},
        of_own("Quieter"),
        ["--start", "0", "--rows", "3000"],
        "a release has less noise than was declared: its sd is 2.9 times its sensitivity, not 3",
    ),
    "larger batches than declared": (
        {"kind": "leaking.py:Plain"},
        of_own("Larger", step_size=1e-4, batch_size=30, gradient_clip_bound=0.1),
        ["--start", "0", "--rows", "3000"],
        "a batch must be drawn by draw_batch, of all 3000 rows, and have at most 30 of them",
    ),
    "a step that fails late": (
        {"kind": "leaking.py:Plain"},
        of_own("Forgets", noise_scale=100),
        ["--start", "0"],
        "list index out of range (IndexError in own.py, line 70)",
    ),
    "a chain that diverges": (
        {"kind": "leaking.py:Plain"},
        of_own("Diverges", noise_scale=100),
        ["--start", "0"],
        "draws are not finite",
    ),
    "no xarray": (GAUSSIAN, STATISTICS, ["without", "xarray"], "xarray"),
    "no h5netcdf": (GAUSSIAN, STATISTICS, ["without", "h5netcdf"], "h5netcdf"),
    "no pyarrow for a Parquet file": (
        GAUSSIAN | {"data": "data.parquet"},
        STATISTICS,
        ["without", "pyarrow"],
        "pyarrow",
    ),
    "no OpenDP": (GAUSSIAN, STATISTICS, ["without", "opendp"], "there is no package opendp"),
    "an output that is there": (
        GAUSSIAN,
        STATISTICS,
        ["--output", "data.csv"],
        "--output: data.csv exists already",
    ),
}

# Samplers that pass the check of one's own code, which takes ten seconds: only one of them runs it.
CHECKED_ALIKE = ("less noise than declared", "larger batches than declared")
CHECKED_ALIKE += ("a step that fails late", "a chain that diverges")


@pytest.fixture
def here(place, monkeypatch):
    """The process that reads the data is this one, as starting one takes long; it reads a twin."""

    def run_data_process(planned, budget):
        assert budget is None, "the data would be read"
        answer, draws = answered(spec_of(planned, budget), None)
        if answer["end"] == "finished":
            return None, Drawn(draws)
        return problem_of(answer["end"], answer, planned.part, is_twin=True), None

    monkeypatch.setattr(command, "run_data_process", run_data_process)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    return place


def study_of(place, model, algorithm):
    """Write a study of one model and one algorithm, and a ledger for its data."""
    model = {"data": "data.csv"} | model
    algorithm = {"accountant": "certified"} | algorithm
    algorithm["settings"] = {"mine": algorithm.get("settings", {})}
    study = {"study": "mistakes", "models": {"mine": model}, "algorithms": {"it": algorithm}}
    (place.folder / "study.yaml").write_text(yaml.safe_dump(study))
    (place.folder / "own.py").write_text(OWN)
    names = [name.strip() for name in model.get("columns", ["x", "secret"])]
    place.write_data([",".join(names), *[",".join("1" for _ in names)] * 60])
    if model["data"] != "data.csv":
        (place.folder / "data.csv").unlink()
        (place.folder / model["data"]).write_bytes(as_parquet(["x"], np.ones((60, 1))))
    for data in place.folder.glob("data.*"):
        budget = "--epsilon", 10, "--delta", 1e-3, "--rows", 60
        assert place.run("ledger", "new", data.name, *budget) == 0


def contents(folder):
    """All files below a folder, with what they hold."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_found_before_anything_is_spent(here, capsys, monkeypatch, mistake):
    model, algorithm, options, expected = MISTAKES[mistake]
    study_of(here, model, algorithm)
    if options[:1] == ["without"]:
        monkeypatch.setitem(sys.modules, options[1], None)
        options = []
    if mistake in CHECKED_ALIKE and "MISTAKES" not in os.environ:
        monkeypatch.setattr(own_code, "check_own_code", lambda _: None)
    if "--rows" in options:
        rows = options[options.index("--rows") + 1]
        here.write_data(here.lines(int(rows)))
        here.ledger(10, int(rows))
    before = contents(here.folder.parent)
    capsys.readouterr()
    options = ["--output", "out", *options]
    of = "study.yaml", "--model", "mine", "--algorithm", "it", "--epsilon", 1
    status = here.run("release", *of, *options)
    printed = capsys.readouterr()
    assert expected in printed.err and printed.err.count("\n") == 1
    assert status == 1
    assert contents(here.folder.parent) == before
    if table := os.getenv("MISTAKES"):
        with Path(table).open("a", encoding="utf-8") as file:
            file.write(f"| {mistake} | {printed.err.strip()} |\n")


def test_a_twin_does_not_know_where_the_data_are(place, capsys):
    place.ledger()
    budget = ledger.read("data.csv").budget
    planned = plan(read_part("study.yaml", "mine", "newton", ROWS), 1, 1e-3)
    real, twin = (json.dumps(spec_of(planned, of)) for of in (budget, None))
    for secret in ("data.csv", budget.salt, budget.fingerprint):
        assert secret in real and secret not in twin


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("statement", TypeError("line one\nline two"), "is spent: line one line two (TypeError)"),
        ("write", OSError(28, "No space left"), "so nothing is spent: [Errno 28] No space left"),
        ("as_netcdf", KeyboardInterrupt, "release: interrupted; nothing is spent"),
    ],
)
def test_what_fails_when_files_are_written_is_found_too(
    here, capsys, monkeypatch, name, error, expected
):
    def failing(*_):
        raise error

    here.ledger()
    monkeypatch.setattr(statement, name, failing)
    capsys.readouterr()
    assert here.release("newton", 1, "out", "--draws", 5) == 1
    printed = capsys.readouterr()
    assert expected in printed.err and printed.err.count("\n") == 1
    assert not list(here.folder.glob(".*")) and not (here.folder / "out").exists()
    assert not ledger.read("data.csv").releases


def test_rounds_that_depend_on_the_data_are_stopped_when_these_are_read(place, capsys):
    """No twin shows them."""
    (place.folder / "own.py").write_text(
        "from leaking import *\n\nclass Own(AddsNoNoise):\n"
        "    def step(self, rng, state, target):\n"
        "        for _ in range(1 + (np.asarray(target.data) == MARKER).any()):\n"
        "            total, _ = target.clipped_gradient(state.position, 1.0)\n"
        "            total = rng.add_noise(total, 2.0, 2.0 * self.noise_scale)\n"
        "        return State(state.position + 1e-3 * total), Info(True, 0.0)\n"
    )
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Adds", "own.py:Own  # "))
    place.ledger()
    assert place.release("own", 1, "out", "--start", "0") == 3
    printed = capsys.readouterr()
    assert "(ArithmeticError in dpmcmc/release/streams.py, line " in printed.err
    assert "Its planned cost is spent." in printed.err


# -- Libraries -------------------------------------------------------------------------------------


def test_a_folder_named_like_a_library_is_not_used_from_where_one_is(place):
    """As `python -m` would, which looks there first; nor is a library that a variable names."""
    place.ledger()
    for name in ("opendp", "numpy", "secrets"):
        (place.folder / name).mkdir()
        (place.folder / name / "__init__.py").write_text("raise ValueError")
    of = "study.yaml", "--model", "mine", "--algorithm", "newton", "--epsilon", "1"
    python = [sys.executable, "-X", "dev", "-W", "ignore", "-m", "dpmcmc"]
    ended = subprocess.run(
        [*python, "release", *of, "--output", "out", "--unchecked"],
        env=os.environ | {"OPENDP_LIB_DIR": str(place.folder / "opendp")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_folder_of_pythonpath_is_not_used_either(place, capsys, monkeypatch):
    place.ledger()
    folder = place.folder.parent / "mine" / "opendp"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    capsys.readouterr()
    assert place.release() == 1
    printed = capsys.readouterr()
    assert "so nothing is spent: opendp would be imported from " in printed.err
    assert "which is not the installed library opendp" in printed.err
    assert printed.err.count("\n") == 1 and not ledger.read("data.csv").releases


def test_variables_by_which_a_library_would_load_other_code_are_not_handed_on(monkeypatch):
    given, genuine = {}, subprocess.Popen

    def start(_, env, **options):
        given.update(env)
        return genuine(["true"], env=env, **options)

    for name in ("OPENDP_LIB_DIR", "OPENSSL_CONF", "OPENSSL_MODULES", "OTHER"):
        monkeypatch.setenv(name, "somewhere")
    monkeypatch.setattr(launcher.subprocess, "Popen", start)
    monkeypatch.setattr(launcher, "spec_of", lambda *_: {})
    planned = types.SimpleNamespace(chains=1, kept=1, names=["a"], part=None)
    assert launcher.run_data_process(planned, None)[1] is None
    assert given["OTHER"] == "somewhere" and given["PATH"]
    assert not [name for name in given if name.startswith(("OPENDP_", "OPENSSL_"))]


def test_an_empty_entry_of_pythonpath_is_not_the_current_folder(monkeypatch):
    for given, expected in ((":a::b:", "a:b"), ("", ""), ("a", "a")):
        monkeypatch.setenv("PYTHONPATH", given)
        assert launcher.environment()["PYTHONPATH"] == expected


def test_too_little_memory_is_not_called_wrong_data():
    def too_large():
        raise MemoryError

    def wrong():
        raise ValueError

    with pytest.raises(MemoryError):
        apart(too_large)
    assert apart(wrong) is None


def test_libraries_are_those_that_are_installed(tmp_path, monkeypatch):
    libraries.require_installed(*libraries.OF_NOISE, *libraries.OF_NUMBERS)
    with pytest.raises(JobError, match="the library no_such_thing is not installed"):
        libraries.require_installed("no_such_thing")
    monkeypatch.setattr(
        metadata.Distribution, "read_text", lambda *_: None
    )  # of a system's package
    libraries.require_installed("opendp")
    other = types.ModuleType("opendp.other")
    other.__file__ = str(tmp_path / "other.py")
    monkeypatch.setitem(sys.modules, "opendp.other", other)
    with pytest.raises(JobError, match="other would be imported from"):
        libraries.require_installed("opendp")
    other.__file__ = import_module("opendp").__file__
    other.library = ctypes.CDLL(None)
    libraries.require_installed("opendp")
    other.library._name = str(tmp_path / "other.so")
    with pytest.raises(JobError, match=r"the native library of opendp\.other would be imported"):
        libraries.require_installed("opendp")
    other.__file__ = str(tmp_path / "other.py")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "opendp.other", other)
    with pytest.raises(JobError, match="which is not the installed library opendp"):
        libraries.require_installed("opendp")


@pytest.mark.parametrize("factor", [0, 1 / 100, 100])
def test_noise_of_another_scale_is_refused(monkeypatch, factor):
    noise.require_noise()
    draws = noise.sample(2.0**30, 20) * factor
    monkeypatch.setattr(noise, "sample", lambda *_: draws)
    with pytest.raises(ArithmeticError, match="draws no noise, or noise of another scale"):
        noise.require_noise()
