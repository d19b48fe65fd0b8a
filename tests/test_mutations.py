"""Every configuration runs, or is refused with one clear line."""

import json
from collections import Counter
from itertools import islice

import msgspec
import pytest
import yaml
from conftest import ROOT, chosen
from mutations import EITHER, REFUSED, mutations

from dpmcmc import registry
from dpmcmc.accounting.accountants import accountants
from dpmcmc.configuration import catalogue
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc_studies.analysis.claims import Claim
from dpmcmc_studies.jobs import tuning
from dpmcmc_studies.study.claims import check_claims
from dpmcmc_studies.study.loading import load_study


@pytest.fixture(autouse=True)
def empty_catalogue(tmp_path_factory, monkeypatch):
    """An entry that a mutation takes out is not found in the package's catalogue."""
    empty = tmp_path_factory.mktemp("catalogue") / "empty.yaml"
    empty.write_text("{}")
    monkeypatch.setattr(catalogue, "CATALOGUE", empty)


@pytest.fixture(scope="module")
def small():
    """A configuration with every section, but of one model each."""
    config, _ = read_study(ROOT, [ROOT / "studies/quick/study.yaml"])
    models = ["flat-banana-2d", "correlated-gauss-2d", "circle"]
    config["models"] = {model: config["models"][model] for model in models}
    free = {"rwmh", "hmc", "exact-posterior", "start", "noisy-statistics"}
    private = {name for run in config["runs"] for name in run["algorithms"]} - free
    config["runs"] = [
        {
            "models": ["flat-banana-2d"],
            "algorithms": sorted(private),
            "epsilons": [4, 6],
        },
        {"models": models, "algorithms": ["dp-penalty", "dp-hmc"], "epsilons": [1]},
        {
            "models": ["flat-banana-2d"],
            "algorithms": ["noisy-statistics"],
            "epsilons": [4],
            "iterations": [10],
        },
        {
            "models": ["flat-banana-2d"],
            "algorithms": ["rwmh", "hmc"],
            "iterations": [10],
            "vary": {"clip_bound": [1, 1000]},
            "start_sd": 0.05,
            "max_seeds": 3,
        },
        {
            "models": ["circle"],
            "algorithms": ["dp-hmc", "exact-posterior", "start"],
            "iterations": [10],
        },
    ]
    config["tuning"]["models"] = ["flat-banana-2d"]
    config["colours"] = {"dp-hmc": "#5B7F00", "dp-barker": "dp-hmc"}
    for entry in config["algorithms"].values():
        for model in entry.get("settings", {}).keys() - set(models):
            del entry["settings"][model]
    for name, parameters in config["notebooks"].items():
        for key, value in parameters.items():
            if isinstance(value, list):
                known = [*models, *config["algorithms"]]
                config["notebooks"][name][key] = [entry for entry in value if entry in known]
    config["claims"] = list(filter(are_known(config), config["claims"]))
    return config


def are_known(config):
    """Whether a claim speaks of models of the configuration alone."""

    def is_known(claim):
        try:
            check_claims(
                [msgspec.convert(claim, Claim)],
                config["models"],
                config["algorithms"],
                accountants(),
            )
        except ConfigError:
            return False
        return True

    return is_known


def as_json(settings):
    """Settings as JSON; a ValueError for a number that is not finite."""
    json.dumps(msgspec.to_builtins(settings), allow_nan=False)


def work_out(study):
    """All that the workflow asks of a study when it plans the jobs."""
    for cell in study.cells:
        spec = study.chain(cell, 0)
        registry.build(spec.sampler)
        as_json([spec, study.chain_table(cell.model), study.budget(cell)])
        assert 1 <= len(study.seeds_of(cell)) <= len(study.seeds)
    for case in study.audited_cases:
        as_json(study.audit_case(case))
    for model in study.model_ids:
        as_json([study.baselines(model), study.baseline_table(model)])
    searches = [study.search(*pair) for pair in study.searches]
    for spec in searches:
        space = tuning.search_space(spec)
        for end in ("low", "high"):
            factors = {key: getattr(limits, end) for key, limits in space.items()}
            settings = tuning.scaled(spec, factors)
            entry = spec.budget.sampler
            move = entry.get("move", {}).get("class")
            registry.build(registry.entry(entry["class"], settings, move))
    as_json(searches)
    as_json([study.certification(cell) for cell, _ in study.replaced_cells])
    curves = [study.accounting_curve(*curve) for curve in study.accounting_curves]
    notebooks = [notebook.parameters for notebook in study.notebooks.values()]
    as_json([curves, notebooks, study.all_tables, len(study.seeds)])
    as_json([study.describe_study(), study.study_tables(), study.analysis_tables()])


def outcome(path, text):
    """None if a configuration is taken, else the message."""
    path.write_bytes(text.encode())
    if not path.with_name("notebooks").exists():
        path.with_name("notebooks").symlink_to(ROOT / "notebooks")
    try:
        study = load_study(path.parent, [path])
    except ConfigError as error:
        return str(error)
    work_out(study)
    return None


def test_the_configuration_that_is_mutated_is_valid(tmp_path, small):
    assert outcome(tmp_path / "study.yaml", yaml.safe_dump(small)) is None


@pytest.mark.parametrize("every", chosen([17, 1], 17))
def test_mutated_configurations_run_or_are_refused_with_one_line(
    tmp_path, small, monkeypatch, every
):
    monkeypatch.chdir(tmp_path)
    tried, taken, unclear = Counter(), Counter(), []
    for mutation in islice(mutations(small), 0, None, every):
        message = outcome(tmp_path / "study.yaml", mutation.text)
        tried[mutation.kind] += 1
        if message is None:
            taken[mutation.kind] += 1
        else:
            is_clear = 10 < len(message) < 1000 and message.isprintable()
            if not is_clear or not any(key in message for key in mutation.keys):
                unclear.append((mutation.kind, mutation.keys, message[:1000]))
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"study.yaml", "notebooks"}  # nothing was run
    assert not unclear, f"{len(unclear)} messages: {unclear[:20]}"
    print("\n" + "\n".join(f"{kind}: {n}, {taken[kind]} run" for kind, n in tried.items()))
    assert not taken.keys() & REFUSED, {kind: taken[kind] for kind in taken.keys() & REFUSED}
    assert tried.total() >= 100 and len(tried.keys()) >= 0.8 * len(REFUSED | EITHER)
    if every == 1:
        assert tried.keys() == REFUSED | EITHER and tried.total() >= 300
        assert all(taken[kind] < tried[kind] for kind in EITHER)
        assert {kind for kind in EITHER if not taken[kind]} <= {"huge"}
