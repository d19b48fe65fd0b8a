"""The style that figures share, and how they are saved."""

import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import PIL.Image
import seaborn as sns
from matplotlib.colors import to_rgb

from dpmcmc.files import replacing

NEUTRAL = "#444444"  # of what is no algorithm, such as the lines of exact posterior samples
DPI = 200
PIXEL_RATIO = 2  # pixels of a saved figure to one of a page


def ink_on(colour):
    """Black or white, whichever is easier to see on a colour (WCAG's relative luminance)."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ [0.2126, 0.7152, 0.0722] < 0.18 else "black"


def use_style():
    """Set the style of all figures."""
    sns.set_theme(context="paper", style="whitegrid", font_scale=1.05)
    plt.rcParams |= {
        "figure.dpi": 110,
        "axes.titlesize": "medium",
        "grid.linewidth": 0.5,
        "hatch.linewidth": 0.6,
        "pdf.fonttype": 42,  # text stays text
    }


def save(figure, directory, name):
    """Write a figure as PDF and as PNG of 256 colours; the same figure gives the same bytes."""
    options = {"bbox_inches": "tight", "dpi": DPI}
    with replacing(Path(directory, f"{name}.pdf")) as file:
        figure.savefig(file, format="pdf", metadata={"CreationDate": None}, **options)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", **options)
    with replacing(Path(directory, f"{name}.png")) as file:
        PIL.Image.open(drawn).convert("RGB").quantize(256).save(file, format="png", optimize=True)


def panel_grid(count, columns, size=(3.9, 2.5), margin=(0.6, 0.8), **options):
    """A figure and its panels, in rows of so many; widths and heights in inches."""
    rows = max(1, -(-count // columns))
    width, height = (margin[0] + size[0] * columns, margin[1] + size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, axes.flat[:count]


def legend_below(figure, handles, columns, y=0.0):
    """A legend of the whole figure, below it."""
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, y),
        ncols=columns,
        frameon=False,
    )


def add_note(figure, text, lines_of_legend=1):
    """A note below the legend."""
    if text:
        y = -0.25 * (lines_of_legend + 0.6) / figure.get_size_inches()[1]
        figure.text(0.5, y, text, ha="center", va="top", fontsize="small", wrap=True)
