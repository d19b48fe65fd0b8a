"""Figures: that nothing is drawn which is not there, and nothing there is cut off."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_MODELS
from matplotlib import colors

from dpmcmc.likelihoods.target import Target
from dpmcmc_studies.reporting import pages
from dpmcmc_studies.reporting.figures import metrics, posteriors, strips, style, verdicts
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription

CIRCLE = SMALL_MODELS["circle"]
STUDY = StudyResults(
    results="",
    models={"circle": ModelDescription("Circle, d = 2")},
    algorithms={
        "dp-hmc": AlgorithmDescription("DP HMC", colour="#009E73"),
        "dp-penalty": AlgorithmDescription(),
    },
)


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
    figure = metrics.metric_panels(STUDY, chains, [metric], ["circle"])
    (axis,) = figure.axes
    assert not axis.containers
    assert [label.get_text() for label in axis.get_xticklabels()] == ["4", "6"]
    assert notes(figure).startswith("No box: Circle, d = 2: DP HMC at ε = 4")


def test_a_box_that_is_missing_is_named_and_the_others_drawn():
    chains = chains_table({4.0: [math.nan] * 3, 6.0: [0.2, 0.3, 0.5]})
    figure = metrics.metric_panels(STUDY, chains, ["mmd"], ["circle", "absent-model"])
    (axis,) = figure.axes
    assert len(axis.containers[0].boxes) == 1
    assert "DP HMC at ε = 4" in notes(figure) and "ε = 6" not in notes(figure)


def test_an_algorithm_that_clips_no_ratios_is_not_missed_among_those_that_do():
    chains = chains_table({4.0: [0.2, 0.3], 6.0: [0.2, 0.4]})
    without = chains.assign(clip_fraction=math.nan, algorithm="dp-penalty")
    both = pd.concat([chains.assign(clip_fraction=0.1), without])
    assert not notes(metrics.metric_panels(STUDY, both, ["mmd", "clip_fraction"], ["circle"]))


@pytest.mark.parametrize("of", ["baselines", "starts"])
def test_lines_and_boxes_lie_within_the_axes_and_are_named(of):
    samples = pd.DataFrame({"model": ["circle"], "mmd": [0.9]})
    chains = chains_table({4.0: [0.2, 0.3]})
    figure = metrics.metric_panels(STUDY, chains, ["mmd"], ["circle"], **{of: samples})
    low, high = figure.axes[0].get_ylim()
    assert 0 < low < 0.2 and high > 0.9
    assert 0.9 in {y for line in figure.axes[0].lines for y in line.get_ydata()}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("Never moving (median)" in names) is (of == "starts")
    assert ("3 times exact" in names) is (of == "baselines")
    panels = metrics.metric_panels(STUDY, chains, ["clip_fraction"], ["circle"], **{of: samples})
    assert len(panels.legends[0].get_texts()) == 1


def test_clipping_is_drawn_against_the_bound():
    chains = chains_table({math.nan: [0.2, 0.3, 0.4]}).assign(clip_bound=[0.5, 2, 2])
    baselines = pd.DataFrame({"model": ["circle"], "baseline": [0], "mmd": [0.1]})
    top, bottom = metrics.clipping_panels(STUDY, chains, baselines).axes
    assert [label.get_text() for label in top.get_xticklabels()] == ["0.5", "2"]
    assert len(bottom.collections[0].get_offsets()) == 3


@pytest.fixture
def ranking():
    """Four algorithms at one epsilon: usable, too far, no closer than never moving, no sample."""
    table = pd.DataFrame(
        {"model": "circle", "epsilon": 1.0, "algorithm": ["dp-hmc", "dp-penalty", "a", "b"]}
    )
    return table.assign(
        mmd=[0.02, 0.5, 0.9, np.nan],
        times_exact=[1.04, 26, 40, np.nan],
        is_nearer=[True, True, False, False],
        is_usable=[True, False, False, False],
    )


@pytest.fixture
def four():
    """A study of these algorithms."""
    algorithms = {name: AlgorithmDescription() for name in ("dp-penalty", "a", "b")}
    return StudyResults(results="", models=STUDY.models, algorithms=STUDY.algorithms | algorithms)


def test_a_map_has_a_number_for_each_sample_in_the_order_of_the_study(four, ranking):
    axis = strips.times_exact_map(four, ranking.iloc[::-1]).axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == [
        "DP HMC",
        "dp-penalty",
        "a",
        "b",
    ]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Circle, d = 2\nε = 1"]
    assert [text.get_text() for text in axis.texts] == ["1.0", "26", "40"]
    assert [text.get_weight() for text in axis.texts] == ["bold", "normal", "normal"]


def test_what_is_far_is_red_though_it_is_the_best_and_what_never_moved_is_grey(four, ranking):
    """WCAG asks a contrast of 4.5 of text."""
    axis = strips.times_exact_map(four, ranking).axes[0]
    near, far, grey = (bar.get_facecolor()[:3] for bar in axis.patches)
    assert near[2] > near[0] and far[0] > far[2] and grey[0] == grey[1] == grey[2]
    for text, bar in zip(axis.texts, axis.patches, strict=True):
        shades = luminance(text.get_color()), luminance(bar.get_facecolor())
        assert (max(shades) + 0.05) / (min(shades) + 0.05) >= 4.5


def test_a_claim_has_its_verdict_and_a_label_that_stands_alone():
    columns = ["claim", "statement", "comparisons", "for", "open", "against", "verdict"]
    claims = pd.DataFrame(
        [
            (1, "It works", 4, 4, 0, 0, "confirmed"),
            (2, "It does not on the banana", 4, 1, 1, 2, "undecided"),
            (3, "It flies", 0, 0, 0, 0, "not in this study"),
        ],
        columns=columns,
    ).assign(one_decides=[False, True, False])
    claims = pages.with_labels(claims, {"2": "On the banana it does not work"})
    axis = verdicts.claims_figure(claims).axes[0]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == ["1. It works", "2. On the banana it does not work"]
    assert [text.get_text() for text in axis.texts] == ["confirmed", "undecided *"]


def test_boxes_at_zero_beside_large_ones_have_a_logarithmic_axis():
    chains = chains_table({4.0: [0.001, 0.002, 0.003], 6.0: [0.001, 0.002, 9.0]})
    axis = metrics.metric_panels(STUDY, chains, ["clip_fraction"], ["circle"]).axes[0]
    assert axis.get_yscale() == "symlog" and axis.get_ylim()[0] < 0 < 90 < axis.get_ylim()[1]


def test_panels_of_a_metric_have_the_same_axis():
    chains = chains_table({4.0: [0.2, 0.3]})
    both = pd.concat([chains, chains.assign(model="other", mmd=[0.02, 0.01])])
    one, other = metrics.metric_panels(STUDY, both, ["mmd"], ["circle", "other"]).axes
    assert one.get_ylim() == other.get_ylim() and one.get_yscale() == "log"
    assert one.get_ylabel() == "MMD" and not other.get_ylabel()


def luminance(colour):
    """Relative luminance of a colour, as WCAG defines it."""
    channels = np.array(colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_colours_of_algorithms_come_once_and_differ_in_grey():
    from dpmcmc_studies.study.colours import colour

    assert len({colour(i) for i in range(60)}) == 60
    lightness = sorted(116 * np.cbrt(luminance(colour(i))) - 16 for i in range(7))
    assert np.diff(lightness).min() > 3


def test_start_points_lie_on_the_posterior():
    target = Target(CIRCLE, CIRCLE.simulate(np.random.default_rng(1)))
    reference = CIRCLE.sample_posterior(np.random.default_rng(2), target.data, 50)
    starts = np.array([[0.0, 9.0], [1.0, 0.0]])
    figure = posteriors.start_points_figure(
        STUDY, {"circle": target}, {"circle": reference}, {"circle": starts}
    )
    (axis,) = figure.axes
    assert axis.get_title() == "Circle, d = 2" and axis.get_ylim()[1] > 9
    with pytest.raises(ValueError, match="dimension 3"):
        posteriors.posterior_density(target, np.ones((5, 3)), starts)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        figure = metrics.metric_panels(STUDY, chains_table({4.0: [0.2, 0.3]}), ["mmd"], ["circle"])
        style.save(figure, tmp_path, name)
        contents.append([(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("pdf", "png")])
    assert contents[0] == contents[1]
    assert {path.name for path in tmp_path.iterdir()} == {"a.pdf", "a.png", "b.pdf", "b.png"}


def test_an_axis_of_accuracies_is_as_long_as_their_range():
    chains = chains_table({4.0: [0.2, 0.3]}).assign(accuracy=[0.71, 0.72])
    starts = pd.DataFrame({"model": ["circle"], "accuracy": [0.70]})
    (axis,) = metrics.metric_panels(STUDY, chains, ["accuracy"], ["circle"], starts=starts).axes
    low, high = axis.get_ylim()
    assert 0.69 < low < 0.70 and 0.72 < high < 0.73


def test_clipped_statistics_are_not_drawn_as_clipped_ratios():
    once = AlgorithmDescription("Noisy sum", has_free_steps=True)
    study = StudyResults(
        results="", models=STUDY.models, algorithms=STUDY.algorithms | {"noisy-sum": once}
    )
    chains = pd.concat([chains_table({4.0: [0.2, 0.3]}, name) for name in ("dp-hmc", "noisy-sum")])
    for shown, legend in ((["clip_fraction"], ["DP HMC"]), (["mmd"], ["DP HMC", "Noisy sum"])):
        figure = metrics.metric_panels(study, chains, shown, ["circle"])
        assert len(figure.axes[0].containers) == len(legend)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == legend
        assert not notes(figure)


def marks(axis):
    """Places and colours of the marks at the lower edge."""
    lines = [line for line in axis.lines if line.get_marker() == "v"]
    return [(float(line.get_xdata()[0]), line.get_color()) for line in lines]


def test_values_below_an_axis_are_marked_where_they_are_and_counted():
    values = np.geomspace(0.1, 0.2, 199).tolist()
    chains = chains_table({4.0: values, 6.0: [*values, 1e-6]})
    exact = pd.DataFrame({"model": ["circle"] * 3, "mmd": [1e-7, 0.05, 0.06]})
    figure = metrics.metric_panels(STUDY, chains, ["mmd"], ["circle"], baselines=exact)
    (axis,) = figure.axes
    assert axis.get_ylim()[0] > 1e-6
    assert marks(axis) == [(1.0, "#009E73"), (axis.get_xlim()[0], style.NEUTRAL)]
    assert notes(figure) == "▼ below the axis: 1 of 399 chains, 1 of 3 exact samples"
    few = metrics.metric_panels(STUDY, chains[:199], ["mmd"], ["circle"])
    (axis,) = few.axes
    assert bool(marks(axis)) == bool((chains["mmd"][:199] < axis.get_ylim()[0]).any())
