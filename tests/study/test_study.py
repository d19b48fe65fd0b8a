"""Configuration: what runs, and one clear line for everything that cannot."""

import copy
import json
import math
import re

import msgspec
import pytest
import yaml
from conftest import ROOT

from dpmcmc.configuration.yaml_files import ConfigError, converted, merged, read_config
from dpmcmc.files import JobError
from dpmcmc_studies.jobs import budgets
from dpmcmc_studies.study import study_specs
from dpmcmc_studies.study.loading import load_study
from dpmcmc_studies.study.runs import Cell, text_of
from dpmcmc_studies.study.study import StudyConfig


def test_a_job_is_told_its_own_settings_alone(config):
    before = StudyConfig(copy.deepcopy(config), ROOT)
    config["runs"].append({"models": ["circle"], "algorithms": ["dp-penalty"], "epsilons": [2.5]})
    config["seeds"] = 40
    config["models"]["another"] = config["models"]["circle"] | {"num_rows": 5000}
    config["algorithms"]["mine"] = copy.deepcopy(config["algorithms"]["dp-penalty"])
    config["algorithms"]["dp-hmc"]["settings"]["flat-banana-2d"]["step_size"] = 0.1
    after = StudyConfig(config, ROOT)
    jobs = [("circle", "dp-hmc", "epsilon-1"), ("flat-banana-2d", "dp-penalty", "epsilon-6")]
    for job in [Cell(*job) for job in jobs]:
        assert before.chain(job, 3) == after.chain(job, 3) != after.chain(job, 4)
        assert before.budget(job) == after.budget(job)
    assert before.budget(Cell(*jobs[0])).delta == 0.1 / 100_000
    assert before.dataset("circle") == after.dataset("circle")
    assert before.reference("circle") == after.reference("circle")
    changed = Cell("flat-banana-2d", "dp-hmc", "epsilon-6")
    assert before.chain(changed, 0) != after.chain(changed, 0)


def test_a_sweep_differs_in_what_it_varies_alone(config):
    study = StudyConfig(config, ROOT)
    cells = [c for c in study.cells if c[:2] == ("flat-banana-2d", "rwmh")]
    assert [c.run for c in cells][:2] == [
        "iterations-3000/clip_bound-0.5",
        "iterations-3000/clip_bound-1",
    ]
    specs = [study.chain(cell, 4) for cell in cells]
    bounds = [spec.sampler.pop("clip_bound") for spec in specs]
    assert bounds == [spec.varied["clip_bound"] for spec in specs]
    assert bounds == [0.5, 1, 2, 4, 6, 8, 10, 1000]
    for spec in specs:
        spec.varied = {}
    assert all(spec == specs[0] for spec in specs)  # the label of its random streams included
    assert specs[0].run == "iterations-3000" and specs[0].start_sd == 0.05


def test_iterations_of_a_private_algorithm_are_priced(config):
    config["runs"] = [
        {"models": ["circle"], "algorithms": ["dp-penalty", "start"], "iterations": [500]}
    ]
    config["notebooks"] = {}
    study = StudyConfig(config, ROOT)
    private, free = (study.budget(cell) for cell in study.cells)
    assert private.iterations == free.iterations == 500
    assert private.accountant == "gaussian" and free.accountant is None
    assert private.epsilon is None


OWN = """
from dataclasses import dataclass

from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.settings import Positive


@dataclass(frozen=True)
class Mine(Sampler):
    width: Positive

    def step(self, rng, state, target):
        return state, Info(False, 0.0)
"""


def test_a_class_of_ones_own_is_found_beside_the_file_that_names_it(config, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/mine.py").write_text(OWN)
    overlay = tmp_path / "own/study.yaml"

    def study(sampler, settings):
        changes = {
            "study": "own",
            "runs": [{"models": ["circle"], "algorithms": ["mine"], "iterations": [5]}],
            "algorithms": {"mine": {"sampler": sampler, "settings": {"circle": settings}}},
        }
        overlay.write_text(yaml.safe_dump(changes))
        return load_study(ROOT, [overlay])

    found = study("mine.py:Mine", {"width": 2})
    (cell,) = found.cells
    entry = found.chain(cell, 0).sampler
    assert entry["class"].endswith("own/mine.py:Mine") and entry["width"] == 2
    for sampler, settings, message in [
        ("yours.py:Mine", {"width": 2}, "algorithms.mine.sampler: no file yours.py in"),
        ("mine.py:Yours", {"width": 2}, "has no class Yours"),
        (
            "Mine",
            {"width": 2},
            "algorithms.mine.sampler: unknown sampler Mine; valid names: ",
        ),
        ("mine.py:Mine", {"stop": 2}, "settings.circle: unknown key stop; valid keys: width"),
        ("mine.py:Mine", {"width": 0}, "settings.circle.width: must be a number > 0.0, not 0"),
        ("mine.py:Mine", {}, "settings.circle: missing key width"),
    ]:
        with pytest.raises(ConfigError, match=re.escape(message)):
            study(sampler, settings)
    (tmp_path / "own/still.py").write_text(OWN.replace("def step", "def walk"))
    with pytest.raises(ConfigError, match=r"sampler: still.py:Mine has no step$"):
        study("still.py:Mine", {"width": 1})
    (tmp_path / "own/broken.py").write_text("import nowhere_at_all")
    with pytest.raises(ConfigError, match="cannot be imported: ModuleNotFoundError"):
        study("broken.py:Mine", {"width": 1})


def test_the_section_on_tuning_concerns_no_other_job(config):
    before = StudyConfig(copy.deepcopy(config), ROOT)
    tuning = config.pop("tuning")
    after = StudyConfig(config, ROOT)
    for cell in before.cells:
        assert before.chain(cell, 0) == after.chain(cell, 0)
        assert before.budget(cell) == after.budget(cell)
        assert before.chain_table(cell.model) == after.chain_table(cell.model)
    assert before.notebooks == after.notebooks and before.all_tables == after.all_tables
    assert len(before.searches) == 4 * 3 and after.searches == []
    # A search, in turn, is told its own settings alone.
    pair = ("flat-banana-2d", "dp-barker-certified", "4")
    tuning["models"] = [pair[0]]
    changed = StudyConfig(config | {"tuning": tuning, "seeds": 3}, ROOT)
    assert changed.search(*pair) == before.search(*pair)
    assert changed.search(*pair).tuning.factors == {"proposal_scale": 10, "batch_size": 100}
    capped = StudyConfig(config | {"tuning": tuning, "max_iterations": 70}, ROOT)
    assert capped.search(*pair).budget.max_iterations == 70


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
AUDIT = {"runs": 200_000, "delta": 0.01, "confidence": 0.999, "cases": ["dp-hmc-1"]}
BAD = [
    ("sed", 1, "config: unknown key sed; valid keys: study, seed, models, algorithms, seeds,"),
    ("seeds", ..., "config: missing key seeds"),
    ("seeds", 0, "seeds: must be a whole number >= 1, not 0"),
    ("seeds", True, "seeds: must be a whole number"),
    ("study", "../up", "study: '../up' is not a valid id"),
    ("study", "quick\n", "study: 'quick\\n' is not a valid id"),
    ("delta_times_n", math.nan, "delta_times_n: must be a finite number, not nan"),
    ("seed", 10**400, "seed: must be a finite number, not 1000"),
    ("mmd/pairs", 5, "mmd: unknown key pairs; valid keys: bandwidth_pairs, max_draws"),
    ("runs", [], "runs: must be a list of length >= 1, not []"),
    ("runs/0/epsilons", [1, 0], "runs[0].epsilons[1]: must be a number >= 1e-06, not 0"),
    ("runs/0/epsilons", [3, 3.0000001], "runs twice as epsilon-3, with different numbers"),
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
        "noise_scale, clip_bound, proposal_scale",
    ),
    (f"{PENALTY}/clip_bound", 0, f"{PENALTY.replace('/', '.')}.clip_bound: must be a number > 0.0"),
    (
        f"{PENALTY}/proposal_scale",
        [1, 2, 3],
        "proposal_scale: must be a number or a list of dimension = 2 numbers, not 3",
    ),
    (f"{PENALTY}/clip_bound", ..., "missing key clip_bound"),
    (
        f"{HMC}/num_integration_steps",
        0,
        "integration_steps: must be a whole number >= 1, not 0",
    ),
    (
        "algorithms/dp-hmc/accountant",
        "rdp",
        "algorithms.dp-hmc.accountant: accountant rdp prices a SubsampledGaussianMechanism, not a "
        "GaussianMechanism; valid values: certified, gaussian, zcdp",
    ),
    ("algorithms/dp-hmc/accountant", ..., "algorithms.dp-hmc: missing key accountant; valid"),
    ("algorithms/rwmh/accountant", "gaussian", "Metropolis is not private, so it takes no acc"),
    ("algorithms/dp-hmc/move", "GaussianWalk", "algorithms.dp-hmc.move: DPHMC takes no move"),
    ("algorithms/dp-penalty/move", ..., "missing key move; valid values: "),
    ("algorithms/dp-penalty/sampler", "DPPenalti", "unknown sampler DPPenalti; valid names: "),
    ("algorithms/dp-penalty/sampler", 3, "algorithms.dp-penalty.sampler: must be a text, not 3"),
    (
        "algorithms/dp-barker-certified/variant_of",
        "dp-barkr",
        "algorithms.dp-barker-certified.variant_of: unknown algorithm dp-barkr; valid",
    ),
    ("algorithms/dp-hcm", {}, "algorithms.dp-hcm: missing key sampler"),
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
        "algorithms.dp-hmc.settings: unknown model nowhere; valid models: flat-banana-2d",
    ),
    (
        "models/circle/kind",
        "ring",
        "models.circle.kind: unknown model ring; valid names: Banana, Circle, Gaussian, Gau",
    ),
    ("models/circle/curvature", 1, "models.circle: unknown key curvature; valid keys: num_rows"),
    ("models/Bad Id", {"kind": "Circle"}, "models: 'Bad Id' is not a valid id"),
    (
        "models/tempered-banana-2d/tempered_rows",
        100_001,
        "models.tempered-banana-2d.tempered_rows: must be at most num_rows = 100000, not 100001",
    ),
    ("models/flat-banana-2d/true_position", [0, 3, 0], "at most dimension = 2 entries, not 3"),
    ("models/correlated-gauss-2d/covariance", [[1, 2], [2, 1]], "positive definite 2 x 2 matrix"),
    (
        "algorithms/dp-barker/settings/flat-banana-2d/batch_size",
        15,
        "more than 15 rows, not 15",
    ),
    (
        "algorithms/dp-barker/accountant",
        "gaussian",
        "not a BarkerMechanism; valid values: barker-rdp, certified",
    ),
    (
        "algorithms/minibatch-dp-penalty/settings/flat-banana-2d/sensitivity",
        "loose",
        "sensitivity: unknown value 'loose'; valid values: published, exact",
    ),
    ("runs/4/iterations", ..., "runs[4]: needs one of the keys epsilons, iterations"),
    ("runs/4/epsilons", [1], "runs[4]: needs one of the keys epsilons, iterations"),
    ("runs/4/vary", {}, "runs[4].vary: must be a map of length >= 1"),
    ("runs/4/vary/clip_bound", [1, 0], "clip_bound-0.clip_bound: must be a number > 0.0, not 0"),
    ("runs/4/vary", {"iterations": [5]}, "runs[4].vary.iterations: is a column of the tables"),
    (
        "runs/4",
        {"models": ["circle"], "algorithms": ["start"], "epsilons": [1]},
        "runs[4].epsilons: start is not private, so it has no epsilon; give iterations",
    ),
    (
        "runs/4/models",
        ["circle"],
        "algorithms.rwmh.settings: no settings for model circle, which runs; there are settings",
    ),
    ("accounting_curves/epsilons/from", 6, "accounting_curves.epsilons: from must be less than"),
    ("accounting_curves/model", "circle", "minibatch-dp-penalty has no settings for model circle"),
    (
        "audit",
        AUDIT | {"seeds": 1},
        "audit: unknown key seeds; valid keys: runs, delta, confidence, cases",
    ),
    ("audit", AUDIT | {"runs": 99}, "audit.runs: must be a whole number >= 100, not 99"),
    (
        "tuning/models",
        ["circle"],
        "algorithms.minibatch-dp-penalty-certified.settings: no settings for a model of "
        "tuning.models, which are: circle",
    ),
    (
        "tuning/factors",
        {"clip_bound": 2},
        "tuning.factors: names no setting of dp-barker-certified on flat-banana-2d, which has: "
        "batch_size, proposal_scale",
    ),
    (
        "colours",
        {"dp-hmc": "#12345"},
        "colours.dp-hmc: '#12345' is not a colour; a colour is #rrggbb or",
    ),
    (
        "colours",
        {"dp-hmc": "dp-hcm"},
        "colours.dp-hmc: unknown algorithm dp-hcm; valid algorithms: ",
    ),
    ("colours", {"dp-hcm": "#123456"}, "colours: unknown algorithm dp-hcm; valid algorithms: "),
    (
        "notebooks/comparison/models",
        [""],
        "notebooks.comparison.models: unknown model ''; valid models: ",
    ),
    ("bad\nkey", 1, r"config: unknown key 'bad\nkey'; valid keys: study"),
    ("runs/0/epsilons", [1e308], "runs[0].epsilons[0]: must be a number <= 100"),
    (f"{PENALTY}/proposal_scale", [1, 1e10], "proposal_scale[1]: must be between 1e-12 and 1e+09"),
    (
        "models/correlated-gauss-2d/covariance",
        [[1, 0], [0, 1e-320]],
        "covariance[1][1]: must be between",
    ),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_configuration_gets_one_line_that_names_the_key(config, path, value, message):
    change(path, value)(config)
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        StudyConfig(config, ROOT)
    assert "\n" not in str(error.value)


def test_a_small_study_leaves_out_what_it_does_not_have(config):
    for section in ("tuning", "accounting_curves", "claims"):
        del config[section]
    for name in ("accounting", "clipping"):
        del config["notebooks"][name]
    config["models"] = {"circle": config["models"]["circle"]}
    config["runs"] = config["runs"][1:2]
    names = config["runs"][0]["algorithms"]
    config["algorithms"] = {name: config["algorithms"][name] for name in names}
    for entry in config["algorithms"].values():
        entry["settings"] = {"circle": entry["settings"]["circle"]}
    config["notebooks"] = {name: {} for name in ("summary",)} | {
        "circle": {"models": ["circle"]},
        "gradient-clipping": {"algorithms": ["dp-hmc"]},
    }
    study = StudyConfig(config, ROOT)
    assert list(study.notebooks) == ["summary", "circle", "gradient-clipping"]
    assert "clipping-effects" not in study.all_tables and "accounting" not in study.all_tables
    assert list(study.describe_study().models) == ["circle"]


def test_an_audit_is_run_where_the_configuration_asks_for_it(config):
    study = StudyConfig(config, ROOT)
    assert study.audited_cases == [] and "audit" not in study.all_tables
    study = StudyConfig(config | {"audit": AUDIT}, ROOT)
    assert study.audited_cases == ["dp-hmc-1"] and "audit" in study.all_tables
    told = {key: AUDIT[key] for key in ("runs", "delta", "confidence")}
    assert study.audit_case("dp-hmc-1") == study_specs.AuditCase(
        study_seed=2021, case="dp-hmc-1", **told
    )


def test_a_pair_without_settings_is_not_searched(config):
    models, names = ["flat-banana-2d", "circle"], ["dp-penalty", "dp-hmc"]
    config["tuning"] |= {"models": models, "algorithms": names}
    config["runs"] = config["runs"][:1]
    del config["algorithms"]["dp-hmc"]["settings"]["circle"]
    assert ("circle", "dp-hmc") not in StudyConfig(config, ROOT).searches
    assert len(StudyConfig(config, ROOT).searches) == 3
    del config["algorithms"]["dp-penalty"]["settings"]["circle"]
    with pytest.raises(ConfigError, match=r"no algorithm of tuning\.algorithms has .* for circle"):
        StudyConfig(config, ROOT)
    config["tuning"] |= {"models": ["circle"], "algorithms": ["dp-hmc"]}
    with pytest.raises(ConfigError, match=r"dp-hmc\.settings: no settings for a model of tuning"):
        StudyConfig(config, ROOT)


def test_a_pair_without_settings_is_named(config):
    del config["algorithms"]["dp-hmc"]["settings"]["circle"]
    config["runs"][1]["algorithms"] = ["dp-penalty", "dp-hmc"]
    with pytest.raises(ConfigError, match=r"dp-hmc\.settings: no settings for model circle"):
        StudyConfig(config, ROOT)


def test_the_same_cell_in_two_runs_runs_once(config):
    config["runs"].append(copy.deepcopy(config["runs"][1]))
    config["runs"][1]["epsilons"].append(1.0)
    assert len(StudyConfig(config, ROOT).cells) == 219 + 32 + 45


@pytest.mark.parametrize(
    ("value", "text"),
    [(4, "4"), (4.0, "4"), (0.75, "0.75"), (1e-7, "1e-07"), (2_000_000, "2000000"), ("x", "x")],
)
def test_values_in_paths(value, text):
    assert text_of(value) == text


def test_one_name_of_a_cell_for_two_things_is_refused(config):
    again = copy.deepcopy(config["runs"][4])
    config["runs"].append(again | {"start_sd": 0.1})
    with pytest.raises(ConfigError, match="rwmh on flat-banana-2d runs twice as iter"):
        StudyConfig(config, ROOT)


def test_null_removes_and_maps_are_merged(config):
    changes = {
        "accounting_curves": None,
        "notebooks": {"accounting": None},
        "models": {"circle": {"num_rows": 9}},
    }
    study = StudyConfig(merged(config, changes), ROOT)
    assert not study.accounting_curves and "accounting" not in study.notebooks
    assert study.models["circle"].model.num_rows == 9
    assert study.models["circle"].model.sharpness == config["models"]["circle"]["sharpness"]
    assert config["models"]["circle"]["num_rows"] == 100_000 and "accounting_curves" in config
    assert merged({"a": 1}, {"a": {"b": None, "c": 2}}) == {"a": {"c": 2}}


def test_stand_ins_double_the_cells_in_which_both_run(quick):
    settings = {"step_size": 2e-3, "diffusion": 80, "batch_size": 200, "gradient_clip_bound": 1}
    further = ["dp-sgnht", "dp-sgnht-certified"]
    for name in further:
        quick["algorithms"][name]["settings"] = {"flat-banana-2d": settings}
    quick["runs"].append({"models": ["flat-banana-2d"], "algorithms": further, "epsilons": [4]})
    study = StudyConfig(quick, ROOT)
    assert study.stand_ins["minibatch-dp-penalty-certified"] == "minibatch-dp-penalty"
    assert len(study.replaced_cells) == 1 + 1
    assert {cell.run for cell, _ in study.replaced_cells} == {"epsilon-6", "epsilon-4"}
    cell, _ = study.replaced_cells[0]
    assert study.certification(cell).accountant == "certified"
    assert study.certification(cell).sampler == study.chain(cell, 0).sampler
    alone = ["minibatch-dp-penalty-certified"]
    quick["runs"] = [{"models": ["flat-banana-2d"], "algorithms": alone, "epsilons": [4]}]
    quick["notebooks"] = {}
    del quick["intervals"]
    assert not StudyConfig(quick, ROOT).replaced_cells


# -- Files ----------------------------------------------------------------------------------------


def test_a_study_stands_on_the_library_and_on_what_it_extends(tmp_path):
    """Not on config.yaml, unless it says so; null takes out what it has from elsewhere."""
    runs = [{"models": ["circle"], "algorithms": ["dp-penalty"], "epsilons": [1]}]
    (tmp_path / "one").mkdir()
    alone = {"study": "alone", "runs": runs, "tuning": {"factors": {"clip_bound": None}}}
    (tmp_path / "one/study.yaml").write_text(yaml.safe_dump(alone))
    study = load_study(ROOT, [tmp_path / "one/study.yaml"])
    assert not study.claims and not study.notebooks and not study.searches
    assert len(study.seeds) == 20 and "clip_bound" not in study.config.tuning.factors
    (tmp_path / "two.yaml").write_text("extends: one/study.yaml\nstudy: two\nseeds: 3\n")
    study = load_study(ROOT, [tmp_path / "two.yaml"], {"delta_times_n": 0.2})
    assert (study.name, len(study.seeds), len(study.cells)) == ("two", 3, 1)
    assert study.config.delta_times_n == 0.2
    (tmp_path / "one/study.yaml").write_text("extends: ../two.yaml\n")
    with pytest.raises(ConfigError, match=r"extends: .* extends this file"):
        load_study(ROOT, [tmp_path / "two.yaml"])
    (tmp_path / "two.yaml").write_text("extends: nowhere.yaml\n")
    with pytest.raises(ConfigError, match=r"nowhere.yaml: cannot be read: No such file"):
        load_study(ROOT, [tmp_path / "two.yaml"])


@pytest.mark.parametrize("file", sorted(ROOT.glob("studies/*/search*.yaml")), ids=lambda f: f.name)
def test_what_tune_is_given_is_a_study(file):
    """No run of a study reads these files, so nothing else would see that one is wrong."""
    study = load_study(ROOT, [file])
    assert study.searches and {model for model, _, _ in study.searches} <= set(study.models)


def test_an_algorithm_has_the_same_colour_in_all_studies():
    files = [ROOT / "config.yaml", *ROOT.glob("studies/*/study.yaml")]
    found = {}
    for file in files:
        for name, told in load_study(ROOT, [file]).describe_study().algorithms.items():
            found.setdefault(name, set()).add(told.colour)
    assert len(found) > 20
    assert {name: colours for name, colours in found.items() if len(colours) > 1} == {}
    assert found["dp-sgld-exact"] == found["dp-sgld"]


def test_a_title_is_of_a_study_and_not_of_what_extends_it(config, tmp_path):
    study = StudyConfig(config, ROOT)
    assert study.title == "Chapter 6 of the thesis"
    told = study.describe_study()
    assert told.title == study.title
    assert told.notebooks["summary"].title.startswith("Summary: Chapter 6 of the thesis")
    assert told.related["dp-hmc-paper"].title == "The paper on DP HMC"
    own = tmp_path / "own.yaml"
    own.write_text(f"extends: {ROOT / 'config.yaml'}\nstudy: mine\n")
    assert load_study(ROOT, [own]).title == "mine"
    own.write_text(f"extends: {ROOT / 'config.yaml'}\nseeds: 21\n")
    assert load_study(ROOT, [own]).title == study.title


def test_numbers_are_numbers_as_people_write_them(tmp_path):
    text = "a: [1e4, 8e-3, -1E+2, .5e1, 2.0e3, 1_000, 1.0e-5, e4, 1e, x1e4]\n"
    (tmp_path / "a.yaml").write_text(text)
    values = read_config(tmp_path / "a.yaml")["a"]
    assert values == [10_000, 0.008, -100, 5, 2000, 1000, 1e-5, "e4", "1e", "x1e4"]
    assert [type(value) for value in values[:2]] == [int, float]


ACCOUNTANT = """
from dpmcmc.accounting.gaussian import check, delta
"""


def test_an_accountant_of_ones_own_lies_beside_the_study(tmp_path):
    """In paths and tables it has the name of its file, with hyphens."""
    (tmp_path / "my_own.py").write_text(ACCOUNTANT)
    (tmp_path / "none.py").write_text("delta = 1")
    file = tmp_path / "study.yaml"

    def study(accountant):
        changes = {
            "study": "own",
            "runs": [{"models": ["circle"], "algorithms": ["dp-penalty"], "epsilons": [1]}],
            "algorithms": {"dp-penalty": {"accountant": accountant}},
            "accounting_curves": {
                "model": "circle",
                "epsilons": {"from": 1, "to": 2, "count": 2},
                "curves": {"dp-penalty": ["zcdp", accountant]},
            },
        }
        file.write_text(yaml.safe_dump(changes))
        return load_study(ROOT, [file])

    found = study("my_own.py")
    (cell,) = found.cells
    assert found.budget(cell).accountant.endswith("/my_own.py")
    assert found.describe_study().algorithms["dp-penalty"].accountant == "my-own"
    assert list(found.accounting_curves) == [("dp-penalty", "zcdp"), ("dp-penalty", "my-own")]
    budgets.budget(found.budget(cell), tmp_path / "own.json")
    budgets.budget(study("gaussian").budget(cell), tmp_path / "package.json")
    own, package = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("own", "package"))
    assert own == package | {"accountant": "my-own"}
    for wrong, message in [
        ("yours.py", "dp-penalty.accountant: no file yours.py in"),
        ("none.py", "none.py has no check, so it is no accountant"),
    ]:
        with pytest.raises(ConfigError, match=message):
            study(wrong)


# -- Preparations ----------------------------------------------------------------------------------


def with_free_steps(quick, **changes):
    """The quick study with other keys in its entry of noisy statistics."""
    for entry in quick["runs"]:
        if "noisy-statistics" in entry["algorithms"]:
            entry.update(changes)
            for key in [key for key, value in changes.items() if value is None]:
                del entry[key]
    return quick


def test_runs_with_free_steps_say_epsilon_and_iterations(quick):
    study = StudyConfig(quick, ROOT)
    cell = Cell("circle", "noisy-statistics", "epsilon-4")
    assert study.runs[cell][:2] == (4.0, 500)
    assert study.budget(cell).iterations == 500
    with pytest.raises(ConfigError, match="missing key iterations: the steps of noisy-statistics"):
        StudyConfig(with_free_steps(quick, iterations=None), ROOT)


def test_others_say_one_of_them(quick):
    quick["runs"][0]["iterations"] = [10]
    with pytest.raises(ConfigError, match="the steps of dp-penalty are not free, so epsilon says"):
        StudyConfig(quick, ROOT)


def test_a_private_start_is_part_of_an_algorithm(quick):
    study = StudyConfig(quick, ROOT)
    cell = Cell("flat-banana-2d", "dp-penalty-started", "epsilon-4")
    sampler = study.chain(cell, 0).sampler
    assert sampler["class"].endswith(":PrivateStart")
    assert sampler["chain"]["move"]["proposal_scale"] == 1
    assert sampler["start"] == {
        "class": "dpmcmc.samplers.noisy_statistics:NoisyStatistics",
        "shares": [0.2, 0.8],
    }
    assert sampler["start_share"] == 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": "DPPenalty"}, "start: must prepare and have free steps"),
        ({"sampler": "HMC"}, "start: goes with a private chain, which HMC is not"),
    ],
)
def test_what_is_no_start_is_refused(quick, changes, message):
    entry = quick["algorithms"]["dp-penalty-started"]
    entry.update(changes)
    if "sampler" in changes:
        del entry["move"]
    with pytest.raises(ConfigError, match=message):
        StudyConfig(quick, ROOT)


def test_settings_of_a_start_are_checked(quick):
    settings = quick["algorithms"]["dp-penalty-started"]["settings"]["flat-banana-2d"]
    settings["start"]["shares"] = [0.2, -0.8]
    with pytest.raises(ConfigError, match=r"flat-banana-2d.start.shares.*: must be"):
        StudyConfig(quick, ROOT)
    settings["start"]["shares"] = [0.2, 0.7]
    with pytest.raises(ConfigError, match=r"flat-banana-2d.shares: must add up to 1, not to 0.9"):
        StudyConfig(quick, ROOT)


def test_the_budget_says_the_noise_of_a_preparation(quick, tmp_path):
    study, output = StudyConfig(quick, ROOT), tmp_path / "budget.json"
    for algorithm in ("noisy-statistics", "dp-penalty-started"):
        spec = study.budget(Cell("flat-banana-2d", algorithm, "epsilon-4"))
        budgets.budget(spec, output)
        found = json.loads(output.read_text())
        assert found["noise_scale"] == pytest.approx(1.1, rel=0.1)
        assert 3.9 < found["spent_epsilon"] <= 4
    given = study.budget(Cell("flat-banana-2d", "noisy-statistics", "epsilon-4"))
    given.sampler["noise_scale"] = 0.5
    with pytest.raises(JobError, match="costs more than epsilon 4; leave out its noise_scale"):
        budgets.budget(given, output)


def test_a_name_on_pages_stands_for_one_accounting():
    """Charged what it costs, or as published: nobody can tell from a name that is used for both."""
    kinds = {}
    for file in [ROOT / "config.yaml", *ROOT.glob("studies/*/study.yaml")]:
        for algorithm in load_study(ROOT, [file]).describe_study().algorithms.values():
            sound = algorithm.accountant in ("gaussian", "certified", None)
            kinds.setdefault(algorithm.label, set()).add(sound)
            assert sound or "published)" in algorithm.label
    assert len(kinds) > 20
    assert not [label for label, found in kinds.items() if len(found) > 1]


class NoKeys(msgspec.Struct, forbid_unknown_fields=True):
    """What takes no settings."""


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ({"a": 1}, NoKeys, r"x: unknown key a; valid keys: none$"),
        ([0, True], list[float], r"x\[1\]: must be .*: quote names, recode words of data\)$"),
    ],
)
def test_a_message_names_what_is_valid(value, kind, message):
    with pytest.raises(ConfigError, match=message):
        converted(value, kind, "x")
