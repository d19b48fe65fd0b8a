"""What is killed, full, damaged or forbidden says so, and resumes to the same tables."""

import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import pytest
from running import STUDY, TINY, copy_tree, has_not_ended, run, running_in, snakemake, start, tables

NOBODY = 65534
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of prctl(2) and capabilities(7)


def resume(directory):
    """As README says."""
    snakemake(directory, "--unlock")
    snakemake(directory, *STUDY)


def files_of(directory):
    return sum(1 for path in directory.glob("results/**/*") if path.is_file())


def test_a_killed_study_resumes_to_the_same_tables(tiny, tmp_path_factory, request):
    """One kill in each of as many stretches of the run, by the files it has made."""
    kills, rng, found = request.config.getoption("--kills"), random.Random(6), []
    for kill in range(kills):
        directory = copy_tree(tmp_path_factory.mktemp("killed"))
        moment = int((kill + rng.uniform(0.3, 0.7)) / kills * files_of(tiny))
        process = start(directory)
        while files_of(directory) < moment and has_not_ended(process):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        while running_in(directory):  # one that dies has its files open yet
            time.sleep(0.02)
        made = len(list(directory.glob("results/tiny/**/*.npz")))
        resume(directory)
        assert tables(directory) == tables(tiny)
        found.append(made)
        print(f"killed at {moment} of {files_of(tiny)} files, with {made} of 8 chains: resumed")
        shutil.rmtree(directory)
    assert kills == 1 or any(0 < made < 8 for made in found)


def flipped(contents):
    """With one bit wrong in each of 64 bytes."""
    damaged = bytearray(contents)
    for i in range(0, len(damaged), max(1, len(damaged) // 64)):
        damaged[i] ^= 1 << (i % 8)
    return bytes(damaged)


DAMAGES = {
    "empty": lambda contents: b"",
    "truncated": lambda contents: contents[: len(contents) // 2],
    "one byte short": lambda contents: contents[:-1],
    "flipped bits": flipped,
    "text": lambda contents: b"Service unavailable\n" * 50,
}
CHAIN = "chains/flat-banana-2d/dp-barker/epsilon-4/seed-1.npz"
# Files of each kind that are damaged at once; no job waits for another that reads one of them.
AT_ONCE = {
    CHAIN: "truncated",
    "baselines/flat-banana-2d.npy": "truncated",
    "budgets/tempered-banana-2d/dp-barker/epsilon-4.json": "truncated",
}
MORE_CASES = [
    *({CHAIN: damage} for damage in ("empty", "one byte short", "text", "flipped bits")),
    *({"reference/tempered-banana-2d.npy": damage} for damage in ("empty", "one byte short")),
    {"data/flat-banana-2d.npy": "truncated"},
    {"baselines/flat-banana-2d.npy": "text"},
    {"precomputed/Correction.json": "flipped bits"},
    {"tables/models/flat-banana-2d/chains.csv": "empty"},
    {"tables/chains.csv": "flipped bits"},
]


def damaged_then_resumed(finished, damages, expected):
    """Damage some files of a finished study; the tables at the end are as expected.

    Its tables are deleted before the end: Snakemake makes nothing that they need as long as they
    are there.
    """
    results = finished / "results/tiny"
    for file, damage in damages.items():
        path = results / file
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    result = snakemake(finished, *STUDY, "--keep-going", check=False)
    output = result.stdout + result.stderr
    assert result.returncode and "Traceback" not in output
    for file in damages:
        words = " ".join(output.split())
        assert f"results/tiny/{file} is damaged" in words and "delete it and run again" in words
        (results / file).unlink()
    shutil.rmtree(results / "tables")
    snakemake(finished, *STUDY)
    assert all((results / file).is_file() for file in damages)
    assert tables(finished) == expected


def test_damaged_files_are_named_and_made_anew_once_deleted(tiny, finished):
    damaged_then_resumed(finished, AT_ONCE, tables(tiny))


def test_files_that_are_damaged_at_length_are_there(tiny):
    assert all((tiny / "results/tiny" / file).is_file() for case in MORE_CASES for file in case)


@pytest.mark.torture
def test_every_kind_of_damage_is_named(tiny, finished):
    for case in MORE_CASES:
        damaged_then_resumed(finished, case, tables(tiny))


def test_a_file_too_large_for_the_disk_is_named_and_nothing_is_lost(tiny, fresh):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    process = start(fresh, preexec_fn=limit)
    output, _ = process.communicate()
    assert process.returncode and "Traceback" not in output
    file = "results/tiny/data/flat-banana-2d.npy"
    assert f"{file} cannot be written (" in " ".join(output.split())
    assert not list(fresh.glob("results/**/.*.tmp"))
    snakemake(fresh, "--cores", 2, *TINY[1:], "--", file)  # and on from there, as after a kill
    assert (fresh / file).read_bytes() == (tiny / file).read_bytes()


@pytest.mark.torture
def test_a_full_disk_is_named_and_nothing_is_lost(tiny, fresh):
    results = fresh / "results"
    results.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=10000", "tmpfs", results]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system may not be mounted here")
    try:
        result = snakemake(fresh, *STUDY, check=False)
        output = result.stdout + result.stderr
        assert result.returncode and "Traceback" not in output
        assert "No space left on the disk of results/tiny" in output
        before = {path: path.stat().st_mtime_ns for path in results.rglob("*.npy")}
        assert before
        run(fresh, "mount", "-o", "remount,size=200m", results)
        resume(fresh)
        assert tables(fresh) == tables(tiny)
        assert before.items() <= {p: p.stat().st_mtime_ns for p in results.rglob("*.npy")}.items()
    finally:
        subprocess.run(["umount", results], check=True)


@pytest.mark.torture
def test_results_one_may_not_write_are_named(tiny, fresh):
    """Root may write anywhere, so it gives up that right."""
    results = fresh / "results"
    results.mkdir()
    if os.geteuid() == 0:
        os.chown(results, NOBODY, NOBODY)
    else:
        results.chmod(0o555)
    process = start(fresh, preexec_fn=drop_right_to_write_anywhere)
    output, _ = process.communicate()
    assert process.returncode and "Traceback" not in output, output
    assert "Permission denied: 'results/tiny'" in " ".join(output.split())
    os.chown(results, os.geteuid(), os.getegid())
    results.chmod(0o755)
    snakemake(fresh, *STUDY)  # it has left no lock
    assert tables(fresh) == tables(tiny)


def drop_right_to_write_anywhere():
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
