"""The workflow on a real Slurm: run by `make test-cluster`, not with the other tests.

While Slurm's plugin is installed and no controller answers, every start of Snakemake waits for it.
"""

import re
import time

import cluster
import pytest
from running import QUICK, copy_tree, snakemake, tables

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing())
# Of the test: its one node is as good as idle, and shares its disk.
PATIENCE = ["--latency-wait", 5, "--seconds-between-status-checks", 2]
SLURM = ["--workflow-profile", "slurm", *PATIENCE, "--slurm-init-seconds-before-status-checks", 2]


@pytest.fixture(scope="module", autouse=True)
def slurm(tmp_path_factory):
    with (
        cluster.slurm(tmp_path_factory.mktemp("slurm")) as variables,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def submitted(directory):
    """Jobs that were submitted in a run, by the log of Snakemake."""
    logs = sorted((directory / ".snakemake/log").glob("*.log"))
    return len(
        re.findall(r"has been submitted with (?:SLURM|external) jobid", logs[-1].read_text())
    )


def test_the_quick_study_gives_the_tables_of_a_local_run(tmp_path):
    local = copy_tree(tmp_path / "local")
    snakemake(local, "--cores", 2, *QUICK)
    remote = copy_tree(tmp_path / "remote")
    begin = time.monotonic()
    snakemake(remote, *SLURM, *QUICK)
    print(f"\nquick study: {submitted(remote)} jobs, {time.monotonic() - begin:.0f} s")
    assert submitted(remote) > 20
    assert tables(remote, "quick") == tables(local, "quick")
