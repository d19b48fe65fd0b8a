"""The command `score`: what submissions to a task are worth, beside methods of a study."""

import csv
import io
import math
from pathlib import Path

from dpmcmc import committed
from dpmcmc.commands.tasks import read_reference, read_submissions, read_task
from dpmcmc.evaluation import scores
from dpmcmc.extras import missing
from dpmcmc.files import JobError, read_json, replacing

HEADER = ["method", "epsilon", "score_ratio", "+-", "worth", "+-", "90%_cover", "+-", "width", "+-"]
NO_INTERVALS = "no intervals"  # verdict where any sample has none of its own
METRICS = "score_ratio", "coverage", "width"
COLOURS = {True: "#0067A5", False: "#848482"}  # submitted or not


def score(folder, plot=None):
    """Score all submissions to a task by the exact posteriors, as a table and `scores.csv`.

    Parameters
    ----------
    folder : path
        Of `python -m dpmcmc task`.
    plot : path, optional
        Where to draw a figure: its suffix, .png or .svg for instance, says what it is.

    Raises
    ------
    JobError
        For what is missing or no number.
    """
    task = read_task(folder)
    submissions = read_submissions(folder, task)
    exact, prior = read_reference(folder, task)
    lines, rows = [], []
    for one in submissions:
        found = [
            scores.interval_metrics(*pair, prior) for pair in zip(one.draws, exact, strict=True)
        ]
        lines += [line(task, one, i, metrics) for i, metrics in enumerate(found)]
        row = scores.summary({name: [metrics[name] for metrics in found] for name in found[0]})
        if row["not_scored"]:
            row["honest"] = NO_INTERVALS  # those of the prior cover
        rows.append(row | {"method": one.name, "epsilon": one.epsilon, "is_submitted": True})
        rows[-1]["is_within"] = one.epsilon <= task.epsilon and one.delta <= task.delta
    write_scores(Path(folder, "scores.csv"), lines)
    of_study = committed_methods(task)
    rows = sorted(rows, key=rank) + sorted(of_study, key=rank)
    print(table(task, rows))
    if plot:
        draw(task, rows, plot)


def line(task, submission, number, metrics):
    """Scores of a submission on a data set, with the columns of a study's `scores.csv`."""
    keys = {"model": task.task, "algorithm": submission.name, "epsilon": submission.epsilon}
    return keys | {"sample": number, "data_set": number} | metrics


def write_scores(path, lines):
    """Write the scores of each data set."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def rank(row):
    """Honest methods first, each by its worth."""
    return row["honest"] != "honest", -row["worth"]


def committed_methods(task):
    """Rows of the methods that the task's study has at its epsilon, if it is the same model."""
    try:
        found = committed.rows(task.study, "worth") if task.study else []
        about = read_json(committed.folder_of(task.study) / "study.json") if found else {}
    except (ValueError, FileNotFoundError):
        return []
    if about.get("models", {}).get(task.task, {}).get("entry") != task.model:
        return []
    return [
        of_cell(about, row)
        for row in found
        if row["model"] == task.task and math.isclose(float(row["epsilon"] or 0), task.epsilon)
    ]


def of_cell(about, cell):
    """Row of a cell of a study's table `worth`."""
    label = about.get("algorithms", {}).get(cell["algorithm"], {}).get("label", cell["algorithm"])
    names = [name + suffix for name in ("worth", *METRICS) for suffix in ("", "_se")]
    row = {name: float(cell[name]) for name in ("epsilon", *names)}
    row |= {"not_scored": int(cell["not_scored"]), "honest": cell["honest"]}
    return row | {"method": label, "is_submitted": False, "is_within": True}


def table(task, rows):
    """Rows as a text, with lines that explain the columns."""
    texts = [[*HEADER, "verdict"], *map(texts_of, rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(
            [cells[0].ljust(widths[0]), *map(str.rjust, cells[1:-1], widths[1:-1]), cells[-1]]
        )
        for cells in texts
    ]
    of_study = sum(not row["is_submitted"] for row in rows)
    return "\n".join([*lines, explained(task, of_study)])


def texts_of(row):
    """Cells of a row: worth that is not to be relied on in brackets, and a verdict."""
    verdict = row["honest"]
    worth = f"{row['worth']:.0%}" if verdict == "honest" else f"({row['worth']:.0%})"
    if row["not_scored"]:
        verdict += f" ({row['not_scored']} samples)"
    if not row["is_within"]:
        verdict += "; over the budget"
    verdict = f"submitted, {verdict}" if row["is_submitted"] else verdict
    ratio, ratio_se = (f"{row[name]:.3f}" for name in ("score_ratio", "score_ratio_se"))
    return [
        *(row["method"], f"{row['epsilon']:.4g}", ratio, ratio_se, worth, f"{row['worth_se']:.1%}"),
        *(f"{row['coverage']:.0%}", f"{row['coverage_se']:.1%}"),
        *(f"{row['width']:.2f}", f"{row['width_se']:.2f}", verdict),
    ]


def explained(task, of_study):
    """Meaning of the columns, and where rows are from."""
    beside = f"the other {of_study} methods are of the study {task.study}"
    if not of_study:
        beside = "no committed table has the worth of others on this model at this epsilon"
    return f"""
{task.task}: means over {task.data_sets} data sets, with their standard errors (+-).
Budget: epsilon {task.epsilon:g}, delta {task.delta:g}. What a submission spent is what it says,
and is not checked here; {beside}.
score_ratio: interval score over that of the exact posterior; lower is better
worth:       an exact posterior of so many of the rows is as good; in brackets unless honest
90%_cover:   mass of the exact posterior in the 90 % intervals
width:       of these intervals, in widths of the exact posterior's
honest:      they cover at least {scores.LEAST_COVERAGE:.0%}, with \
{scores.CONFIDENCE:.0%} confidence"""


def draw(task, rows, path):
    """Draw worth, coverage and width of all methods, with two standard errors."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise JobError(f"--plot: {missing(error.name, 'studies')}") from None
    figure = Figure(figsize=(9, 1.4 + 0.3 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    ideal = {"worth": 1, "coverage": scores.LEVEL, "width": 1}
    for axis, (name, value) in zip(panels, ideal.items(), strict=True):
        axis.axvline(value, color="0.8", zorder=0)
        for i, row in enumerate(rows):
            half = 2 * row[f"{name}_se"]
            axis.errorbar(
                row[name],
                i,
                xerr=half if math.isfinite(half) else None,
                fmt="o",
                color=COLOURS[row["is_submitted"]],
                markerfacecolor=None if row["honest"] == "honest" else "white",
            )
        axis.set_xlabel({"coverage": "coverage of 90 % intervals"}.get(name, name))
        axis.set_xlim(left=0)
        axis.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(rows)), [row["method"] for row in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.suptitle(
        f"{task.task}, epsilon {task.epsilon:g}; filled: honest; blue: submitted", fontsize="medium"
    )
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise JobError(f"--plot: {path} cannot be drawn ({error})") from None
    print(f"drawn to {path}")
