"""How much single chains clip, in words, for the page that compares algorithms."""

from dpmcmc_studies.reporting import words

MUCH = 0.1  # share of the ratios of a chain: more is counted


def most_clipped(study, chains):
    """Lines, one for each algorithm: its median clip fractions, and chains that clip much.

    Medians hide single chains, so chains are counted.

    Parameters
    ----------
    study : StudyResults
    chains : DataFrame
        Rows of the table `chains` that have an epsilon.

    Returns
    -------
    str
        In Markdown.
    """
    lines = []
    present = chains.dropna(subset="clip_fraction")
    for algorithm, of_algorithm in present.groupby("algorithm", sort=False):
        label, shares = study.algorithm_label(algorithm), of_algorithm["clip_fraction"]
        if not study.clips_ratios(algorithm):
            lines.append(
                f"- {label} has no ratios, so it is not drawn. It clips the statistics of the "
                f"rows, once: at most {shares.max():.1%} of them."
            )
            continue
        medians = of_algorithm.groupby(["model", "epsilon"], sort=False)["clip_fraction"].median()
        lines.append(
            f"- {label}: medians from {medians.min():.1%} to {medians.max():.1%} "
            f"({place(study, *medians.idxmax())}). **{(shares > MUCH).sum()} of {len(shares):,} "
            f"chains clip more than {MUCH:.0%}**{where(study, of_algorithm)}."
        )
    return "\n".join(lines)


def where(study, chains):
    """Models on which chains clip much, with their numbers, and the largest share of all."""
    parts = [
        f"{count} of {len(of_model)} on *{study.model_label(model)}*"
        for model, of_model in chains.groupby("model", sort=False)
        if (count := (of_model["clip_fraction"] > MUCH).sum())
    ]
    if not parts:
        return ""
    most = chains.loc[chains["clip_fraction"].idxmax()]
    return (
        f": {words.listing(parts)}. The largest share is {most['clip_fraction']:.1%} "
        f"({place(study, most['model'], most['epsilon'])})"
    )


def place(study, model, epsilon):
    """Text of a model and an epsilon."""
    return f"*{study.model_label(model)}*, ε = {epsilon:g}"
