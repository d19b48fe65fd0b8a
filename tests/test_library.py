"""The package from Python: what the page shows runs, and its import brings no more than before."""

import inspect
import json
import os
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from conftest import ROOT

import dpmcmc
from dpmcmc import machine, registry
from dpmcmc.files import JobError
from dpmcmc_studies.study import sources

README = ROOT / "README.md"  # with the ten lines, its only block of Python
PAGE = ROOT / "docs/library.md"


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def printed_by(code):
    """What code prints in a Python of its own, before which nothing is loaded."""
    pinned = machine.PINNED.keys() | machine.ONE_THREAD.keys() | {"XLA_FLAGS"}
    variables = {name: value for name, value in os.environ.items() if name not in pinned}
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(
        command,
        env=variables | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not result.returncode, result.stderr
    return result.stdout


def test_the_ten_lines_sample_the_posterior_and_say_what_it_cost():
    [code] = python_blocks(README)
    assert len([line for line in code.splitlines() if line]) <= 10
    printed = printed_by(code)
    mean, sd, epsilon = re.fullmatch(r"\[(.*)\] \[(.*)\] (\S+)\n", printed).groups()
    # The posterior is Normal(mean of the data, 1 / n): 0.02 are six standard deviations.
    np.testing.assert_allclose([float(x) for x in mean.split()], [0.3, -0.2], atol=0.02)
    assert all(0.0015 < float(x) < 0.006 for x in sd.split())
    assert 1.99 < float(epsilon) <= 2


def test_all_who_meet_streams_are_told_that_these_are_for_trying():
    for text in (README.read_text(), PAGE.read_text(), dpmcmc.streams.__doc__):
        assert re.search(r"for trying things, not\s+for\s+publishing", text, re.IGNORECASE)


def test_what_the_page_says_beside_its_calls_is_what_they_give():
    blocks = [*python_blocks(README), *python_blocks(PAGE)]
    said = 0
    code = "import dpmcmc\n"
    for line in "".join(blocks[1:]).splitlines():
        call, _, comment = line.partition("  # ")
        code += f"print({call})\n" if comment else f"{line}\n"
        said += bool(comment)
    comments = re.findall(r"  # (\S+)$", "".join(blocks[1:]), re.MULTILINE)
    assert printed_by(code).split() == comments and said == len(comments) >= 3
    k = re.search(r"\)  # (\d+), at delta", blocks[0]).group(1)
    lines = [line for line in blocks[0].splitlines() if "np.random" not in line]
    assert printed_by("\n".join([*lines[:6], "print(k)"])) == f"{k}\n"


def test_every_public_name_can_be_imported_and_is_documented():
    assert len(dpmcmc.__all__) > 30
    assert set(dpmcmc.__all__) < set(dir(dpmcmc))
    assert "import_module" not in dir(dpmcmc)
    for name in dpmcmc.__all__:
        public = getattr(dpmcmc, name)
        assert public.__name__.rpartition(".")[2] == name  # `release` is a package, and a function
        assert inspect.getdoc(public) and not inspect.getdoc(public).startswith(f"{name}(")
    everything = {}
    exec("from dpmcmc import *", everything)
    assert everything.keys() - {"__builtins__"} == set(dpmcmc.__all__)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_a_study_can_name_every_public_class_that_is_no_base(kind):
    public = {name: getattr(dpmcmc, name) for name in dpmcmc.__all__}
    of_kind = {
        name: cls.__module__
        for name, cls in public.items()
        if isinstance(cls, type) and issubclass(cls, registry.base(kind))
    }
    bases = {"Model", "RowsModel", "ExponentialFamily", "Sampler", "OneShot", "Move"}
    assert {name: of_kind[name] for name in of_kind.keys() - bases}.items() <= (
        registry.names(kind).items()
    )


def test_the_stub_and_the_mark_of_types_are_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert {"py.typed", "__init__.pyi"} <= set(settings["package-data"]["dpmcmc"])
    assert all((ROOT / "src/dpmcmc" / name).is_file() for name in ("py.typed", "__init__.pyi"))


def test_importing_the_package_loads_nothing_else_and_leaves_the_process_as_it_is():
    loaded = json.loads(
        printed_by(
            "import sys; before = set(sys.modules); import dpmcmc; dir(dpmcmc), dpmcmc.__all__\n"
            "hasattr(dpmcmc, 'no_such_name')\n"
            "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
        )
    )
    tops = {name.partition(".")[0] for name in loaded}
    assert tops <= {"dpmcmc", *sys.stdlib_module_names}
    assert {name for name in loaded if name.startswith("dpmcmc")} == {"dpmcmc"}
    changed = "import os; before = dict(os.environ); import dpmcmc; from dpmcmc import DPPenalty\n"
    assert printed_by(changed + "print(dict(os.environ) == before)").strip() == "True"


def test_kernels_give_the_same_digits_whether_the_process_is_pinned_or_not():
    code = "import numpy as np; from dpmcmc.kernels.library import library_path\n"
    code += "from dpmcmc.kernels.gradients import clipped_gradient_sum\n"
    code += "x = np.random.default_rng(1).standard_normal((3, 5000))\n"
    code += "total, _ = clipped_gradient_sum(x, np.eye(3) + 0.1, np.zeros(3), 1.5)\n"
    code += "print(library_path().name, [value.hex() for value in total])"
    assert printed_by(code) == printed_by(f"import dpmcmc; dpmcmc.pin()\n{code}")


def test_no_job_depends_on_what_the_public_names_stand_for():
    files, libraries = sources.imported("dpmcmc")
    assert {path.name for path in files} == {"__init__.py"} and not libraries


def test_planning_and_documentation_need_neither_arviz_nor_pandas():
    """As where no extra is installed."""
    missing = ["arviz", "pandas", "yaml", "jax", "matplotlib"]
    code = f"import sys; sys.modules.update(dict.fromkeys({missing}))\n"
    code += "import dpmcmc; print(*(getattr(dpmcmc, n).__name__ for n in dpmcmc.__all__))"
    names = [name.rpartition(".")[2] for name in printed_by(code).split()]
    assert names == dpmcmc.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module dpmcmc has no attribute Banan; see dir"):
        dpmcmc.Banan  # noqa: B018
    with pytest.raises(ImportError, match="Banan"):
        from dpmcmc import Banan  # noqa: F401


def test_streams_are_the_same_for_a_seed_and_never_without_one():
    def draws(*seed):
        return [generator.random() for generator in dpmcmc.streams(*seed)]

    assert draws(3) == draws(3) != draws(4)
    assert len({*draws(), *draws(), *draws(3)}) == 9
    seeds = [rng.bit_generator.seed_seq for rng in dpmcmc.streams()]
    assert len({seed.entropy for seed in seeds}) == 3  # none leads to another
    for wrong in ("3", -1, 1.5, True):
        with pytest.raises(ValueError, match=r"^seed: must be a whole number of at least 0, not "):
            dpmcmc.streams(wrong)


def test_chains_of_the_library_go_to_arviz_as_those_of_a_study_do():
    chains = [dpmcmc.Chain(np.full((5, 2), i), *np.ones((4, 5))) for i in range(3)]
    data = dpmcmc.to_arviz(chains, burn_in=True)
    assert data.posterior.theta.shape == (3, 3, 2) and data.warmup_posterior.theta.shape[1] == 2
    assert data.posterior.theta[:, 0, 0].values.tolist() == [0, 1, 2]
    assert dpmcmc.to_arviz(chains[0]).posterior.sizes["chain"] == 1
    short = chains[0]._replace(positions=np.ones((4, 2)))
    for wrong in ([], [chains[0], short], [1, 2], 3):
        with pytest.raises(JobError, match=r"^results: must be .*chains of"):
            dpmcmc.to_arviz(wrong)


def test_citation_is_of_this_version_and_of_what_the_package_rests_on():
    import yaml

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["cff-version"] == "1.2.0" and cited["message"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert all(reference["title"] and reference["authors"] for reference in cited["references"])
    preferred = cited["preferred-citation"]
    for key in ("title", "authors", "version"):
        assert preferred[key] == cited[key]
    entry = README.read_text(encoding="utf-8").partition("```bibtex\n")[2].partition("```")[0]
    fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entry, re.MULTILINE))
    plain = {key: re.sub("[{}]", "", value) for key, value in fields.items()}
    [author] = cited["authors"]
    expected = {"title": cited["title"], "author": author["name"], "version": cited["version"]}
    assert plain == expected | {"year": str(preferred["year"])}
