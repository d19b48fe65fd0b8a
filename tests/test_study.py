"""Configuration: what runs, and one clear line for everything that cannot."""

import copy
import json
import math
import re

import pytest

from dpmcmc.accounting import ACCOUNTANTS
from dpmcmc.models import KINDS
from dpmcmc.samplers import ALGORITHMS
from dpmcmc.samplers import CLIPPED as CLIPPED_SAMPLERS
from dpmcmc.study.study import (
    AUDITED,
    Cell,
    ConfigError,
    Study,
    format_epsilon,
    is_covariance,
    merged,
)


def test_the_full_study_is_the_published_one(config, schema):
    study = Study(config, schema)
    assert len(study.cells) == 7 * 3 * 6 + 3 * 3 + 4 * 3 * 6 + 2 * 6
    assert len(study.seeds) == 20
    assert len(study.clipping_cells) == 2 * 2 * 8
    assert study.clipping_cells[0] == ("flat-banana-2d", "rwmh", "0.5")
    assert study.model_ids == [*study.compared_models, "flat-banana-10d-n100000"]
    assert study.cells[0] == Cell("flat-banana-2d", "dp-penalty", "1")
    assert study.budget("circle", "dp-hmc", "0.75")["delta"] == 0.1 / 100_000
    assert study.epsilons == ["0.5", "0.75", "1", "2", "3", "4", "5", "6"]


def test_the_quick_study_runs_every_model_and_algorithm(quick, schema):
    study = Study(quick, schema)
    assert set(study.model_ids) == set(quick["models"])
    assert set(study.algorithm_ids) == set(quick["algorithms"])


def test_a_job_is_told_its_own_settings_alone(config, schema):
    before = Study(copy.deepcopy(config), schema)
    config["runs"].append({"models": ["circle"], "algorithms": ["dp-penalty"], "epsilons": [2.5]})
    config["seeds"] = 40
    config["models"]["another"] = config["models"]["circle"] | {"num_rows": 5000}
    config["algorithms"]["dp-hmc"]["settings"]["flat-banana-2d"]["step_size"] = 0.1
    after = Study(config, schema)
    for job in [("circle", "dp-hmc", "1"), ("flat-banana-2d", "dp-penalty", "6")]:
        assert before.chain(*job, 3) == after.chain(*job, 3)
        assert before.budget(*job) == after.budget(*job)
    assert before.dataset("circle") == after.dataset("circle")
    assert before.reference("circle") == after.reference("circle")
    changed = ("flat-banana-2d", "dp-hmc", "6", 0)
    assert before.chain(*changed) != after.chain(*changed)
    json.dumps(after.chain(*changed))


def test_the_schema_knows_what_the_package_offers(schema):
    assert set(schema["properties"]["algorithms"]["properties"]) == set(ALGORITHMS)
    clipping = schema["properties"]["clipping"]["properties"]["algorithms"]["properties"]
    assert set(clipping) == set(CLIPPED_SAMPLERS)
    assert set(schema["$defs"]["model"]["properties"]["kind"]["enum"]) == set(KINDS)
    kinds = [name for name in schema["$defs"] if name.endswith("_accountant")]
    assert {name for kind in kinds for name in schema["$defs"][kind]["enum"]} == set(ACCOUNTANTS)
    curves = schema["properties"]["figures"]["properties"]["accounting"]["properties"]["curves"]
    assert set(curves["properties"]) == set(ALGORITHMS)
    for kind, model in KINDS.items():
        fields = set(schema["$defs"][kind]["properties"]) - {"kind"}
        assert fields == set(model.__dataclass_fields__)


def test_the_section_on_tuning_concerns_no_other_job(config, schema):
    before = Study(copy.deepcopy(config), schema)
    tuning = config.pop("tuning")
    after = Study(config, schema)
    for cell in before.cells:
        assert before.chain(*cell, 0) == after.chain(*cell, 0)
        assert before.budget(*cell) == after.budget(*cell)
        assert before.chain_table(cell.model) == after.chain_table(cell.model)
    assert before.notebooks() == after.notebooks() and before.all_tables == after.all_tables
    assert len(before.searches) == 4 * 3 and after.searches == []
    # A search, in turn, is told its own settings alone.
    pair = ("flat-banana-2d", "dp-barker-certified")
    tuning["models"] = [pair[0]]
    changed = Study(config | {"tuning": tuning, "seeds": 3}, schema)
    assert changed.search(*pair) == before.search(*pair)
    assert changed.search(*pair)["factors"] == {"proposal_scale": 10, "batch_size": 100}
    capped = Study(config | {"tuning": tuning, "max_iterations": 70}, schema)
    assert capped.search(*pair)["max_iterations"] == 70
    json.dumps(capped.search(*pair))


def change(path, value):
    """A change of one key of the configuration, as an edit; `...` removes the key."""

    def edit(config):
        *parents, last = path.split("/")
        for key in parents:
            config = config[int(key) if key.isdigit() else key]
        if value is ...:
            del config[last]
        else:
            config[int(last) if last.isdigit() else last] = value

    return edit


PENALTY = "algorithms/dp-penalty/settings/flat-banana-2d"
HMC = "algorithms/dp-hmc/settings/flat-banana-10d"
CLIPPED = {"iterations": 10, "proposal_scale": 1}
AUDIT = {"runs": 200_000, "delta": 0.01, "confidence": 0.999}
BAD = [
    ("sed", 1, "config: unknown key sed; valid keys: study, seed, seeds,"),
    ("seeds", ..., "config: missing key seeds"),
    ("seeds", 0, "seeds: must be at least 1, not 0"),
    ("seeds", 2.5, "seeds: must be a whole number without a decimal point, not 2.5"),
    ("seeds", "20", "seeds: must be a whole number"),
    ("seeds", True, "seeds: must be a whole number"),
    ("study", "../up", "study: '../up' is not a valid id"),
    ("delta_times_n", 0, "delta_times_n: must be greater than 0, not 0"),
    ("delta_times_n", math.nan, "delta_times_n: must be a finite number, not nan"),
    ("mmd/pairs", 5, "mmd: unknown key pairs; valid keys: bandwidth_pairs, max_draws"),
    ("runs", [], "runs: has too few entries (0); at least 1 needed"),
    ("runs/0/epsilons", [1, 0], "runs[0].epsilons[1]: must be greater than 0, not 0"),
    ("runs/0/epsilons", [-2], "runs[0].epsilons[0]: must be greater than 0, not -2"),
    ("runs/0/epsilons", [math.inf], "runs[0].epsilons[0]: must be a finite number, not inf"),
    ("runs/0/epsilons", ["1"], "runs[0].epsilons[0]: must be a finite number, not '1'"),
    ("runs/0/epsilons", [1, 1.0], "runs[0].epsilons: lists 1 twice"),
    ("runs/0/epsilons", [3, 1.0000001], "runs: epsilons 1.0 and 1.0000001 are the same"),
    ("runs/0/models", ["flat"], "runs[0].models: unknown model flat; valid models: flat-banana-2d"),
    ("runs/1/models/0", "a/b", "runs[1].models[0]: 'a/b' is not a valid id"),
    (
        "runs/0/algorithms",
        ["dp-hcm"],
        "runs[0].algorithms: unknown algorithm dp-hcm; valid algorithms: dp-penalty, "
        "dp-penalty-ocu-gwmh, dp-hmc",
    ),
    (PENALTY, ..., "algorithms.dp-penalty.settings: no settings for model flat-banana-2d, which"),
    (
        f"{PENALTY}/clip",
        2,
        "algorithms.dp-penalty.settings.flat-banana-2d: unknown key clip; valid keys: "
        "noise_scale, proposal_scale, clip_bound",
    ),
    (f"{PENALTY}/clip_bound", 0, f"{PENALTY.replace('/', '.')}.clip_bound: must be greater than 0"),
    (f"{PENALTY}/clip_bound", -1, "must be greater than 0, not -1"),
    (f"{PENALTY}/clip_bound", math.inf, "must be a finite number, not inf"),
    (f"{PENALTY}/noise_scale", 0, "noise_scale: must be greater than 0"),
    (
        f"{PENALTY}/proposal_scale",
        [1, 2, 3],
        "proposal_scale: must be a number or a list of dimension = 2 numbers, not 3",
    ),
    (f"{PENALTY}/proposal_scale", [0.1, -0.2], "proposal_scale[1]: must be greater than 0"),
    (f"{PENALTY}/proposal_scale", "0.1", "proposal_scale: must be a finite number, not '0.1'"),
    (f"{PENALTY}/clip_bound", ..., "missing key clip_bound"),
    (f"{HMC}/inverse_mass_matrix", [1, 1], "list of dimension = 10 numbers, not 2"),
    (f"{HMC}/num_integration_steps", 0, "num_integration_steps: must be at least 1, not 0"),
    ("algorithms/dp-hmc/accountant", "rdp2", "unknown value 'rdp2'; valid values: gaussian, zcdp"),
    ("algorithms/dp-hcm", {}, "algorithms: unknown key dp-hcm; valid keys: dp-penalty"),
    (
        "algorithms/dp-hmc/settings/nowhere",
        {
            "noise_scale": 1,
            "gradient_noise_scale": 1,
            "step_size": 1,
            "num_integration_steps": 1,
            "clip_bound": 1,
            "gradient_clip_bound": 1,
        },
        "algorithms.dp-hmc.settings.nowhere: unknown model; valid models: flat-banana-2d",
    ),
    (
        "models/circle/kind",
        "ring",
        "models.circle.kind: unknown value 'ring'; valid values: banana",
    ),
    ("models/circle/kind", ..., "models.circle: missing key kind"),
    ("models/circle/curvature", 1, "models.circle: unknown key curvature; valid keys: kind"),
    ("models/circle", None, "models.circle: must be a map, not None"),
    ("models/Bad Id", {"kind": "circle"}, "models: 'Bad Id' is not a valid id"),
    (
        "models/tempered-banana-2d/tempered_rows",
        100_001,
        "models.tempered-banana-2d.tempered_rows: must be at most num_rows = 100000, not 100001",
    ),
    ("models/gauss-30d/num_rows", 1e5, "num_rows: must be a whole number without a decimal point"),
    ("models/flat-banana-2d/true_position", [0, 3, 0], "at most dimension = 2 entries, not 3"),
    ("models/correlated-gauss-2d/covariance", [[1, 2], [2, 1]], "positive definite 2 x 2 matrix"),
    ("models/correlated-gauss-2d/covariance", [[1, 0.5], [0.4, 1]], "symmetric positive"),
    ("models/correlated-gauss-2d/true_position", [0, 3, 0], "positive definite 3 x 3 matrix"),
    (
        "algorithms/dp-barker/settings/flat-banana-2d/batch_size",
        100_001,
        "flat-banana-2d.batch_size: must be at most num_rows = 100000, not 100001",
    ),
    ("algorithms/dp-barker/settings/flat-banana-2d/batch_size", 15, "must be at least 16, not 15"),
    (
        "algorithms/dp-barker/accountant",
        "gaussian",
        "unknown value 'gaussian'; valid values: bark",
    ),
    (
        "algorithms/minibatch-dp-penalty/settings/flat-banana-2d/noise_variance",
        0,
        "noise_variance: must be greater than 0, not 0",
    ),
    (
        "algorithms/minibatch-dp-penalty/settings/flat-banana-2d/sensitivity",
        "loose",
        "sensitivity: unknown value 'loose'; valid values: published, exact",
    ),
    ("clipping/bounds", [1, 0], "clipping.bounds[1]: must be greater than 0, not 0"),
    ("clipping/bounds", [1, 2, 1.0], "clipping.bounds: lists 1 twice"),
    ("clipping/start_sd", ..., "clipping: missing key start_sd"),
    ("clipping/algorithms/nuts", {}, "unknown key nuts; valid keys: rwmh, hmc"),
    ("clipping/algorithms/rwmh/flat", CLIPPED, "clipping.algorithms.rwmh.flat: unknown model"),
    (
        "clipping/algorithms/rwmh/flat-banana-2d/proposal_scale",
        [1],
        "clipping.algorithms.rwmh.flat-banana-2d.proposal_scale: must be a number or a list of "
        "dimension = 2 numbers, not 1",
    ),
    ("clipping/algorithms/hmc/flat-banana-2d/iterations", 0, "iterations: must be at least 1"),
    ("figures/accounting/curves", {"dp-penalty": ["rdp"]}, "unknown value 'rdp'; valid values:"),
    ("figures/accounting/epsilons/from", 6, "figures.accounting.epsilons: from must be less than"),
    ("figures/accounting/model", "circle", "minibatch-dp-penalty has no settings for model circle"),
    ("figures/bananas", ["x"], "figures.bananas: unknown model x; valid models:"),
    ("figures/trajectory/model", "x", "figures.trajectory.model: unknown model x"),
    ("figures/trajectory/model", "gauss-30d", "model gauss-30d must have dimension 2"),
    ("audit", {}, "audit: missing key runs, delta, confidence"),
    ("audit", None, "audit: must be a map, not None"),
    (
        "audit",
        AUDIT | {"seeds": 1},
        "audit: unknown key seeds; valid keys: runs, delta, confidence",
    ),
    ("audit", AUDIT | {"runs": 99}, "audit.runs: must be at least 100, not 99"),
    ("audit", AUDIT | {"runs": 1e4}, "audit.runs: must be a whole number without a decimal point"),
    ("audit", AUDIT | {"delta": 1e-6}, "audit.delta: must be at least 0.001, not 1e-06"),
    ("audit", AUDIT | {"delta": 0.1}, "audit.delta: must be at most 0.01, not 0.1"),
    ("audit", AUDIT | {"delta": math.nan}, "audit.delta: must be a finite number, not nan"),
    ("audit", AUDIT | {"confidence": 1}, "audit.confidence: must be at most 0.999999, not 1"),
    ("audit", AUDIT | {"confidence": "99 %"}, "audit.confidence: must be a finite number, not '99"),
    (
        "algorithms/dp-barker-certified/accountant",
        "barker-rdp",
        "dp-barker-certified.accountant: unknown value 'barker-rdp'; valid values: certified",
    ),
    ("tuning/trial", 5, "tuning: unknown key trial; valid keys: epsilon, trials, seeds,"),
    ("tuning/trials", 0, "tuning.trials: must be at least 1, not 0"),
    ("tuning/epsilon", ..., "tuning: missing key epsilon"),
    ("tuning/largest_clip_fraction", 2, "largest_clip_fraction: must be at most 1, not 2"),
    ("tuning/models", ["x"], "tuning.models: unknown model x; valid models: flat-banana-2d"),
    ("tuning/algorithms", ["x"], "tuning.algorithms: unknown algorithm x; valid algorithms: dp-"),
    (
        "tuning/models",
        ["circle"],
        "algorithms.minibatch-dp-penalty-certified.settings: no settings for model circle, which "
        "tuning asks for; there are settings for: flat-banana-2d",
    ),
    ("tuning/factors/noise", 5, "tuning.factors: unknown key noise; valid keys: noise_scale"),
    ("tuning/factors/noise_scale", 1, "noise_scale: must be greater than 1, not 1"),
    (
        "tuning/factors",
        {"clip_bound": 2},
        "tuning.factors: names no setting of dp-barker-certified on flat-banana-2d, which has: "
        "batch_size, proposal_scale",
    ),
    ("study", "quick\n", "study: 'quick\\n' is not a valid id"),
    ("models/circle\n", {"kind": "circle"}, "is not a valid id"),
    ("bad\nkey", 1, r"config: unknown key 'bad\nkey'; valid keys: study"),
    ("seed", 10**400, "seed: must be a whole number"),
    ("delta_times_n", 10**400, "delta_times_n: must be a finite number"),
    ("delta_times_n", 2, "delta_times_n: must be at most 1, not 2"),
    ("runs/0/epsilons", [1e308], "runs[0].epsilons[0]: must be at most 100"),
    (f"{PENALTY}/noise_scale", 1e200, "noise_scale: must be at most"),
    (f"{PENALTY}/noise_scale", 1e-200, "noise_scale: must be at least 1e-12"),
    ("models/tempered-banana-2d/tempered_rows", 0.5, "must be a whole number"),
    ("models/correlated-gauss-2d/covariance", [[1, 0], [0, 1e-320]], "positive definite"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_configuration_gets_one_line_that_names_the_key(config, schema, path, value, message):
    change(path, value)(config)
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        Study(config, schema)
    assert "\n" not in str(error.value)


def test_figures_may_be_left_out(config, schema):
    config["figures"] = {"bananas": []}
    del config["clipping"], config["tuning"]
    config["models"] = {"circle": config["models"]["circle"]}
    config["runs"] = config["runs"][1:2]
    names = config["runs"][0]["algorithms"]
    config["algorithms"] = {name: config["algorithms"][name] for name in names}
    for entry in config["algorithms"].values():
        entry["settings"] = {"circle": entry["settings"]["circle"]}
    assert list(Study(config, schema).notebooks()) == [
        "summary",
        "models",
        "circle",
        "gradient-clipping",
    ]


def test_without_bounds_there_is_no_clipping_study(config, schema):
    config["clipping"]["bounds"] = []
    study = Study(config, schema)
    assert study.clipping_cells == [] and "clipping" not in study.notebooks()
    assert "clipping" not in study.tables and study.model_ids == study.compared_models


def test_an_audit_is_run_where_the_configuration_asks_for_it(config, schema):
    study = Study(config, schema)
    assert study.audited_cases == [] and "audit" not in study.all_tables
    study = Study(config | {"audit": AUDIT}, schema)
    assert study.audited_cases == list(AUDITED) and "audit" in study.all_tables
    assert study.audited_case("dp-hmc-1") == AUDIT | {"study_seed": 2021, "case": "dp-hmc-1"}


def test_a_figure_of_the_chapter_has_no_panel_for_a_model_of_another(config, schema):
    config["runs"] = [
        {"models": ["flat-banana-2d"], "algorithms": ["dp-barker-full-data"], "epsilons": [1]}
    ]
    notebook = Study(config, schema).notebooks()["comparison"]
    assert notebook.figures == ["figure-barker-full-data"]
    assert notebook.parameters["bananas"] == []


def test_a_pair_without_settings_is_named(config, schema):
    del config["algorithms"]["dp-hmc"]["settings"]["circle"]
    config["runs"][1]["algorithms"] = ["dp-penalty"]
    with pytest.raises(ConfigError, match=r"dp-hmc\.settings: no settings for model circle"):
        Study(config, schema).chain("circle", "dp-hmc", "1", 0)


def test_the_same_cell_in_two_runs_runs_once(config, schema):
    config["runs"].append(copy.deepcopy(config["runs"][1]))
    assert len(Study(config, schema).cells) == 219


@pytest.mark.parametrize(
    ("epsilon", "text"), [(4, "4"), (4.0, "4"), (0.75, "0.75"), (1e-7, "1e-07"), (10, "10")]
)
def test_epsilon_in_paths(epsilon, text):
    assert format_epsilon(epsilon) == text


def test_covariances():
    assert is_covariance([[2, 1, 0], [1, 2, 1], [0, 1, 2]], 3)
    assert not is_covariance([[1, 1], [1, 1]], 2)
    assert not is_covariance([[1, 0]], 2)


def test_null_removes_and_maps_are_merged(config, schema):
    changes = {
        "clipping": None,
        "figures": {"accounting": None},
        "models": {"circle": {"num_rows": 9}},
    }
    study = Study(merged(config, changes), schema)
    assert not study.clipping_cells and not study.accounting_curves
    assert study.models["circle"]["num_rows"] == 9
    assert study.models["circle"]["sharpness"] == config["models"]["circle"]["sharpness"]
    assert config["models"]["circle"]["num_rows"] == 100_000 and "clipping" in config
    assert merged({"a": 1}, {"a": {"b": None, "c": 2}}) == {"a": {"c": 2}}


def test_both_ids_of_an_algorithm_with_one_accountant_are_refused(quick, schema):
    quick["algorithms"]["dp-barker"]["accountant"] = "certified"
    line = (
        "algorithms.dp-barker.accountant: is certified, as that of dp-barker-certified, which runs"
    )
    with pytest.raises(ConfigError, match=line):
        Study(quick, schema)
    alone = ["dp-barker-certified"]
    quick["runs"] = [{"models": ["flat-banana-2d"], "algorithms": alone, "epsilons": [4]}]
    assert not Study(quick, schema).doubled_cells
