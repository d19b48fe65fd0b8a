"""The page on radon: its table, widths and verdicts, on a study of a few made-up chains."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kept_radon
from dpmcmc.models.softmax import Softmax
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription
from radon import COLUMNS, MARGIN, PRIOR, Radon, Widths, claims, with_error

SETTINGS = {"means": [0, 0], "sds": [1, 1], "classes": [1, 9, 0]}
PRINTED = {"dp-sghmc": [[0.73, 0.003], [0.726, 0.006]], "hmc": [[0.731, 0.004]]}
DEVIATIONS = {"quiet": "1.68", "friction": "0.87", "sghmc": "0.65"}
NORMAL, UNIFORM = {"prior_variance": 10}, {"prior_bound": 100, "has_baseline": True}
MODELS = {"posterior": NORMAL, "tempered": NORMAL, "tempered-uniform": UNIFORM, "loss": NORMAL}
CELLS = {  # accuracy and its spread, MMD
    ("loss", "hmc"): (0.70, 0.001, 0.1),
    ("posterior", "hmc"): (0.73, 0.001, 0.1),
    ("tempered", "sghmc"): (0.71, 0.001, 0.1),
    ("tempered", "dp-sghmc"): (0.71, 0.001, 0.1),
    ("tempered", "naive"): (0.60, 0.100, 0.9),
    ("tempered-uniform", "sghmc"): (0.70, 0.001, 0.1),
    ("tempered-uniform", "dp-sghmc"): (0.73, 0.001, 0.1),
    ("tempered", "quiet"): (0.70, 0.001, 0.1),
}
STEPS = np.linspace(-1, 1, 15)


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(1)
    models = {name: Softmax(60, **SETTINGS, **prior) for name, prior in MODELS.items()}
    rows = models["posterior"].simulate(rng, rng.standard_normal(9))
    rows[:, 0] = np.arange(60) % 3  # each class is there
    chains = pd.DataFrame(
        [
            {"model": model, "algorithm": algorithm, "sample": 14 - seed, "acceptance_rate": 0.8}
            | {"accuracy": mean + spread * step, "mmd": mmd + 0.01 * step, "iterations": 10}
            for (model, algorithm), (mean, spread, mmd) in CELLS.items()
            for seed, step in enumerate(STEPS)
        ]
    ).assign(friction=np.nan, epsilon=np.nan)
    other = chains[chains["algorithm"] == "quiet"].assign(friction=0.03)
    budgets = {"dp-sghmc": 1.5, "dp-sghmc-certified": 9.0, "quiet": 12.34}
    tables = {
        "chains": pd.concat([chains, other], ignore_index=True),
        "baselines": pd.DataFrame({"model": [*MODELS] * 2, "mmd": [0.01] * 4 + [0.02] * 4}),
        "budgets": pd.DataFrame(
            {"model": "tempered", "algorithm": [*budgets], "spent_epsilon": [*budgets.values()]}
        ).assign(epsilon=np.nan),
    }
    draws = rng.standard_normal((400, 9))
    references = {name: draws if name != "loss" else 2 * draws for name in MODELS}
    references["tempered-uniform"] = draws[:, :6]
    sds = references["loss"].std(axis=0, ddof=1)
    kept = {
        f"{name}/sds": np.array([sds + off + 0.001 * step for step in STEPS])
        for name, off in (("quiet", 0.8), ("friction", 0.3), ("sghmc", 0.2))
    }
    kept |= {f"{name}/draws": draws[:50, :3] for name in ("quiet", "friction", "sghmc")}
    names = [f"theta[{code}]" for _ in range(3) for code in SETTINGS["classes"]]
    return SimpleNamespace(
        seed=1,
        num_samples=15,
        models={name: ModelDescription(parameter_names=names) for name in MODELS},
        algorithms={
            "quiet": AlgorithmDescription(settings={"tempered": {"friction": 0.15}}),
            "dp-sghmc-certified": AlgorithmDescription(variant_of="dp-sghmc"),
        },
        table=tables.get,
        target=lambda name: SimpleNamespace(data=rows[:40], model=models[name]),
        reference=references.get,
        held_out=lambda name: rows[40:],
        algorithm_label=str.upper,
        kept=lambda name, compute: kept,
    )


@pytest.fixture(scope="module")
def radon(study):
    powers, algorithms = ["tempered", "tempered-uniform"], ("hmc", "sghmc", ["naive"], ["dp-sghmc"])
    return Radon(study, ["posterior"], powers, "loss", *algorithms)


@pytest.fixture(scope="module")
def widths(radon):
    return Widths(radon, "quiet", "noisy", friction=0.03, covariate=1)


def test_the_table_has_each_cell_beside_what_is_printed(radon):
    table = radon.table_6_2(PRINTED, [0.731, 0.001], {"DP SGD": [0.711, 0.004]}, not_recorded=9)
    assert all(tuple(row) == COLUMNS for row in table)
    rows = {(row["sampler"], row["power"], row["prior"]): row for row in table}
    assert len(rows) == len(table) == 4 + 7 + 1
    private = rows["DP-SGHMC", "b / n", "uniform"]
    assert private["accuracy"] == f"0.7300 ± {2 * STEPS.std(ddof=1) * 0.001 / 15**0.5:.4f}"
    assert (private["thesis"], private["sd, thesis"]) == ("0.726", "0.006")
    assert rows["DP-SGHMC", "b / n", "normal"]["ε"] == "1.50 / 9.00"
    assert rows["HMC", "1", "normal"]["thesis"] is None and private["acceptance"] is None
    assert rows["HMC", "1 / n", "normal"]["acceptance"] == "80%"
    assert rows["HMC", "1 / n", "normal"]["exact"] == "0.010 to 0.020"
    assert rows["The most frequent class", "–", "–"]["accuracy"] == f"{radon.of_majority:.4f}"
    assert radon.num_not_recorded(9) == 20 and len(radon.houses) == 60


def test_chains_of_a_cell_are_in_no_sweep_and_in_the_order_of_seeds(radon):
    cell = radon.cell("tempered", "quiet")
    assert cell["sample"].tolist() == [*range(15)] and cell["friction"].isna().all()


def test_a_sample_twice_as_wide_as_the_posterior_is_said_to_be(radon):
    far = radon.distances()
    assert [*far] == [*radon.models, PRIOR]
    assert np.isnan(far["posterior"]["MMD to the posterior"])
    ratios = {name: float(row["sd ratio"]) for name, row in far.items()}
    assert (ratios["posterior"], ratios["loss"]) == (1, 2)
    assert ratios[PRIOR] == pytest.approx(10**0.5, abs=0.4)


def test_differences_of_widths_are_means_over_the_components(radon, widths):
    assert np.median(widths.off("quiet", "loss")) == pytest.approx(0.8)
    sds = radon.references["tempered"].std(axis=0, ddof=1)
    assert widths.between == pytest.approx(sds.mean())
    rows = widths.table(DEVIATIONS)
    samples = ["SGHMC, C = 0.15", "SGHMC, C = 0.03", "SGHMC without privacy"]
    assert [row["sample"] for row in rows] == [*samples, "Power b / n, exactly"]
    assert rows[0]["from power 1 / n"].startswith("0.80 [")
    (less,) = widths.less_friction("less", 0.5).values()
    assert less.value == pytest.approx(0.3 - 0.5 * 0.8)


def test_panels_say_what_private_runs_cost(widths):
    assert widths.names == ["Floor 1", "Floor 9", "Floor 0"]
    panels = widths.panels("quiet", "friction", with_costs=True)
    assert [*panels][2:] == ["SGHMC, C = 0.15, ε = 12.3", "SGHMC, C = 0.03"]
    assert all(sample.shape[1] == 3 for sample in panels.values())


def test_verdicts_follow_from_the_chains(radon, widths):
    rows = claims(radon, widths, DEVIATIONS)
    assert [row["verdict"] for row in rows] == [
        "not confirmed",  # 0.01 above HMC at one power, but 0.02 below it at the other
        "confirmed",  # the naive sampler's accuracy spreads by 0.1
        "confirmed",  # and its MMD is 0.8 higher
        "confirmed",  # private SGHMC is as accurate as SGHMC, with the uniform prior more so
        "confirmed",  # 0.3 is less than 0.8
        "confirmed",  # and than 0.4
        "not confirmed",  # private SGHMC is more accurate by 0.02 with the uniform prior
    ]
    assert rows[0]["measured"].startswith("normal prior, HMC at power 1 / n: +0.010 [")
    assert MARGIN == 0.01


def test_without_the_other_run_its_claims_are_open(radon, widths):
    alone = Widths(radon, "absent", "noisy", friction=0.5, covariate=1)
    assert alone.less_friction("less", 1) == {} and [*alone.runs] == ["sghmc"]


def test_a_mean_has_two_standard_errors():
    assert with_error(np.array([0.6, 0.8])) == "0.7000 ± 0.2000"
    assert with_error(np.array([0.6])) == "0.6000 ± nan"


def test_what_is_kept_of_chains_are_widths_of_all_and_draws_of_the_first(monkeypatch):
    draws = np.random.default_rng(1).standard_normal((2, 1, 20, 4))
    monkeypatch.setattr(kept_radon, "run_of", lambda study, row: "run")
    monkeypatch.setattr(kept_radon, "sample_draws", lambda *of: draws[of[-1]])
    runs = {"quiet": pd.DataFrame({"algorithm": "a", "sample": [1, 0]})}
    kept = kept_radon.chain_samples(None, "m", runs, slice(1, 3))
    np.testing.assert_array_equal(kept["quiet/sds"], draws[[1, 0], 0].std(axis=1, ddof=1))
    np.testing.assert_array_equal(kept["quiet/draws"], draws[1, 0, :, 1:3].astype(np.float32))
