"""Run the real workflow in a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

QUICK = ["--configfile", "studies/quick/study.yaml"]
TINY = ["tables", "--configfile", "studies/tiny/study.yaml"]
STUDY = ["--cores", "2", *TINY]
PARTS = ["Snakefile", "config.yaml", "studies", "workflow", "profiles", "src", "notebooks", "envs"]


def copy_tree(directory):
    """Copy what the workflow needs, with compiled code: times of files are kept, so it is valid."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("*.egg-info", "*.pyc.*")  # the latter are half written
            shutil.copytree(ROOT / part, directory / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, directory / part)
    return directory


def environment():
    """Variables for a process of the workflow: those of a user, not of a test."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def run(directory, *arguments, check=True):
    """Run a command in the copy; the output of a failure is in the test's report."""
    result = subprocess.run(
        [*map(str, arguments)],
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if check and result.returncode:
        pytest.fail(f"{arguments}:\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")
    return result


def snakemake(directory, *arguments, check=True):
    executable = Path(sys.executable).with_name("snakemake")
    return run(directory, executable, "--nocolor", *arguments, check=check)


def start(directory, **options):
    """Start the tiny study in a process group of its own."""
    executable = Path(sys.executable).with_name("snakemake")
    return subprocess.Popen(
        [str(executable), "--nocolor", *STUDY],
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )


def has_not_ended(process):
    """Whether a process runs; one that has ended is left there to be killed."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is None


def running_in(directory):
    """Processes at work in a directory."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if Path(os.readlink(link)).is_relative_to(directory):
                found.append(link.parent.name)
        except OSError:  # it has ended, or is none of ours
            continue
    return found


def jobs(directory, *arguments):
    """How many jobs of each rule a dry run announces."""
    return announced(snakemake(directory, "--dry-run", *arguments))


def announced(output):
    """How many jobs of each rule a run has announced, by its output."""
    lines = re.findall(r"^ ([\w ]+?) +(\d+) *$", output.stdout + output.stderr, flags=re.MULTILINE)
    counts = {rule.replace(" ", "_"): int(count) for rule, count in lines}
    counts.pop("total", None)
    return counts


def tables(directory, study="tiny"):
    """Contents of the tables of a study, but for what it took to make them."""
    paths = (directory / f"results/{study}/tables").glob("*.csv")
    found = {path.name: path.read_bytes() for path in paths if path.name != "timings.csv"}
    assert {"chains.csv", "summary.csv", "budgets.csv", "claims.csv"} <= found.keys()
    return found


def planned(directory, *arguments):
    """Files that would be made anew, below the results of the study.

    Without the provenance and the fingerprints, which follow every change.
    """
    lines = snakemake(directory, "--summary", *arguments).stdout.splitlines()
    rows = [line.split("\t") for line in lines if line.count("\t") == 5][1:]
    pending = [Path(row[0]) for row in rows if row[5] == "update pending"]
    names = {Path(*file.parts[2:]).as_posix() for file in pending}
    return sorted(names - {"provenance.json", "parts.csv"})
