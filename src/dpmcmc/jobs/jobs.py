"""Jobs of a study, from the data set of a model to the table of its chains.

Each function is one command of `dpmcmc.cli` and one rule of the workflow. `spec` holds the job's
own settings (see `dpmcmc.study.Study`), every other argument is a path. Each imports what it needs
itself, so that a chain job, of which there are thousands, starts without pandas and SciPy.
"""

import json
import os
import sys
import time
from pathlib import Path

from dpmcmc.files import (
    JobError,
    read_json,
    read_npy,
    read_npz,
    reading,
    replacing,
    write_csv,
    write_json,
)

STARTED = time.perf_counter()
MAX_ITERATIONS = 10**7  # a chain is held in memory


def dataset(spec, output):
    """Simulate the data set of a model: its statistics t(x), (m, n), as .npy.

    Rows near each other are stored next to each other, which makes passes over them faster.
    """
    import numpy as np

    with replacing(output) as file:
        np.save(file, simulate(spec, "data"))


def simulate(spec, purpose):
    """A data set of a model, (m, n), from a stream of its own."""
    from dpmcmc.likelihoods.blocks import arranged
    from dpmcmc.models import build_model
    from dpmcmc.study.streams import generator

    rng = generator(spec["study_seed"], purpose, spec["model"])
    model = build_model(spec["model_settings"])
    jacobian, _ = model.gradient_coefficients(model.true_theta)
    return arranged(model.simulate(rng), jacobian)


def reference(spec, dataset, output):
    """Draw the reference sample of the posterior, (draws, d), as .npy."""
    import numpy as np

    with replacing(output) as file:
        np.save(file, draw_posterior(spec, dataset, "reference"))


def baselines(spec, dataset, output):
    """Draw further samples of the posterior, (samples, draws, d), as .npy."""
    import numpy as np

    samples = [draw_posterior(spec, dataset, "baseline", i) for i in range(spec["samples"])]
    with replacing(output) as file:
        np.save(file, np.stack(samples))


def draw_posterior(spec, dataset, purpose, *labels):
    """Exact draws of a model's posterior, from a stream of their own."""
    from dpmcmc.models import build_model
    from dpmcmc.study.streams import generator

    rng = generator(spec["study_seed"], purpose, spec["model"], *labels)
    model = build_model(spec["model_settings"])
    return model.sample_posterior(rng, read_npy(dataset), spec["draws"])


def budget(spec, output):
    """Work out how many iterations epsilon and delta allow, as JSON."""
    from dpmcmc.accounting import rounded_up, spent_epsilon

    delta, release, allowed = allowed_iterations(spec, MAX_ITERATIONS + 1)
    iterations = min(allowed, spec.get("max_iterations", allowed))
    spent = spec["epsilon"]
    if iterations < allowed:
        spent = spent_epsilon(delta, release, iterations, spec["epsilon"], spec["delta"])
        spent = min(rounded_up(spent), spec["epsilon"])
    if iterations > MAX_ITERATIONS:
        raise JobError(
            f"{spec['algorithm']} on {spec['model']} at epsilon {spec['epsilon']:g} may run for "
            f"{iterations} iterations, above the limit of {MAX_ITERATIONS}; use less noise"
        )
    record = {
        "model": spec["model"],
        "algorithm": spec["algorithm"],
        "epsilon": spec["epsilon"],
        "target_delta": spec["delta"],
        "accountant": spec["accountant"],
        "iterations": iterations,
        "allowed_iterations": allowed,
        "spent_epsilon": spent,
        # Transforms may differ in the last digits from machine to machine.
        "delta": float(f"{delta(release, iterations, spec['epsilon']):.10g}"),
    }
    write_json(record, output)


def allowed_iterations(spec, limit):
    """The spec's accountant, its release, and how many iterations are allowed, up to a limit."""
    from functools import cache

    from dpmcmc.accounting import accountant, first_guess, max_iterations

    release = release_of(spec)
    delta = cache(accountant(spec["accountant"]))
    bound = spec["epsilon"], spec["delta"]
    guess = first_guess(spec["accountant"], release, *bound)
    return delta, release, max_iterations(delta, release, *bound, *guess, limit=limit)


def certification(spec, budget, output):
    """Price a cell's iterations by the certified accountant, as CSV; with what it would allow."""
    import pandas as pd

    from dpmcmc.accounting import certified, rounded_up

    published = read_json(budget)
    spec = spec | {"accountant": "certified"}
    _, release, allowed = allowed_iterations(spec, MAX_ITERATIONS + 1)
    spent = certified.epsilon(release, published["iterations"], spec["delta"])
    row = {key: published[key] for key in ("model", "algorithm", "epsilon", "accountant")} | {
        "iterations": published["iterations"],
        "allowed_iterations": published["allowed_iterations"],
        "certified_iterations": allowed,
        "certified_epsilon": rounded_up(spent),
    }
    write_csv(pd.DataFrame([row]), output)


def accounting_curve(spec, output):
    """Work out the iterations that one accountant allows at many epsilons, as CSV."""
    import pandas as pd

    from dpmcmc.accounting import accountant, first_guess, max_iterations

    release = release_of(spec)
    delta, rows = accountant(spec["accountant"]), []
    iterations, ratio = 0, 1.0  # of the iterations to the first guess, at the epsilon before
    for epsilon in spec["epsilons"]:
        bound = epsilon, spec["delta"]
        guess, spread = first_guess(spec["accountant"], release, *bound)
        start = round(ratio * guess) or iterations
        iterations = max_iterations(delta, release, *bound, start, spread)
        ratio = iterations / guess if guess else 1.0
        keys = {key: spec[key] for key in ("model", "algorithm", "accountant")}
        rows.append(keys | {"epsilon": epsilon, "iterations": iterations})
    write_csv(pd.DataFrame(rows), output)


def release_of(spec):
    """What one iteration of the spec's algorithm releases."""
    return build_sampler(spec).release(spec["num_rows"], spec["likelihood_power"])


def build_sampler(spec, correction=()):
    """Sampler of a spec; to run, some need Barker's correction, in one file."""
    from dpmcmc.samplers import ALGORITHMS

    settings = dict(spec["settings"])
    for path in correction:
        settings["correction"] = read_correction(path)
    return ALGORITHMS[spec["algorithm"]](**settings)


def read_correction(path):
    """Barker's correction, from what `correction` has written."""
    import numpy as np

    from dpmcmc.samplers.barker_correction import Correction

    fitted = read_json(path)
    return Correction(np.array(fitted["atoms"]), np.array(fitted["weights"]), fitted["error"])


def correction(output):
    """Fit the correction of Barker's acceptance test, as JSON."""
    from dpmcmc.samplers.barker_correction import fit_correction

    fitted = fit_correction()
    contents = {"atoms": fitted.atoms.tolist(), "weights": fitted.weights.tolist()}
    write_json(contents | {"error": fitted.error}, output)


def audit_case(spec, correction, output):
    """Bound the epsilon of a sampler's own code from below by many runs, as CSV."""
    import pandas as pd

    from dpmcmc.accounting import rounded_up
    from dpmcmc.evaluation.audit import audit, cases
    from dpmcmc.study.streams import seed_sequence

    fitted = [read_correction(path) for path in correction]
    case = cases(correction=fitted[0] if fitted else None)[spec["case"]]
    seed = seed_sequence(spec["study_seed"], "audit", spec["case"]).entropy
    settings = {key: spec[key] for key in ("runs", "delta", "confidence")}
    values, accepts = audit(case, seed, **settings)
    row = {
        "case": spec["case"],
        "algorithm": case.algorithm,
        "iterations": case.iterations,
        **settings,
        "epsilon_at_most": rounded_up(case.epsilon(spec["delta"])),
        "epsilon_by_values": values.epsilon,
        "epsilon_by_accepts": accepts.epsilon,
    }
    write_csv(pd.DataFrame([row]), output)


def chain(spec, dataset, reference, budget, correction, output):
    """Run one chain; positions (k, d), is_accepted (k,), start (d,), and a JSON record, as .npz.

    With `stored_draws` in the spec the positions are thinned to at most so many.
    """
    from dpmcmc.likelihoods.target import Target
    from dpmcmc.models import build_model
    from dpmcmc.samplers.chain import run_chain
    from dpmcmc.study.streams import chain_streams, start_point

    imported = time.process_time()
    study_seed, model_id, seed = spec["study_seed"], spec["model"], spec["seed"]
    model = build_model(spec["model_settings"])
    target = Target(model, read_npy(dataset))
    sampler = build_sampler(spec, correction)
    rng = chain_streams(study_seed, model_id, spec["algorithm"], spec["epsilon"], seed)
    start = start_point(study_seed, model_id, model, read_npy(reference), seed)
    cost = read_json(budget)
    loaded = time.process_time()

    result = run_chain(sampler, target, rng, start, cost["iterations"], spec.get("stored_draws"))

    record = {
        "model": model_id,
        "algorithm": spec["algorithm"],
        "epsilon": cost["epsilon"],
        "delta": cost["target_delta"],
        "seed": seed,
        "iterations": cost["iterations"],
        "acceptance_rate": mean(result.is_accepted),
        "clip_fraction": mean(result.clip_fraction),
        "gradient_clip_fraction": mean(result.gradient_clip_fraction),
    }
    write_chain(result, start, record, (imported, loaded), output)


def clipped_chain(spec, dataset, output):
    """Run one chain of the clipping study, without privacy; the same file as that of `chain`."""
    from dpmcmc.likelihoods.target import Target
    from dpmcmc.models import build_model
    from dpmcmc.samplers import CLIPPED
    from dpmcmc.samplers.chain import run_chain
    from dpmcmc.study.streams import clipping_start_point, clipping_streams

    imported = time.process_time()
    study_seed, model_id, seed = spec["study_seed"], spec["model"], spec["seed"]
    model = build_model(spec["model_settings"])
    settings = dict(spec["settings"])
    iterations = settings.pop("iterations")
    sampler = CLIPPED[spec["algorithm"]](**settings, clip_bound=float(spec["bound"]))
    rng = clipping_streams(study_seed, model_id, spec["algorithm"], seed)
    start = clipping_start_point(study_seed, model_id, model, spec["start_sd"], seed)
    target = Target(model, read_npy(dataset))
    loaded = time.process_time()

    result = run_chain(sampler, target, rng, start, iterations)

    record = {
        "model": model_id,
        "dim": model.dimension,
        "algorithm": spec["algorithm"],
        "bound": float(spec["bound"]),
        "seed": seed,
        "iterations": iterations,
        "acceptance_rate": mean(result.is_accepted),
        "clip_fraction": mean(result.clip_fraction),
        "changed_decisions": int(result.is_changed.sum()),
    }
    write_chain(result, start, record, (imported, loaded), output)


def mean(values):
    """Mean of an array, None if it is empty."""
    return float(values.mean()) if len(values) else None


def write_chain(result, start, record, marks, output):
    """Write a chain with its record, and what this process has cost.

    `marks` are the CPU seconds of the process after its imports and before the first iteration.
    """
    import numpy as np

    imported, loaded = marks
    parts = {
        "startup_seconds": imported,
        "load_seconds": loaded - imported,
        "sampling_seconds": time.process_time() - loaded,
    }
    with replacing(output) as file:
        np.savez(
            file,
            positions=result.positions,
            is_accepted=result.is_accepted,
            start=start,
            record=json.dumps(record),
            timing=json.dumps(
                measure_process() | {name: round(value, 3) for name, value in parts.items()}
            ),
        )


def baseline_table(spec, reference, baselines, output):
    """Compare the baseline samples of a model with its reference sample, as CSV."""
    import pandas as pd

    from dpmcmc.evaluation.metrics import compare
    from dpmcmc.models import build_model
    from dpmcmc.study.streams import generator

    sample = read_npy(reference)
    posterior_mean = build_model(spec["model_settings"]).posterior_mean
    rows = []
    for i, draws in enumerate(read_npy(baselines)):
        rng = generator(spec["study_seed"], "bandwidth", spec["model"], "baseline", i)
        metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
        rows.append({"model": spec["model"], "baseline": i} | metrics)
    write_csv(pd.DataFrame(rows), output)


def chain_table(spec, reference, chains, budgets, output, timings, budget_table):
    """Gather the chains of a model with their metrics, their cost and their budgets, as CSV."""
    import pandas as pd

    measure = chain_measure(spec, reference)
    rows, costs, allowed = [], [], []
    for algorithm, epsilon in spec["cells"]:
        allowed.append(read_json(Path(budgets, algorithm, f"epsilon-{epsilon}.json")))
        for seed in range(spec["seeds"]):
            path = Path(chains, algorithm, f"epsilon-{epsilon}", f"seed-{seed}.npz")
            row, timing = measure(path, spec["model"], algorithm, epsilon, seed)
            rows.append(row)
            keys = {key: row[key] for key in ("model", "algorithm", "epsilon", "seed")}
            costs.append(keys | timing)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)
    write_csv(pd.DataFrame(allowed), budget_table)


def clipping_table(spec, reference, chains, output):
    """Gather the chains of the clipping study of a model with their metrics, as CSV."""
    import pandas as pd

    measure = chain_measure(spec, reference)
    rows = []
    for algorithm, bound in spec["cells"]:
        for seed in range(spec["seeds"]):
            path = Path(chains, algorithm, f"bound-{bound}", f"seed-{seed}.npz")
            row, _ = measure(path, "clipping", spec["model"], algorithm, seed)
            rows.append(row)
    write_csv(pd.DataFrame(rows), output)


def chain_measure(spec, reference):
    """Function from a chain's file and the labels of its stream to its row and its timing."""
    from dpmcmc.evaluation.metrics import compare, kept_draws
    from dpmcmc.models import build_model
    from dpmcmc.study.streams import generator

    sample = read_npy(reference)
    posterior_mean = build_model(spec["model_settings"]).posterior_mean

    def measure(path, *labels):
        contents = read_npz(path)
        with reading(path):
            record, timing = (json.loads(str(contents[key])) for key in ("record", "timing"))
            draws = kept_draws(contents["positions"])
        rng = generator(spec["study_seed"], "bandwidth", *labels)
        metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
        return record | {"kept_draws": len(draws)} | metrics, timing

    return measure


def measure_process():
    """CPU and wall seconds since this process started, and its peak memory in megabytes."""
    import resource

    if sys.platform == "linux":
        # Start of the process in clock ticks since boot. Peak memory since its exec: getrusage
        # would count the memory of the process that it was forked from.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        wall = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        status = Path("/proc/self/status").read_text()
        peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    else:  # wall time from the import of this module
        wall = time.perf_counter() - STARTED
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_seconds": round(time.process_time(), 3),
        "wall_seconds": round(wall, 3),
        "peak_rss_mb": round(peak_kb / 1024, 1),
    }
