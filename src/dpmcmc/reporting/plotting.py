"""Figures of the chapter, in one style: an algorithm has the same colour everywhere."""

import base64
import html
import io
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import PIL.Image
import seaborn as sns
from IPython.display import HTML, display
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc.files import read_npy, replacing
from dpmcmc.frames import read_csv
from dpmcmc.likelihoods.target import Target
from dpmcmc.reporting.captions import FIGURES
from dpmcmc.samplers import ALGORITHMS
from dpmcmc.study.streams import start_point
from dpmcmc.study.study import CERTIFIED

# Colours of Okabe and Ito (wine in place of black), told apart with any colour vision; given out
# in the order of ALGORITHMS.
COLOURS = ["#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#882255", "#F0E442"]
START_COLOUR = "#D55E00"
BASELINE_COLOUR = "#444444"

LABELS = {
    "dp-penalty": "DP penalty",
    "dp-penalty-ocu": "DP penalty, OCU",
    "dp-penalty-ocu-gwmh": "DP penalty, OCU + GWMH",
    "dp-hmc": "DP HMC",
    "minibatch-dp-penalty": "Minibatch DP penalty",
    "minibatch-dp-penalty-ocu-gwmh": "Minibatch DP penalty, OCU + GWMH",
    "dp-barker": "DP Barker",
    "dp-barker-full-data": "DP Barker, all data",
    "minibatch-dp-penalty-certified": "Minibatch DP penalty, certified",
    "minibatch-dp-penalty-ocu-gwmh-certified": "Minibatch DP penalty, OCU + GWMH, certified",
    "dp-barker-certified": "DP Barker, certified",
    "rwmh": "Random-walk Metropolis",
    "hmc": "HMC",
}

ACCOUNTANTS = {
    "gaussian": ("exact (ADP)", "-"),
    "zcdp": ("zCDP", "--"),
    "published-pld": ("PLD (ADP), as published", "-"),
    "rdp": ("RDP", "--"),
    "barker-rdp": ("RDP", "--"),
    "certified": ("PLD (ADP), certified", "-"),
}

MODELS = {
    "flat-banana-2d": "Flat banana, d = 2",
    "flat-banana-10d": "Flat banana, d = 10",
    "tempered-banana-2d": "Tempered banana, d = 2",
    "tempered-banana-10d": "Tempered banana, d = 10",
    "gauss-30d": "Gaussian, d = 30",
    "narrow-banana-2d": "Narrow banana, d = 2",
    "correlated-gauss-2d": "Correlated Gaussian, d = 2",
    "circle": "Circle, d = 2",
    "flat-banana-10d-n100000": "Flat banana, d = 10, n = 100,000",
}

DPI = 200
PIXEL_RATIO = 2  # pixels of a saved figure to one of a page

METRICS = {
    "mmd": "MMD to the posterior",
    "mean_error": "Distance of the mean\nfrom the posterior mean",
    "clip_fraction": "Clipped log-likelihood\nratios (% of rows)",
    "gradient_clip_fraction": "Clipped gradients\n(% of rows)",
}


def algorithm_label(algorithm):
    """Name of an algorithm in legends."""
    return LABELS.get(algorithm, algorithm)


def algorithm_colour(algorithm):
    """Colour of an algorithm in every figure, by any accountant, and of one without privacy."""
    algorithm = {"rwmh": "dp-penalty", "hmc": "dp-hmc"}.get(algorithm, algorithm)
    algorithm = algorithm.removesuffix(CERTIFIED)
    return COLOURS[list(ALGORITHMS).index(algorithm) % len(COLOURS)]


def model_label(model):
    """Name of a model in titles."""
    return MODELS.get(model, model)


def use_style():
    """Set the style of all figures."""
    sns.set_theme(context="paper", style="whitegrid", font_scale=1.05)
    plt.rcParams |= {
        "figure.dpi": 110,
        "axes.titlesize": "medium",
        "grid.linewidth": 0.5,
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


def show(figure, results, name):
    """Save a figure and show it, crisp, its caption as alternative text, linked to the file."""
    save(figure, f"{results}/figures", name)
    plt.close(figure)
    path = Path(results, "figures", f"{name}.png")
    width, _ = PIL.Image.open(path).size
    data = base64.b64encode(path.read_bytes()).decode()
    display(
        HTML(
            f'<a href="../figures/{name}.png"><img src="data:image/png;base64,{data}" '
            f'width="{round(width / PIXEL_RATIO)}" alt="{html.escape(FIGURES[name])}"></a>'
        )
    )


def metric_panels(chains, metrics, models, baselines=None, columns=2):
    """Box plots over the seeds against epsilon, one colour an algorithm, one panel a model.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` of the study.
    metrics : list of str
        Columns of `chains`, keys of METRICS; a panel for each, beside each other, if there is one
        model, else one metric.
    models : list of str
        Panels; models without chains are left out.
    baselines : DataFrame, optional
        Table `baselines`, for lines of exact posterior samples in panels of the MMD and the mean
        error.
    columns : int
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    models = [model for model in models if (chains["model"] == model).any()]
    panels = [(model, metric) for model in models for metric in metrics]
    columns = min(columns, len(panels))
    figure, axes = panel_grid(len(panels), columns)
    for axis, (model, metric) in zip(axes, panels, strict=True):
        draw_metric(axis, chains, metric, model, baselines)
        axis.set(title=model_label(model), ylabel=METRICS[metric])
    present = chains[chains["model"].isin(models)]
    handles = metric_handles(present, baselines)
    figure.tight_layout()
    columns_of_legend = min(len(handles), columns + 1)
    legend_below(figure, handles, columns_of_legend)
    lines_of_legend = -(-len(handles) // columns_of_legend)
    add_note(figure, left_out(present, metrics), lines_of_legend)
    return figure


def accounting_comparison(published, certified, metric, models, baselines):
    """Box plots as of `metric_panels`, a row a model, the two kinds of accounting side by side.

    Parameters
    ----------
    published, certified : DataFrame
        Chains by either, with the same ids of algorithms.
    metric : str
    models : list of str
    baselines : DataFrame
        Table `baselines`.
    """
    figure, axes = plt.subplots(
        len(models), 2, figsize=(8.4, 0.8 + 2.4 * len(models)), squeeze=False, sharey="row"
    )
    kinds = {"published": published, "certified": certified}
    for row, model in zip(axes, models, strict=True):
        tops = []
        for axis, (kind, chains) in zip(row, kinds.items(), strict=True):
            draw_metric(axis, chains, metric, model, baselines)
            axis.set(title=f"{model_label(model)}: {kind}", ylabel="")
            tops.append(axis.get_ylim()[1])  # at once: the next panel sets the limits of both
        row[0].set(ylabel=METRICS[metric], ylim=(0, max(tops)))
    shown = baselines if metric in baselines else None
    handles = metric_handles(published[published["model"].isin(models)], shown)
    figure.tight_layout()
    legend_below(figure, handles, 3)
    notes = (
        f"With {kind} accounting, no box: {note.removeprefix('No box: ')}"
        for kind, chains in kinds.items()
        if (note := left_out(chains[chains["model"].isin(models)], [metric]))
    )
    add_note(figure, "; ".join(notes), -(-len(handles) // 3))
    return figure


def certified_iterations_panels(certified):
    """Iterations of the published settings by either accountant, on a log scale, a panel a model.

    Parameters
    ----------
    certified : DataFrame
        Table `certified` of the study.
    """
    models = list(certified["model"].unique())
    figure, axes = panel_grid(len(models), min(2, len(models)))
    for axis, model in zip(axes, models, strict=True):
        cells = certified[certified["model"] == model]
        for algorithm, curve in cells.sort_values("epsilon").groupby("algorithm", sort=False):
            for column, style in (("allowed_iterations", "o--"), ("certified_iterations", "o-")):
                axis.plot(
                    curve["epsilon"],
                    curve[column].where(curve[column] > 0),  # a log scale has no place for none
                    style,
                    markersize=3,
                    color=algorithm_colour(algorithm),
                )
        axis.set(title=model_label(model), yscale="log")
        axis.set(xlabel="Privacy bound ε", ylabel="Iterations allowed")
    figure.tight_layout()
    handles = [
        *metric_handles(certified),
        Line2D([], [], color="#444444", linestyle="--", label="Published accountant"),
        Line2D([], [], color="#444444", label="Certified accountant"),
    ]
    legend_below(figure, handles, 3)
    return figure


def clipping_panels(clipping, baselines):
    """Figure 6.2: MMD against clip bound (top) and clip fraction (bottom), a model a column.

    Parameters
    ----------
    clipping, baselines : DataFrame
        Tables `clipping` and `baselines` of the study.
    """
    models = list(clipping["model"].unique())
    algorithms = list(clipping["algorithm"].unique())
    figure, axes = plt.subplots(
        2, len(models), figsize=(0.6 + 3.9 * len(models), 5.8), squeeze=False, sharey="col"
    )
    for (top, bottom), model in zip(axes.T, models, strict=True):
        chains = clipping[clipping["model"] == model].rename(columns={"bound": "epsilon"})
        draw_boxes(top, chains, "mmd")
        for algorithm in algorithms:
            of_algorithm = chains[chains["algorithm"] == algorithm]
            bottom.scatter(
                100 * of_algorithm["clip_fraction"],
                of_algorithm["mmd"],
                s=9,
                alpha=0.7,
                linewidth=0,
                color=algorithm_colour(algorithm),
            )
        for axis in (top, bottom):
            draw_baselines(axis, baselines.loc[baselines["model"] == model, "mmd"])
            axis.set(ylabel=METRICS["mmd"], ylim=(0, 1.05 * chains["mmd"].max()))
        top.set(title=model_label(model), xlabel="Clip bound (times the length of the step)")
        bottom.set_xlabel(METRICS["clip_fraction"].replace("\n", " "))
    figure.tight_layout()
    legend_below(figure, metric_handles(clipping, baselines), 3)
    return figure


def ranking_panels(ranking):
    """Rank of each algorithm against epsilon, one panel a model; = marks a shared rank.

    Parameters
    ----------
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
        algorithms = [name for name in LABELS if name in algorithms_of[model]]
        table = ranking[ranking["model"] == model].pivot(index="algorithm", columns="epsilon")
        ranks = table["rank"].reindex(algorithms).astype(float)
        texts = ranks.map(lambda rank: "" if np.isnan(rank) else f"{rank:.0f}")
        texts += table["is_tied"].reindex(algorithms).map(lambda tied: "=" if tied is True else "")
        sns.heatmap(
            ranks,
            annot=texts,
            fmt="",
            cmap=sns.light_palette("#009E73", reverse=True, as_cmap=True),
            vmin=1,
            vmax=len(LABELS),
            cbar=False,
            linewidths=1,
            yticklabels=[algorithm_label(name) for name in algorithms],
            xticklabels=[f"{epsilon:g}" for epsilon in ranks.columns],
            ax=axis,
        )
        axis.set(title=model_label(model), xlabel="Privacy bound ε", ylabel="")
        axis.tick_params(axis="y", rotation=0)
    return figure


def claims_figure(claims):
    """How many cells of each claim speak for it, leave it open, and speak against it.

    Parameters
    ----------
    claims : DataFrame
        Table `claims` of the study; claims without cells are left out.
    """
    claims = claims[claims["cells"] > 0].iloc[::-1]
    sides = {"for": "#009E73", "open": "#D0D5DA", "against": "#D55E00"}
    figure, axis = plt.subplots(figsize=(8.4, 1.2 + 0.42 * len(claims)), layout="constrained")
    left = np.zeros(len(claims))
    for side, colour in sides.items():
        share = 100 * (claims[side] / claims["cells"]).to_numpy()
        axis.barh(range(len(claims)), share, left=left, color=colour, label=side, height=0.7)
        left += share
    for position in (80, 20):
        axis.axvline(position, color=BASELINE_COLOUR, linewidth=0.8, linestyle=":")
    labels = [
        f"{textwrap.fill(statement, 58)} [{number}]"
        for number, statement in zip(claims["claim"], claims["statement"], strict=True)
    ]
    axis.set_yticks(range(len(claims)), labels, fontsize="small")
    axis.set(xlim=(0, 100), xlabel="Cells (%)")
    axis.grid(False)
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    return figure


def accounting_panels(curves):
    """Figure 6.1: iterations against epsilon, one panel an algorithm, one line an accountant.

    Parameters
    ----------
    curves : DataFrame
        Table `accounting` of the study; algorithms with one accountant are left out beside others.
    """
    counts = curves.groupby("algorithm", sort=False)["accountant"].nunique()
    algorithms = list(counts.index[counts > 1]) or list(counts.index)
    figure, axes = plt.subplots(
        1, len(algorithms), figsize=(0.4 + 3.2 * len(algorithms), 3.4), squeeze=False
    )
    for axis, algorithm in zip(axes.flat, algorithms, strict=True):
        draw_curves(axis, curves[curves["algorithm"] == algorithm], by="accountant")
        axis.set_ylim(bottom=0)
        axis.set_title(algorithm_label(algorithm))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), frameon=False)
    figure.tight_layout()
    return figure


def best_accounting_figure(curves):
    """Iterations against epsilon on a log scale, an algorithm by its most generous accountant."""
    totals = curves.groupby(["algorithm", "accountant"], sort=False)["iterations"].sum()
    best = {pair for _, pair in totals.groupby("algorithm", sort=False).idxmax().items()}
    pairs = zip(curves["algorithm"], curves["accountant"], strict=True)
    figure, axis = plt.subplots(figsize=(5, 3.6))
    draw_curves(axis, curves[[pair in best for pair in pairs]], by="algorithm")
    axis.set_yscale("log")
    figure.tight_layout()
    figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return figure


def draw_metric(axis, chains, metric, model, baselines=None):
    """Box plots of one metric on one model, with lines of exact posterior samples."""
    of_model = chains[chains["model"] == model]
    lines = []
    if baselines is not None and metric in baselines:
        lines = baselines.loc[baselines["model"] == model, metric]
    draw_boxes(axis, of_model, metric)
    draw_baselines(axis, lines)
    highest = scale_of(metric) * max([0, *of_model[metric].dropna(), *lines])
    axis.set(xlabel="Privacy bound ε", ylim=(0, 1.08 * highest if highest > 0 else 1))


def metric_handles(chains, baselines=None):
    """Entries of a legend: the algorithms, and the lines if there are any."""
    handles = [
        Patch(facecolor=algorithm_colour(algorithm), label=algorithm_label(algorithm))
        for algorithm in chains["algorithm"].unique()
    ]
    if baselines is not None:
        is_shown = baselines["model"].isin(chains["model"].unique())
        handles.append(baseline_handle(baselines[is_shown]))
    return handles


def panel_grid(count, columns):
    """A figure and its panels, in rows of so many."""
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(0.6 + 3.9 * columns, 0.8 + 2.5 * rows), squeeze=False
    )
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, axes.flat[:count]


def legend_below(figure, handles, columns):
    """A legend of the whole figure, below it."""
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=columns,
        frameon=False,
    )


def draw_curves(axis, curves, by):
    """Iterations against epsilon, a line for each algorithm and accountant, labelled by one."""
    for (algorithm, accountant), curve in curves.groupby(["algorithm", "accountant"], sort=False):
        name, style = ACCOUNTANTS.get(accountant, (accountant, ":"))
        label = name if by == "accountant" else f"{algorithm_label(algorithm)}: {name}"
        # A log scale has no place for a budget that allows nothing.
        shown = curve if by == "accountant" else curve[curve["iterations"] > 0]
        axis.plot(
            shown["epsilon"],
            shown["iterations"],
            style,
            color=algorithm_colour(algorithm),
            label=label,
        )
    axis.set(xlabel="Privacy bound ε", ylabel="Iterations allowed")


def draw_baselines(axis, values):
    """A line for the metric of each exact posterior sample."""
    for value in values:
        axis.axhline(value, color=BASELINE_COLOUR, linewidth=0.6, alpha=0.7, zorder=3)


def baseline_handle(baselines):
    """Entry of a legend for these lines."""
    label = f"Exact posterior samples ({baselines['baseline'].nunique()} baselines)"
    return Line2D([], [], color=BASELINE_COLOUR, linewidth=0.8, label=label)


def scale_of(metric):
    """Factor that a metric is drawn with: fractions are shown in percent."""
    return 100 if metric.endswith("fraction") else 1


def draw_boxes(axis, chains, metric):
    """Box plots of one metric on one model, in percent if it is a fraction."""
    order = [f"{epsilon:g}" for epsilon in sorted(chains["epsilon"].unique())]
    table = chains.assign(
        value=scale_of(metric) * chains[metric], epsilon=chains["epsilon"].map("{:g}".format)
    ).dropna(subset="value")
    if table.empty:
        axis.set_xticks(range(len(order)), order)
        return
    algorithms = list(table["algorithm"].unique())
    sns.boxplot(
        table,
        x="epsilon",
        y="value",
        hue="algorithm",
        order=order,
        hue_order=algorithms,
        palette={algorithm: algorithm_colour(algorithm) for algorithm in algorithms},
        saturation=1,
        linewidth=0.6,
        fliersize=1.5,
        gap=0.15,
        legend=False,
        ax=axis,
    )
    # A box may be as thin as a line: let its outline show the algorithm too.
    for boxes, algorithm in zip(axis.containers, algorithms, strict=True):
        for box in boxes.boxes:
            box.set(edgecolor=algorithm_colour(algorithm), linewidth=1.8)


def left_out(chains, metrics):
    """Which cells have no box, because no chain in them has a value of the metrics."""
    cells = chains.groupby(["model", "algorithm", "epsilon"], sort=False)
    notes = []
    for (model, algorithm, epsilon), cell in cells:
        if cell[metrics].isna().all().any():
            notes.append(
                f"{model_label(model)}: {algorithm_label(algorithm)} at ε = {epsilon:g} "
                f"(iterations allowed: {cell['iterations'].iloc[0]})"
            )
    return "No box: " + "; ".join(notes) if notes else ""


def add_note(figure, text, lines_of_legend=1):
    """A note below the legend."""
    if text:
        y = -0.25 * (lines_of_legend + 0.6) / figure.get_size_inches()[1]
        figure.text(0.5, y, text, ha="center", va="top", fontsize="small", wrap=True)


def posterior_grid(target, reference, x_limits, y_limits, size=200):
    """Log posterior density of a 2-dimensional model on a grid, 0 at its highest point.

    The grid follows the posterior where its shape is known, since a straight one would step over
    a narrow ridge: it is spanned by the principal axes of the reference sample, which a banana
    has in its straightened coordinates. A circle is wide enough for a straight grid.

    Returns
    -------
    x, y, log_density : (size, size) arrays
    """
    model = target.model
    if model.posterior_mean is not None:
        grid = np.stack(
            np.meshgrid(np.linspace(*x_limits, size), np.linspace(*y_limits, size)), axis=-1
        )
    else:
        straighten = getattr(model, "straighten", np.asarray)
        bend = getattr(model, "bend", np.asarray)
        straight = straighten(reference)
        span = np.linspace(-4, 4, size)
        axes = np.linalg.cholesky(np.cov(straight, rowvar=False))
        grid = bend(straight.mean(axis=0) + np.stack(np.meshgrid(span, span), axis=-1) @ axes.T)
    origin = reference[0]
    log_density = np.array(
        [[target.log_density_ratio(origin, theta) for theta in row] for row in grid]
    )
    return grid[..., 0], grid[..., 1], log_density - log_density.max()


def padded_range(values, padding=0.12):
    """Limits around the values."""
    low, high = np.min(values), np.max(values)
    return low - padding * (high - low), high + padding * (high - low)


def draw_density(axis, target, reference, x_limits, y_limits):
    """Filled contours of the posterior density, darker where it is higher.

    Of a Gaussian, they lie at each half standard deviation from its mean, up to 3.5.
    """
    x, y, log_density = posterior_grid(target, reference, x_limits, y_limits)
    levels = -0.5 * np.arange(3.5, -0.1, -0.5) ** 2
    shades = sns.color_palette("Greys", 15)[1:8]
    axis.contourf(x, y, log_density, levels=levels, colors=shades).set_rasterized(True)
    style = dict(colors="#888888", linewidths=0.15, linestyles="solid")
    axis.contour(x, y, log_density, levels=levels[:-1], **style).set_rasterized(True)
    axis.set(xlim=x_limits, ylim=y_limits)


def start_points_figure(targets, references, study_seed, num_seeds):
    """Figure 5.1: posterior densities of the 2-dimensional models, with the start points.

    Parameters
    ----------
    targets : dict of str to Target
        By model id.
    references : dict of str to (size, 2) array
        Reference samples.
    study_seed, num_seeds : int
    """
    columns = min(3, len(targets))
    rows = -(-len(targets) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(0.4 + 3.1 * columns, 0.5 + 2.7 * rows), squeeze=False
    )
    for axis in axes.flat[len(targets) :]:
        axis.remove()
    for axis, (name, target) in zip(axes.flat, targets.items(), strict=False):
        reference = references[name]
        starts = np.array(
            [
                start_point(study_seed, name, target.model, reference, seed)
                for seed in range(num_seeds)
            ]
        )
        shown = np.vstack([reference, starts])
        limits = padded_range(shown[:, 0]), padded_range(shown[:, 1])
        draw_density(axis, target, reference, *limits)
        axis.scatter(
            *starts.T, s=14, color=START_COLOUR, edgecolor="white", linewidth=0.4, zorder=3
        )
        axis.set(title=model_label(name), xlabel="θ₁", ylabel="θ₂")
        axis.locator_params(nbins=5)
        if target.model.posterior_mean is not None:
            axis.set_aspect("equal")
    figure.tight_layout()
    handles = [
        Patch(facecolor="#AAAAAA", label="Posterior density"),
        Line2D([], [], marker="o", ls="", color=START_COLOUR, label=f"{num_seeds} start points"),
    ]
    legend_below(figure, handles, 2)
    return figure


def trajectory_figure(target, reference, positions, num_frames=12):
    """Figure 4.1: a leapfrog trajectory in successive frames.

    Parameters
    ----------
    target : Target
        A 2-dimensional model.
    reference : (size, 2) array
        Reference sample.
    positions : (L + 1, 2) array
        Start and the position after each leapfrog step.
    num_frames : int
    """
    num_steps = len(positions) - 1
    frames = np.linspace(0, num_steps, num_frames + 1).round().astype(int)[1:]
    shown = np.vstack([reference, positions])
    limits = padded_range(shown[:, 0]), padded_range(shown[:, 1])
    columns = 4
    rows = -(-num_frames // columns)
    colour = algorithm_colour("dp-hmc")
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.1 * columns, 0.3 + 2.25 * rows), sharex=True, sharey=True
    )
    for axis, j in zip(axes.flat, frames, strict=True):
        draw_density(axis, target, reference, *limits)
        axis.plot(*positions[: j + 1].T, color=colour, linewidth=1.2)
        axis.scatter(*positions[0], s=22, color=START_COLOUR, zorder=3)
        axis.set_title(f"j = {j}", pad=3)
        axis.set_aspect("equal")
        axis.grid(False)
    for axis in axes[-1]:
        axis.set_xlabel("θ₁")
    for axis in axes[:, 0]:
        axis.set_ylabel("θ₂")
    figure.tight_layout()
    handles = [
        Patch(facecolor="#AAAAAA", label="Posterior density"),
        Line2D([], [], marker="o", linestyle="", color=START_COLOUR, label="Start"),
        Line2D([], [], color=colour, label="Path up to leapfrog step j"),
    ]
    legend_below(figure, handles, 3)
    return figure


def load_target(results, name, model):
    """Posterior of a model of a study, with its data memory-mapped."""
    return Target(model, read_npy(f"{results}/data/{name}.npy"))


def load_reference(results, name):
    """Reference sample of a model of a study, (size, d)."""
    return read_npy(f"{results}/reference/{name}.npy")


def load_table(results, name):
    """Table of a study."""
    return read_csv(f"{results}/tables/{name}.csv")
