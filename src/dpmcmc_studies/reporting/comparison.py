"""Texts of the page that compares algorithms over epsilon."""

from dpmcmc_studies.reporting import words


def nearest(study, summary, models):
    """Algorithm with the lowest median MMD on each model at its largest epsilon, as Markdown.

    Parameters
    ----------
    study : StudyResults
    summary : DataFrame
        Table `summary` of the study, of the algorithms that are compared.
    models : list of str
    """
    return "\n".join(
        nearest_on(study, summary[summary["model"] == model], model) for model in models
    )


def nearest_on(study, cells, model):
    """Line of `nearest` for a model, from its rows of the summary."""
    cells = cells.dropna(subset="mmd_median")
    if cells.empty:
        return f"- {study.model_label(model)}: no chain is long enough for an MMD."
    cells = cells[cells["epsilon"] == cells["epsilon"].max()]
    mmds = cells["mmd_median"]
    best, worst = cells.loc[mmds.idxmin()], cells.loc[mmds.idxmax()]
    line = (
        f"- {study.model_label(model)}, ε = {best['epsilon']:g}: the lowest median is that of "
        f"{study.algorithm_label(best['algorithm'])}, {best['mmd_median']:.3f}, which is "
        f"{best['times_exact']:.1f} times that of exact samples and closes "
        f"{best['distance_closed']:.0%} of the distance from never moving to exact."
    )
    if len(cells) > 1:
        label = study.algorithm_label(worst["algorithm"])
        line += f" The highest is that of {label}, {worst['mmd_median']:.3f}."
    return line


def labels(study, models):
    """Names of models, for a caption."""
    return words.listing([f"*{study.model_label(model)}*" for model in models])
