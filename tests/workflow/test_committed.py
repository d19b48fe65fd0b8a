"""Committed results: published, reused by later runs, and compared with the present code.

On a small study, in a copy of the tree; pages of the studies in docs/ from what is committed.
"""

import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, once
from running import announced, copy_tree, jobs, run, snakemake

from dpmcmc_studies.jobs.parts import read_parts

STUDY = """\
extends: ../tiny/study.yaml
study: mini
seeds: 2
runs: [{models: [flat-banana-2d], algorithms: [dp-penalty, dp-hmc], epsilons: [2, 4]}]
notebooks: {gradient-clipping: {algorithms: [dp-hmc]}}
"""
STUDIES = sorted(path.parent.name for path in ROOT.glob("docs/*/provenance.json"))
REUSE = ["--cores", "2", "--configfile", "studies/mini/study.yaml", "--config", "reuse=true"]
RENEW_ALL = [*REUSE, "renewed=['*']"]
STEP = "return theta + step, None, None"  # of a move of DP penalty
CHAIN_TABLES, SCORE_TABLES, METRICS = (
    "src/dpmcmc_studies/jobs/chain_tables.py",
    "src/dpmcmc_studies/jobs/score_tables.py",
    "src/dpmcmc_studies/analysis/tables.py",
)


def command(directory, *arguments, check=True):
    """`python -m dpmcmc_studies` of a copy of the tree."""
    code = f"import sys; sys.path.insert(0, {str(directory / 'src')!r}); "
    code += "from dpmcmc_studies.cli import main; sys.exit(main(sys.argv[1:]))"
    return run(directory, sys.executable, "-c", code, *arguments, check=check)


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A copy of the tree with a small study in its docs, and without its results."""

    def make(directory):
        file = copy_tree(directory) / "studies/mini/study.yaml"
        file.parent.mkdir()
        file.write_text(STUDY)
        snakemake(directory, "--cores", 2, "--configfile", file)
        command(directory, "publish", "mini")
        shutil.rmtree(directory / "results/mini")

    return once(tmp_path_factory, "published", make)


@pytest.fixture
def copy(published, tmp_path):
    return Path(shutil.copytree(published, tmp_path / "tree"))


def change(path, old, new):
    """Replace a text that a file has once."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def tables(directory):
    return {path.name: path.read_bytes() for path in directory.glob("tables/*.csv")}


@pytest.mark.torture
def test_a_changed_label_renders_pages_and_runs_nothing(copy):
    before = tables(copy / "docs/mini")
    change(
        copy / "src/dpmcmc/catalogue.yaml", "label: Flat banana, d = 2\n", "label: Another label\n"
    )
    counts = jobs(copy, *REUSE)
    assert counts["notebook_gradient_clipping"] == 1
    assert not counts.keys() & {"chain", "reference", "budget", "baselines"}
    plan = f"reused from {copy}/docs/mini: 9 of 9 parts"
    assert snakemake(copy, "--dry-run", *REUSE).stderr.count(plan) == 1
    assert snakemake(copy, *REUSE).stderr.count(plan) == 1
    assert tables(copy / "results/mini") == before
    assert "Another label" in (copy / "results/mini/notebooks/gradient-clipping.ipynb").read_text()


def test_old_parts_keep_their_fingerprint_and_a_run_renews_what_it_names(copy):
    before, parts = tables(copy / "docs/mini"), read_parts(copy / "docs/mini")
    chains = copy / "src/dpmcmc_studies/jobs/chains.py"
    chains.write_text(chains.read_text() + "\nUNUSED = 1\n")
    name = "flat-banana-2d/dp-penalty"
    ran = snakemake(copy, *REUSE, f"renewed=['{name}']")
    counts, said = announced(ran), ran.stderr
    assert counts["chain"] == 4 and "baseline_table" in counts
    assert "baselines" not in counts
    kept = "chains/flat-banana-2d/dp-hmc/epsilon"
    assert f"old, and reused unless you name them in renewed: {kept}-2, {kept}-4" in said
    why = "computed, as their source changed and you named them"
    assert f"{why}: chains/{name}/epsilon-2, chains/{name}/epsilon-4" in said
    command(copy, "publish", "mini")
    after, now = tables(copy / "docs/mini"), read_parts(copy / "docs/mini")
    assert len(before) == len(after) > 8
    assert {table for table in before if before[table] != after[table]} <= {"timings.csv"}
    assert parts.keys() == now.keys()
    changed = {part for part in parts if parts[part] != now[part]}
    kinds = ("chains", "scores")
    assert changed == {f"{kind}/{name}/epsilon-{e}" for kind in kinds for e in (2, 4)}
    left = snakemake(copy, "--dry-run", *RENEW_ALL)
    assert announced(left)["chain"] == 4 and f"{why}: {kept}-2, {kept}-4" in left.stderr


def test_a_part_whose_settings_changed_is_never_taken_and_a_wrong_name_is_refused(copy):
    text = (copy / "studies/mini/study.yaml").read_text()
    (copy / "studies/mini/study.yaml").write_text(text.replace("seeds: 2", "seeds: 3"))
    assert jobs(copy, *REUSE)["chain"] == 12
    found = snakemake(copy, "--dry-run", *REUSE, "renewed=['dp-penalty']", check=False)
    assert found.returncode
    assert "renewed: dp-penalty is not in mini; name a model, MODEL/ALGORITHM" in found.stderr


@pytest.mark.torture
def test_results_that_are_known_to_be_old_are_named_on_the_page_and_not_compared(copy):
    moves = copy / "src/dpmcmc/samplers/moves.py"
    change(moves, STEP, STEP.replace("step,", "1.001 * step,"))
    name = "flat-banana-2d/dp-penalty"
    old = copy / "docs/old.yaml"
    old.write_text(f"mini: [{{names: [{name}], reason: its steps were longer}}]")
    said = command(copy, "check-results", "mini", "--chains", "8").stdout
    assert f"docs/mini: 4 old parts, not compared, as its steps were longer: {name}" in said
    assert "samples of chains 4," in said and "all identical" in said
    snakemake(copy, *REUSE)
    page = (copy / "results/mini/README.md").read_text()
    assert f"> **Of a former version**: {name}" in page and "its steps were longer" in page
    shutil.copy(ROOT / "src/dpmcmc/samplers/moves.py", moves)
    found = command(copy, "check-results", "mini", "--chains", "1", check=False)
    assert found.returncode == 1
    assert f"docs/old.yaml: {name} is not old any more: take it out" in found.stdout


@pytest.mark.torture
def test_a_column_of_draws_ages_chains_alone_and_one_of_other_columns_nothing(copy):
    row = '| {"sample": number}'
    change(copy / CHAIN_TABLES, row, f'{row}\n        | {{"first_draw": float(draws[0, 0])}}')
    counts = jobs(copy, *RENEW_ALL)
    assert counts["chain"] == 8 and "baselines" not in counts
    shutil.copy(ROOT / CHAIN_TABLES, copy / CHAIN_TABLES)
    change(copy / SCORE_TABLES, row, f'{row}\n        | {{"first_draw": float(sample[0][0, 0])}}')
    assert jobs(copy, *RENEW_ALL)["chain"] == 8
    plan = snakemake(copy, "--dry-run", *RENEW_ALL).stderr
    assert f"reused from {copy}/docs/mini: 5 of 9 parts" in plan
    shutil.copy(ROOT / SCORE_TABLES, copy / SCORE_TABLES)
    whole = 'tables["chains"] = whole(tables["chains"], "changed_decisions")'
    change(copy / METRICS, whole, f'{whole}.eval("twice = 2 * mmd")')
    assert "chain" not in jobs(copy, *RENEW_ALL)
    snakemake(copy, *REUSE)
    table = (copy / "results/mini/tables/chains.csv").read_text()
    assert table.startswith("model,") and ",twice\n" in table


def test_a_number_changed_by_hand_is_found(copy):
    table = copy / "docs/mini/tables/chains.csv"
    lines = table.read_text().splitlines()
    place = lines[0].split(",").index("acceptance_rate")
    for i, line in enumerate(lines[1:], 1):
        values = line.split(",")
        values[place] = "0.5"
        lines[i] = ",".join(values)
    table.write_text("\n".join(lines) + "\n")
    found = command(copy, "check-results", "mini", "--chains", "4", check=False)
    assert found.returncode == 1 and found.stdout.count("differs in") == 1
    assert "chains.csv: acceptance_rate differs in 4 of 4 rows" in found.stdout
    assert "computed anew: samples of chains 4, other parts 1; these differ:" in found.stdout


@pytest.mark.torture
def test_fingerprints_are_renewed_after_a_refactoring_and_not_after_a_changed_digit(copy):
    moves = copy / "src/dpmcmc/samplers/moves.py"
    moves.write_text(moves.read_text() + "\nUNUSED = 1\n")
    assert jobs(copy, *RENEW_ALL)["chain"] == 4
    assert (
        "have the present fingerprints" in command(copy, "check-results", "mini", "--renew").stdout
    )
    assert "chain" not in jobs(copy, *RENEW_ALL)
    change(moves, STEP, STEP.replace("step,", "1.001 * step,"))
    found = command(copy, "check-results", "mini", "--renew", check=False)
    assert found.returncode == 1 and "chains.csv: mmd differs in" in found.stdout
    assert jobs(copy, *RENEW_ALL)["chain"] == 4


@pytest.mark.torture
@pytest.mark.parametrize("name", STUDIES)
def test_pages_of_a_study_from_what_is_committed(fresh, name):
    shutil.copytree(ROOT / "docs" / name, fresh / "docs" / name)
    shutil.copytree(ROOT / "examples", fresh / "examples")  # some studies have data there
    before = tables(fresh / "docs" / name)
    file = [] if name == "chapter-6" else ["--configfile", f"studies/{name}/study.yaml"]
    options = ["--cores", "2", *file, "--config", "reuse=true"]
    assert "chain" not in jobs(fresh, *options)
    snakemake(fresh, *options)
    assert tables(fresh / "results" / name) == before
