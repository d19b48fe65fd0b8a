"""Numbers and lists in words, for pages."""

FEW = 6  # seeds, below which a bootstrap interval is far too short


def interval(value, low, high, spec=".3f"):
    """Text of an estimate with its interval."""
    return f"{value:{spec}} [{low:{spec}},\N{NO-BREAK SPACE}{high:{spec}}]"


def percent(fraction):
    """Text of a small fraction, such as that of clipped rows."""
    return "<0.01 %" if 0 < fraction < 1e-4 else f"{100 * fraction:.2f} %"


def about_seeds(number):
    """A warning for readers of intervals that rest on few samples; empty otherwise."""
    if number >= FEW:
        return ""
    samples = "one sample" if number == 1 else f"{number} samples"
    return (
        f"**This study has {samples} a cell: too few for intervals, ranks and verdicts to mean "
        "anything.** They are shown as they would be for more.\n\n"
    )


def listing(items):
    """Words for a list: "a", "a and b", "a, b and c"; empty for none."""
    *rest, last = items or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def among(values, spec):
    """Text of numbers: one, or the least to the largest."""
    texts = [format(value, spec) for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)
