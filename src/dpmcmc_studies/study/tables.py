"""The tables that a study can have, and what each holds, in the order in which pages list them."""

TABLES = {
    "chains": "Every chain, or sample of several: acceptance, clipping, metrics, effective size",
    "summary": "Medians and quartiles of each cell, on a scale from never moving to exact samples",
    "ranking": "Algorithms by MMD for each model and epsilon, with intervals and ties",
    "claims": "The claims that are judged, with their verdicts",
    "claim-comparisons": "The comparisons that each claim makes, with their intervals",
    "claims-by-data-set": "The same claims, on each data set alone",
    "claims-certified": "The same claims, with certified accounting of the batch algorithms",
    "claim-comparisons-certified": "The comparisons of those, with their intervals",
    "certified": "Iterations and epsilon of the published settings, by the certified accountant",
    "clipping-effects": "What each clip bound does to the MMD, with intervals",
    "clipping-thresholds": "The clip fraction below which clipping is undetectable",
    "baselines": "Metrics of exact posterior samples",
    "starts": "Metrics of chains that would never leave their start points",
    "mixing": "Split R-hat of the chains of each cell",
    "budgets": "Iterations run and allowed (10,000,001 a chain means that or more), and their cost",
    "accounting": "Iterations against epsilon by each accountant",
    "audit": "Bounds on each sampler's epsilon: below by runs of its code, above by its accountant",
    "intervals": "Coverage and width of credible intervals over data sets drawn from the prior",
    "models": "The models",
    "timings": "What each chain cost in seconds and memory",
}
