"""Nothing of the data comes out but what is priced: a value that is in all rows is looked for."""

import struct

import pytest
from conftest import chosen
from leaking import MARKER

from dpmcmc.release import command, ledger, own_code

TEXT = b"987654321"


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    """Without the run on a twin, which no data enter: `test_mistakes.py` is about it."""
    monkeypatch.setattr(command, "try_out", lambda *_: None)


OF_MODELS = {
    "Plain": 0,
    "Remembers": 0,
    "TakesTheMean": 3,
    "PreparesTheMean": 3,
    "Raises": 3,
    "RaisesInPrepare": 3,
    "RaisesFromAnother": 3,
    "Prints": 0,
    "WritesToDescriptors": 0,
    "Warns": 0,
    "Logs": 0,
    "Exits": 3,
    "ExitsAtOnce": 3,
    "Aborts": 3,
    "NamesAnException": 3,
    "NamesAFile": 3,
    "NamesALine": 3,
    "ReturnsAnotherShape": 3,
    "TakesLogarithms": 0,
    "PrintsAtTheEnd": 0,
    "PrintsFromAThread": 3,
    "StartsAProcess": 0,
    "RunsOutOfMemory": 3,
    "SendsItself": 3,
    "VoidsItsCost": 3,
    "AsksForInput": 3,
    "LeavesAProcess": 0,
    "LeavesAProcessAndExits": 3,
    "AddsAFile": 3,
}
TRIED = list(OF_MODELS)
ALWAYS = [
    "Plain",
    "Remembers",
    "TakesTheMean",
    "PreparesTheMean",
    "Raises",
    "RaisesInPrepare",
    "Prints",
    "WritesToDescriptors",
]
ALWAYS += ["ExitsAtOnce", "NamesAnException", "NamesAFile", "NamesALine", "PrintsAtTheEnd"]
ALWAYS += ["SendsItself", "VoidsItsCost", "AsksForInput", "LeavesAProcess"]
ALWAYS += ["LeavesAProcessAndExits", "AddsAFile"]
CHECKED = ["Plain", "TakesTheMean"]
OF_DATA = {
    "a text among numbers": lambda lines: [*lines[:-1], f"S{MARKER},{MARKER}"],
    "a value is missing": lambda lines: [*lines[:-1], f",{MARKER}"],
    "another number of rows": lambda lines: [*lines, lines[-1]],
}
OF_FILES = {
    "no line of names": lambda lines: [line.replace(",", ",S") for line in lines[1:]],
    "a row is longer": lambda lines: [*lines[:5], f"1,{MARKER},{MARKER}", *lines[6:]],
    "not UTF-8": lambda lines: "\n".join(lines).encode() + b"\n\xff\xfe,987654321.125\n",
    "fewer rows": lambda lines: lines[:-1],
}


def found_in(folder):
    """Files below a folder, but for the data, that hold the marker or have it in their name."""
    known = {"data.csv", "leaking.py"}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in known and path.suffix != ".pyc":
            contents = path.name.encode() + path.read_bytes()
            if TEXT in contents or struct.pack("<d", MARKER) in contents:
                yield path


def require_nothing(place, capfd):
    printed = capfd.readouterr()
    assert TEXT.decode() not in printed.out + printed.err
    assert not list(found_in(place.folder.parent))
    left = [path for path in place.folder.iterdir() if path.name.endswith(".partial")]
    assert not left and not list((place.folder.parent / "tmp").iterdir())
    return printed


@pytest.mark.parametrize("model", chosen(TRIED, *ALWAYS))
def test_whatever_a_model_does_stays_inside(place, capfd, monkeypatch, model):
    if model not in CHECKED:  # before a release; on simulated rows the others behave, too
        monkeypatch.setattr(own_code, "check_own_code", lambda _: None)
    place.write(model, place.lines())
    place.ledger()
    algorithm = "penalty" if model in ("Plain", "Remembers", "ReturnsAnotherShape") else "newton"
    start = ["--start", "prior"] if algorithm == "penalty" else []
    status = place.release(algorithm, 2, "out", *start)
    printed = require_nothing(place, capfd)
    assert status == OF_MODELS[model], printed
    assert (place.folder / "out").exists() == (status == 0)
    assert len(ledger.read("data.csv").releases) == 1
    if "TheMean" in model:
        assert f"what {model} says of a row depends on other rows" in printed.err
    if status:
        assert printed.err.count("\n") == 1
        assert "Its planned cost is spent." in printed.err


@pytest.mark.parametrize("name", ["release", "rehearse"])
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (["x", "987654321.125"], "must be a map, not str"),
        ([f"!!int {MARKER}"], "no valid YAML (ValueError)"),
        (b"987654321.125,\xff", "no valid YAML (UnicodeDecodeError)"),
    ],
)
def test_data_in_the_place_of_a_study(place, capfd, name, data, problem):
    place.write_data(data)
    of = "--model", "mine", "--algorithm", "newton", "--epsilon", "1"
    output = ["--output", "out"] * (name == "release")
    assert place.run(name, "data.csv", *of, *output) == 1
    assert require_nothing(place, capfd).err == f"{name}: data.csv: {problem}\n"


@pytest.mark.parametrize("name", ["release", "rehearse"])
def test_a_file_that_reads_data_while_it_is_imported(place, capfd, name):
    (place.folder / "reads.py").write_text("import numpy\n\nnumpy.loadtxt('data.csv')\n")
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Plain", "reads.py:Reads"))
    place.ledger()
    place.write_data(["987654321.125,Alice"])
    of = "study.yaml", "--model", "mine", "--algorithm", "newton", "--epsilon", "1"
    output = ["--output", "out"] * (name == "release")
    assert place.run(name, *of, *output) == 1
    printed = require_nothing(place, capfd)
    assert "Alice" not in printed.err
    assert "reads.py:Reads cannot be imported (ValueError in reads.py, line 3)" in printed.err


def test_a_sampler_that_shows_what_it_saw(place, capfd):
    place.ledger()
    assert place.release("own", 2, "out", "--start", "0") == 3
    printed = require_nothing(place, capfd)
    assert "(ArithmeticError in leaking.py, line " in printed.err


@pytest.mark.parametrize("sampler", ["MovesByRows", "ReleasesByRows", "FitsByRows"])
def test_a_sampler_has_draws_only_if_they_are_a_function_of_what_it_released(
    place, capfd, monkeypatch, sampler
):
    if sampler != "ReleasesByRows":  # as above
        monkeypatch.setattr(own_code, "check_own_code", lambda _: None)
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:AddsNoNoise", f"leaking.py:{sampler}"))
    start = [] if sampler == "FitsByRows" else ["--start", "0"]
    place.ledger()
    assert place.release("own", 2, "out", *start) == 3
    printed = require_nothing(place, capfd)
    assert f"the draws of {sampler} depend on the rows by more than what it rel" in printed.err
    if not start:  # which prepares, and so has all that a chain has
        place.write_data([line.replace(repr(MARKER), "0") for line in place.lines()])
        assert place.run("ledger", "change", "data.csv", "--reason", "no marker") == 0
        assert place.release("own", 2, "out") == 0


@pytest.mark.parametrize("problem", OF_DATA)
def test_data_that_do_not_fit(place, capfd, problem):
    place.write("Plain", OF_DATA[problem](place.lines()))
    place.ledger()
    assert place.release() == 3
    printed = require_nothing(place, capfd)
    expected = "as many rows" if "rows" in problem else "the data are not what Plain takes"
    assert expected in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("problem", OF_FILES)
def test_an_owner_learns_at_once_of_a_file_that_no_release_can_read(place, capfd, problem):
    place.write("Plain", OF_FILES[problem](place.lines()))
    budget = "--epsilon", 10, "--delta", 1e-3, "--rows", len(place.lines()) - 1
    assert place.run("ledger", "new", "data.csv", *budget) == 1
    assert not (place.folder / "data.csv.ledger").exists()
    assert require_nothing(place, capfd).err.count("\n") == 1


def test_a_huge_row_is_clipped_and_not_spoken_of(place, capfd):
    place.write("Plain", [*place.lines()[:-1], f"1e300,{MARKER}"])
    place.ledger()
    assert place.release() == 0
    require_nothing(place, capfd)


def test_files_are_alike_for_neighbours(place):
    """Names, times and modes; sizes hang on the digits of draws."""
    seen = []
    place.ledger()
    for i, last in enumerate(("0.5", "1e9")):
        place.write("Plain", [*place.lines()[:-1], f"{last},{MARKER}"])
        assert place.run("ledger", "change", "data.csv", "--reason", "a neighbour") == 0
        assert place.release("newton", 1, f"out{i}") == 0
        files = sorted((place.folder / f"out{i}").iterdir())
        seen.append([(file.name, file.stat().st_mtime, file.stat().st_mode) for file in files])
    assert seen[0] == seen[1]
    assert all(time % 60 == 0 for _, time, _ in seen[0])
