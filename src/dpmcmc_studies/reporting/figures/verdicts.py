"""Verdicts on published claims."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np

from dpmcmc_studies.reporting.figures.style import NEUTRAL

SIDES = {"for": "#0067A5", "open": "#D9D9D9", "against": "#D2551B"}
MOST_LETTERS = 52  # of a line of a statement


def claims_figure(claims):
    """Each claim with its verdict, and the shares of its comparisons for and against it.

    Parameters
    ----------
    claims : DataFrame
        Table `claims` of the study; claims of which no comparison counts are left out.
    """
    claims = claims[claims["comparisons"] > 0]
    texts = [
        textwrap.fill(f"{number}. {statement}", MOST_LETTERS)
        for number, statement in zip(claims["claim"], claims["statement"], strict=True)
    ]
    heights = np.array([0.12 + 0.16 * (1 + text.count("\n")) for text in texts])
    y = heights.cumsum() - heights / 2
    figure = plt.figure(figsize=(3.0, heights.sum()))
    axis = figure.add_axes([0, 0, 1, 1])  # labels lie beyond the figure's own edges
    left = np.zeros(len(claims))
    for side, colour in SIDES.items():
        share = 100 * (claims[side] / claims["comparisons"]).to_numpy()
        axis.barh(y, share, left=left, color=colour, label=side, height=0.2)
        left += share
    for position in (80, 20):
        axis.axvline(position, color=NEUTRAL, linewidth=0.8, linestyle=":")
    for place, row in zip(y, claims.to_dict("records"), strict=True):
        verdict = row["verdict"] + " *" * bool(row["one_decides"])
        weight = "normal" if row["verdict"] == "undecided" else "bold"
        axis.text(103, place, verdict, va="center", fontsize="small", weight=weight)
    axis.set_yticks(y, texts, fontsize="small")
    axis.set(xlim=(0, 100), ylim=(heights.sum(), 0), xlabel="Comparisons (%)")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    return figure
