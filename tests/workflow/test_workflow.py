"""The real workflow, in a copy of the tree: the quick study runs every rule."""

import json
import shutil
import sys
from pathlib import Path

import browser
import numpy as np
import pandas as pd
import PIL.Image
import pytest
import yaml
from conftest import ROOT
from running import QUICK, TINY, jobs, run, snakemake

from dpmcmc import registry
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.evaluation import metrics
from dpmcmc.evaluation.audit import audit as find_bounds
from dpmcmc.evaluation.audit import cases
from dpmcmc.likelihoods.target import Target
from dpmcmc.random_streams import chain_streams, generator, seed_sequence, start_point
from dpmcmc.samplers.chain import run_chain
from dpmcmc_studies.jobs.samplers import read_precomputed


@pytest.fixture(scope="module")
def results(tree):
    return tree / "results/quick"


def test_lint_finds_nothing():
    result = snakemake(ROOT, "--lint")
    assert "Congratulations" in result.stdout + result.stderr


@pytest.mark.parametrize(
    "command",
    [("ruff", "check"), ("ruff", "format", "--check"), ("snakefmt", "--check", "--compact-diff")],
)
def test_code_is_formatted_and_clean(command):
    run(ROOT, Path(sys.executable).with_name(command[0]), *command[1:], ".")


def test_notebooks_are_committed_without_outputs():
    import nbformat

    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("studies/*/*.ipynb")]:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert any("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells)
        for cell in notebook.cells:
            assert not cell.get("outputs") and not cell.get("execution_count")


def test_a_dry_run_of_the_template_plans_a_job_for_every_chain(fresh):
    template = jobs(fresh, "--configfile", "studies/template/study.yaml")
    assert template["chain"] == 80 and sum(template.values()) < 100


@pytest.mark.torture
def test_a_dry_run_of_the_full_study_plans_a_job_for_every_chain(fresh):
    counts = jobs(fresh)
    assert counts["chain"] == 296 * 20 and counts["budget"] == 296
    assert counts["accounting_curve"] == 7 and counts["precompute"] == 1
    samples = ("dataset", "reference", "baselines")
    assert [counts[rule] for rule in samples] == [9, 9, 9]
    renderings = [rule for rule in counts if rule.startswith("notebook_")]
    notebooks = yaml.safe_load((ROOT / "config.yaml").read_text())["notebooks"]
    assert len(renderings) == len(notebooks)


def read(results, name):
    return pd.read_csv(results / f"tables/{name}.csv")


def test_the_table_of_chains_has_a_row_for_every_chain(results):
    chains = read(results, "chains")
    columns = (
        "model algorithm epsilon delta sample iterations acceptance_rate clip_fraction "
        "gradient_clip_fraction mmd mean_error covariance_error"
    )
    assert set(columns.split()) <= set(chains.columns)
    compared = 2 * 3 + 3 + 3 + 2 * 3 + 2 + 1 + 2 + 1 + 1
    swept, by_iterations = 2 * 2, 3
    assert len(chains) == (compared + swept + by_iterations) * 2
    keys = ["model", "algorithm", "epsilon", "iterations", "clip_bound", "sample"]
    assert not chains.duplicated(keys).any()
    assert chains["clip_bound"].notna().sum() == swept * 2
    is_free = chains["algorithm"].isin(["rwmh", "exact-posterior", "start"])
    assert (chains["changed_decisions"].notna() == is_free).all()
    assert (chains["delta"].isna() == is_free).all()
    assert chains["epsilon"].isna().sum() == (swept + by_iterations) * 2
    chains = chains[chains["epsilon"].notna()].drop(columns=["clip_bound", "changed_decisions"])
    assert (chains["delta"] == 0.1 / 20_000).all()
    ran = chains[chains["iterations"] > 0]
    assert (ran["iterations"] >= 15).all()  # short chains, but such that they mean something
    fractions = ["clip_fraction", "gradient_clip_fraction"]
    assert ran.drop(columns=fractions).notna().all(axis=None)
    has_no_ratios = ran["algorithm"].str.startswith("dp-sg")
    has_gradients = has_no_ratios | (ran["algorithm"] == "dp-hmc")
    assert (ran["gradient_clip_fraction"].notna() == has_gradients).all()
    assert (ran["clip_fraction"].isna() == has_no_ratios).all()
    assert ran["acceptance_rate"].between(0, 1).all()
    assert ran["clip_fraction"].dropna().between(0, 1).all()
    assert (ran["kept_draws"] == ran["iterations"] - (ran["iterations"] - 1) // 2).all()
    assert (ran["mmd_draws"] == ran["kept_draws"].clip(upper=1000)).all()
    assert (ran["mmd_draws"] < ran["kept_draws"]).any()


def test_a_run_by_iterations_is_priced_and_bounds_the_metrics(results):
    budgets, chains = read(results, "budgets"), read(results, "chains")
    budgets = budgets[budgets["epsilon"].isna()].set_index("algorithm")
    private = budgets.loc["dp-penalty"]
    assert private["iterations"] == 1000 and private["accountant"] == "gaussian"
    assert 11.8 < private["spent_epsilon"] < 11.9  # of 1000 iterations with mu = 1 / (0.1 sqrt(n))
    assert private["delta"] <= private["target_delta"]
    assert budgets.loc[["start", "exact-posterior", "rwmh"], "spent_epsilon"].isna().all()
    of_model = chains[(chains["model"] == "flat-banana-2d") & chains["clip_bound"].isna()]
    mmd = of_model.groupby("algorithm")["mmd"].median()
    assert mmd["exact-posterior"] < 0.05 < mmd["dp-penalty"] < mmd["start"]


def test_a_budget_without_iterations_is_recorded_with_its_metrics_missing(results):
    chains = read(results, "chains")
    none = chains[chains["iterations"] == 0]
    assert list(none["algorithm"].unique()) == ["dp-hmc"] and len(none) == 2
    metrics = ["acceptance_rate", "clip_fraction", "mmd", "mean_error", "covariance_error"]
    assert none[metrics].isna().all(axis=None)


def test_the_other_tables_describe_the_same_study(results):
    chains = read(results, "chains")
    keys = ["model", "algorithm", "epsilon"]
    timings = read(results, "timings")
    parts = ["startup_seconds", "load_seconds", "sampling_seconds"]
    costs = ["cpu_seconds", "wall_seconds", "peak_rss_mb", *parts]
    assert list(timings.columns) == [*keys, "chains", *costs, "clip_bound", "run"]
    assert (timings[parts] >= 0).all(axis=None)
    assert (timings[parts].max(axis=1) <= timings["cpu_seconds"]).all()
    cells = (
        chains.groupby([*keys, "run"], sort=False, dropna=False).size().reset_index(name="chains")
    )
    pd.testing.assert_frame_equal(timings[cells.columns], cells)
    chains = chains[chains["epsilon"].notna()]
    assert (timings["cpu_seconds"] > 0).all() and (timings["wall_seconds"] > 0).all()
    assert (timings["peak_rss_mb"] > 20).all()

    baselines = read(results, "baselines")
    assert (baselines.groupby("model").size() == 10).all() and baselines["model"].nunique() == 5
    assert (baselines["mmd"] < 0.1).all()  # exact samples of 1000 are close to one another

    budgets = read(results, "budgets")
    budgets = budgets[budgets["epsilon"].notna()]
    both = chains.merge(budgets, on=keys, suffixes=("", "_budget"))
    assert len(both) == len(chains)
    assert (both["iterations"] == both["iterations_budget"]).all()
    assert (budgets["delta"] <= budgets["target_delta"]).all()

    curves = read(results, "accounting")
    assert (curves.groupby(["algorithm", "accountant"]).size() == 3).all()
    np.testing.assert_allclose(curves["epsilon"].unique(), np.linspace(0.5, 6, 3))
    at_six = curves[np.isclose(curves["epsilon"], 6)].drop(columns="epsilon")
    same = at_six.merge(budgets.query("epsilon == 6"), on=["model", "algorithm", "accountant"])
    assert len(same) == 4 and (same["iterations_x"] == same["iterations_y"]).all()

    models = read(results, "models").set_index("model")
    assert list(models["d"]) == [2, 10, 30, 2, 10]
    assert models.loc["tempered-banana-10d", "n0"] == 200

    summary = read(results, "summary")
    cell = chains.groupby(keys, sort=False)
    np.testing.assert_allclose(summary["mmd_median"], cell["mmd"].median())
    np.testing.assert_allclose(summary["clip_fraction_q75"], cell["clip_fraction"].quantile(0.75))


def test_the_audit_has_a_row_for_every_case_below_the_accountant(results):
    audit = read(results, "audit")
    section = yaml.safe_load((ROOT / "studies/quick/study.yaml").read_text())["audit"]
    named = section.pop("cases")
    assert list(audit["case"]) == named and len(named) > 3
    assert list(audit["sampler"]) == [type(cases()[name].sampler).__name__ for name in named]
    assert all((audit[key] == value).all() for key, value in section.items())
    bounds = audit[["epsilon_by_values", "epsilon_by_positions"]]
    assert (bounds >= 0).all(axis=None) and (bounds["epsilon_by_values"] > 0).any()
    assert bounds.le(audit["epsilon_at_most"], axis=0).all(axis=None)
    gaussian = audit[audit["mu_at_most"].notna()]
    assert list(gaussian["case"]) == ["dp-penalty-1", "dp-hmc-1"]
    found = gaussian[["mu_by_values", "mu_by_positions"]]
    assert found.le(gaussian["mu_at_most"], axis=0).all(axis=None)
    assert (audit["noise_p_value"] > 0.001).all() and (
        audit["noise_variance"] - 1
    ).abs().max() < 0.2
    name, fitted = read_precomputed(results / "precomputed/Correction.json")
    assert name == "Correction"
    case = cases(correction=fitted)["dp-barker-4"]
    seed = seed_sequence(2021, "audit", "dp-barker-4").entropy
    again = [bound.epsilon for bound in find_bounds(case, seed, **section)[:2]]
    np.testing.assert_array_equal(bounds[audit["case"] == "dp-barker-4"], [again])


def test_intervals_have_a_row_for_every_cell_and_are_as_wide_as_the_posteriors(results):
    intervals = read(results, "intervals")
    assert intervals[["model", "algorithm", "epsilon"]].to_numpy().tolist() == [
        ["flat-banana-2d", "noisy-statistics", 4]
    ]
    (row,) = intervals.to_dict("records")
    assert row["data_sets"] == 20 and 0.9 < row["width_90"] < 1.1
    assert row["coverage_90"] >= 0.7 and 0 <= row["coverage_50"] <= row["coverage_90"]
    assert intervals.filter(regex=r"rank_\d").sum(axis=1).item() == pytest.approx(1)


def test_a_chain_from_a_private_start_spends_its_budget(results):
    budgets = read(results, "budgets").set_index("algorithm")
    row = budgets.loc["dp-penalty-started"]
    assert row["spent_epsilon"] == 4 and row["iterations"] == row["allowed_iterations"] > 50
    free = budgets.loc["noisy-statistics"]
    assert (free["iterations"] == 500).all() and free["allowed_iterations"].isna().all()
    assert free["spent_epsilon"].between(3.99, 4).all()


def test_a_chain_file_holds_the_draws_and_is_read_without_pickle(results):
    path = results / "chains/gauss-30d/dp-hmc/epsilon-4/seed-1.npz"
    chains = read(results, "chains").set_index(["model", "algorithm", "epsilon", "sample"])
    row = chains.loc["gauss-30d", "dp-hmc", 4, 1]
    with np.load(path, allow_pickle=False) as chain:
        assert chain["positions"].shape == (row["iterations"], 30)
        assert chain["is_accepted"].mean() == row["acceptance_rate"]
        moved = np.diff(np.vstack([chain["start"], chain["positions"]]), axis=0).any(axis=1)
        np.testing.assert_array_equal(moved, chain["is_accepted"])


@pytest.mark.parametrize(
    ("model", "algorithm", "epsilon"),
    [("tempered-banana-10d", "dp-hmc", "6"), ("circle", "dp-penalty-ocu-gwmh", "0.5")],
)
def test_a_row_of_the_table_follows_from_the_configuration(results, model, algorithm, epsilon):
    """A chain run again by hand, from the configuration and the package alone."""
    config = read_study(ROOT, [ROOT / "config.yaml"])[0]
    quick = yaml.safe_load((ROOT / "studies/quick/study.yaml").read_text())
    entry = dict(config["models"][model] | quick["models"][model])
    kind, _ = entry.pop("kind"), entry.pop("label")
    built = registry.load(registry.resolve("model", kind))(**entry)
    algorithm_entry = config["algorithms"][algorithm]
    settings = dict(algorithm_entry["settings"][model])
    if "move" in algorithm_entry:
        move = registry.load(registry.resolve("move", algorithm_entry["move"]))
        settings["move"] = move(settings.pop("proposal_scale"))
    sampler = registry.load(registry.resolve("sampler", algorithm_entry["sampler"]))(**settings)
    seed, iterations = (
        config["seed"],
        read(results, "budgets")
        .set_index(["model", "algorithm", "epsilon"])
        .loc[(model, algorithm, float(epsilon)), "iterations"],
    )
    target = Target(built, built.simulate(generator(seed, "data", model)))
    sample = built.sample_posterior(generator(seed, "reference", model), target.data, 1000)
    chain = run_chain(
        sampler,
        target,
        chain_streams(seed, model, algorithm, epsilon, 1),
        start_point(seed, model, built, sample, 1),
        iterations,
    )
    draws = chain.positions[-(iterations - (iterations - 1) // 2) :]
    rng = generator(seed, "bandwidth", model, algorithm, epsilon, 1)
    expected = metrics.compare(rng, draws, sample, built, 500, 1000) | {
        "acceptance_rate": chain.is_accepted.mean(),
        "clip_fraction": chain.clip_fraction.mean(),
        "gradient_clip_fraction": chain.gradient_clip_fraction.mean(),
    }
    row = read(results, "chains").query(
        "model == @model and algorithm == @algorithm and epsilon == @epsilon and sample == 1",
        local_dict={"model": model, "algorithm": algorithm, "epsilon": float(epsilon)},
    )
    for name, value in expected.items():
        np.testing.assert_allclose(row[name].item(), value, rtol=1e-12, err_msg=name)


def test_chains_with_one_seed_start_at_the_same_point(results):
    starts = {}
    for path in sorted((results / "chains/gauss-30d").rglob("seed-*.npz")):
        with np.load(path, allow_pickle=False) as chain:
            starts.setdefault(path.name, set()).add(tuple(chain["start"]))
    assert len(starts) == 2 and all(len(points) == 1 for points in starts.values())
    assert len(set.union(*starts.values())) == 2


def test_every_figure_is_drawn_as_pdf_and_png(results):
    drawn = sorted(results.glob("figures/*.png"))
    assert len(drawn) > 10
    for path in drawn:
        pdf = path.with_suffix(".pdf").read_bytes()
        assert pdf.startswith(b"%PDF") and len(pdf) > 10_000
        with PIL.Image.open(path) as png:
            assert png.format == "PNG" and png.width > 400 and png.height > 200
            assert png.width * png.height > 400 * 400  # a map of one row is wide and low
            assert len(png.convert("RGB").getcolors(10**7)) > 20


def test_notebooks_are_executed_and_rendered_without_anything_from_elsewhere(results):
    names = {*yaml.safe_load((ROOT / "config.yaml").read_text())["notebooks"], "intervals"}
    assert {path.stem for path in (results / "notebooks").glob("*.ipynb")} == names
    for path in (results / "notebooks").glob("*.ipynb"):
        assert '"image/png"' in path.read_text()
        page = (results / f"pages/{path.stem}.md").read_text()
        assert "](../figures/" in page and "base64" not in page and "StudyResults.load" not in page
    page = (results / "site/pages/comparison.html").read_text()
    assert "Figure 6.3" in page and "figure-6.3.png" in page


@browser.needed
def test_pages_open_in_a_browser_without_network_and_without_fault(results, tmp_path):
    pages = [results / "site/README.html", *sorted(results.glob("site/pages/*.html"))]
    assert len(pages) == 10 and browser.problems(pages, tmp_path) == []
    opened, _ = browser.show((results / "index.html").as_uri())
    assert "Comparison of the algorithms" in opened  # of the page that it leads to


def test_the_front_page_leads_to_everything(results):
    page = (results / "README.md").read_text()
    assert page.startswith("# The small study\n\n[![Summary: The small study](figures/")
    made = ["pages/*.md", "figures/*.png", "tables/*.csv"]
    for path in (path for pattern in made for path in results.glob(pattern)):
        assert f"]({path.relative_to(results).as_posix()})" in page
    provenance = json.loads((results / "provenance.json").read_text())
    assert provenance["date"] in page
    assert provenance["config"]["study"] == "quick" and provenance["config"]["seeds"] == 2
    assert "(provenance.json)" in page
    assert provenance["packages"]["numpy"] == np.__version__


def test_the_start_points_are_a_yardstick_as_the_chain_that_never_moves_is(results):
    """The same points, but for the random pairs of the bandwidth; and exact draws are near."""
    starts = read(results, "starts").set_index(["model", "sample"])["mmd"]
    assert len(starts) == 5 * 2
    chains = read(results, "chains")
    unmoved = chains[chains["algorithm"] == "start"].set_index(["model", "sample"])["mmd"]
    assert len(unmoved) == 2 and (unmoved / starts[unmoved.index]).between(0.9, 1.1).all()
    of = chains[chains["algorithm"].isin(["start", "exact-posterior"])]
    ess = of.groupby("algorithm")["ess"].median()
    assert ess["start"] == 1 and 200 < ess["exact-posterior"] < 1000
    mixing = read(results, "mixing").set_index("algorithm")["r_hat"]
    assert np.isinf(mixing["start"]) and mixing["exact-posterior"] < 1.02
    ranking = read(results, "ranking").dropna(subset="rank")
    assert (ranking["distance_closed"] < 1.05).all() and (ranking["times_exact"] > 0.5).all()


def test_a_sweep_compares_bounds_from_shared_starts(results):
    chains = read(results, "chains")
    clipping = chains[chains["clip_bound"].notna()]
    assert len(clipping) == 2 * 2 * 2
    loosest = clipping[clipping["clip_bound"] == 1000]
    assert (loosest["clip_fraction"] == 0).all() and (loosest["changed_decisions"] == 0).all()
    tight = clipping[clipping["clip_bound"] == 0.5]
    assert (tight["clip_fraction"] > 0).all() and (tight["changed_decisions"] > 0).all()
    effects = read(results, "clipping-effects")
    assert len(effects) == 2 * 2 and set(effects["dim"]) == {2, 10}
    for model in clipping["model"].unique():
        for seed in ("seed-0.npz", "seed-1.npz"):
            starts = set()
            for path in (results / "chains" / model).glob(f"*/*/clip_bound-*/{seed}"):
                with np.load(path, allow_pickle=False) as chain:
                    starts.add(tuple(chain["start"]))
            assert len(starts) == 1


def test_rendered_notebooks_show_no_warnings(results):
    import nbformat

    for path in (results / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            shown = [output.get("text") for output in cell.get("outputs", [])]
            assert "stderr" not in [output.get("name") for output in cell.get("outputs", [])], shown


def test_touching_nothing_reruns_nothing(tree):
    assert jobs(tree, *QUICK) == {}


PAGES = {
    f"notebook_{name.replace('-', '_')}"
    for name in (
        "summary",
        "models",
        "trajectory",
        "accounting",
        "clipping",
        "comparison",
        "circle",
        "gradient-clipping",
        "intervals",
    )
}


def test_a_changed_colour_renders_pages_alone_and_a_seed_adds_chains_alone(tree, tmp_path):
    """What concerns chains is asked of the table of jobs."""
    counts = jobs(tree, *QUICK, "--config", "seeds=3")
    assert counts["chain"] == 32
    assert not {"dataset", "reference", "baselines"} & counts.keys()
    changed = Path(shutil.copytree(tree, tmp_path / "tree"))
    path = changed / "src/dpmcmc_studies/reporting/figures/style.py"
    path.write_text(path.read_text() + "\nA_NEW_COLOUR = 1\n")
    assert set(jobs(changed, *QUICK)) == PAGES | {"site", "all"}


def test_a_failing_notebook_is_kept_as_a_log_and_leaves_no_result(tmp_path):
    import nbformat

    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("1 / 0")], metadata={"kernelspec": kernel}
    )
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    command = "--spec {} --notebook bad.ipynb --executed o.ipynb --page o.md --failed logs/f.ipynb"
    result = run(
        tmp_path, sys.executable, "-m", "dpmcmc_studies", "notebook", *command.split(), check=False
    )
    assert result.returncode != 0
    assert "ZeroDivisionError: division by zero" in result.stderr
    assert "logs/f.ipynb" in result.stderr
    assert "ZeroDivisionError" in (tmp_path / "logs/f.ipynb").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"bad.ipynb", "logs"}


def test_a_notebook_runs_in_the_kernel_of_the_workflow(tmp_path, monkeypatch):
    """Not in one of the same name that the user has installed."""
    import nbformat

    mine = tmp_path / "home/.local/share/jupyter/kernels/python3/kernel.json"
    mine.parent.mkdir(parents=True)
    mine.write_text(json.dumps({"argv": ["/bin/false"], "display_name": "mine"}))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "home/.local/share/jupyter"))
    cells = [
        nbformat.v4.new_markdown_cell("# Title\n\nA question?"),
        nbformat.v4.new_code_cell("import sys; print(sys.executable)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    command = "--spec {} --notebook n.ipynb --executed o.ipynb --page o.md --failed f.ipynb"
    run(tmp_path, sys.executable, "-m", "dpmcmc_studies", "notebook", *command.split())
    assert sys.executable in (tmp_path / "o.ipynb").read_text()


@pytest.mark.torture
def test_a_cap_on_iterations_and_thinned_chains(tiny, fresh):
    """The table says what was allowed and what is spent; chains below the cap do not change."""
    snakemake(fresh, "--cores", 2, *TINY, "--config", "max_iterations=700", "stored_draws=25")
    keys = ["model", "algorithm", "epsilon"]
    capped, free = (pd.read_csv(d / "results/tiny/tables/budgets.csv") for d in (fresh, tiny))
    both = capped.merge(free, on=keys, suffixes=("", "_free"))
    assert len(both) == 4 and (both["iterations"] == both["iterations_free"].clip(upper=700)).all()
    assert (both["allowed_iterations"] == both["iterations_free"]).all()
    is_capped = both["iterations_free"] > 700
    assert 0 < is_capped.sum() < 4
    assert (both["spent_epsilon"] < both["epsilon"])[is_capped].all()
    assert (both["spent_epsilon"] == both["epsilon"])[~is_capped].all()
    for row in both.itertuples():
        cell = f"results/tiny/chains/{row.model}/{row.algorithm}/epsilon-{row.epsilon:g}/seed-1.npz"
        with np.load(fresh / cell) as thinned, np.load(tiny / cell) as whole:
            thinning = -(-row.iterations // 25)
            assert len(thinned["positions"]) == row.iterations // thinning <= 25
            kept = whole["positions"][thinning - 1 : row.iterations : thinning]
            np.testing.assert_array_equal(thinned["positions"], kept)
            assert len(thinned["is_accepted"]) == row.iterations
