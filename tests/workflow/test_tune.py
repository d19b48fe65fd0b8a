"""`snakemake tune`: settings that a study can use; a search that was killed goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import yaml
from running import environment, has_not_ended, jobs, running_in, snakemake

from dpmcmc_studies.study.loading import load_study

PAIRS = [("flat-banana-2d", "dp-penalty")]
AT = 4.0  # epsilon
FILES = ["trials.csv", "summary.csv", "settings.yaml"]
FILES += [f"{m}/{a}/epsilon-{AT:g}.{kind}" for m, a in PAIRS for kind in ("csv", "json")]


def tune(directory):
    """Arguments of Snakemake for a part of the tuning of the quick study."""
    overlay = directory / "part.yaml"
    part = {"models": ["flat-banana-2d"], "algorithms": ["dp-penalty"]}
    overlay.write_text(yaml.safe_dump({"tuning": part}))
    return ["--cores", "1", "tune", "--configfile", "studies/quick/study.yaml", str(overlay)]


def killed(directory):
    """Start the tuning, and kill all of it when a search has two trials; True if it has no more."""
    executable = Path(sys.executable).with_name("snakemake")
    process = subprocess.Popen(
        [str(executable), "--nocolor", *tune(directory)],
        cwd=directory,
        env=environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while has_not_ended(process) and not any(n >= 2 for n in trials_of(directory)):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while running_in(directory):
        time.sleep(0.01)
    return any(2 <= n < 5 for n in trials_of(directory))


def trials_of(directory):
    journals = (directory / "results/quick/tuning").rglob("*.journal")
    return [len(json.loads(path.read_text())["trials"]) for path in journals]


def test_tuning_gives_settings_and_resumes(fresh, tmp_path_factory):
    for _ in range(10):
        if killed(fresh):
            break
        shutil.rmtree(fresh / "results")  # too late, as this process had to wait for a core
        shutil.rmtree(fresh / ".snakemake")
    results = fresh / "results/quick/tuning"
    assert trials_of(fresh) and not (results / "summary.csv").exists()
    shutil.rmtree(fresh / ".snakemake/locks")  # as --unlock does
    snakemake(fresh, *tune(fresh))
    logs = list((fresh / "results/quick/logs/search").rglob("*.log"))
    assert any("trials taken up from" in path.read_text() for path in logs)
    assert jobs(fresh, *tune(fresh)) == {}

    first = {name: (results / name).read_bytes() for name in FILES}
    for path in results.rglob("*.*"):  # the journals too: all anew, undisturbed
        path.unlink()
    snakemake(fresh, *tune(fresh))
    assert {name: (results / name).read_bytes() for name in FILES} == first

    summary = pd.read_csv(results / "summary.csv")
    assert list(zip(summary["model"], summary["algorithm"], strict=True)) == PAIRS
    trials = pd.read_csv(results / "trials.csv")
    assert len(trials) == len(PAIRS) * 5
    settings = yaml.safe_load((results / "settings.yaml").read_text())
    overlays = [fresh / "studies/quick/study.yaml", results / "settings.yaml"]
    study = load_study(fresh, overlays)
    for row in summary[summary["feasible_trials"] > 0].itertuples():
        found = settings["algorithms"][row.algorithm]["settings_at"][row.model][AT]
        own = study.algorithms[row.algorithm].settings_on(row.model, epsilon=AT)
        assert own == found == json.loads(row.best_settings)
    assert snakemake(fresh, "--dry-run", "--configfile", *overlays).returncode == 0


def test_a_study_without_a_section_has_nothing_to_tune(fresh):
    (fresh / "none.yaml").write_text("extends: config.yaml\nstudy: none\ntuning: null\n")
    result = snakemake(fresh, "--cores", 1, "tune", "--configfile", "none.yaml", check=False)
    output = result.stdout + result.stderr
    assert result.returncode and "Traceback" not in output
    (line,) = [line for line in output.splitlines() if line.startswith("Configuration error: ")]
    assert "missing key tuning" in line
