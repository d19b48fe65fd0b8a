"""Gradients that were clipped, by model."""


def clip_table(study, chains):
    """Table of clipped gradients and acceptance rates: a list of dict, one a model.

    Parameters
    ----------
    study : StudyResults
    chains : DataFrame
        Rows of the table `chains`, of one algorithm.
    """
    rows = []
    for model, cells in chains.groupby("model", sort=False):
        medians = cells.groupby("epsilon")["gradient_clip_fraction"].median().dropna()
        rows.append(
            {
                "model": study.model_label(model),
                "gradients clipped": f"{medians.min():.1%} to {medians.max():.1%}",
                "largest of a chain": f"{cells['gradient_clip_fraction'].max():.1%}",
                "acceptance rate": f"{cells['acceptance_rate'].median():.2f}",
            }
        )
    return rows
