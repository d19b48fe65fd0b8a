"""Types: mypy passes on the package, and no function of the public names is without them."""

import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase

from conftest import ROOT

import dpmcmc


def test_mypy_passes():
    result = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not result.returncode, result.stdout + result.stderr


def test_mypy_takes_no_function_of_the_public_names_without_types():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    typed = [
        pattern
        for override in settings["overrides"]
        if override["disallow_untyped_defs"]
        for pattern in override["module"]
    ]
    public = {*dpmcmc._public_names().values(), "dpmcmc.models.jax"}
    untyped = {name for name in public if not any(fnmatchcase(name, each) for each in typed)}
    assert len(public) > 30 and not untyped
