"""Chains on circles: how far their means are from the centre, which tells one side from all."""

import numpy as np


def sides(study, chains, models):
    """Distance of the means of chains from the centre at the largest epsilon, as Markdown.

    Parameters
    ----------
    study : StudyResults
    chains : DataFrame
        Table `chains` of the study.
    models : list of str
        Ids of circles.
    """
    lines = []
    for model in models:
        radius = np.linalg.norm(study.reference(model), axis=1).mean()
        lines.append(
            f"On *{study.model_label(model)}*, the posterior has the mean radius {radius:.2f}. At "
            "the largest ε:\n"
        )
        of_model = chains[chains["model"] == model]
        at_largest = of_model[of_model["epsilon"] == of_model["epsilon"].max()]
        for algorithm, cell in at_largest.groupby("algorithm", sort=False):
            far = (cell["mean_error"] > radius / 2).sum()
            lines.append(
                f"- {study.algorithm_label(algorithm)}, ε = {cell['epsilon'].iloc[0]:g}, "
                f"{cell['iterations'].iloc[0]:,} iterations: median distance "
                f"{cell['mean_error'].median():.2f}; {far} of {len(cell)} chains have their mean "
                "further out than half the radius, which means that they saw one side mostly."
            )
    return "\n".join(lines)


def thinning(chains, models):
    """Sentence on chains that were thinned for their MMD; empty if there are none."""
    is_thinned = chains["model"].isin(models) & (chains["mmd_draws"] < chains["kept_draws"])
    thinned = chains[is_thinned]
    if thinned.empty:
        return ""
    return (
        f" For it, the kept draws of {len(thinned)} chains were thinned evenly to "
        f"{thinned['mmd_draws'].max():,}; the longest had {thinned['kept_draws'].max():,}."
    )
