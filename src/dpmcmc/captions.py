"""What each figure and table shows, in one line: for pages, reports and alternative texts."""

FIGURES = {
    "figure-4.1": "A leapfrog trajectory of DP HMC on the circle, in successive frames",
    "figure-5.1": "Posterior densities of the 2-dimensional models, with the start points",
    "figure-6.1": "Iterations allowed against epsilon, one line for each accountant",
    "figure-6.1-barker": "Iterations allowed against epsilon, all algorithms on one log scale",
    "figure-6.2": "MMD against the clip bound and against the fraction of rows clipped",
    "figure-6.3": "MMD against epsilon on the flat and tempered bananas",
    "figure-6.4": "MMD against epsilon on the harder models",
    "figure-6.5": "Clipped log-likelihood ratios against epsilon on the flat and tempered bananas",
    "figure-6.6": "Clipped log-likelihood ratios against epsilon on the harder models",
    "figure-6.7": "Circle: distance of the mean from the origin, and clipped ratios",
    "figure-6.8": "Clipped gradients of DP HMC against epsilon, all models",
    "figure-barker-full-data": "DP Barker on all the data: MMD and clipped ratios against epsilon",
    "figure-circle-mmd": "Circle: MMD against epsilon",
    "figure-claims": "How many cells speak for and against each claim of the chapter",
    "figure-ranking": "Rank of each algorithm by model and epsilon, ties sharing a rank",
}

TABLES = {
    "chains": "Every private chain: iterations, acceptance and clip fractions, metrics",
    "summary": "Median and quartiles over the seeds, for each model, algorithm and epsilon",
    "ranking": "Algorithms by MMD for each model and epsilon, with intervals and ties",
    "claims": "The claims of chapter 6, with their verdicts",
    "claim-cells": "The cells that each claim speaks of, with their intervals",
    "clipping": "Every chain of the clipping study",
    "clipping-effects": "What each clip bound does to the MMD, with intervals",
    "clipping-thresholds": "The clip fraction below which clipping is undetectable",
    "baselines": "Metrics of exact posterior samples",
    "budgets": "Iterations that each budget allows, and the delta they cost",
    "accounting": "Iterations against epsilon by each accountant (Figure 6.1)",
    "audit": "Epsilon of each sampler's own code: what runs show at least, the accountant at most",
    "models": "The models (Table 5.1)",
    "timings": "What each private chain cost in seconds and memory",
}
