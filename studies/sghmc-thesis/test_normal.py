"""Moments of single chains, and when a sampler fails by them."""

import math
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import normal
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.sghmc import SGHMC
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC
from dpmcmc_studies.study.description import AlgorithmDescription
from kept_normal import Moments, moments


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_moments_of_chains_and_of_one_that_diverges():
    draws = np.random.default_rng(3).normal(2, 3, (4, 100, 1))
    draws[1, 50:] = np.inf
    draws[2] *= 1e200
    found = moments(draws)
    assert found.kept == 100
    assert found.mean[0] == draws[0].mean() and found.sd[0] == draws[0].std(ddof=1)
    assert found.mean[1] == found.sd[1] == found.sd[2] == normal.ENDLESS
    assert np.isnan(found.ess[1:3]).all() and np.isfinite(found.ess[[0, 3]]).all()


def test_a_root_mean_square_with_its_interval():
    errors = np.random.default_rng(4).normal(0, 2, 200)
    value, low, high = normal.root_mean_square(("a",), errors)
    assert value == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert low < value < high and low < 2 < high
    assert normal.root_mean_square(("a",), errors[:1]).high == math.inf
    assert normal.root_mean_square(("a",), np.array([normal.ENDLESS] * 3)).value == normal.ENDLESS


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.1, 1.1, "does not"),
        (0.1, 2.5, "fails"),
        (0.1, 0.3, "fails"),
        (-1.6, 1.0, "fails"),
        (0.0, 0.0, "fails"),
        (normal.ENDLESS, normal.ENDLESS, "fails"),
        (1.0, 1.0, "undecided"),
    ],
)
def test_a_sampler_fails_by_its_mean_or_by_its_width(mean, sd, expected):
    scatter = np.linspace(-0.1, 0.1, 15)
    found = Moments(mean + scatter, np.abs(sd * (1 + scatter)), np.ones(15), 251)
    assert normal.fails(("a", mean, sd), found, 0.0, 1.0) == expected


def test_chains_without_end_are_counted_beside_those_that_are_drawn():
    scatter = np.array([1.0, 2.0, normal.ENDLESS])
    found = Moments(scatter, scatter, np.ones(3), 251)
    rows = [("A", "#009E73", found, [1.5, 0.1]), ("B", "#444444", found, None)]
    left, right = normal.moment_panels(rows, 0.0, 1.0, 0.5).axes
    for axis in (left, right):
        assert [text.get_text()[:10] for text in axis.texts] == ["1 diverged"] * 2
        assert [len(line.get_xdata()) for line in axis.lines] == [2, 1, 2]
    assert left.lines[1].get_xdata()[0] == pytest.approx(1.0)
    assert [label.get_text() for label in left.get_yticklabels()] == ["A", "B"]


def test_a_wrong_sign_drives_a_chain_as_far_as_the_thesis_s():
    """A force of 0.7 away from 0 at every step, simulated: against the closed form."""
    sampler = SubsampledHMC(1.0, 100, 5, gradient_clip_bound=0.7)
    position, ends, rng = 0.0, [], np.random.default_rng(1)
    for t in range(1, 501):
        h, p = t ** (-1 / 3), rng.standard_normal()
        for _ in range(100):
            p = p + h * 0.7
            position = position + h * p
        ends.append(position)
    mean, sd = normal.runaway(sampler, 500)
    assert mean == pytest.approx(np.mean(ends[249:]), rel=0.02)
    assert sd == pytest.approx(np.std(ends[249:], ddof=1), rel=0.02)
    assert mean == pytest.approx(71_707, rel=0.1) and sd == pytest.approx(5079, rel=0.1)


PRINTED = {"naive": [71707, 5079, 329, 4535], "friction": [1.05, 0.08, 0.1, 0.003]}


@pytest.fixture
def page():
    """A page on chains of which those without friction are off by 2, and too wide."""
    model = Gaussian(500, 1.0, [[4.0]], [1.0])
    target = Target(model, model.simulate(np.random.default_rng(1)))
    mean, sd = (target.data.sum() / 4 / 126, 126**-0.5)
    settings = {"batch_size": 5, "num_integration_steps": 100, "step_size": 1.0}
    settings |= {"gradient_clip_bound": 0.7}
    built = {
        "naive": SubsampledHMC(1.0, 100, 5, gradient_clip_bound=0.7),
        "friction": SGHMC(1.0, 100, 5, friction=1.0, gradient_clip_bound=0.7),
    }
    scatter = 0.01 * np.linspace(-1, 1, 15)
    kept = {"naive": (mean + 2 + scatter, 3 + scatter), "friction": (mean + scatter, sd + scatter)}
    of_chains = [
        pd.DataFrame({"algorithm": name, "run": "run", "mean": mean, "sd": sd, "ess": 9.0})
        for name, (mean, sd) in kept.items()
    ]
    chains = pd.DataFrame({"model": "m", "algorithm": np.repeat([*kept], 15), "iterations": 500})
    study = SimpleNamespace(
        algorithms={name: AlgorithmDescription(entries={"m": settings}) for name in kept},
        algorithm_label=str.title,
        kept=lambda name, compute: pd.concat(of_chains).assign(kept=251),
        sampler=lambda name, model: built[name],
        table=lambda name: chains.assign(gradient_clip_fraction=0.25, epsilon=np.nan),
        target=lambda model: target,
    )
    return normal.NormalMean(
        study, "m", [*kept], {"naive": "friction", "friction": "absent"}, PRINTED, 1.0011
    )


@pytest.fixture(autouse=True)
def any_run(monkeypatch):
    monkeypatch.setattr("kept_normal.run_of", lambda study, row: "run")


@pytest.mark.parametrize(
    ("without", "friction", "verdict"),
    [
        ("fails", "does not", "confirmed"),
        ("fails", "fails", "not confirmed"),
        ("does not", "does not", "not confirmed"),
        ("fails", "undecided", "undecided"),
        ("undecided", "does not", "undecided"),
        ("undecided", "fails", "not confirmed"),
    ],
)
def test_friction_is_what_lacks_where_it_alone_helps(without, friction, verdict):
    assert normal.lacks_friction(without, friction) == verdict


def test_the_answer_follows_from_the_chains(page):
    assert page.failing == {"naive": "fails", "friction": "does not"}
    assert page.close() == ["Friction"] and page.pairs_found == [("naive", "friction")]
    assert page.off("naive") == pytest.approx(2)
    answer = page.answer()
    assert "lacks friction**, which Friction has: *confirmed*" in answer
    # Steps t^(-1/3) are above two standard deviations, 0.178, up to t = (126^0.5 / 2)^3 = 176.8.
    assert "176 of 500 trajectories have steps above 0.178" in answer


def test_the_table_has_what_is_printed_below_ours(page):
    rows = page.table()
    assert [row["of"] for row in rows] == ["exact", "15 chains", "thesis", "15 chains", "thesis"]
    assert rows[1]["sampler"] == rows[2]["sampler"] == "Naive (b = 5 of 500, J = 100, h₁ = 1)"
    assert rows[1]["sample sd"].startswith("3 [")
    assert rows[2]["mean"] == "71,707" and rows[2]["RMSE as printed"] == "4,535"
    assert rows[3]["effective size"] == "9" and rows[1]["fails"] == "fails"


def test_printed_chains_are_held_against_the_limits_and_the_actual_mean(page):
    assert [*page.misses()] == ["naive"]
    off, width = page.misses()["naive"]
    assert width == pytest.approx(5079 * 126**0.5)
    assert off == pytest.approx((71707 - page.printed_mean) * 126**0.5)
    assert page.printed_mean / page.actual == pytest.approx(page.mean / page.data_mean)
    text = page.about_table()
    assert f"Naive; printed {4535:.4g}" in text and "**71,707 ± 5,079 is what" in text
    assert "Naive 25.00 %; Friction 25.00 %" in text
