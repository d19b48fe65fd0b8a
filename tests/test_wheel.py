"""An installed package, without a checkout, has all that a model, a check and a release need."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dpmcmc import cli
from dpmcmc_studies import cli as of_studies
from dpmcmc_studies.study.sources import imported

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of this checkout, built from a copy: building leaves a folder beside the source."""
    copy, output = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy)
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "_kernels-*.so")
    )
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", output, copy], check=True)
    [file] = output.iterdir()
    return file


def walk(folder, python, *flags, path=None, is_whole=True):
    """All commands for people, by a Python that has a wheel, in an empty folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}

    def run(*arguments, status=0):
        command = [python, *flags, *map(str, arguments)]
        variables = kept | ({"PYTHONPATH": str(path)} if path else {})
        ended = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        assert ended.returncode == status, f"{arguments}: {ended.stdout}{ended.stderr}"
        return ended.stdout + ended.stderr

    def dpmcmc(*arguments, status=0):
        return run("-m", "dpmcmc", *arguments, status=status)

    place = run("-c", "import dpmcmc; print(dpmcmc.__file__)")
    assert not Path(place).is_relative_to(ROOT), "this is the checkout"
    assert dpmcmc("--version") == f"dpmcmc {PROJECT['version']}\n"
    said = dpmcmc("--help")
    assert all(f"\n  {name} " in said for name in cli.COMMANDS)

    for kind in ("model", "algorithm"):
        dpmcmc("new", kind, f"my_{kind}.py")
    if is_whole:
        for kind in ("model", "algorithm"):
            assert " 0 FAILED" in dpmcmc("check", f"my_{kind}.py:My{kind.capitalize()}")
        own = ("my_model.yaml", "--model", "my-model", "--algorithm", "dp-penalty")
        own += ("--start", "prior", "--epsilon", 1, "--twins", 2)
        assert "twins, with" in dpmcmc("rehearse", *own)

    steps = dpmcmc("new", "release", "loans.yaml").splitlines()[1:]
    values = {" E": " 1", " D": " 1e-5", " N": " 4000", "FOLDER": "released"}
    for name, value in values.items():
        steps = [re.sub(rf"{name}\b", value, step) for step in steps]
    new_ledger, check, rehearse, release = (shlex.split(step)[3:] for step in steps)
    study = Path(folder, "loans.yaml").read_text(encoding="utf-8")
    for old, own in {
        "[age, income]": "[income]",
        "dimension: 3": "dimension: 2",
        "{age: 50, income: 40000}": "0",
        "{age: 20, income: 20000}": "1",
    }.items():
        assert old in study
        study = study.replace(old, own)
    Path(folder, "loans.yaml").write_text(study, encoding="utf-8")
    x = np.random.default_rng(1).standard_normal(4000)
    y = np.random.default_rng(2).random(4000) < 1 / (1 + np.exp(-x))
    lines = ["repaid,income", *(f"{int(a)},{b:.6f}" for a, b in zip(y, x, strict=True))]
    Path(folder, "loans.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    dpmcmc(*new_ledger)
    assert "twins, with" in dpmcmc(*rehearse, "--twins", 2)
    dpmcmc(*release, "--plan")
    if is_whole:
        assert " 0 FAILED" in dpmcmc(*check)
    assert "written to released" in dpmcmc(*release, *["--unchecked"] * (not is_whole))
    assert "published" in dpmcmc("ledger", "show", "loans.csv")
    draws = np.loadtxt(Path(folder, "released/chain.csv"), delimiter=",", skiprows=1)
    assert len(draws) == 4000 and abs(draws[:, 3].mean() - 1) < 0.5


def test_a_wheel_has_all_files_that_its_commands_read(wheel, tmp_path):
    unpacked, empty = tmp_path / "unpacked", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as file:
        file.extractall(unpacked)
    names = {path.suffix for path in unpacked.glob("**/*") if path.is_file()}
    assert ".so" not in names and ".pyc" not in names
    walk(empty, sys.executable, "-P", path=unpacked, is_whole=False)


@pytest.mark.torture
def test_a_wheel_with_its_locked_extra_runs_in_an_environment_of_its_own(wheel, tmp_path):
    """Also: what is installed is what the wheel's own extra asks for."""
    empty = tmp_path / "empty"
    empty.mkdir()
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    pip = [python, "-m", "pip"]
    locked = ["--require-hashes", "--requirement", ROOT / "envs/release.txt"]
    subprocess.run([*pip, "install", "--quiet", *locked], check=True)
    subprocess.run([*pip, "install", "--quiet", "--no-index", f"{wheel}[release]"], check=True)
    subprocess.run([*pip, "check"], check=True)
    walk(empty, python)


def test_the_extra_has_what_commands_for_people_import():
    texts = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["release"]]
    present = {canonicalize_name(Requirement(text).name) for text in texts}
    places = {command.function for command in cli.COMMANDS.values()}
    modules = [place.rpartition(".")[0] for place in places]
    _, libraries = imported(*modules, "dpmcmc.release.data_process")
    found = {canonicalize_name(library.split()[0]) for library in libraries}
    # Models of JAX, figures and data frames need other extras, which their errors name; what a
    # notebook shows is there where its libraries are.
    others = {"jax", "numpyro", "ipython", "arviz", "pandas", "matplotlib"}
    assert found - others <= present and found >= {"opendp", "xarray"}


def test_nobody_is_told_to_install_a_name_of_a_package_index():
    """There the name is free: whoever registers it would be installed beside secret data."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("src/**/*.py")]
    by_name = re.compile(r"pip install +['\"]?dpmcmc(?!-\d)")
    assert not [file for file in files if by_name.search(file.read_text(encoding="utf-8"))]
    page = (ROOT / "docs/release.md").read_text(encoding="utf-8")
    assert f"pip install 'dpmcmc-{PROJECT['version']}-py3-none-any.whl[release]'" in page


def test_every_extra_that_is_recommended_exists():
    commands = [*cli.COMMANDS.values(), *of_studies.COMMANDS.values()]
    named = {command.extra for command in commands} | {"jax"}
    assert named <= PROJECT["optional-dependencies"].keys()
