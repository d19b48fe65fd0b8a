"""Ranks of the algorithms, and verdicts on claims."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from dpmcmc.reporting.figures.style import NEUTRAL

# Of ranks 1, 2, ...; the last one is for all ranks beyond, the first two have white text.
RANK_SHADES = ["#00573D", "#227A5A", "#6DBE9F", "#A9DBC7", "#D5EEE4", "#EDF7F3"]
NUM_DARK_SHADES = 2
GREY = "#CFCFCF"  # no nearer than never moving


def ranking_panels(study, ranking):
    """Rank of each algorithm against epsilon, one panel a model.

    = marks a shared rank, a star what is usable; grey is no nearer than never moving.

    Parameters
    ----------
    study : Study
    ranking : DataFrame
        Table `ranking` of the study.
    """
    models = list(ranking["model"].unique())
    columns = min(2, len(models))
    rows = -(-len(models) // columns)
    algorithms_of = ranking.groupby("model")["algorithm"].unique()
    heights = [
        4 + max(len(algorithms_of[model]) for model in models[row * columns : (row + 1) * columns])
        for row in range(rows)
    ]
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(4.9 * columns, 0.3 * sum(heights)),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    for axis, model in zip(axes.flat, models, strict=False):
        algorithms = [name for name in study.algorithms if name in algorithms_of[model]]
        table = ranking[ranking["model"] == model].pivot(index="algorithm", columns="epsilon")
        ranks = table["rank"].reindex(algorithms).astype(float)
        is_tied, is_usable, is_nearer = (
            table[column].reindex(algorithms).map(lambda is_so: is_so is True)
            for column in ("is_tied", "is_usable", "is_nearer")
        )
        texts = ranks.map(lambda rank: "" if np.isnan(rank) else f"{rank:.0f}")
        texts += is_tied.replace({True: "=", False: ""}) + is_usable.replace({True: "*", False: ""})
        shades = (ranks.clip(upper=len(RANK_SHADES)) - 1).where(
            is_nearer | ranks.isna(), len(RANK_SHADES)
        )
        sns.heatmap(
            shades,
            annot=texts,
            fmt="",
            cmap=[*RANK_SHADES, GREY],
            vmin=-0.5,
            vmax=len(RANK_SHADES) + 0.5,
            cbar=False,
            linewidths=1,
            yticklabels=[study.algorithm_label(name) for name in algorithms],
            xticklabels=[f"{epsilon:g}" for epsilon in ranks.columns],
            ax=axis,
        )
        for text, shade in zip(axis.texts, shades.to_numpy()[shades.notna()], strict=True):
            text.set_color("white" if shade < NUM_DARK_SHADES else "black")
        axis.set(title=study.model_label(model), xlabel="Privacy bound ε", ylabel="")
        axis.tick_params(axis="y", rotation=0)
    return figure


def claims_figure(claims):
    """How many comparisons of each claim speak for it, leave it open, and speak against it.

    Parameters
    ----------
    claims : DataFrame
        Table `claims` of the study; claims of which none counts are left out.
    """
    claims = claims[claims["comparisons"] > 0].iloc[::-1]
    sides = {"for": "#009E73", "open": "#D0D5DA", "against": "#D55E00"}
    figure, axis = plt.subplots(figsize=(8.4, 1.2 + 0.42 * len(claims)), layout="constrained")
    left = np.zeros(len(claims))
    for side, colour in sides.items():
        share = 100 * (claims[side] / claims["comparisons"]).to_numpy()
        axis.barh(range(len(claims)), share, left=left, color=colour, label=side, height=0.7)
        left += share
    for position in (80, 20):
        axis.axvline(position, color=NEUTRAL, linewidth=0.8, linestyle=":")
    labels = [
        f"{textwrap.fill(statement, 58)} [{number}; of {count}]"
        for number, statement, count in zip(
            claims["claim"], claims["statement"], claims["comparisons"], strict=True
        )
    ]
    axis.set_yticks(range(len(claims)), labels, fontsize="small")
    axis.set(xlim=(0, 100), xlabel="Comparisons (%)")
    axis.grid(False)
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    return figure
