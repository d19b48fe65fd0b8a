"""The workflow on a real Slurm: run by `make test-cluster` and, at length, `make test-slow`.

`cluster.py` starts Slurm for them. They run at the same time, since each mostly waits. Where the
plugin of Slurm is installed and no controller answers, every start of Snakemake waits for it.
"""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cluster
import pytest
from running import QUICK, TINY, environment, snakemake, tables

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing())
# Of the test: its one node is as good as idle, and shares its disk.
PATIENCE = ["--latency-wait", "5", "--seconds-between-status-checks", "2"]
# The pause between two looks at the queue begins at this and grows by 10 s while no job ends; a job
# takes about as long.
LOOK = ["--slurm-init-seconds-before-status-checks", "15"]
SLURM = ["--workflow-profile", "slurm", *PATIENCE, *LOOK]
SBATCH = "sbatch --parsable --output=/dev/null --mem={resources.mem_mb} --time={resources.runtime}"
# The chains of one model, with all that they come from.
TABLE = "results/tiny/tables/models/tempered-banana-2d/chains.csv"
OF_A_MODEL = [*TINY[1:], "--", TABLE]
GENERIC = ["--workflow-profile", "cluster", *PATIENCE, "--cluster-generic-submit-cmd", SBATCH]


def queue(directory):
    """Jobs that wait or run for a Snakemake of the directory."""
    command = ["squeue", "--noheader", "--format=%i %Z"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [number for number, place in map(str.split, lines) if Path(place) == directory]


def submitted(directory):
    """Jobs of the scheduler in the last run, by the log of Snakemake."""
    logs = sorted((directory / ".snakemake/log").glob("*.log"))
    return len(re.findall(r"ubmitted .*with .*jobid", logs[-1].read_text()))


def compare_with_local(local, directory, options, study, arguments):
    """Run a study by a scheduler; it gives the tables that a local run gave."""
    begin = time.monotonic()
    snakemake(directory, *options, *arguments)
    jobs, seconds = submitted(directory), time.monotonic() - begin
    print(f"\n{study} study: {jobs} jobs of the scheduler, {seconds:.0f} s")
    assert 5 < jobs < 100
    assert tables(directory, study) == tables(local, study)


def test_a_scheduler_without_a_plugin_gives_the_tables_of_a_local_run(tiny, fresh):
    compare_with_local(tiny, fresh, GENERIC, "tiny", TINY)


def test_slurm_s_plugin_gives_the_chains_of_a_local_run(tiny, fresh):
    """The plugin starts Snakemake for each of them."""
    snakemake(fresh, *SLURM, *OF_A_MODEL)
    assert submitted(fresh) > 3
    assert (fresh / TABLE).read_bytes() == (tiny / TABLE).read_bytes()


@pytest.mark.torture
def test_a_whole_study_with_its_pages_by_slurm_s_plugin(tree, fresh):
    compare_with_local(tree, fresh, SLURM, "quick", QUICK)
    assert submitted(fresh) > 20
    assert (fresh / "results/quick/index.html").exists()


def test_a_cancelled_study_leaves_no_job_and_resumes(tiny, fresh):
    command = [Path(sys.executable).with_name("snakemake"), *SLURM, *OF_A_MODEL]
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
    while not queue(fresh) and time.monotonic() < end:
        time.sleep(0.2)
    try:
        assert queue(fresh)
        process.send_signal(signal.SIGINT)  # Ctrl-C
        assert process.wait(120)
    finally:
        process.kill()
    end = time.monotonic() + 30
    while queue(fresh) and time.monotonic() < end:
        time.sleep(0.5)
    assert not queue(fresh)
    snakemake(fresh, "--unlock")
    snakemake(fresh, "--cores", 2, *OF_A_MODEL)  # on this machine, where it is faster
    assert (fresh / TABLE).read_bytes() == (tiny / TABLE).read_bytes()
