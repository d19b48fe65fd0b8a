"""Costs of iterations, and the number that epsilon allows; no data is touched."""

from functools import cache
from math import inf

from dpmcmc.accounting.accountants import name_in_tables
from dpmcmc.accounting.costs import Price, preparation_noise
from dpmcmc.files import JobError, read_json, write_json
from dpmcmc.precomputed import with_noise
from dpmcmc_studies.jobs.samplers import build_sampler
from dpmcmc_studies.study import specs

MAX_ITERATIONS = 10**7  # a chain is held in memory


def budget(spec: specs.Budget, output):
    """Work out how many iterations epsilon and delta allow, or what epsilon they cost, as JSON.

    With the noise of a preparation, where that is left to the budget: the key `noise_scale`.
    """
    row = {
        "model": spec.model,
        "algorithm": spec.algorithm,
        "epsilon": spec.epsilon,
        "target_delta": None,
        "accountant": spec.accountant and name_in_tables(spec.accountant),
        "chains_per_sample": spec.chains_per_sample,
        "iterations": spec.iterations,
        "allowed_iterations": None,
        "spent_epsilon": None,
        "delta": None,
    }
    if spec.accountant is not None:
        noise = noise_of(spec, spec.epsilon)
        price = price_of(spec, noise)
        cost = given_iterations(spec, price) if spec.epsilon is None else given_epsilon(spec, price)
        row |= {"target_delta": spec.delta} | cost | noise
    write_json(row | spec.varied, output)


def noise_of(spec, epsilon):
    """Noise of a preparation that has all of a budget, as `{"noise_scale": 1 / mu}`; {} without."""
    if epsilon is None or not build_sampler(spec).prepares:
        return {}
    budget = spec.num_rows, epsilon, spec.delta, spec.accountant
    return {"noise_scale": preparation_noise(*budget, chains=spec.chains_per_sample)}


def given_epsilon(spec, price):
    """Iterations of a chain that epsilon allows, at most its cap; then the epsilon they spend.

    Free ones are given too.
    """
    chains, epsilon = spec.chains_per_sample, spec.epsilon
    if spec.iterations is not None:
        total = chains * spec.iterations
        if price.delta(total, epsilon) > spec.delta:
            raise JobError(
                f"{spec.algorithm} on {spec.model} costs more than epsilon {epsilon:g}; "
                "leave out its noise_scale, which then follows from epsilon"
            )
        spent = price.epsilon(total, spec.delta, at_most=epsilon)
        return {"spent_epsilon": spent, "delta": ten_digits(price.delta(total, epsilon))}
    allowed = price.iterations(epsilon, spec.delta, limit=chains * (MAX_ITERATIONS + 1))
    iterations = allowed // chains
    if spec.max_iterations is not None:
        iterations = min(iterations, spec.max_iterations)
    if iterations > MAX_ITERATIONS:
        raise JobError(
            f"{spec.algorithm} on {spec.model} at epsilon {epsilon:g} may run for "
            f"{iterations} iterations, above the limit of {MAX_ITERATIONS}; use less noise"
        )
    total = chains * iterations
    return {
        "iterations": iterations,
        "allowed_iterations": allowed,
        "spent_epsilon": price.epsilon(total, spec.delta, at_most=epsilon)
        if total < allowed
        else epsilon,
        "delta": ten_digits(price.delta(total, epsilon)),
    }


def given_iterations(spec, price):
    """Epsilon that the iterations of all chains of a sample cost, and the delta at it."""
    total = spec.chains_per_sample * spec.iterations
    spent = price.epsilon(total, spec.delta)
    delta = ten_digits(price.delta(total, spent)) if spent < inf else None
    return {"spent_epsilon": spent, "delta": delta}


def ten_digits(delta):
    """Delta rounded: transforms may differ in the last digits from machine to machine."""
    return float(f"{delta:.10g}")


def price_of(spec, budget):
    """Price of the iterations of the spec's sampler, by its accountant; with a budget's noise."""
    size = spec.num_rows, spec.accountant, spec.likelihood_power, spec.chains_per_sample
    sampler = with_noise(build_sampler(spec), budget)
    return Price(sampler, *size)


def certification(spec: specs.Certification, budget, run, output):
    """Price a cell's iterations by another accountant, with what that would allow, as CSV."""
    published, chains = read_json(budget), spec.chains_per_sample
    price = price_of(spec, published)
    bound = spec.epsilon, spec.delta
    row = {key: published[key] for key in ("model", "algorithm", "epsilon", "accountant")} | {
        "chains_per_sample": chains,
        "iterations": published["iterations"],
        "allowed_iterations": published["allowed_iterations"],
        "certified_iterations": price.iterations(*bound, limit=chains * (MAX_ITERATIONS + 1)),
        "certified_epsilon": price.epsilon(chains * published["iterations"], spec.delta),
        "run": run,
    }
    write_rows([row], output)


def accounting_curve(spec: specs.AccountingCurve, output):
    """Work out the iterations that one accountant allows at many epsilons, as CSV."""
    keys = {"model": spec.model, "algorithm": spec.algorithm}
    keys["accountant"] = name_in_tables(spec.accountant)
    price = cache(lambda noise: price_of(spec, dict(noise)))  # one, unless a preparation's differs
    rows = []
    for epsilon in spec.epsilons:
        noise = noise_of(spec, epsilon)
        allowed = price(tuple(noise.items())).iterations(epsilon, spec.delta)
        rows.append(keys | {"epsilon": epsilon, "iterations": allowed})
    write_rows(rows, output)


def write_rows(rows, output):
    """Write dicts as CSV. Loading pandas takes longer than most budgets, which do without it."""
    import pandas as pd

    from dpmcmc_studies.frames import write_csv

    write_csv(pd.DataFrame(rows), output)
