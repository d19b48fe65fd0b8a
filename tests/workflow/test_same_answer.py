"""The same tables however the tiny study comes to its end."""

import time
from pathlib import Path

import yaml
from running import TINY, running_in, snakemake, start, tables


def test_one_core_gives_the_tables_of_two(tiny, fresh):
    snakemake(fresh, "--cores", 1, *TINY)
    assert tables(fresh) == tables(tiny)


def test_chains_are_forks_and_would_be_the_same_without(tiny, fresh):
    process, forks = start(fresh), set()
    while process.poll() is None:
        for pid in running_in(fresh):
            try:
                if b"fork-server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    forks.add(pid)
            except OSError:  # it has ended
                continue
        time.sleep(0.005)
    process.communicate()
    assert process.returncode == 0 and len(forks) > 10  # of 24, for as long as they last
    assert not running_in(fresh)
    forked = tables(fresh)
    snakemake(fresh, "--cores", 2, "--no-hooks", "--forceall", *TINY)
    assert forked == tables(fresh) == tables(tiny)


def test_seed_by_seed_gives_the_tables_of_all_at_once(tiny, fresh):
    for seeds in (1, 2, 3):
        snakemake(fresh, "--cores", 2, *TINY, "--config", f"seeds={seeds}")
    assert tables(fresh) == tables(tiny)


def test_a_model_and_an_algorithm_more_change_nothing_that_was_there(tiny, fresh, tmp_path):
    (run,) = yaml.safe_load((fresh / "studies/tiny.yaml").read_text())["runs"]
    before = {}
    for models, algorithms in ((1, 1), (2, 1), (2, 2)):
        part = run | {
            "models": run["models"][:models],
            "algorithms": run["algorithms"][:algorithms],
        }
        (tmp_path / "part.yaml").write_text(yaml.safe_dump({"runs": [part]}))
        snakemake(fresh, "--cores", 2, *TINY, tmp_path / "part.yaml")
        chains = {path: path.stat().st_mtime_ns for path in fresh.glob("results/tiny/**/*.npz")}
        assert len(chains) == models * algorithms * 2 * 3
        assert before.items() <= chains.items()  # none has been run again
        before = chains
    assert tables(fresh) == tables(tiny)
