"""The workflow on a real Slurm: run by `make test-cluster`, not with the other tests.

While Slurm's plugin is installed and no controller answers, every start of Snakemake waits for it.
"""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cluster
import pytest
from running import QUICK, TINY, copy_tree, environment, snakemake, tables

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing())
# Of the test: its one node is as good as idle, and shares its disk.
PATIENCE = ["--latency-wait", "5", "--seconds-between-status-checks", "2"]
SLURM = ["--workflow-profile", "slurm", *PATIENCE, "--slurm-init-seconds-before-status-checks", "2"]
SBATCH = "sbatch --parsable --output=/dev/null --mem={resources.mem_mb} --time={resources.runtime}"
GENERIC = ["--workflow-profile", "cluster", *PATIENCE, "--cluster-generic-submit-cmd", SBATCH]


@pytest.fixture(scope="module", autouse=True)
def slurm(tmp_path_factory):
    with (
        cluster.slurm(tmp_path_factory.mktemp("slurm")) as variables,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def queue():
    """Jobs that wait or run."""
    command = ["squeue", "--noheader", "--format=%i"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def submitted(directory):
    """Jobs of the scheduler in the last run, by the log of Snakemake."""
    logs = sorted((directory / ".snakemake/log").glob("*.log"))
    return len(re.findall(r"ubmitted .*with .*jobid", logs[-1].read_text()))


def test_the_quick_study_gives_the_tables_of_a_local_run(fresh, tmp_path_factory):
    local = copy_tree(tmp_path_factory.mktemp("local"))
    snakemake(local, "--cores", 2, *QUICK)
    begin = time.monotonic()
    snakemake(fresh, *SLURM, *QUICK)
    print(f"\nquick study: {submitted(fresh)} jobs of Slurm, {time.monotonic() - begin:.0f} s")
    assert 20 < submitted(fresh) < 100
    assert tables(fresh, "quick") == tables(local, "quick")
    assert (fresh / "results/quick/index.html").exists()


def test_a_generic_scheduler_gives_the_tables_of_a_local_run(tiny, fresh):
    begin = time.monotonic()
    snakemake(fresh, *GENERIC, *TINY)
    print(f"\ntiny study: {submitted(fresh)} jobs by sbatch, {time.monotonic() - begin:.0f} s")
    assert submitted(fresh) > 5
    assert tables(fresh) == tables(tiny)


def test_a_cancelled_study_leaves_no_job_and_resumes(tiny, fresh):
    command = [Path(sys.executable).with_name("snakemake"), *SLURM, *TINY]
    process = subprocess.Popen(
        command,
        cwd=fresh,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        # The shell that started the tests may have it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while not queue() and time.monotonic() < end:
        time.sleep(0.2)
    try:
        assert queue()
        process.send_signal(signal.SIGINT)  # Ctrl-C
        assert process.wait(120)
    finally:
        process.kill()
    end = time.monotonic() + 30
    while queue() and time.monotonic() < end:
        time.sleep(0.5)
    assert not queue()
    snakemake(fresh, "--unlock")
    snakemake(fresh, "--cores", 2, *TINY)  # on this machine, where it is faster
    assert tables(fresh) == tables(tiny)
