"""The same tables however the tiny study comes to its end."""

import pytest
import yaml
from running import TINY, snakemake, tables


@pytest.mark.torture
def test_a_study_that_grows_on_one_core_has_the_tables_of_one_that_ran_at_once(tiny, fresh):
    """One model, algorithm and seed, then everything. No chain runs twice."""
    (run,) = yaml.safe_load((fresh / "studies/tiny/study.yaml").read_text())["runs"]
    part = run | {"models": run["models"][:1], "algorithms": run["algorithms"][:1]}
    (fresh / "part.yaml").write_text(yaml.safe_dump({"runs": [part]}))
    before = {}
    for arguments, count in (
        (["part.yaml", "--config", "seeds=1"], 1),
        ([], 4 * 2),
    ):
        snakemake(fresh, "--cores", 1, *TINY, *arguments)
        chains = {path: path.stat().st_mtime_ns for path in fresh.glob("results/tiny/**/*.npz")}
        assert len(chains) == count and before.items() <= chains.items()
        before = chains
    assert tables(fresh) == tables(tiny)
