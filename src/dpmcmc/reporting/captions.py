"""What each table holds, in one line: for pages and reports."""

TABLES = {
    "chains": "Every chain: iterations, acceptance and clip fractions, metrics",
    "summary": "Median and quartiles over the seeds, for each model, algorithm and epsilon",
    "ranking": "Algorithms by MMD for each model and epsilon, with intervals and ties",
    "claims": "The claims of chapter 6, with their verdicts",
    "claim-cells": "The cells that each claim speaks of, with their intervals",
    "claims-certified": "The same claims, with certified accounting of the batch algorithms",
    "claim-cells-certified": "The cells of those, with their intervals",
    "certified": "Iterations and epsilon of the published settings, by the certified accountant",
    "clipping-effects": "What each clip bound does to the MMD, with intervals",
    "clipping-thresholds": "The clip fraction below which clipping is undetectable",
    "baselines": "Metrics of exact posterior samples",
    "budgets": "Iterations that each budget allows, and the delta they cost",
    "accounting": "Iterations against epsilon by each accountant (Figure 6.1)",
    "audit": "Epsilon of each sampler's own code: what runs show at least, the accountant at most",
    "models": "The models (Table 5.1)",
    "timings": "What each chain cost in seconds and memory",
}
