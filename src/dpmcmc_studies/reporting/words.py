"""Numbers, lists and tables as text, for pages."""

import re

FEW_SEEDS = 6  # with fewer, a bootstrap interval is far too short
# A number, an interval after it, or what stands for none: texts of a column of numbers.
NUMBER = re.compile(r"[-+<]?[\d.,]+( ?%)?( \[.*\])?|–|none|nan")
# Names of accountants on pages.
ACCOUNTANTS = {
    "gaussian": "exact",
    "zcdp": "zCDP",
    "published-pld": "PLD as published",
    "rdp": "RDP",
    "barker-rdp": "RDP",
    "certified": "certified PLD",
}


def accountant_label(accountant):
    """Name of an accountant on pages."""
    return ACCOUNTANTS.get(accountant, accountant.replace("_", " "))


def interval(value, low, high, spec=".3f"):
    """Text of an estimate with its interval; a dash for NaN."""
    if value != value:
        return "–"
    return f"{value:{spec}} [{low:{spec}},\N{NO-BREAK SPACE}{high:{spec}}]"


def of_chains(estimate, values, spec=".3f"):
    """Text of a median with its interval or, of few values, with their range."""
    if len(values) >= FEW_SEEDS:
        return interval(*estimate, spec)
    return f"{estimate.value:{spec}} ({among(values, spec)})"


def number(value, spec):
    """Text of a number; a dash for NaN, as R-hat is of chains with too few draws."""
    return format(value, spec) if value == value else "–"


def percent(fraction):
    """Text of a small fraction, such as that of clipped rows."""
    return "<0.01 %" if 0 < fraction < 1e-4 else f"{100 * fraction:.2f} %"


def about_seeds(number):
    """A warning for readers of intervals that rest on few samples; empty otherwise."""
    if number >= FEW_SEEDS:
        return ""
    samples = "one sample" if number == 1 else f"{number} samples"
    return (
        f"**This study has only {samples} per cell. That is too few for intervals, ranks and "
        "verdicts to mean anything.** The pages show them all the same.\n\n"
    )


def with_rows(model):
    """Label and number of rows of a model of `study.json`, in Markdown; the rows stand once."""
    label, rows = model.label, f"n = {model.num_rows:,}"
    return f"**{label}**" if label.endswith(rows) else f"**{label}**, {rows}"


def listing(items, word="and"):
    """Words for a list: "a", "a and b", "a, b and c"; empty for none."""
    *rest, last = items or [""]
    return f"{', '.join(rest)} {word} {last}" if rest else last


def among(values, spec):
    """Text of numbers: one, or the least to the largest."""
    texts = [format(value, spec) for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def markdown_table(table):
    """A Markdown table of a data frame; columns of numbers to the right."""
    texts = table.astype(str)
    marks = ["---:" if texts[name].str.fullmatch(NUMBER).all() else "---" for name in texts]
    lines = [list(texts), marks, *texts.replace(r"\|", r"\|", regex=True).to_numpy()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def by_epsilon(study, table, column, spec, keys=("model", "algorithm")):
    """A column of a table against epsilon, as texts, with labels in place of ids.

    Parameters
    ----------
    study : StudyResults
    table : DataFrame
        With `keys`, `epsilon` and that column; the median of a cell that has several rows.
    column, spec : str
        Format specification of its numbers, such as ".3f". Missing ones stay so.
    keys : sequence of str
        Columns that tell rows apart, the first two of them ids of models and algorithms.

    Returns
    -------
    DataFrame
        One row a combination of the keys, one column an epsilon, in increasing order.
    """
    numbers = table.assign(**{column: table[column].astype(float)})
    wide = numbers.pivot_table(
        index=[*keys], columns="epsilon", values=column, aggfunc="median", sort=False
    )
    wide = wide[sorted(wide)].map(lambda number: format(number, spec), na_action="ignore")
    wide.columns = [f"ε = {epsilon:g}" for epsilon in wide]
    wide = wide.reset_index()
    model, algorithm, *_ = keys
    wide[model] = wide[model].map(study.model_label)
    wide[algorithm] = wide[algorithm].map(study.algorithm_label)
    return wide
