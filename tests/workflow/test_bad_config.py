"""A configuration that cannot run stops the workflow itself, with one line and before any job."""

import pytest
from conftest import ROOT
from mutations import GIVEN_TWICE
from running import snakemake

from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc_studies.study.loading import load_study

CONFIG = (ROOT / "config.yaml").read_text()
FILES = {  # of config.yaml itself; tests/study has more
    "object": CONFIG.replace(
        "study: chapter-6", 'study: !!python/object/apply:os.system ["touch pwned"]'
    ),
    "template": '__use_yte__: true\nstudy: ?__import__("os").system("touch pwned")\n' + CONFIG,
    "not UTF-8": CONFIG.replace("study: chapter-6", "study: caf\udce9"),
}
OVERLAYS = {  # of a --configfile
    "given twice": GIVEN_TWICE["num_rows"],
    "name of config.yaml": "study: chapter-6\n"
    "runs: [{models: [circle], algorithms: [dp-hmc], epsilons: [1]}]\n",
}


def refused(directory, *arguments):
    """The line with which the workflow refuses to run."""
    result = snakemake(directory, "--cores", 1, *arguments, check=False)
    output = result.stdout + result.stderr
    assert result.returncode and "Traceback" not in output, output
    assert not (directory / "results").exists() and not list(directory.rglob("pwned"))
    (line,) = [line for line in output.splitlines() if line.startswith("Configuration error: ")]
    return line


def test_a_bad_config_file(fresh):
    (fresh / "config.yaml").write_text(FILES["object"])
    assert len(refused(fresh)) < 300


def test_a_bad_overlay(fresh):
    (fresh / "overlay.yaml").write_text(OVERLAYS["given twice"])
    assert len(refused(fresh, "--configfile", "overlay.yaml")) < 300


def require_one_line(directory, *files):
    """Where a study is read, without Snakemake, which prints what the error says."""
    with pytest.raises(ConfigError) as error:
        load_study(directory, files)
    assert len(str(error.value)) < 300 and "\n" not in str(error.value)


@pytest.mark.parametrize("case", FILES)
def test_a_study_of_a_bad_config_file(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    assert FILES[case] != CONFIG
    (tmp_path / "config.yaml").write_bytes(FILES[case].encode(errors="surrogateescape"))
    require_one_line(tmp_path)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("case", OVERLAYS)
def test_a_study_of_a_bad_overlay(tmp_path, case):
    (tmp_path / "overlay.yaml").write_text(OVERLAYS[case])
    require_one_line(ROOT, tmp_path / "overlay.yaml")


def test_a_template_in_an_overlay_is_refused(fresh):
    """Snakemake itself evaluates it before the workflow is read; it must not come to a job."""
    (fresh / "overlay.yaml").write_text("__use_yte__: true\nseeds: ?1 + 2\n")
    assert "__use_yte__" in refused(fresh, "--configfile", "overlay.yaml")


def test_a_bad_setting_of_the_command_line(fresh):
    message = "config: unknown key sedes; valid keys: study, seed, models"
    assert message in refused(fresh, "--config", "sedes=3")


def test_fewer_seeds_would_overwrite_what_is_published():
    message = "study: chapter-6 is the study of config.yaml, whose results"
    with pytest.raises(ConfigError, match=message):
        load_study(ROOT, [], {"seeds": 19})
