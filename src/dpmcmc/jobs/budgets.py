"""What iterations cost, and how many epsilon allows; no data is touched."""

from functools import cache
from math import inf

from dpmcmc.accounting.accountants import accountant, epsilon_of, first_guess, name_in_tables
from dpmcmc.accounting.search import max_iterations, rounded_up, spent_epsilon
from dpmcmc.files import JobError, read_json, write_json
from dpmcmc.jobs.samplers import build_sampler

MAX_ITERATIONS = 10**7  # a chain is held in memory


def budget(spec, output):
    """Work out how many iterations epsilon and delta allow, or what epsilon they cost, as JSON."""
    keys = {key: spec[key] for key in ("model", "algorithm")}
    if spec["accountant"] is None:
        privacy = dict.fromkeys(["epsilon", "target_delta", "accountant"])
        cost = {"chains_per_sample": spec["chains_per_sample"], "iterations": spec["iterations"]}
        cost |= dict.fromkeys(["allowed_iterations", "spent_epsilon", "delta"])
    else:
        privacy = {"epsilon": spec.get("epsilon"), "target_delta": spec["delta"]}
        privacy["accountant"] = name_in_tables(spec["accountant"])
        cost = given_epsilon(spec) if "epsilon" in spec else given_iterations(spec)
    write_json(keys | privacy | cost | spec["varied"], output)


def given_epsilon(spec):
    """Iterations of a chain that epsilon allows, at most its cap; then the epsilon they spend."""
    chains = spec["chains_per_sample"]
    delta, mechanism, allowed = allowed_iterations(spec, chains * (MAX_ITERATIONS + 1))
    iterations = min(allowed // chains, spec.get("max_iterations", allowed))
    total = chains * iterations
    spent = spec["epsilon"]
    if total < allowed:
        spent = spent_epsilon(delta, mechanism, total, spec["epsilon"], spec["delta"])
        spent = min(rounded_up(spent), spec["epsilon"])
    if iterations > MAX_ITERATIONS:
        raise JobError(
            f"{spec['algorithm']} on {spec['model']} at epsilon {spec['epsilon']:g} may run for "
            f"{iterations} iterations, above the limit of {MAX_ITERATIONS}; use less noise"
        )
    return {
        "chains_per_sample": chains,
        "iterations": iterations,
        "allowed_iterations": allowed,
        "spent_epsilon": spent,
        "delta": rounded(delta(mechanism, total, spec["epsilon"])),
    }


def given_iterations(spec):
    """Epsilon that the iterations of all chains of a mechanism cost, and the delta at it."""
    module, mechanism = accountant(spec["accountant"]), mechanism_of(spec)
    total = spec["chains_per_sample"] * spec["iterations"]
    spent = rounded_up(epsilon_of(module, mechanism, total, spec["delta"]))
    return {
        "chains_per_sample": spec["chains_per_sample"],
        "iterations": spec["iterations"],
        "allowed_iterations": None,
        "spent_epsilon": spent,
        "delta": rounded(module.delta(mechanism, total, spent)) if spent < inf else None,
    }


def rounded(delta):
    """Ten digits: transforms may differ in the last ones from machine to machine."""
    return float(f"{delta:.10g}")


def allowed_iterations(spec, limit):
    """The spec's accountant, its mechanism, and how many iterations are allowed, up to a limit."""
    module, mechanism = accountant(spec["accountant"]), mechanism_of(spec)
    delta = cache(module.delta)
    bound = spec["epsilon"], spec["delta"]
    guess = first_guess(module, mechanism, *bound)
    return delta, mechanism, max_iterations(delta, mechanism, *bound, *guess, limit=limit)


def mechanism_of(spec):
    """What one iteration of the spec's sampler releases."""
    return build_sampler(spec).mechanism(spec["num_rows"], spec["likelihood_power"])


def certification(spec, budget, output):
    """Price a cell's iterations by another accountant, as CSV; with what that would allow."""
    published, chains = read_json(budget), spec["chains_per_sample"]
    _, mechanism, allowed = allowed_iterations(spec, chains * (MAX_ITERATIONS + 1))
    total = chains * published["iterations"]
    spent = epsilon_of(accountant(spec["accountant"]), mechanism, total, spec["delta"])
    row = {key: published[key] for key in ("model", "algorithm", "epsilon", "accountant")} | {
        "chains_per_sample": chains,
        "iterations": published["iterations"],
        "allowed_iterations": published["allowed_iterations"],
        "certified_iterations": allowed,
        "certified_epsilon": rounded_up(spent),
    }
    write_rows([row], output)


def accounting_curve(spec, output):
    """Work out the iterations that one accountant allows at many epsilons, as CSV."""
    module, mechanism, rows = accountant(spec["accountant"]), mechanism_of(spec), []
    iterations, ratio = 0, 1.0  # of the iterations to the first guess, at the epsilon before
    for epsilon in spec["epsilons"]:
        bound = epsilon, spec["delta"]
        guess, spread = first_guess(module, mechanism, *bound)
        start = round(ratio * guess) or iterations
        iterations = max_iterations(module.delta, mechanism, *bound, start, spread)
        ratio = iterations / guess if guess else 1.0
        keys = {key: spec[key] for key in ("model", "algorithm")}
        keys["accountant"] = name_in_tables(spec["accountant"])
        rows.append(keys | {"epsilon": epsilon, "iterations": iterations})
    write_rows(rows, output)


def write_rows(rows, output):
    """Write dicts as CSV. To load pandas takes longer than most budgets, which do without it."""
    import pandas as pd

    from dpmcmc.frames import write_csv

    write_csv(pd.DataFrame(rows), output)
