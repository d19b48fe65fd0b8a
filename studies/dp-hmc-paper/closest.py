"""Algorithms closest to the posterior, as published and corrected, and their median samples."""

ORDER = ("model", "epsilon")


def nearest(study, ranking, model, epsilon, algorithms):
    """Text of the algorithm with the lowest median MMD, and how good that is.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
        Table `ranking` of the study.
    model : str
    epsilon : float
    algorithms : list of str
        Those that are compared.
    """
    cells = ranking[(ranking["model"] == model) & (ranking["epsilon"] == epsilon)]
    cells = cells[cells["algorithm"].isin(algorithms)].dropna(subset="mmd")
    if cells.empty:
        return "none"
    best = cells.loc[cells["mmd"].idxmin()]
    worth = f"{best['times_exact']:.1f} times exact"
    if not best["is_nearer"]:
        worth += ", no closer than never moving"
    elif best["is_usable"]:
        worth = "usable"
    return f"{study.algorithm_label(best['algorithm'])} ({worth})"


def run_with_others(chains, models, corrected, published):
    """Models on which an algorithm runs that is corrected, and not among the published ones."""
    is_other = chains["algorithm"].isin(set(corrected) - set(published))
    return [model for model in models if (chains["model"][is_other] == model).any()]


def answer(study, ranking, models, published, corrected, has_corrected):
    """Answer of the page, a list in Markdown: the closest algorithm on each model.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
    models, published, corrected : list of str
        Ids.
    has_corrected : list of str
        Models on which a corrected algorithm runs.
    """
    lines = []
    for model in models:
        epsilon = ranking.loc[ranking["model"] == model, "epsilon"].max()
        as_published = nearest(study, ranking, model, epsilon, published)
        line = f"- **{study.model_label(model)}**, ε = {epsilon:g}: {as_published} as published"
        if model in has_corrected:
            line += f", {nearest(study, ranking, model, epsilon, corrected)} when corrected"
        lines.append(f"{line}.")
    return "\n".join(lines)


def median_table(study, ranking, models, algorithms):
    """Median MMDs, as texts: a row a model and epsilon, a column an algorithm.

    In brackets is how many times that of exact samples they are; ° marks what is no closer than
    chains that never move.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
    models, algorithms : list of str
        Ids; columns are in the order of the algorithms.

    Returns
    -------
    DataFrame
    """
    cells = ranking[ranking["model"].isin(models) & ranking["algorithm"].isin(algorithms)]
    columns = cells[["mmd", "times_exact", "is_nearer"]]
    texts = [mmd_text(*values) for values in columns.itertuples(index=False)]
    labels = cells["algorithm"].map(study.algorithm_label)
    wide = cells.assign(algorithm=labels, text=texts)
    wide = wide.pivot(index=[*ORDER], columns="algorithm", values="text")
    order = [study.algorithm_label(name) for name in algorithms]
    wide = wide[[name for name in order if name in wide]].fillna("").reset_index()
    wide["model"] = wide["model"].map(study.model_label)
    return wide.rename(columns={"epsilon": "ε"})


def mmd_text(mmd, times, is_nearer):
    """Text of a median MMD; a dash without one."""
    if mmd != mmd:
        return "–"
    return f"{mmd:.3f} ({times:.0f}×)" + ("" if is_nearer else " °")


def counts(claims):
    """Text of how often each verdict is given in a table of claims."""
    return ", ".join(f"{count} {said}" for said, count in claims["verdict"].value_counts().items())


def median_samples(chains, model, epsilon, algorithms):
    """Rows of the samples with the median MMD, the lower of two, by algorithm.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` of the study.
    model : str
    epsilon : float
    algorithms : list of str
        Those without chains of that model and epsilon are left out.

    Returns
    -------
    dict of str to Series
    """
    cells = chains[(chains["model"] == model) & (chains["epsilon"] == epsilon)]
    cells = cells.dropna(subset="mmd")
    found = {}
    for algorithm in dict.fromkeys(algorithms):
        ordered = cells[cells["algorithm"] == algorithm].sort_values("mmd")
        if len(ordered):
            found[algorithm] = ordered.iloc[(len(ordered) - 1) // 2]
    return found
