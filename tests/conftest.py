import fcntl
import os
import shutil
from functools import cache
from pathlib import Path

import dpmcmc.pinned  # noqa: F401 before NumPy: it chooses machine code, and one thread

# isort: split
import numpy as np
import pytest

from dpmcmc.configuration.catalogue import read_study
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.barker_correction import fit_correction

ROOT = Path(__file__).resolve().parents[1]


fitted_correction = cache(fit_correction)  # once for all tests: it takes a second


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=1, help="times a running study is killed")


# Fixtures that one worker makes for all, those that take longest first.
SHARED = ["tree", "published", "own_study", "site", "tiny", "native"]


def pytest_collection_modifyitems(items):
    """The order for several workers: what takes long first, so that none is left alone with it.

    Each shared fixture is made by the first test that needs it, at the beginning; the others that
    need it come last, so that no worker waits for another to make it.
    """

    def stage(item):
        if set(SHARED) & {*item.fixturenames}:
            return 2
        return 0 if "workflow" in item.path.parts else 1

    items.sort(key=stage)
    for name in reversed(SHARED):
        first = next((item for item in items if name in item.fixturenames), None)
        if first is not None:
            items.insert(0, items.pop(items.index(first)))


def chosen(cases, *kept):
    """Parameters of a test: of all cases those that are kept; the rest for `make test-slow`."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if case in kept else pytest.mark.torture,
        )
        for case in cases
    ]


@pytest.fixture
def config():
    """The configuration of the full study."""
    return read_study(ROOT, [ROOT / "config.yaml"])[0]


@pytest.fixture
def quick():
    return read_study(ROOT, [ROOT / "studies/quick/study.yaml"])[0]


SMALL_MODELS = {
    "banana": Banana(
        dimension=3,
        num_rows=40,
        curvature=1.5,
        prior_variance=4.0,
        likelihood_variances=[2.0, 0.5, 1.0],
        true_position=[0.5, 1.0, 0.0],
        tempered_rows=20,
    ),
    "gaussian": Gaussian(
        num_rows=30,
        prior_variance=2.0,
        covariance=[[1.0, 0.7], [0.7, 2.0]],
        true_position=[0.3, -1.0],
    ),
    "circle": Circle(
        num_rows=25,
        sharpness=0.02,
        radius_mean=2.0,
        radius_sd=0.5,
        start_mean=[0.0, 1.0],
        start_sd=0.4,
    ),
}


@pytest.fixture(params=SMALL_MODELS)
def small_target(request):
    """A small data set of each kind of model; the banana is tempered with T = 1/2."""
    model = SMALL_MODELS[request.param]
    return Target(model, model.simulate(np.random.default_rng(7)))


def once(factory, name, make):
    """A directory that `make` fills for all workers: by the first that asks, while others wait."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # a worker's own directory lies in that of the run
    directory, made = root / name, root / f"{name}.made"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(directory, ignore_errors=True)  # of one that failed
            directory.mkdir()
            make(directory)
            made.touch()
    return directory


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A copy of the tree in which the tiny study has run undisturbed, with two cores."""
    from running import TINY, copy_tree, snakemake

    return once(
        tmp_path_factory, "tiny", lambda path: snakemake(copy_tree(path), "--cores", 2, *TINY)
    )


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """A copy of the tree in which the quick study has run, with two cores; not to be changed."""
    from running import QUICK, copy_tree, snakemake

    return once(
        tmp_path_factory, "tree", lambda path: snakemake(copy_tree(path), "--cores", 2, *QUICK)
    )


@pytest.fixture
def fresh(tmp_path_factory):
    """A copy of the tree without results."""
    from running import copy_tree

    return copy_tree(tmp_path_factory.mktemp("fresh"))


@pytest.fixture
def finished(tiny, tmp_path):
    """A copy of `tiny` to spoil; times of files are kept, so there is nothing to run."""
    return Path(shutil.copytree(tiny, tmp_path / "finished"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with data of one's own and a study of them, in which a release can be made."""
    from places import Place

    from dpmcmc import registry
    from dpmcmc.release import own_code

    for name in ("place", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "place")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    registry.load_file.cache_clear()
    monkeypatch.setattr(own_code, "check_own_code", checked_once(own_code.check_own_code))
    return Place(tmp_path / "place")


OWN_CODE_THAT_PASSED = set()


def checked_once(check):
    """A release checks code of one's own; here a model that has passed is not checked again."""
    from dpmcmc.registry import is_own

    def check_once(planned):
        part = planned.part
        key = repr(part.model.spec), *(Path(file).read_bytes() for file in part.files)
        if is_own(part.algorithm.spec(part.settings)) or key not in OWN_CODE_THAT_PASSED:
            check(planned)
        OWN_CODE_THAT_PASSED.add(key)

    return check_once


def mechanism_of(sampler, num_rows, likelihood_power=1.0):
    """The one mechanism that an iteration of a sampler releases."""
    [(mechanism, count)] = sampler.releases(num_rows, likelihood_power, 1)
    assert count == 1
    return mechanism
