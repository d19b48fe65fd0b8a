"""Settings of an algorithm on a model with the least median MMD, searched on data simulated apart.

A search runs trials in turn: some settings, the iterations that they are allowed, a few chains.
What it tries next follows from the trials before and from nothing else, and these are in a journal
that is written after each. So a search that was killed, or is asked for more trials, goes on as if
nothing had happened. (Optuna's journal has a lock that a kill leaves behind, and half a line where
a disk is full.)
"""

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import optuna
import pandas as pd
from msgspec.structs import replace
from optuna.distributions import FloatDistribution

from dpmcmc import registry
from dpmcmc.evaluation.metrics import compare, kept_draws
from dpmcmc.files import read_json, reading, replacing, write_json
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_noise
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain
from dpmcmc.settings import annotations
from dpmcmc_studies.analysis.intervals import Estimate, median_contrast
from dpmcmc_studies.analysis.tables import concatenate
from dpmcmc_studies.frames import write_csv
from dpmcmc_studies.jobs.budgets import noise_of, price_of
from dpmcmc_studies.jobs.chains import mean
from dpmcmc_studies.jobs.data import draw_reference, simulate
from dpmcmc_studies.jobs.samplers import build_sampler
from dpmcmc_studies.study import study_specs

DIGITS = 3  # of searched settings: no more than what is written is what has been run
WORST_MMD = 2.0  # stands for that of a trial without chains; the kernel's is at most sqrt(2)
RANGE = (1e-12, 1e9)  # of settings, as the configuration takes them
SMALLEST_BATCH = 16  # of DP Barker; below that, sampling has little left to work with
# What trials depend on no more: more of them continue a search.
LATER = ("trials", "finalists", "confirming_seeds")
HEADER = """\
# Settings found by `snakemake tune` on data simulated apart, for `--configfile` after the study's
# own file. They were chosen for the least MMD on those data: judge them on others.
"""


def search(spec: study_specs.Search, precomputed, source, journal, table, best):
    """Search the settings of an algorithm on a model; a table of trials, and the best as JSON.

    Parameters
    ----------
    spec : study_specs.Search
    precomputed : list of path
        What the sampler needs beside its settings.
    source : str
        Digest of the source: a search that other code has begun is not continued.
    journal : path
        The finished trials; those of the same search are taken up.
    table, best : path
        Table of all trials (CSV); the row of the summary and the settings found (JSON).
    """
    runner, space = Runner(spec, precomputed), search_space(spec)
    searched = msgspec.to_builtins(spec) | {"source": source}
    searched["tuning"] = {k: v for k, v in searched["tuning"].items() if k not in LATER}
    trials = finished_trials(journal, searched)[: spec.tuning.trials]
    if trials:
        print(f"{len(trials)} trials taken up from {journal}", flush=True)
    for number in range(len(trials), spec.tuning.trials):
        labels = "tuning-search", spec.budget.model, spec.budget.algorithm, number
        (seed,) = seed_sequence(spec.twin.study_seed, *labels).generate_state(1)
        factors = suggest(space, trials, int(seed))
        settings = scaled(spec, factors)
        trial = {"factors": factors, "settings": settings} | runner.measure(settings)
        trials.append(trial | {"violation": violation(spec, trial)})
        write_json({"search": searched, "trials": trials}, journal)
        print(progress(trials, spec.tuning.trials), flush=True)
    write_csv(trial_table(spec, trials), table)
    write_json(confirmed(spec, runner, trials), best)


class Runner:
    """Runs trials: a data set and a reference sample of their own, and chains on them."""

    def __init__(self, spec, precomputed):
        self.spec, self.precomputed = spec, precomputed
        self.study_seed, self.chains = spec.twin.study_seed, spec.budget.chains_per_sample
        self.labels = spec.budget.model, spec.budget.algorithm
        self.model = registry.build(spec.twin.model_entry)
        data = simulate(spec.twin, "tuning-data")
        rng = generator(self.study_seed, "tuning-reference", spec.twin.model)
        self.target = Target(self.model, data)
        self.reference = draw_reference(rng, spec.twin, self.model, data)

    def measure(self, settings, purpose="tuning", seeds=None):
        """Iterations that settings are allowed, and of chains by each seed what decides.

        The chains of a purpose draw the same random numbers whatever the settings, so that chance
        sets them apart less.

        Returns
        -------
        dict
            iterations; mmd and clip_fraction, lists with one entry a chain, None where it is too
            short to have one.
        """
        entry = registry.with_settings(self.spec.budget.sampler, settings)
        budget, seeds = replace(self.spec.budget, sampler=entry), seeds or self.spec.tuning.seeds
        try:
            limit, noise = self.chains * budget.max_iterations, noise_of(budget, budget.epsilon)
            price = price_of(budget, noise)
            iterations = price.iterations(budget.epsilon, budget.delta, limit) // self.chains
        except (ArithmeticError, ValueError) as error:  # no cost, or refused by the sampler
            print(f"not tried: {settings}: {error}", flush=True)
            return {"iterations": 0, "mmd": [None] * seeds, "clip_fraction": [None] * seeds}
        sampler = with_noise(build_sampler(budget, self.precomputed), noise)
        samples = [self.sample(sampler, iterations, purpose, seed) for seed in range(seeds)]
        mmd, clip_fraction = (list(values) for values in zip(*samples, strict=True))
        return {"iterations": iterations, "mmd": mmd, "clip_fraction": clip_fraction}

    def sample(self, sampler, iterations, purpose, seed):
        """MMD and clip fraction of the chains of one sample; None where they are too short."""
        m = self.chains
        if iterations < 1:
            return None, None
        seeds = range(m * seed, m * seed + m)
        chains = [self.chain(sampler, iterations, purpose, number) for number in seeds]
        draws = np.concatenate([kept_draws(chain.positions) for chain in chains])
        rng = generator(self.study_seed, f"{purpose}-bandwidth", *self.labels, seed)
        mmd = compare(rng, draws, self.reference, self.model, **self.spec.mmd)["mmd"]
        ratios, gradients = (
            mean(np.concatenate([getattr(chain, name) for chain in chains]))
            for name in ("clip_fraction", "gradient_clip_fraction")
        )
        clipped = gradients if math.isnan(ratios) else ratios  # of samplers without ratios
        clipped = 0.0 if math.isnan(clipped) else clipped  # of free steps
        return (mmd if math.isfinite(mmd) else None), clipped

    def chain(self, sampler, iterations, purpose, seed):
        """One chain of the search."""
        rng = three_streams(seed_sequence(self.study_seed, purpose, *self.labels, seed))
        start_rng = generator(self.study_seed, f"{purpose}-start", self.labels[0], seed)
        start = self.model.start_point(start_rng, self.reference)
        # Far from the settings that make sense, numbers overflow; such proposals are rejected.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return run_chain(sampler, self.target, rng, start, iterations, self.spec.stored_draws)


# -- What is tried ------------------------------------------------------------------------------


def search_space(spec):
    """Distribution of the factor on each searched setting that has a range.

    A setting stays within what the schema takes, and a batch within the data set.
    """
    space = {}
    for key, factor in sorted(spec.tuning.factors.items()):  # the order decides what is tried
        own = spec.settings[key]
        smallest, largest = (min(own), max(own)) if isinstance(own, list) else (own, own)
        lowest, highest, _ = setting_range(spec, key)
        low, high = max(1 / factor, lowest / smallest), min(factor, highest / largest)
        if low < high:
            space[key] = FloatDistribution(low, high, log=True)
    return space


def setting_range(spec, key):
    """Least and greatest value of a searched setting, and whether it is a whole number.

    The study's own is always within.
    """
    chain = spec.budget.sampler.get("chain", spec.budget.sampler)  # of one with a start of its own
    entries = [chain, chain.get("move")]
    fields = [annotations(registry.load(entry["class"])) for entry in entries if entry]
    field = msgspec.json.schema(next(kinds[key] for kinds in fields if key in kinds))
    is_whole = field.get("type") == "integer"
    limits = (field["minimum"], field["maximum"]) if is_whole else RANGE
    if key == "batch_size":
        limits = min(SMALLEST_BATCH, spec.settings[key]), spec.budget.num_rows
    return *limits, is_whole


def scaled(spec, factors):
    """The study's own settings, times the factors, to three digits."""
    settings = dict(spec.settings)
    for key, factor in factors.items():
        lowest, highest, is_whole = setting_range(spec, key)
        own = np.multiply(settings[key], factor)
        rounded = [
            float(f"{value:.{DIGITS}g}") for value in np.ravel(np.round(own) if is_whole else own)
        ]
        within = np.clip(np.reshape(rounded, own.shape), lowest, highest)
        settings[key] = (within.astype(int) if is_whole else within).tolist()
    return settings


def suggest(space, trials, seed):
    """Factors to try next: a function of the trials before, and of the seed, alone.

    The first trial is of the study's own settings, without any factor.

    Parameters
    ----------
    space : dict of str to FloatDistribution
        From `search_space`.
    trials : list of dict
        Finished ones.
    seed : int
    """
    if not trials or not space:
        return {}
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    for trial in trials:
        mmd = median(trial["mmd"])
        study.add_trial(
            optuna.trial.create_trial(
                params={key: trial["factors"].get(key, 1.0) for key in space},
                distributions=space,
                value=WORST_MMD if mmd is None else mmd,
                constraints={"clip_fraction": trial["violation"]},
            )
        )
    return study.ask(space).params


def violation(spec, trial):
    """By how much the median clip fraction is above its limit; 1 for a trial without an MMD."""
    if median(trial["mmd"]) is None:
        return 1.0
    return median(trial["clip_fraction"]) - spec.tuning.largest_clip_fraction


def median(values):
    """Median of chains, None if one of them has no value."""
    return None if None in values else float(np.median(values))


def best_trials(trials):
    """Numbers of the feasible trials, by median MMD."""
    feasible = [i for i, trial in enumerate(trials) if trial["violation"] <= 0]
    return sorted(feasible, key=lambda i: median(trials[i]["mmd"]))


def finished_trials(journal, searched):
    """Trials in a journal, none if it is of another search."""
    if not Path(journal).exists():
        return []
    contents = read_json(journal)
    with reading(journal):
        return contents["trials"] if contents["search"] == searched else []


# -- Results ------------------------------------------------------------------------------------


def progress(trials, planned):
    """One line on the last trial and the best so far."""
    last, best = trials[-1], best_trials(trials)
    mmd = median(last["mmd"])
    outcome = "too few"
    if mmd is not None:
        outcome = f"MMD {mmd:.4f}, {median(last['clip_fraction']):.1%} clipped"
    so_far = "no feasible one yet"
    if best:
        so_far = f"best, number {best[0] + 1}: MMD {median(trials[best[0]]['mmd']):.4f}"
    number = f"trial {len(trials)} of {planned}"
    return f"{number}: {last['iterations']} iterations, {outcome}; {so_far}"


def outcome(trial):
    """Results of settings: columns of tables."""
    return {
        "iterations": trial["iterations"],
        "mmd": median(trial["mmd"]),
        "clip_fraction": median(trial["clip_fraction"]),
        "settings": json.dumps(trial["settings"]),
    }


def keys_of(spec):
    """First columns of tables."""
    budget = spec.budget
    return {"model": budget.model, "algorithm": budget.algorithm, "epsilon": budget.epsilon}


def trial_table(spec, trials):
    """One row a trial."""
    keys = keys_of(spec)
    return pd.DataFrame(
        keys | {"trial": number} | outcome(trial) | {"is_feasible": trial["violation"] <= 0}
        for number, trial in enumerate(trials, start=1)
    )


def final_choice(spec, runner, trials):
    """Number of the best of the finalists, by further chains; None without a feasible trial.

    The best of many trials of few chains is lucky as much as good. So the first so many that keep
    the limit in further chains are compared by those, and the study's own settings with them.
    """
    results = {}
    for number in sorted(best_trials(trials), key=bool):  # the study's own first
        if len(results) == spec.tuning.finalists:
            break
        settings = trials[number]["settings"]
        result = runner.measure(settings, "tuning-final", spec.tuning.confirming_seeds)
        if violation(spec, result) <= 0:
            results[number] = median(result["mmd"])
            print(f"finalist {number + 1}: MMD {results[number]:.4f}", flush=True)
    return min(results, key=results.get, default=None)


def confirmed(spec, runner, trials):
    """The best settings against the study's own, by chains that had no part in the choice.

    Returns
    -------
    dict
        `row` of the summary; `settings`, those found, None if no trial is feasible.
    """

    def measure(settings):
        measured = runner.measure(settings, "tuning-confirm", spec.tuning.confirming_seeds)
        return {"settings": settings} | measured

    number = final_choice(spec, runner, trials)
    own, best = measure(spec.settings), None
    if number is not None:
        settings = trials[number]["settings"]
        best = own if settings == spec.settings else measure(settings)
    row = keys_of(spec) | {
        "trials": len(trials),
        "feasible_trials": sum(trial["violation"] <= 0 for trial in trials),
        "best_trial": None if number is None else number + 1,
    }
    columns = outcome(own)
    row |= {f"own_{key}": value for key, value in columns.items()}
    columns = outcome(best) if best else dict.fromkeys(columns)
    row |= {f"best_{key}": value for key, value in columns.items()} | {"ratio": None}
    difference = Estimate(None, None, None)
    if None not in (row["own_mmd"], row["best_mmd"]):
        row["ratio"] = row["own_mmd"] / row["best_mmd"]
        labels = ("tuning", spec.budget.model, spec.budget.algorithm)
        difference = median_contrast(labels, [best["mmd"]], [own["mmd"]])
    return {"row": row | difference.columns("difference"), "settings": best and best["settings"]}


def tuning_tables(trials, best, directory):
    """Put searches together, in a directory: trials.csv, summary.csv, and settings.yaml."""
    import yaml

    pairs, algorithms = [read_json(path) for path in best], {}
    for pair in pairs:
        row, settings = pair["row"], pair["settings"]
        if settings is not None:
            entry = algorithms.setdefault(row["algorithm"], {"settings": {}})
            entry["settings"][row["model"]] = settings
    summary = pd.DataFrame([pair["row"] for pair in pairs])
    whole = {f"{name}_iterations": "Int64" for name in ("own", "best")} | {"best_trial": "Int64"}
    write_csv(concatenate(trials), Path(directory, "trials.csv"))
    write_csv(summary.astype(whole), Path(directory, "summary.csv"))
    with replacing(Path(directory, "settings.yaml")) as file:
        contents = yaml.safe_dump({"algorithms": algorithms}, sort_keys=False)
        file.write((HEADER + contents).encode())
