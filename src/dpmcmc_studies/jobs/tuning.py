"""Settings of an algorithm at an epsilon with the least score ratio, searched on simulated twins.

A search runs trials in turn: some settings, the iterations that they are allowed, a chain or sample
on each of a few twins. It judges a trial by the median score ratio (`dpmcmc.evaluation.scores`). A
trial has none if a sample has no intervals: otherwise a search would choose chains that do not run,
which are scored by the prior. A trial is not feasible if it clips too much, or if the limit of
iterations stops it before its budget is spent: a study would give it no rank. All searches on a
model have the same twins.

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
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.evaluation.scores import interval_metrics, prior_draws
from dpmcmc.files import read_json, read_npz, reading, replacing, write_json
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_noise
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain
from dpmcmc.settings import annotations
from dpmcmc_studies.analysis.intervals import Estimate, median_contrast
from dpmcmc_studies.analysis.tables import concatenate
from dpmcmc_studies.analysis.worth import LEAST_SPENT
from dpmcmc_studies.frames import write_csv
from dpmcmc_studies.jobs.budgets import noise_of, price_of
from dpmcmc_studies.jobs.chains import mean
from dpmcmc_studies.jobs.data import draw_reference, simulate
from dpmcmc_studies.jobs.samplers import build_sampler
from dpmcmc_studies.study import specs, study_specs
from dpmcmc_studies.study.data_sets import of_each

DIGITS = 3  # of searched settings: no more than what is written is what has been run
WORST = 1e3  # score ratio that stands for that of a trial without one
RANGE = (1e-12, 1e9)  # of settings, as the configuration takes them
SMALLEST_BATCH = 16  # of DP Barker; below that, sampling has little left to work with
# What trials depend on no more: more of them continue a search.
LATER = ("trials", "finalists", "confirming_seeds")
HEADER = """\
# Settings found by `snakemake tune` on simulated twins, for `--configfile` after the study's own
# file. They were chosen for the least score ratio on those data: judge them on others.
"""


def twins(spec: specs.Reference, output):
    """Simulate the data sets by which searches on a model judge, with reference samples, as .npz.

    `data` has as many data sets as the spec along its first axis, `reference` a sample of each,
    (data_sets, draws, d).
    """
    data = of_each(spec, lambda number: simulate(spec, "twin", number))
    model = registry.build(spec.model_entry)

    def reference(number):
        rng = generator(spec.study_seed, "twin-reference", spec.model, number)
        return draw_reference(rng, spec, model, data[number])

    with replacing(output) as file:
        np.savez(file, data=data, reference=of_each(spec, reference))


def search(spec: study_specs.Search, twins, precomputed, source, journal, table, best):
    """Search settings of an algorithm at an epsilon; a table of trials, and the best as JSON.

    Parameters
    ----------
    spec : study_specs.Search
    twins : path
        Data sets and reference samples.
    precomputed : list of path
        What the sampler needs beside its settings.
    source : str
        Digest of the source: a search that other code has begun is not continued.
    journal : path
        The finished trials; those of the same search are taken up.
    table, best : path
        Table of all trials (CSV); the row of the summary and the settings found (JSON).
    """
    runner, space = Runner(spec, twins, precomputed), search_space(spec)
    searched = msgspec.to_builtins(spec) | {"source": source}
    searched["tuning"] = {k: v for k, v in searched["tuning"].items() if k not in LATER}
    trials = finished_trials(journal, searched)[: spec.tuning.trials]
    if trials:
        print(f"{len(trials)} trials taken up from {journal}", flush=True)
    for number in range(len(trials), spec.tuning.trials):
        labels = "tuning-search", *keys_of(spec).values(), number
        (seed,) = seed_sequence(spec.twins.study_seed, *labels).generate_state(1)
        factors = suggest(space, trials, int(seed))
        settings = scaled(spec, factors)
        trial = {"factors": factors, "settings": settings} | runner.measure(
            settings, numbers_of(spec.tuning, "search")
        )
        trials.append(trial | {"violation": violation(spec, trial)})
        write_json({"search": searched, "trials": trials}, journal)
        print(progress(trials, spec.tuning.trials), flush=True)
    write_csv(trial_table(spec, trials), table)
    write_json(confirmed(spec, runner, trials), best)


class Runner:
    """Runs trials: a sample on each of some twins.

    Parameters
    ----------
    spec : study_specs.Search
    twins : path
    precomputed : list of path
    """

    def __init__(self, spec, twins, precomputed):
        self.spec, self.precomputed = spec, precomputed
        self.study_seed, self.chains = spec.twins.study_seed, spec.budget.chains_per_sample
        self.model = registry.build(spec.twins.model_entry)
        self.twins, self.prior = read_npz(twins), prior_draws(self.model)

    def measure(self, settings, numbers):
        """Iterations that settings are allowed, and of a sample on each twin what decides.

        Chains on a twin draw the same random numbers whatever the settings, so that chance sets
        them apart less.

        Parameters
        ----------
        settings : dict
        numbers : range
            Of twins.

        Returns
        -------
        dict
            iterations; spent, the share of epsilon that they cost; score_ratio and
            clip_fraction, lists with one entry a twin, None where a sample has no intervals.
        """
        entry = registry.with_settings(self.spec.budget.sampler, settings)
        budget = replace(self.spec.budget, sampler=entry)
        try:
            limit, noise = self.chains * budget.max_iterations, noise_of(budget, budget.epsilon)
            price = price_of(budget, noise)
            total = price.iterations(budget.epsilon, budget.delta, limit)
            iterations, spent = total // self.chains, 1.0
            if total == limit:
                spent = price.epsilon(total, budget.delta, budget.epsilon) / budget.epsilon
        except (ArithmeticError, ValueError) as error:  # no cost, or refused by the sampler
            print(f"not tried: {settings}: {error}", flush=True)
            nothing = [None] * len(numbers)
            of_samples = dict.fromkeys(("score_ratio", "clip_fraction"), nothing)
            return {"iterations": 0, "spent": 0.0} | of_samples
        sampler = with_noise(build_sampler(budget, self.precomputed), noise)
        samples = [self.sample(sampler, iterations, number) for number in numbers]
        score_ratio, clip_fraction = (list(values) for values in zip(*samples, strict=True))
        return {
            "iterations": iterations,
            "spent": spent,
            "score_ratio": score_ratio,
            "clip_fraction": clip_fraction,
        }

    def sample(self, sampler, iterations, number):
        """Score ratio and clip fraction of the chains on a twin; None where they are too short."""
        m, reference = self.chains, self.twins["reference"][number]
        if iterations < 1:
            return None, None
        target = Target(self.model, self.twins["data"][number])
        seeds = range(m * number, m * number + m)
        chains = [self.chain(sampler, target, reference, iterations, seed) for seed in seeds]
        draws = np.concatenate([kept_draws(chain.positions) for chain in chains])
        found = interval_metrics(draws, reference, self.prior)
        ratios, gradients = (
            mean(np.concatenate([getattr(chain, name) for chain in chains]))
            for name in ("clip_fraction", "gradient_clip_fraction")
        )
        clipped = gradients if math.isnan(ratios) else ratios  # of samplers without ratios
        clipped = 0.0 if math.isnan(clipped) else clipped  # of free steps
        return (found["score_ratio"] if found["is_scored"] else None), clipped

    def chain(self, sampler, target, reference, iterations, seed):
        """One chain of the search."""
        labels = keys_of(self.spec).values()
        rng = three_streams(seed_sequence(self.study_seed, "tuning", *labels, seed))
        start_rng = generator(self.study_seed, "tuning-start", self.spec.budget.model, seed)
        start = self.model.start_point(start_rng, reference)
        # Far from the settings that make sense, numbers overflow; such proposals are rejected.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return run_chain(sampler, target, rng, start, iterations, self.spec.stored_draws)


def numbers_of(tuning, part):
    """Numbers of the twins of the search, of the choice among finalists, or of the last word."""
    first, size = tuning.seeds, tuning.confirming_seeds
    starts = {"search": (0, first), "choice": (first, size), "last": (first + size, size)}
    start, count = starts[part]
    return range(start, start + count)


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
        score_ratio = median(trial["score_ratio"])
        study.add_trial(
            optuna.trial.create_trial(
                params={key: trial["factors"].get(key, 1.0) for key in space},
                distributions=space,
                value=math.log(WORST if score_ratio is None else score_ratio),
                constraints={"clip_fraction": trial["violation"]},
            )
        )
    return study.ask(space).params


def violation(spec, trial):
    """How far a trial is from feasible, at most 0 if it is: too much clipped, too little spent.

    1 for a trial without a score.
    """
    if median(trial["score_ratio"]) is None:
        return 1.0
    too_much = median(trial["clip_fraction"]) - spec.tuning.largest_clip_fraction
    return max(too_much, LEAST_SPENT - trial["spent"])


def median(values):
    """Median over twins, None if one of them has no value."""
    return None if None in values else float(np.median(values))


def best_trials(trials):
    """Numbers of the feasible trials, by median score ratio."""
    feasible = [i for i, trial in enumerate(trials) if trial["violation"] <= 0]
    return sorted(feasible, key=lambda i: median(trials[i]["score_ratio"]))


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
    score_ratio = median(last["score_ratio"])
    outcome = "no intervals"
    if score_ratio is not None:
        outcome = f"score ratio {score_ratio:.3f}, {median(last['clip_fraction']):.1%} clipped"
    so_far = "no feasible one yet"
    if best:
        so_far = f"best, number {best[0] + 1}: {median(trials[best[0]]['score_ratio']):.3f}"
    number = f"trial {len(trials)} of {planned}"
    return f"{number}: {last['iterations']} iterations, {outcome}; {so_far}"


def outcome(trial):
    """Results of settings: columns of tables."""
    return {
        "iterations": trial["iterations"],
        "spent": trial["spent"],
        "score_ratio": median(trial["score_ratio"]),
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
    """Number of the best of the finalists, on further twins; None without a feasible trial.

    The best of many trials on few twins is lucky as much as good. So the first so many that keep
    the limit on further twins are compared by those, and the study's own settings with them.
    """
    results = {}
    for number in sorted(best_trials(trials), key=bool):  # the study's own first
        if len(results) == spec.tuning.finalists:
            break
        settings = trials[number]["settings"]
        result = runner.measure(settings, numbers_of(spec.tuning, "choice"))
        if violation(spec, result) <= 0:
            results[number] = median(result["score_ratio"])
            print(f"finalist {number + 1}: score ratio {results[number]:.3f}", flush=True)
    return min(results, key=results.get, default=None)


def confirmed(spec, runner, trials):
    """The best settings against the study's own, on twins that had no part in the choice.

    Returns
    -------
    dict
        `row` of the summary; `settings`, those found, None if no trial is feasible.
    """

    def measure(settings):
        return {"settings": settings} | runner.measure(settings, numbers_of(spec.tuning, "last"))

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
    if None not in (row["own_score_ratio"], row["best_score_ratio"]):
        row["ratio"] = row["own_score_ratio"] / row["best_score_ratio"]
        labels = "tuning", *keys_of(spec).values()
        difference = median_contrast(labels, [best["score_ratio"]], [own["score_ratio"]])
    return {"row": row | difference.columns("difference"), "settings": best and best["settings"]}


def tuning_tables(trials, best, directory):
    """Put searches together, in a directory: trials.csv, summary.csv, and settings.yaml."""
    import yaml

    searches, algorithms = [read_json(path) for path in best], {}
    for one in searches:
        row, settings = one["row"], one["settings"]
        if settings is not None:
            entry = algorithms.setdefault(row["algorithm"], {"settings_at": {}})
            entry["settings_at"].setdefault(row["model"], {})[row["epsilon"]] = settings
    summary = pd.DataFrame([one["row"] for one in searches])
    whole = {f"{name}_iterations": "Int64" for name in ("own", "best")} | {"best_trial": "Int64"}
    write_csv(concatenate(trials), Path(directory, "trials.csv"))
    write_csv(summary.astype(whole), Path(directory, "summary.csv"))
    with replacing(Path(directory, "settings.yaml")) as file:
        one_line = {"default_flow_style": None, "width": math.inf}  # for each model and epsilon
        contents = yaml.safe_dump({"algorithms": algorithms}, sort_keys=False, **one_line)
        file.write((HEADER + contents).encode())
