"""Snakemake runs what the table of jobs says has changed, and no more (see tests/jobs)."""

import yaml
from running import TINY, jobs, planned

FROM_CHAINS = ["budgets", "chains", "claim-comparisons", "claims", "mixing", "models", "ranking"]
FROM_CHAINS += ["baselines", "scores", "starts", "summary", "timings", "worth"]
MODEL = "tempered-banana-2d"


def test_nothing_changed_runs_nothing(tiny):
    assert planned(tiny, *TINY) == []


def test_a_setting_a_touched_file_and_a_deleted_table(finished):
    """The setting's chains and what follows; the table; of the touched source nothing."""
    (finished / "src/dpmcmc/kernels/ratios.py").touch()
    (finished / "results/tiny/tables/chains.csv").unlink()
    tables = [f"tables/{name}.csv" for name in FROM_CHAINS]
    assert planned(finished, *TINY) == sorted(tables)

    change = {"dp-penalty": {"settings": {MODEL: {"clip_bound": 0.5}}}}
    (finished / "overlay.yaml").write_text(yaml.safe_dump({"algorithms": change}))
    expected = [
        *tables,
        *(
            f"tables/models/{MODEL}/{name}.csv"
            for name in ("budgets", "chains", "mixing", "scores", "timings")
        ),
        f"budgets/{MODEL}/dp-penalty/epsilon-4.json",
        *(f"chains/{MODEL}/dp-penalty/epsilon-4/seed-{s}.npz" for s in range(2)),
    ]
    assert planned(finished, *TINY, "overlay.yaml") == sorted(expected)
    assert jobs(finished, *TINY, "overlay.yaml")["chain"] == 2  # the dry run says the same
