"""Committed results: published, rendered from tables alone, and compared with the present code.

On a small study, in a copy of the tree; pages of the studies in docs/ from what is committed.
"""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, chosen, once
from running import copy_tree, run, snakemake

from dpmcmc.jobs import comparing
from dpmcmc.jobs.committed import study_of
from dpmcmc.jobs.publishing import OF_CHAINS
from dpmcmc.jobs.table import recipe

STUDY = """\
extends: ../tiny/study.yaml
study: mini
seeds: 2
runs: [{models: [flat-banana-2d], algorithms: [dp-penalty, dp-hmc], epsilons: [2, 4]}]
notebooks: {comparison: {models: [flat-banana-2d]}}
"""
CHAINS = "docs/mini/tables/chains.csv"
STUDIES = sorted(path.parent.name for path in ROOT.glob("docs/*/provenance.json"))


def docs(directory, *arguments, check=True):
    """`python -m dpmcmc docs` of a copy of the tree."""
    code = f"import sys; sys.path.insert(0, {str(directory / 'src')!r}); "
    code += "from dpmcmc.cli import main; sys.exit(main(sys.argv[1:]))"
    return run(directory, sys.executable, "-c", code, "docs", *arguments, check=check)


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A copy of the tree with a small study in its docs, and without its results."""

    def make(directory):
        file = copy_tree(directory) / "studies/mini/study.yaml"
        file.parent.mkdir()
        file.write_text(STUDY)
        snakemake(directory, "--cores", 2, "--configfile", file)
        docs(directory, "publish", "mini")
        assert "the tables of" in docs(directory, "verify", "mini").stdout
        shutil.rmtree(directory / "results/mini")

    return once(tmp_path_factory, "published", make)


def change(path, old, new):
    """Replace a text that a file has once."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_a_study_as_published_is_of_the_present_code(published):
    assert "of the present code and settings" in docs(published, "status").stdout
    found = docs(published, "spot-check", "mini").stdout
    assert re.search(r"8 of 8 rows of chains.csv run again, all identical", found)


def test_pages_follow_a_label_without_a_chain(published, tmp_path):
    directory = Path(shutil.copytree(published, tmp_path / "tree"))
    before = {path: path.read_bytes() for path in directory.glob("docs/mini/tables/*.csv")}
    change(directory / "src/dpmcmc/catalogue.yaml", "label: DP penalty\n", "label: Another label\n")
    pages = [
        directory / f"docs/mini/{name}" for name in ("README.md", "notebooks/comparison.ipynb")
    ]
    status = docs(directory, "status", check=False)
    assert (
        status.returncode == 1 and "comparison.ipynb does not say that it is old" in status.stdout
    )
    assert docs(directory, "mark", "mini").returncode == 0
    assert docs(directory, "status").returncode == 0
    assert all("Older than its source" in page.read_text() for page in pages)
    docs(directory, "pages", "mini")
    assert "Another label" in pages[1].read_text()
    assert not any("Older than" in page.read_text() for page in pages)
    assert docs(directory, "status").returncode == 0
    assert before == {path: path.read_bytes() for path in before}
    assert not list(directory.glob("results/*"))


def test_a_changed_digit_is_named_and_a_refactoring_attested(published, tmp_path):
    directory = Path(shutil.copytree(published, tmp_path / "tree"))
    sampler = directory / "src/dpmcmc/samplers/dp_penalty.py"
    sampler.write_text(sampler.read_text() + "\nUNUSED = 1\n")
    status = docs(directory, "status", check=False)
    parts = re.findall(r"^  (\S+)$", status.stdout, flags=re.MULTILINE)
    assert status.returncode == 1
    assert {part.rpartition("/")[2] for part in parts} == {"dp-penalty"}
    assert "all identical" in docs(directory, "attest", "mini").stdout
    assert docs(directory, "status").returncode == 0

    step = "return theta + step, None, None"
    change(directory / "src/dpmcmc/samplers/moves.py", step, step.replace("step,", "1.001 * step,"))
    found = docs(directory, "attest", "mini", check=False)
    assert found.returncode == 1 and "chains.csv: mmd differs in" in found.stdout
    assert docs(directory, "status", check=False).returncode == 1
    assert docs(directory, "mark", "mini").returncode == 0  # numbers are old, and say so
    assert "Older than the code" in (directory / "docs/mini/README.md").read_text()


def test_the_data_file_of_committed_studies_is_as_it_was():
    """Recipes, which are published, do not tell: they have no digest of a data file."""
    digest = hashlib.sha256((ROOT / "examples/radon.csv").read_bytes()).hexdigest()
    assert digest == "c88fdf580c4dae7267a3eb0fdcb14eb8899688909868cdf2cefb6001f0d4232c"


def test_an_attest_runs_one_of_several_long_references_and_names_the_others(monkeypatch, capsys):
    study = study_of("sghmc-thesis")
    long = [part for part in recipe(study) if part.startswith("reference/radon")]
    monkeypatch.setattr(comparing, "changed_parts", recipe)
    given = []
    monkeypatch.setattr(comparing, "differences", lambda *told: given.append(told) or ["a row"])
    assert comparing.attest(study) == 1  # so nothing is written
    [(_, samples, parts)] = given
    assert len(samples) > 20 and {number for _, number in samples} == {0}
    assert len(long) == 5 and len(set(long) & set(parts)) == 1
    printed = capsys.readouterr().out
    assert sum(part.removeprefix("reference/") in printed for part in set(long) - set(parts)) == 4


def test_a_number_changed_by_hand_fails_the_spot_check(published, tmp_path):
    directory = Path(shutil.copytree(published, tmp_path / "tree"))
    table = directory / CHAINS
    lines = table.read_text().splitlines()
    place = lines[0].split(",").index("acceptance_rate")
    for i, line in enumerate(lines[1:], 1):
        values = line.split(",")
        values[place] = "0.5"
        lines[i] = ",".join(values)
    table.write_text("\n".join(lines) + "\n")
    found = docs(directory, "spot-check", "mini", check=False)
    assert found.returncode == 1 and "acceptance_rate differs in" in found.stdout


def without_rows(directory, algorithm):
    """Take half of the rows of an algorithm out of the committed tables of the small study."""
    for path in (directory / f"docs/mini/tables/{name}.csv" for name in OF_CHAINS):
        header, *rows = path.read_text().splitlines(keepends=True)
        path.write_text("".join([header, *(r for r in rows if f",{algorithm},4.0," not in r)]))


def test_parts_that_changed_are_run_and_their_rows_put_in_place(published, tmp_path):
    directory = Path(shutil.copytree(published, tmp_path / "tree"))
    tables = directory / "docs/mini/tables"
    before = {path: path.read_bytes() for path in tables.glob("*.csv")}
    without_rows(directory, "dp-penalty")  # which come before those of the other algorithm
    record, part = directory / "docs/mini/provenance.json", "chains/flat-banana-2d/dp-penalty"
    change(record, recipe_of(record)[part], "0" * 16)
    found = docs(directory, "update", "mini").stdout
    assert (
        "parts that changed: 1; cells that run anew: 2" in found
        and "cells put into the tables: 2;" in found
    )
    again = {path: path.read_bytes() for path in before}
    assert [path.stem for path in before if before[path] != again[path]] == ["timings"]
    assert part not in docs(directory, "status").stdout
    file, more = directory / "studies/mini/study.yaml", "chains/flat-banana-2d/dp-penalty-ocu-gwmh"
    of_one = "{models: [flat-banana-2d], algorithms: [dp-penalty-ocu-gwmh], epsilons: [2]}"
    change(file, "[2, 4]}]", f"[2, 4]}}, {of_one}]")
    found = docs(directory, "update", "mini").stdout
    assert "parts that changed: 1; cells that run anew: 1" in found
    rows = {name: (tables / f"{name}.csv").read_text() for name in ("mixing", "budgets")}
    for name, text in rows.items():  # of a single cell, new and then changed
        assert text.count("dp-penalty-ocu-gwmh") == 1
        wrong = [
            line.replace(",2.0,", ",2.5,", 1) if "ocu" in line else line
            for line in text.splitlines(True)
        ]
        (tables / f"{name}.csv").write_text("".join(wrong))
    change(record, recipe_of(record)[more], "0" * 16)
    docs(directory, "update", "mini")
    assert rows == {name: (tables / f"{name}.csv").read_text() for name in rows}
    change(file, f", {of_one}", "")
    change(file, "[2, 4]", "[2]")
    found = docs(directory, "update", "mini", check=False)
    assert found.returncode and "the study lost a cell; `make docs-mini`" in found.stderr
    change(record, recipe_of(record)["reference/flat-banana-2d"], "0" * 16)
    found = docs(directory, "update", "mini", check=False)
    assert found.returncode and "are others (reference/flat-banana-2d)" in found.stderr
    assert not list(directory.glob("docs/.*"))


def recipe_of(record):
    """Digests of the parts of a study's tables, by name."""
    return json.loads(record.read_text())["recipe"]


def outputs(path):
    """What a page shows beside prose, which may say that it is old."""
    cells = json.loads(path.read_text())["cells"]
    return [cell.get("outputs") for cell in cells]


@pytest.mark.parametrize("name", chosen(STUDIES, "noisy-statistics"))
def test_pages_of_a_study_from_what_is_committed(fresh, name):
    shutil.copytree(ROOT / "docs" / name, fresh / "docs" / name)
    shutil.copytree(ROOT / "examples", fresh / "examples")  # some studies have data there
    pages = {path: outputs(path) for path in fresh.glob(f"docs/{name}/notebooks/*.ipynb")}
    output = docs(fresh, "pages", name).stdout
    left = re.findall(r"^  (\S+) stays as it is", output, flags=re.MULTILINE)
    assert f"{len(pages) - len(left)} of {len(pages)} pages rendered from tables" in output
    for path, was in pages.items():
        assert "Traceback (most recent call last)" not in path.read_text()
        assert path.stem not in left or outputs(path) == was
