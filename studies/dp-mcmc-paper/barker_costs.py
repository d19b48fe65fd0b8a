"""Costs of DP Barker by its published accountant and by the certified one."""

import dataclasses

import numpy as np

import dpmcmc

ACCOUNTANTS = ("barker-rdp", "certified")


def spent(sampler, b, n, counts, delta_times_n):
    """Epsilons of numbers of iterations on batches of b of n rows, by accountant.

    Parameters
    ----------
    sampler : MinibatchBarker
        Whose batch size is replaced.
    b, n : float
    counts : sequence of int
        Numbers of iterations.
    delta_times_n : float

    Returns
    -------
    dict of str to list of float
    """
    priced = dataclasses.replace(sampler, batch_size=int(b))
    delta = delta_times_n / n
    return {
        name: [dpmcmc.epsilon(priced, int(n), int(count), delta, name) for count in counts]
        for name in ACCOUNTANTS
    }


def against_ratio(sampler, num_rows, ratios, iterations, delta_times_n):
    """Lines of `mixture_figures.epsilon_panels`: epsilon against the sampling ratio, one an n."""
    lines = {}
    for n in num_rows:
        found = [spent(sampler, round(q * n), n, [iterations], delta_times_n) for q in ratios]
        lines[f"n = {n:,}"] = ratios, {name: [of[name][0] for of in found] for name in ACCOUNTANTS}
    return lines


def against_count(sampler, batch_sizes, ratio, most, delta_times_n, points=13):
    """Lines of `mixture_figures.epsilon_panels`: epsilon against iterations, one a batch size."""
    counts = np.unique(np.geomspace(100, most, points).astype(int))
    return {
        f"b = {b:,}": (counts, spent(sampler, b, b / ratio, counts, delta_times_n))
        for b in batch_sizes
    }


def cost_table(sampler, cases, iterations, delta_times_n):
    """Table of costs of some pairs of n and b: a list of dict."""
    rows = []
    for n, b in cases:
        published, certified = spent(sampler, b, n, [iterations], delta_times_n).values()
        costs = {"ε as published": published[0], "ε certified": certified[0]}
        rows.append({"n": f"{n:,}", "b": b, "iterations": iterations} | costs)
    return rows


def clip_fractions(chains, model, algorithm):
    """Chains of a sweep over the proposal's scale, and their shares of clipped ratios.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` with `proposal_scale`.
    model, algorithm : str

    Returns
    -------
    swept : DataFrame
        Rows of the sweep.
    shares : DataFrame
        A row a scale, a column a seed.
    """
    is_cell = (chains["model"] == model) & (chains["algorithm"] == algorithm)
    swept = chains[is_cell].dropna(subset="proposal_scale")
    return swept, swept.pivot(index="proposal_scale", columns="sample", values="clip_fraction")
