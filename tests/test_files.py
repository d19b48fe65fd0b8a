"""Files are written whole or not at all, and a damaged one never passes for a sound one."""

import json
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from yaml.constructor import FullConstructor, SafeConstructor

from dpmcmc.configuration.yaml_files import Loader
from dpmcmc.files import JobError, read_json, read_npy, read_npz, reading, replacing, write_json
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.table import JOBS
from dpmcmc_studies.jobs.tables import sound_table

ARRAYS = {
    "positions": np.random.default_rng(1).standard_normal((50, 3)),
    "is_accepted": np.arange(50) % 2 == 0,
    "record": np.array('{"model": "circle", "epsilon": 4}'),
}


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.json"
    write_json({"a": 1}, path)
    with pytest.raises(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert read_json(path) == {"a": 1} and list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JobError, match=r"file/a\.json cannot be written \("):
        write_json({}, tmp_path / "file/a.json")
    (tmp_path / "b.json").mkdir()
    with pytest.raises(JobError, match=r"b\.json cannot be written \(Is a directory"):
        write_json({}, tmp_path / "b.json")


def test_any_damage_of_a_chain_file_is_noticed(tmp_path):
    path = tmp_path / "chain.npz"
    with replacing(path) as file:
        np.savez(file, **ARRAYS)
    sound = path.read_bytes()
    rng, noticed = random.Random(3), 0
    damaged = [sound[:size] for size in range(0, len(sound), 37)]
    for _ in range(600):
        contents = bytearray(sound)
        for i in rng.sample(range(len(sound)), rng.choice([1, 2, 8])):
            contents[i] ^= 1 << rng.randrange(8)
        damaged.append(bytes(contents))
    for contents in damaged:
        path.write_bytes(contents)
        try:
            arrays = read_npz(path)
        except JobError as error:
            noticed += 1
            is_said = "chain.npz is damaged" in str(error) and "delete it" in str(error)
            assert is_said or "cannot be read (Unable to allocate" in str(error)
            continue
        # What a reader does not need, such as a date, may be wrong.
        shared = arrays.keys() & ARRAYS.keys()
        assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in shared)
    assert noticed > 0.8 * len(damaged)


@pytest.mark.parametrize("size", [0, 1, 60, 128, 1000, -1])
def test_a_truncated_array_is_noticed(tmp_path, size):
    path = tmp_path / "a.npy"
    np.save(path, ARRAYS["positions"])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(JobError, match=r"a\.npy is damaged .*; delete it and run again"):
        read_npy(path)


def test_no_pickle_is_read(tmp_path):
    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "a.npz", positions=trap)
    with pytest.raises(JobError, match="damaged"):
        read_npy(tmp_path / "a.npy")
    with pytest.raises(JobError, match="damaged"):
        read_npz(tmp_path / "a.npz")
    assert not Trap.sprung
    sources = [*ROOT.glob("src/**/*.py"), *ROOT.glob("workflow/**/*.smk"), ROOT / "Snakefile"]
    assert len(sources) > 40
    assert issubclass(Loader, SafeConstructor) and not issubclass(Loader, FullConstructor)
    for path in [*sources, *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("studies/*/*.ipynb")]:
        text = path.read_text()
        if path.name == "new_processes.py":  # through pipes, of processes that it starts itself
            text = text.replace("pickle", "")
        if path.name == "compiling.py":  # an exception of numba, which reads a cache of its own
            text = text.replace("from pickle import UnpicklingError", "")
        assert not re.search(r"\bpickle\b(?!=False)|allow_pickle=True|read_pickle", text), path
        assert not re.search(r"yaml\.(unsafe_|full_)?load\((?!text, Loader=Loader\))", text), path
        assert not re.search(r"\b(eval|exec|os\.system)\(", text), path


def test_settings_may_be_longer_than_a_command_can_be(tmp_path):
    path, spec = tmp_path / "study.json", {"tables": [f"{i:06}" for i in range(40_000)]}
    command = [
        sys.executable,
        "-m",
        "dpmcmc_studies",
        "describe_study",
        "--spec",
        "@/dev/stdin",
        "--output",
        path,
    ]
    subprocess.run(command, input=json.dumps(spec), text=True, check=True)
    assert read_json(path)["tables"] == spec["tables"]
    commands = [job.command for job in JOBS.values() if job.of is not None]
    assert len(commands) > 10
    assert all("--spec @/dev/stdin" in text and "<<< {params.spec:q}" in text for text in commands)


def test_texts_are_of_utf_8_whatever_the_locale():
    for path in ROOT.glob("src/**/*.py"):  # ruff sees only those whose path is made on the spot
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\.(read_text\(\)|write_text\((?!.*encoding))", text), path


def test_tables_keep_every_digit_and_raise_no_warning(tmp_path):
    numbers = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64).view(float)
    numbers = numbers[np.isfinite(numbers)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["x", *map(repr, numbers.tolist())]), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_csv(path)["x"]
    np.testing.assert_array_equal(read, numbers)


def test_a_wrong_bit_in_the_name_of_a_column_is_damage(tmp_path):
    path = tmp_path / "chains.csv"
    path.write_text("model,sd_ratio\nm,1\n", encoding="utf-8")
    assert list(sound_table(path)) == ["model", "sd_ratio"]
    path.write_text("model,sd_ratio<mmd\nm,1\n", encoding="utf-8")
    with pytest.raises(JobError, match=r"chains\.csv is damaged \(it has a column 'sd_ratio<mmd'"):
        sound_table(path)


class Trap:
    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_reading_says_nothing_of_damage_where_there_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npy(Path(tmp_path, "none.npy"))


def test_a_sound_file_that_cannot_be_read_now_is_not_called_damaged(tmp_path):
    errors = [OSError(24, "Too many open files"), OSError(5, "I/O"), MemoryError("no room")]
    for error in [*errors, DeprecationWarning("an option is deprecated")]:
        expected = pytest.raises(JobError, match=r"a\.npz cannot be read \(")
        with expected as caught, reading(tmp_path / "a.npz"):
            raise error
        assert "delete" not in str(caught.value)
