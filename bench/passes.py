"""One pass over the rows on one core: clipped sums by each kind of likelihood, as a table.

    PYTHONPATH=src:tests taskset -c 0 python bench/passes.py

Beside them the same sums as they are written in JAX today: `vmap` of the log-likelihood at both
positions or of its gradient, clip, sum, in one `jit` on data that stay on the device, without the
rule for rows that are not finite and without counts. The best of many calls, interleaved, so that
other work on the machine slows all of them alike.
"""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from row_models import (
    BananaJax,
    BananaRows,
    LogisticJax,
    LogisticRows,
    PlainBananaRows,
    PlainLogisticRows,
)

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana

NUM_ROWS = 100_000
ROUNDS, CALLS = 40, 5
LENGTH = 0.02  # of a step
COLUMNS = ["affine", "rows", "rows, difference", "JAX", "plain JAX"]


def plain_jax(model, rows):
    """Clipped sums of ratios and of gradients, the way the field writes them."""
    rows = jnp.asarray(rows)
    log_likelihood = jax.vmap(model.log_likelihood_row, (None, 0))
    gradient = jax.vmap(jax.grad(model.log_likelihood_row), (None, 0))

    @jax.jit
    def ratio_sum(theta, theta_new, bound):
        ratios = log_likelihood(theta_new, rows) - log_likelihood(theta, rows)
        return jnp.clip(ratios, -bound, bound).sum()

    @jax.jit
    def gradient_sum(theta, bound):
        gradients = gradient(theta, rows)
        norms = jnp.linalg.norm(gradients, axis=1, keepdims=True)
        return (gradients * jnp.minimum(1, bound / norms)).sum(axis=0)

    return ratio_sum, gradient_sum


def calls(models, plain):
    """Calls by the sum and by who makes it: functions of a step's number."""
    rng = np.random.default_rng(1)
    rows = plain.simulate(rng)
    targets = {
        name: Target(model, model.dataset(np.random.default_rng(1)) if name == "affine" else rows)
        for name, model in models.items()
    }
    theta = plain.true_theta
    steps = rng.standard_normal((64, plain.dimension))
    steps *= LENGTH / np.linalg.norm(steps, axis=1, keepdims=True)
    ratios = targets["rows"].model.log_likelihood_ratio(theta, theta + steps[0], rows)
    norms = np.linalg.norm(targets["rows"].model.gradient(theta, rows), axis=1)
    bounds = np.quantile(abs(ratios), 0.9), np.quantile(norms, 0.9)
    ratio_sum, gradient_sum = plain_jax(plain, rows)
    made = {
        ("ratios", name): of_ratios(target, theta, steps, bounds[0])
        for name, target in targets.items()
    }
    made |= {
        ("gradients", name): of_gradients(target, theta, steps, bounds[1])
        for name, target in targets.items()
    }
    made["ratios", "plain JAX"] = lambda i: float(
        ratio_sum(theta, theta + steps[i % 64], bounds[0])
    )
    made["gradients", "plain JAX"] = lambda i: np.asarray(
        gradient_sum(theta + steps[i % 64], bounds[1])
    )
    return made


def of_ratios(target, theta, steps, bound):
    """A call of the clipped sum of ratios."""
    return lambda i: target.clipped_log_likelihood_ratio(theta, theta + steps[i % 64], bound)


def of_gradients(target, theta, steps, bound):
    """A call of the clipped sum of gradients, which the target is not to remember."""

    def call(i):
        target._gradients.clear()
        return target.clipped_gradient(theta + steps[i % 64], bound)

    return call


def best_times(made):
    """Shortest time of a call, in seconds."""
    for call in made.values():
        for i in range(100):  # until all that pays is prepared
            call(i)
    best = dict.fromkeys(made, float("inf"))
    for _ in range(ROUNDS):
        for key, call in made.items():
            for i in range(CALLS):
                start = time.perf_counter()
                call(i)
                best[key] = min(best[key], time.perf_counter() - start)
    return best


def main():
    """Print the table."""
    if len(os.sched_getaffinity(0)) > 1:
        raise SystemExit("passes are compared on one core: taskset -c 0 python bench/passes.py")
    print(
        f"One pass over n = {NUM_ROWS} rows on one core, float64, best of {ROUNDS * CALLS}, in ms\n"
    )
    print(f"| model | sum | {' | '.join(COLUMNS)} | rows / plain JAX |")
    print("|---|---|" + "---:|" * (len(COLUMNS) + 1))
    cases = {}
    for d in (2, 10):
        banana = Banana(d, NUM_ROWS, 20, 1000, [20, 2.5, 1][:d], [0, 3, 0][:d])
        models = {
            "affine": banana,
            "rows": BananaRows(banana),
            "rows, difference": PlainBananaRows(banana),
        }
        cases[f"banana, d = {d}"] = models, BananaJax(banana)
    models = {
        "rows": LogisticRows(10, NUM_ROWS),
        "rows, difference": PlainLogisticRows(10, NUM_ROWS),
    }
    cases["logistic regression, d = 10"] = models, LogisticJax(10, NUM_ROWS)
    for title, (models, in_jax) in cases.items():
        best = best_times(calls(models | {"JAX": in_jax}, in_jax))
        for kind in ("ratios", "gradients"):
            times = [best.get((kind, name)) for name in COLUMNS]
            cells = ["-" if value is None else f"{1e3 * value:.3f}" for value in times]
            share = best[kind, "rows"] / best[kind, "plain JAX"]
            print(f"| {title} | {kind} | {' | '.join(cells)} | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
