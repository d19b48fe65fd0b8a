"""What `new` writes runs as it stands; nothing is written over, or half."""

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from running import jobs, planned, run, snakemake

from dpmcmc import cli
from dpmcmc.commands.new import TEMPLATES
from dpmcmc.commands.new import new as write_new
from dpmcmc.extras import missing


@pytest.fixture(autouse=True)
def without_modules_of_other_tests(monkeypatch, tmp_path_factory):
    """A new file must not be named like a module, and other tests leave theirs on the path."""
    folder = str(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not path.startswith(folder)])


def new(capsys, *arguments):
    """Exit status, and what was printed."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", *map(str, arguments)])
    return ended.value.code, capsys.readouterr()


@pytest.mark.parametrize(("kind", "cls"), [("model", "RowsModel"), ("algorithm", "Sampler")])
def test_both_files_are_written_and_meet_the_rules_of_the_house(
    tmp_path, monkeypatch, capsys, kind, cls
):
    monkeypatch.chdir(tmp_path)
    status, printed = new(capsys, kind, "parts/my_own_thing.py")
    assert status == 0
    written = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert written == ["my_own_thing.py", "my_own_thing.yaml"]
    code = (tmp_path / "parts/my_own_thing.py").read_text()
    assert f"class MyOwnThing({cls}):" in code and "$" not in code
    study = (tmp_path / "parts/my_own_thing.yaml").read_text()
    assert "my_own_thing.py:MyOwnThing" in study and "study: my-own-thing" in study
    assert "check" in printed.out and "--configfile" in printed.out
    ruff = [sys.executable, "-m", "ruff"]
    config = ["--config", ROOT / "pyproject.toml"]
    first_party = ["--config", 'lint.isort.known-first-party=["dpmcmc"]']  # as in a checkout
    for command in (["check", *first_party], ["format", "--check"]):
        subprocess.run([*ruff, *command, *config, tmp_path / "parts"], check=True)


@pytest.mark.parametrize("in_checkout", [True, False])
def test_what_is_printed_can_be_typed(tmp_path, monkeypatch, capsys, in_checkout):
    """Whatever the folder is called; a study needs a checkout, so it says so outside of one."""
    monkeypatch.chdir(tmp_path)
    if in_checkout:
        Path("Snakefile").touch()
    _, printed = new(capsys, "model", "my own; parts/mine.py")
    code = Path("my own; parts/mine.py").read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in printed.out.splitlines()[1:]]
    assert code[2] == f"# {commands[0]}"
    assert "--configfile 'my own; parts/mine.yaml' (in a checkout" in code[3]
    check, run = (shlex.split(command, comments=True) for command in commands)
    assert check == ["python", "-m", "dpmcmc", "check", "my own; parts/mine.py:Mine"]
    assert Path(run[-1]).samefile("my own; parts/mine.yaml")
    assert in_checkout or (Path(run[-1]).is_absolute() and "in a checkout of dpmcmc" in commands[1])


def test_a_terminal_that_lacks_a_letter_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", "model", f"{tmp_path}/modèle/mine.py"])
    assert not ended.value.code


def test_commands_run_without_docstrings(tmp_path, monkeypatch, capsys):
    """As with PYTHONOPTIMIZE=2."""
    monkeypatch.setattr(write_new, "__doc__", None)
    assert new(capsys, "model", tmp_path / "mine.py")[0] == 0


@pytest.mark.parametrize("command", ["new", "check"])
def test_a_missing_extra_is_named(monkeypatch, command):
    """As where no extra is installed."""
    for module in (
        "commands.new",
        "commands.check",
        "configuration.yaml_files",
        "release.own_data",
    ):
        monkeypatch.delitem(sys.modules, f"dpmcmc.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SystemExit, match=f"^{command}: {re.escape(missing('yaml', 'release'))}$"):
        cli.main([command])


def test_there_is_a_study_for_each_template():
    names = {path.name for path in TEMPLATES.iterdir()}
    files = {f"{kind}{s}.txt" for kind in ("model", "algorithm") for s in (".py", ".yaml")}
    assert names == files | {"release.yaml.txt"}


@pytest.mark.parametrize("existing", ["mine.py", "mine.yaml"])
def test_what_is_there_is_left_as_it_is(tmp_path, capsys, existing):
    (tmp_path / existing).write_text("precious")
    status, printed = new(capsys, "model", tmp_path / "mine.py")
    assert status == 2
    assert printed.err.count("\n") == 1 and f"{existing} exists already" in printed.err
    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "precious"


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("modell", "mine.py", "unknown kind modell; valid kinds: algorithm, model, release"),
        ("model", "mine", "must be a Python file"),
        ("model", "my-own.py", "must be a Python file"),
        ("model", "2nd.py", "must be a Python file"),
        ("model", "class.py", "must be a Python file"),
        ("model", "statistics.py", "there is a module statistics already"),
        ("algorithm", "numpy.py", "there is a module numpy already"),
        ("algorithm", "state.py", "its class would be State, which it imports"),
        ("algorithm", "dp_hmc.py", "dp-hmc is one of the algorithms of the package"),
        ("release", "mine.py", "must be a YAML file"),
        ("release", "circle.yaml", "circle is one of the models of the package"),
        ("model", "circle.py", "circle is one of the models of the package"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, capsys, kind, name, message):
    status, printed = new(capsys, kind, tmp_path / name)
    assert status == 2 and not list(tmp_path.iterdir())
    assert message in printed.err and printed.err.count("\n") == 1


def test_a_model_is_checked_and_its_study_runs_as_it_stands(fresh):
    python = [sys.executable, "-m", "dpmcmc"]
    run(fresh, *python, "new", "model", "mine/regress.py")
    table = run(fresh, *python, "check", "mine/regress.py:Regress").stdout
    assert re.search(r"(19|2[0-3]) ok, 0 FAILED, [0-4] not tried", table)
    study = ["--configfile", "mine/regress.yaml", "--config", "seeds=1", "max_iterations=1000"]
    figure = "results/regress/figures/figure-6.3.png"
    snakemake(fresh, "--cores", 2, figure, *study)
    assert (fresh / figure).stat().st_size > 10_000
    assert {*jobs(fresh, *study)} >= {"notebook_summary", "site"}  # its pages, not made here


@pytest.mark.torture
def test_an_algorithm_is_checked_and_its_study_has_it_beside_the_six(fresh):
    python = [sys.executable, "-m", "dpmcmc"]
    run(fresh, *python, "new", "algorithm", "mine/own_walk.py")
    table = run(fresh, *python, "check", "mine/own_walk.py:OwnWalk").stdout
    assert re.search(r"1[2-4] ok, 0 FAILED, [2-7] not tried", table)
    study = ["--configfile", "mine/own_walk.yaml"]
    chain = "results/own-walk/chains/flat-banana-2d/own-walk/epsilon-2/seed-0.npz"
    snakemake(fresh, "--cores", 2, chain, *study)
    chains = [name.split("/") for name in planned(fresh, *study) if name.startswith("chains/")]
    assert len({algorithm for _, _, algorithm, *_ in chains}) == 8
    assert sum(algorithm == "own-walk" for _, _, algorithm, *_ in chains) == 2 * 3 * 10 - 1
