"""The same tables however the tiny study comes to its end."""

import yaml
from running import TINY, snakemake, tables


def test_one_core_gives_the_tables_of_two(tiny, fresh):
    snakemake(fresh, "--cores", 1, *TINY)
    assert tables(fresh) == tables(tiny)


def test_seed_by_seed_gives_the_tables_of_all_at_once(tiny, fresh):
    for seeds in (1, 2, 3):
        snakemake(fresh, "--cores", 2, *TINY, "--config", f"seeds={seeds}")
    assert tables(fresh) == tables(tiny)


def test_a_model_and_an_algorithm_more_change_nothing_that_was_there(tiny, fresh, tmp_path):
    (run,) = yaml.safe_load((fresh / "studies/tiny/study.yaml").read_text())["runs"]
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
