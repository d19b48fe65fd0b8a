"""Figures: that nothing is drawn which is not there, and nothing there is cut off."""

import math

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from dpmcmc.reporting import plotting
from dpmcmc.samplers import ALGORITHMS, CLIPPED


def chains_table(mmd, algorithm="dp-hmc", iterations=50):
    rows = [
        {
            "model": "circle",
            "algorithm": algorithm,
            "epsilon": epsilon,
            "iterations": iterations,
            "mmd": value,
            "clip_fraction": value / 10,
            "gradient_clip_fraction": value / 5,
        }
        for epsilon, values in mmd.items()
        for value in values
    ]
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def notes(figure):
    return " ".join(text.get_text() for text in figure.texts)


@pytest.mark.parametrize("metric", ["mmd", "clip_fraction", "gradient_clip_fraction"])
def test_a_model_without_any_value_has_an_empty_panel_and_a_note(metric):
    chains = chains_table({4.0: [math.nan] * 2, 6.0: [math.nan]}, iterations=0)
    figure = plotting.metric_panels(chains, [metric], ["circle"])
    (axis,) = figure.axes
    assert not axis.containers
    assert [label.get_text() for label in axis.get_xticklabels()] == ["4", "6"]
    assert notes(figure).startswith("No box: Circle, d = 2: DP HMC at ε = 4")


def test_a_box_that_is_missing_is_named_and_the_others_drawn():
    chains = chains_table({4.0: [math.nan] * 3, 6.0: [0.2, 0.3, 0.5]})
    figure = plotting.metric_panels(chains, ["mmd"], ["circle", "absent-model"])
    (axis,) = figure.axes
    assert len(axis.containers[0].boxes) == 1
    assert "DP HMC at ε = 4" in notes(figure) and "ε = 6" not in notes(figure)


def test_baselines_and_boxes_lie_within_the_axes():
    baselines = pd.DataFrame({"model": ["circle"], "baseline": [0], "mmd": [0.9]})
    chains = chains_table({4.0: [0.2, 0.3]})
    figure = plotting.metric_panels(chains, ["mmd"], ["circle"], baselines=baselines)
    low, high = figure.axes[0].get_ylim()
    assert low == 0 and high > 0.9


def test_fractions_are_drawn_in_percent():
    figure = plotting.metric_panels(chains_table({4.0: [0.5, 0.5]}), ["clip_fraction"], ["circle"])
    assert "%" in figure.axes[0].get_ylabel()
    assert figure.axes[0].get_ylim()[1] == pytest.approx(1.08 * 5)


def test_every_algorithm_has_a_label_and_a_colour_of_its_own():
    assert set(plotting.LABELS) == {*ALGORITHMS, *CLIPPED}
    colours = {plotting.algorithm_colour(algorithm) for algorithm in ALGORITHMS}
    assert len(colours) == len({name.removesuffix("-certified") for name in ALGORITHMS})


@pytest.mark.parametrize("accountants", [["zcdp", "gaussian"], ["gaussian"]])
def test_accounting_figures_draw_a_line_an_accountant(accountants):
    curves = pd.DataFrame(
        [
            {"algorithm": algorithm, "accountant": name, "epsilon": e, "iterations": int(e * i)}
            for algorithm in ("dp-penalty", "dp-hmc")
            for i, name in enumerate(accountants, start=1)
            for e in (0.5, 1.0, 2.0)
        ]
    )
    panels = plotting.accounting_panels(curves).axes
    assert [len(axis.lines) for axis in panels] == [len(accountants)] * 2
    best = plotting.best_accounting_figure(curves).axes[0]
    assert len(best.lines) == 2
    assert max(best.lines[0].get_ydata()) == 2 * len(accountants)
    assert min(best.lines[0].get_ydata()) > 0  # a log scale


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        figure = plotting.metric_panels(chains_table({4.0: [0.2, 0.3]}), ["mmd"], ["circle"])
        plotting.save(figure, tmp_path, name)
        contents.append([(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("pdf", "png")])
    assert contents[0] == contents[1]
    assert {path.name for path in tmp_path.iterdir()} == {"a.pdf", "a.png", "b.pdf", "b.png"}


@pytest.mark.parametrize("swapped", [False, True])
def test_both_kinds_of_accounting_lie_within_their_common_axes(swapped):
    def chains(level):
        keys = {"model": "m", "algorithm": "dp-barker", "epsilon": 1.0, "iterations": 9}
        return pd.DataFrame([keys | {"clip_fraction": level + i / 100} for i in range(5)])

    kinds = [chains(0.8), chains(0.1)][:: -1 if swapped else 1]
    baselines = pd.DataFrame({"model": ["m"], "baseline": [0], "mmd": [0.1]})
    figure = plotting.accounting_comparison(*kinds, "clip_fraction", ["m"], baselines)
    assert all(axis.get_ylim()[1] > 84 for axis in figure.axes)
