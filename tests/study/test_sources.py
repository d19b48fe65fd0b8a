"""Digests cover what a job really imports, and nothing else."""

import pytest
from conftest import ROOT

from dpmcmc_studies.study import sources

PACKAGE = ROOT / "src/dpmcmc"


@pytest.fixture(autouse=True)
def afresh():
    """What files import is remembered; these tests change files."""
    yield
    sources.imported_directly.cache_clear()


def names(*modules):
    files, libraries = sources.imported(*modules)
    return {path.name for path in files}, {text.split()[0] for text in libraries}


def test_a_sampler_brings_what_it_imports_and_no_other_sampler():
    files, libraries = names("dpmcmc_studies.jobs.chains", "dpmcmc.samplers.dp_penalty")
    assert {
        "chains.py",
        "dp_penalty.py",
        "moves.py",
        "chain.py",
        "mechanisms.py",
        "target.py",
    } <= files
    assert not {"dp_hmc.py", "hmc.py", "certified.py", "study.py", "tables.py"} & files
    assert libraries == {"numpy", "msgspec"}


def test_imports_in_functions_count():
    _, libraries = names("dpmcmc.accounting.published_pld")
    assert {"dp_accounting", "scipy", "numpy"} <= libraries


def test_imports_for_type_checkers_alone_do_not_count(tmp_path):
    code = "if TYPE_CHECKING:\n    import scipy\nelse:\n    import dpmcmc.samplers.moves\n"
    (tmp_path / "own.py").write_text(f"from typing import TYPE_CHECKING\n{code}")
    files, libraries = names(f"{tmp_path}/own.py")
    assert "moves.py" in files and "scipy" not in libraries


def test_helpers_of_a_users_file_and_theirs_count(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "own.py").write_text("from lib import near\nimport numpy\n")
    (tmp_path / "lib/near.py").write_text("from . import by\ndef f():\n    from lib.far import x\n")
    (tmp_path / "lib/far.py").write_text("x = 1\n")
    (tmp_path / "lib/by.py").write_text("import dpmcmc.samplers.moves\n")
    (tmp_path / "lib/other.py").write_text("")
    files, libraries = names(f"{tmp_path}/own.py")
    assert {"own.py", "near.py", "far.py", "by.py", "moves.py"} <= files
    assert "other.py" not in files and "numpy" in libraries
    before = sources.digest(f"{tmp_path}/own.py")
    assert sources.digest(f"{tmp_path}/own.py") == before
    (tmp_path / "lib/other.py").write_text("y = 1\n")
    assert sources.digest(f"{tmp_path}/own.py") == before
    (tmp_path / "lib/far.py").write_text("x = 2\n")
    assert sources.digest(f"{tmp_path}/own.py") != before


def test_files_of_any_encoding_and_broken_ones_have_a_digest(tmp_path):
    own, helper = tmp_path / "own.py", tmp_path / "helper.py"
    code = "try:\n    import helper\nexcept Exception:\n    helper = None\nx = 'é'  # ü\n"
    own.write_bytes(code.encode())
    helper.write_bytes(b"def (\n")
    plain = sources.digest(str(own))
    own.write_bytes(code.encode("utf-8-sig"))
    assert sources.digest(str(own)) == plain
    own.write_bytes(f"# -*- coding: latin-1 -*-\n{code}".encode("latin-1"))
    assert sources.digest(str(own)) == plain
    helper.write_bytes(b"def ((\0\n")
    assert sources.digest(str(own)) != plain


def test_docstrings_comments_and_messages_of_exceptions_do_not_count(tmp_path):
    own = tmp_path / "own.py"

    def digest(raised, comment="", prose="It."):
        code = f'def f(x):\n    """{prose}"""\n    é = {{}}; {raised}  # {comment}\n'
        own.write_text(code, encoding="utf-8")
        return sources.digest(str(own))

    plain = digest("raise ValueError('é no') from None")
    assert digest("raise ValueError(f'{x}: é no') from None", "why") == plain
    assert digest("raise ValueError(\n 'in two '\n f'lines {x}'  # why\n) from None") == plain
    assert digest("raise ValueError('') from None", prose="Other.\n\n    Words.") == plain
    others = "raise KeyError('é no')", "raise ValueError(x)", "raise ValueError(3)", "raise"
    others += "raise ValueError('no', x)", "raise ValueError('no' + x)", "raise ValueError(*'no')"
    others += ("print('é no')",)
    assert len({plain, *map(digest, others)}) == 1 + len(others)


def test_a_notebook_brings_what_its_cells_import():
    files, _ = names(f"{ROOT}/notebooks/trajectory.ipynb")
    assert {"trajectory.ipynb", "hmc.py", "posteriors.py"} <= files


def test_kernels_bring_their_build(monkeypatch):
    from dpmcmc.kernels import library

    modules = "dpmcmc.likelihoods.affine", "dpmcmc.files"
    before = [sources.digest(name) for name in modules]
    monkeypatch.setattr(library, "kernel_build", lambda: "another")
    after = [sources.digest(name) for name in modules]
    assert before[0] != after[0] and before[1] == after[1]


@pytest.mark.parametrize(("module", "library"), [("yaml", "pyyaml"), ("PIL", "pillow")])
def test_libraries_of_another_name_than_their_module(module, library):
    assert library in sources.version_of(module).lower()
    assert sources.version_of("no_such_module_at_all") is None


@pytest.mark.parametrize(
    "code",
    [
        "from dpmcmc import RowsModel\n",
        "import dpmcmc\n\nclass M(dpmcmc.RowsModel):\n    pass\n",
    ],
)
def test_a_public_name_brings_its_module_and_no_other(tmp_path, code):
    (tmp_path / "own.py").write_text(code)
    files, _ = names(f"{tmp_path}/own.py")
    assert {"own.py", "rows.py", "model.py", "settings.py"} <= files
    assert not {"banana.py", "costs.py", "inference_data.py", "dp_penalty.py"} & files
