"""A configuration that cannot run stops the workflow itself, with one line and before any job."""

import pytest
from conftest import ROOT, chosen
from mutations import GIVEN_TWICE
from running import snakemake

CONFIG = (ROOT / "config.yaml").read_text()
FILES = {  # of config.yaml itself; tests/study has the others, without Snakemake
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


@pytest.mark.parametrize("case", FILES)
def test_a_bad_config_file(fresh, case):
    assert FILES[case] != CONFIG
    (fresh / "config.yaml").write_bytes(FILES[case].encode(errors="surrogateescape"))
    assert len(refused(fresh)) < 300


@pytest.mark.parametrize("case", chosen(OVERLAYS, "given twice"))
def test_a_bad_overlay(fresh, case):
    (fresh / "overlay.yaml").write_text(OVERLAYS[case])
    assert len(refused(fresh, "--configfile", "overlay.yaml")) < 300


def test_a_template_in_an_overlay_is_refused(fresh):
    """Snakemake itself evaluates it before the workflow is read; it must not come to a job."""
    (fresh / "overlay.yaml").write_text("__use_yte__: true\nseeds: ?1 + 2\n")
    assert "__use_yte__" in refused(fresh, "--configfile", "overlay.yaml")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sedes=3", "config: unknown key sedes; valid keys: study, seed, models"),
        ("seeds=19", "study: chapter-6 is the study of config.yaml, whose results"),
    ],
)
def test_a_bad_setting_of_the_command_line(fresh, setting, message):
    assert message in refused(fresh, "--config", setting)
