"""Who imports whom: no circle of modules, one way between packages, and no more than is needed."""

import ast
import json
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dpmcmc import registry
from dpmcmc.kernels.library import library_path
from dpmcmc_studies.study.sources import as_it_runs, imports

SOURCE = ROOT / "src"
# What the modules of a package may import of others; single modules of dpmcmc are packages here,
# and `studies.` begins the names of those of dpmcmc_studies.
LEAVES = {"arrays", "settings", "extras"}
ALLOWED = {
    "machine": set(),
    "pinned": {"machine"},
    "arrays": set(),
    "settings": set(),
    "extras": set(),
    "files": set(),
    "registry": {"settings", "extras"},
    "accounting": set(),
    "kernels": {"machine"},
    "likelihoods": {"kernels", *LEAVES},
    "models": {"kernels", "likelihoods", *LEAVES},
    "samplers": {"kernels", "likelihoods", "models", "accounting", *LEAVES},
}
COMPUTING = set(ALLOWED)
ALLOWED |= {
    "random_streams": COMPUTING,
    "precomputed": COMPUTING,
    "new_processes": {"machine", "registry"},
    "committed": {"extras"},
    "data_files": {"new_processes", "random_streams", *COMPUTING},
    "configuration": {"data_files", "random_streams", *COMPUTING},
    "evaluation": {"new_processes", "random_streams", *COMPUTING},
}
READING = set(ALLOWED)
ALLOWED |= {"commands": READING, "release": {"commands", *READING}}
ALLOWED |= {"cli": {"pinned", "extras", "files", "commands", "release"}, "__main__": {"cli"}}
ALLOWED |= {"__init__": set()}
LIBRARY = set(ALLOWED) - {"cli", "__main__"}
ALLOWED |= {
    "studies.frames": LIBRARY,
    "studies.analysis": {"studies.frames", *LIBRARY},
    "studies.study": {"studies.analysis", *LIBRARY},
    "studies.reporting": {"studies.frames", "studies.analysis", "studies.study", *LIBRARY},
}
STUDIES = {name for name in ALLOWED if name.startswith("studies.")}
ALLOWED |= {
    "studies.jobs": STUDIES | LIBRARY,
    "studies.cli": {"cli", "studies.jobs"},
    "studies.__main__": {"studies.cli"},
    "studies.__init__": set(),
}
# Libraries that all modules of dpmcmc may import, and those of some; dpmcmc_studies may any.
LIGHT = {"llvmlite", "numpy", "numba", "scipy", "msgspec", "dp_accounting", "yaml"}
OF_SOME = {
    "arviz": {"dpmcmc.evaluation.inference_data", "dpmcmc.release.results"},
    "pandas": {"dpmcmc.committed", "dpmcmc.release.results"},
    "matplotlib": {"dpmcmc.commands.score", "dpmcmc.release.results", "dpmcmc.release.plot"},
    "tqdm": {"dpmcmc.release.rehearsal"},
    "xarray": {"dpmcmc.release.statement"},
    "jax": {"dpmcmc.likelihoods.jax"},
    "numpyro": {"dpmcmc.models.numpyro"},
    "opendp": {"dpmcmc.release.noise"},
    "randomgen": {"dpmcmc.release.streams"},
    "pyarrow": {"dpmcmc.data_files", "dpmcmc.release.data_process"},
}


def module_names():
    """Files of both packages by the names of their modules."""
    names = {}
    for path in SOURCE.glob("dpmcmc*/**/*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


def imported_by(node):
    """Names that a module's code imports, at its top or in its functions, when it runs."""
    for part in as_it_runs(node):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            assert part.level == 0, "imports are absolute"
            yield part.module
            yield from (f"{part.module}.{alias.name}" for alias in part.names)


@pytest.fixture(scope="module")
def graph():
    """Modules of both packages that each of them imports."""
    modules = module_names()
    return {
        name: set(imported_by(ast.parse(path.read_text()))) & modules.keys()
        for name, path in modules.items()
    }


def package_of(module):
    top, _, rest = module.partition(".")
    name = rest.partition(".")[0] or "__init__"
    return f"studies.{name}" if top == "dpmcmc_studies" else name


def test_the_graph_is_read_as_it_is(graph):
    assert len(graph) > 60
    assert graph["dpmcmc.samplers.dp_barker"] >= {
        "dpmcmc.samplers.barker_correction",
        "dpmcmc.accounting.mechanisms",
        "dpmcmc.settings",
    }
    assert "dpmcmc.registry" in graph["dpmcmc_studies.jobs.chains"]  # `from dpmcmc import registry`
    assert "dpmcmc_studies.reporting.pages" in graph["dpmcmc_studies.jobs.reports"]  # in a function


def test_no_circle_of_modules(graph):
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


def test_packages_import_one_way(graph):
    wrong = {
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others - {"dpmcmc", "dpmcmc_studies"}
        if package_of(module) != package_of(other)
        and package_of(other) not in ALLOWED[package_of(module)]
    }
    assert not wrong
    assert {package_of(module) for module in graph} == ALLOWED.keys()


def test_modules_beside_notebooks_are_imported_by_their_own_folder_alone():
    """Of modules and notebooks; the package imports none of them."""
    own = [*ROOT.glob("studies/*/*.py"), *ROOT.glob("notebooks/*.py")]
    folders = {path.parent: set() for path in own}
    for folder in folders:
        folders[folder] = {path.stem for path in folder.glob("*.py")}
    assert {"dp-hmc-paper", "dp-mcmc-paper", "sghmc-thesis"} <= {folder.name for folder in folders}
    files = [*module_names().values(), *ROOT.glob("studies/*/*"), *ROOT.glob("notebooks/*")]
    for file in (path for path in files if path.suffix in {".py", ".ipynb"}):
        imported = {name for _, name in imports(file)}
        for folder, modules in folders.items():
            assert file.parent == folder or not imported & modules, file


def test_the_rule_itself_has_no_circle():
    list(TopologicalSorter(ALLOWED).static_order())


def test_the_library_imports_nothing_of_studies_nor_what_only_they_need():
    """Not in its functions either."""
    wrong = {
        f"{name} imports {library}"
        for name, path in module_names().items()
        if not name.startswith("dpmcmc_studies")
        for library in {
            found.partition(".")[0] for found in imported_by(ast.parse(path.read_text()))
        }
        if library not in {"dpmcmc", *LIGHT, *sys.stdlib_module_names}
        and name not in OF_SOME.get(library, ())
    }
    assert not wrong


HEAVY = ["pandas", "scipy.stats", "scipy.optimize", "matplotlib", "jax", "numba"]
SCRIPT = """
import json, sys
from importlib import import_module
for name in {names}:
    import_module(name)
print(json.dumps(sorted(set({heavy}) & sys.modules.keys())))
"""


def brought_by(names):
    script = SCRIPT.format(names=sorted(names), heavy=HEAVY)
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=SOURCE
    )
    return json.loads(output.stdout)


@pytest.fixture(scope="module")
def allowed():
    """Nothing; but numba, where nobody has built the library of compiled kernels."""
    path = library_path()
    return [] if path is not None and path.is_file() else ["numba"]


def test_a_chain_starts_without_what_only_other_jobs_need(config, allowed):
    """Any chain of chapter 6, as the job that a study has thousands of."""
    used = {("model", entry["kind"]) for entry in config["models"].values()}
    for entry in config["algorithms"].values():
        used |= {(kind, entry[kind]) for kind in ("sampler", "move") if kind in entry}
    assert len(used) > 12
    modules = {registry.resolve(*pair).partition(":")[0] for pair in used}
    assert brought_by({"dpmcmc_studies.jobs.chains", *modules}) == allowed


def test_every_sampler_and_model_of_the_package_is_as_light(allowed):
    modules = {module for kind in registry.KINDS for module in registry.names(kind).values()}
    assert len(modules) > 10
    assert brought_by(modules) == allowed


def test_the_process_that_reads_the_data_of_a_release_starts_as_light(allowed):
    assert brought_by({"dpmcmc.release.data_process"}) == allowed


def test_the_schema_of_claims_is_read_at_each_start_of_the_workflow(allowed):
    assert brought_by({"dpmcmc_studies.analysis.claims"}) == allowed


def test_what_is_heavy_would_be_seen():
    assert "pandas" in brought_by({"dpmcmc_studies.analysis.ranking"})
    assert "matplotlib" in brought_by({"dpmcmc_studies.reporting.figures.style"})


KEPT = {path.parent for path in ROOT.glob("studies/*/kept_*.py")}


@pytest.mark.parametrize("folder", sorted(KEPT), ids=lambda folder: folder.name)
def test_what_pages_keep_of_chains_is_computed_without_what_draws(folder):
    names = sorted(path.stem for path in folder.glob("kept_*.py"))
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); import {', '.join(names)}; "
    script += "print('matplotlib' in sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=SOURCE
    )
    assert output.stdout.strip() == "False"


def test_jobs_find_this_package_before_the_users_own_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", {"PYTHONPATH": "/mine"})
    rules = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
    start = rules.partition("from dpmcmc import machine")[0]
    exec(start, {"workflow": SimpleNamespace(basedir=ROOT)})
    assert os.environ["PYTHONPATH"] == f"{SOURCE}{os.pathsep}/mine"


def test_the_conda_environment_has_what_jobs_import():
    """Of jobs, notebooks and rules: by the locked packages and what these require in turn."""
    dependencies = yaml.safe_load((ROOT / "envs/environment.yaml").read_text())["dependencies"]
    pip = dependencies.pop()["pip"]
    names = {re.split(r"[ =<>!]", line)[0].removesuffix("-base") for line in dependencies + pip}
    waiting, present = sorted(names - {"python", "pip"}), set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in present:
            present.add(name)
            required = map(Requirement, metadata.requires(name) or ())
            waiting += [r.name for r in required if r.marker is None or r.marker.evaluate()]
    found = {
        name.partition(".")[0]
        for pattern in ("src/**/*.py", "notebooks/*.ipynb", "studies/*/*.ipynb")
        for file in ROOT.glob(pattern)
        if file.parent.name != "release"  # no job of a study makes one
        for level, name in imports(file)
        if not level and file.stem not in ("jax", "numpyro")  # only models of these need them
    }
    files = [*ROOT.glob("studies/*/*.py"), *ROOT.glob("notebooks/*.py")]
    modules = {path.stem for path in files} | {"dpmcmc", "dpmcmc_studies"}
    distributions = metadata.packages_distributions()
    missing = {
        name
        for name in found - modules - sys.stdlib_module_names
        if not {canonicalize_name(one) for one in distributions.get(name, ())} & present
    }
    assert missing <= {"snakemake"}  # which starts the jobs, and reads no more of them
