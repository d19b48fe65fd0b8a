"""Classes by name: of the package, and of a user's file beside the study's."""

import dataclasses
import os
import sys

import pytest

from dpmcmc import registry
from dpmcmc.registry import UnknownName, build, entry, load, names, resolve
from dpmcmc.samplers.dp_barker import DPBarker
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.moves import GaussianWalk, Move
from dpmcmc.settings import Settings

SAMPLER = '''
from dataclasses import dataclass

from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.settings import Positive

{imports}


@dataclass(frozen=True)
class Mine(Metropolis):
    """A sampler of one's own."""

    speed: Positive = {speed}


no_class = 3
'''


def write(directory, name="mine.py", imports="", speed=2.0):
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(SAMPLER.format(imports=imports, speed=speed))
    return path


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_name_leads_to_its_class(kind):
    for name in names(kind):
        cls = load(resolve(kind, name))
        assert cls.__name__ == name and issubclass(cls, Settings)
        assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen
        assert issubclass(cls, Move) == (kind == "move")


@pytest.mark.parametrize("kind", registry.KINDS)
@pytest.mark.parametrize("name", ["Nothing", "banana", "dp_barker", "HMC ", "", "mine.py", ":"])
def test_of_an_unknown_name_one_line_lists_the_valid_ones(kind, name):
    with pytest.raises(UnknownName) as error:
        resolve(kind, name)
    valid = ", ".join(sorted(names(kind)))
    expected = f"unknown {kind} {name}; valid names: {valid}, or one's own file.py:Class"
    assert str(error.value) == expected
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("kind", "name"), [("sampler", "Banana"), ("model", "HMC"), ("move", "DPPenalty")]
)
def test_a_class_of_another_kind_is_unknown(kind, name):
    with pytest.raises(UnknownName, match=f"unknown {kind} {name}; valid names: "):
        resolve(kind, name)


def test_a_file_is_found_from_the_directory_that_names_it(tmp_path, monkeypatch):
    write(tmp_path / "of-a-study", "own_sampler.py")
    reference = resolve("sampler", "own_sampler.py:Mine", tmp_path / "of-a-study")
    file = os.path.relpath(tmp_path / "of-a-study/own_sampler.py")  # from where jobs run
    assert reference == f"{file}:Mine"
    assert resolve("sampler", "of-a-study/own_sampler.py:Mine", tmp_path) == reference
    assert resolve("sampler", f"{tmp_path}/of-a-study/own_sampler.py:Mine", "/") == reference
    with pytest.raises(UnknownName, match=rf"^no file own_sampler\.py in {tmp_path}$"):
        resolve("sampler", "own_sampler.py:Mine", tmp_path)
    cls = load(reference)
    monkeypatch.chdir(tmp_path / "of-a-study")
    assert load(resolve("sampler", "own_sampler.py:Mine")).__name__ == cls.__name__ == "Mine"
    monkeypatch.undo()
    assert load(reference) is cls  # run once


def test_a_class_that_a_file_does_not_have_is_named(tmp_path):
    path = os.path.relpath(write(tmp_path, "lacks_it.py"))
    for name in ("Other", "no_class", ""):
        with pytest.raises(UnknownName) as error:
            load(resolve("sampler", f"lacks_it.py:{name}", tmp_path))
        assert str(error.value) == f"{path} has no class {name}"
    with pytest.raises(UnknownName, match=r"dpmcmc\.samplers\.hmc has no class Other"):
        load("dpmcmc.samplers.hmc:Other")


def test_what_lies_beside_a_file_can_be_imported(tmp_path):
    write(tmp_path, "with_helper.py", imports="from helper_beside_it import SPEED")
    (tmp_path / "helper_beside_it.py").write_text("SPEED = 7.0\n")
    assert load(f"{tmp_path}/with_helper.py:Mine")(GaussianWalk(1.0)).speed == 2.0


def test_a_file_that_another_imports_is_one_module(tmp_path):
    write(tmp_path, "imported_one.py")
    for name in ("importing_one.py", "importing_other.py"):
        write(tmp_path, name, imports="from imported_one import Mine as Other")
    one = load(f"{tmp_path}/importing_one.py:Other")
    assert load(f"{tmp_path}/imported_one.py:Mine") is one
    assert load(f"{tmp_path}/importing_other.py:Other") is one


def test_files_of_one_name_are_two_modules(tmp_path):
    """Whatever their annotations are: as text, these are looked up in the module of the class."""
    future = "from __future__ import annotations\n"
    for i, directory in enumerate(("first", "second")):
        path = write(tmp_path / directory, "same_name.py", speed=float(i + 1))
        path.write_text(future + path.read_text().replace("Positive", f"Kind{i}"))
        path.write_text(path.read_text().replace(f"import Kind{i}", f"import Positive as Kind{i}"))
    classes = [load(f"{tmp_path}/{name}/same_name.py:Mine") for name in ("first", "second")]
    assert [cls(GaussianWalk(1.0)).speed for cls in classes] == [1.0, 2.0]


def test_a_file_may_have_the_name_of_a_library(tmp_path):
    path = write(tmp_path, "json.py")
    path.write_text("from __future__ import annotations\n" + path.read_text())
    assert load(f"{path}:Mine")(GaussianWalk(1.0)).speed == 2.0
    import json

    assert json.loads("1") == 1


def test_a_file_that_raises_may_be_mended(tmp_path):
    path = tmp_path / "raises_first.py"
    path.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load(f"{path}:Mine")
    write(tmp_path, "raises_first.py")
    assert load(f"{path}:Mine").__name__ == "Mine"


def test_jax_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    path = write(tmp_path, "of_jax.py", imports="import jax")
    with pytest.raises(ModuleNotFoundError, match=r"^there is no package jax: .*\[jax\]"):
        load(f"{path}:Mine")


PENALTY, WALK = "dpmcmc.samplers.dp_penalty:DPPenalty", "dpmcmc.samplers.moves:GaussianWalk"


def test_an_entry_is_built_with_what_is_nested_in_it():
    built = build(
        {
            "class": PENALTY,
            "move": {"class": WALK, "proposal_scale": [0.1, 0.2]},
            "noise_scale": 0.5,
            "clip_bound": 2,
        }
    )
    assert built == DPPenalty(GaussianWalk([0.1, 0.2]), noise_scale=0.5, clip_bound=2)


def test_settings_go_to_the_sampler_or_to_its_move():
    settings = {"noise_scale": 0.5, "proposal_scale": 0.1, "clip_bound": 2}
    described = entry(PENALTY, settings, WALK)
    assert described == {
        "class": PENALTY,
        "move": {"class": WALK, "proposal_scale": 0.1},
        "noise_scale": 0.5,
        "clip_bound": 2,
    }
    assert build(described) == DPPenalty(GaussianWalk(0.1), 0.5, 2)
    assert settings == {"noise_scale": 0.5, "proposal_scale": 0.1, "clip_bound": 2}
    alone = {"step_size": 0.1, "num_integration_steps": 3}
    assert entry("dpmcmc.samplers.hmc:HMC", alone) == {"class": "dpmcmc.samplers.hmc:HMC"} | alone


def test_wrong_settings_are_refused_as_the_class_does():
    described = entry(PENALTY, {"noise_scale": 0, "proposal_scale": 0.1, "clip_bound": 2}, WALK)
    with pytest.raises(ValueError, match=r"^DPPenalty\.noise_scale: "):
        build(described)
    described = entry(PENALTY, {"noise_scale": 1, "proposal_scale": [], "clip_bound": 2}, WALK)
    with pytest.raises(ValueError, match=r"^GaussianWalk\.proposal_scale: "):
        build(described)


def test_a_sampler_of_ones_own_has_its_own_settings_and_those_it_inherits(tmp_path):
    path = write(tmp_path, "inherits.py")
    described = entry(f"{path}:Mine", {"proposal_scale": 1.0, "speed": 5, "clip_bound": 3}, WALK)
    sampler = build(described)
    assert (sampler.speed, sampler.clip_bound, sampler.move) == (5, 3, GaussianWalk(1.0))
    assert not sampler.is_private and DPBarker.is_private
