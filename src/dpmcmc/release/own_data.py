"""The command `check` of a study's model: its data as a release will read them, for their owner."""

import math
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from dpmcmc import registry
from dpmcmc.commands import check as of_classes
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.entries import read_algorithm, read_model
from dpmcmc.configuration.keys import Algorithm, ModelKeys
from dpmcmc.configuration.yaml_files import ConfigError, check_known, converted, listed, read_config
from dpmcmc.data_files import DataFile
from dpmcmc.evaluation.checking.clip import noiseless_streams
from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.evaluation.checking.fresh import unlike_alone
from dpmcmc.evaluation.modes import find_modes
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.in_blocks import own_functions
from dpmcmc.random_streams import seed_sequence, three_streams
from dpmcmc.release import checked
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.lines import how_to_make
from dpmcmc.release.plan import Plan, plan, sampler_of
from dpmcmc.release.reading import import_own, read_part
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.far_outcomes import MOST_RATIO
from dpmcmc.samplers.one_shot import MOST_MISFIT, OneShot

EPSILON = 1.0  # plans and settings are those at this one, and at the ledger's if it is larger
QUIET = 1e-4  # noise's standard deviation over the sensitivity, of a run that shows a bias
QUIET_DRAWS = 4000
MOST_OFF = 1.0  # posterior standard deviations, of a component
FAR = 3.5  # standard deviations of what a width explains: one in 2,000 components is further off
ADVICE = "; rows do not follow the model, or a bound is too small"
TOO_MANY = "; take a model with wider errors or heavier tails"


def check(name, settings):
    """Check FILE.yaml MODEL, with its data and their ledger; or a class, with settings key=value.

    A study's file and the id of a model in it: its entry and its data are read as a release reads
    them. A class FILE.py:CLASS, or one of the package: see `dpmcmc.commands.check`.

    Returns
    -------
    int
        Exit status: 0 if no check failed, 1 if one did, 2 if the name, a setting or the data are
        wrong.
    """
    if Path(name).suffix not in (".yaml", ".yml"):
        return of_classes.check(name, settings)
    try:
        config, folders = read_study(None, [Path(name)])
        entry = read_entry(name, config, folders, settings)
        findings = []
        if entry.data:
            planned = plans(entry, config, folders, name)
            findings = [*rows_and_ledger(entry), *of_plans(planned), *prepared_alone(entry)]
            findings = chain(findings, of_one_shots(entry, planned))
        status = of_classes.report(entry.id, chain(findings, of_classes.checks_of_entry(entry)))
        if entry.data and not status:
            note_checked(entry)
        return status
    except (ConfigError, JobError, registry.UnknownName) as error:
        print(f"check: {error}", file=sys.stderr)
        return 2


def note_checked(entry):
    """Note in the ledger that all checks have passed, or say that there is none."""
    data = entry.data["file"]
    path = ledgers.path_of(data)
    if not path.exists():
        print(f"Not noted, as there is no ledger yet: {how_to_make(path)}. Check again then")
        return
    value = checked.digest(ledgers.read(data).budget, entry.spec, entry.data["columns"])
    checked.note(data, entry.id, value)
    print(f"Noted in {path}: a release of {entry.id} may begin")


def read_entry(file, config, folders, ids):
    """The entry of a model of a study's configuration, with its data."""
    if len(ids) != 1:
        raise ConfigError(f"{file}: give the id of one model: {listed(config['models'])}")
    check_known(ids, config["models"], "model", "model")
    (model,) = ids
    entry, where = config["models"][model], f"models.{model}"
    import_own(converted(entry, ModelKeys, where), where, folders)
    return read_model(model, entry, folders)


def rows_and_ledger(entry):
    """Findings about the number of rows, and the file, against the ledger if there is one."""
    file, rows = entry.data["file"], entry.model.num_rows
    kept = f"{rows:,} of {DataFile(file).num_rows:,}"
    if not ledgers.path_of(file).exists():
        yield Finding("Rows that the model keeps", kept, "no ledger yet", True)
        return
    ledger = ledgers.read(file)
    budget, declared = ledger.budget, ledger.declared_rows
    allowed = " or ".join(f"{count:,}" for count in declared)
    yield Finding("Rows that the model keeps", kept, allowed, rows in declared)
    is_same = ledgers.fingerprint(Path(file).read_bytes(), budget.salt) == budget.fingerprint
    found = "the same" if is_same else "another; `ledger change` records it"
    yield Finding("The file of the data", found, "the ledger's", is_same)


def plans(entry, config, folders, file):
    """Plans of releases, or why there is none, by the ids of private algorithms and by epsilon.

    Algorithms are those that the file itself has for this model, not those of the catalogue. Chains
    without a start of their own begin at a draw of the prior.

    Raises
    ------
    ConfigError
        For a setting that is wrong.
    """
    rows, delta, epsilons = size_and_budget(entry)
    found = {}
    for name in read_config(Path(file)).get("algorithms") or ():
        keys = converted(config["algorithms"][name], Algorithm, f"algorithms.{name}")
        is_private = read_algorithm(name, keys, folders).is_private
        if not is_private or (keys.settings and entry.id not in keys.settings):
            continue
        part = read_part(file, entry.id, name, rows)
        start = None if sampler_of(part).prepares else "prior"
        for epsilon in epsilons:
            try:
                found[name, epsilon] = plan(part, epsilon, delta, start=start)
            except JobError as error:
                found[name, epsilon] = str(error)
    return found


def size_and_budget(entry):
    """Number of rows, delta and epsilons of releases: by the ledger, if there is one.

    With a larger epsilon bounds are wider and noise hides less, so its budget is tried, too.
    """
    data, rows = entry.data["file"], entry.model.num_rows
    if not ledgers.path_of(data).exists():
        return rows, 0.1 / rows, [EPSILON]
    ledger = ledgers.read(data)
    budget = ledger.budget
    epsilons = sorted({EPSILON, max(EPSILON, budget.epsilon)})
    return rows if rows in ledger.declared_rows else budget.rows, budget.delta, epsilons


def of_plans(planned):
    """Findings about plans."""
    for (name, epsilon), found in planned.items():
        is_plan = isinstance(found, Plan)
        text = f"{found.iterations:,} iterations or draws" if is_plan else found
        yield Finding(f"The plan of {name} at epsilon {epsilon:g}", text, "a plan", is_plan)


def of_one_shots(entry, planned):
    """Findings about what one-shot methods make of these data, with the settings of their plans.

    They say which share of the rows each method cuts, and, without its noise, how far what it would
    release is from what its answer leads to expect, and how far the answer is off. An error that is
    left then comes from rows that do not follow the model: a clip or few steps turn them into a
    bias. Posteriors with several modes are not tried for the last.
    """
    one_shots = {at: found for at, found in planned.items() if is_one_shot(found)}
    if not one_shots:
        return
    target = Target(entry.model, of_classes.data_of(entry))
    mode = only_mode(target)
    if mode is None:
        yield Finding(
            "One-shot methods without noise", "not tried: no single mode is found", "", None
        )
    for (name, epsilon), found in one_shots.items():
        where = f"{name} at epsilon {epsilon:g}"
        yield from without_noise(where, found.sampler, target, mode, found.names)


def is_one_shot(planned):
    """Whether it is the plan of a one-shot method."""
    return isinstance(planned, Plan) and isinstance(planned.sampler, OneShot)


def without_noise(name, sampler, target, mode, names):
    """Findings about a one-shot method on a target, without its noise."""
    name = f"{name}, without its noise"
    info = run_chain(sampler, target, noiseless_streams(), None, 1).preparation
    cut = np.nanmax([info.clip_fraction, info.gradient_clip_fraction])
    yield Finding(
        f"{name}: rows that it cuts, or gives a weight below 1",
        f"{cut:.1%} of the rows",
        "any share",
        True,
    )
    if not math.isnan(info.misfit):
        yield misfit(name, info.misfit)
    quiet = replace(sampler, noise_scale=QUIET)
    run = run_chain(quiet, target, three_streams(seed_sequence("check", name)), None, QUIET_DRAWS)
    for far in run.preparation.far:
        yield far_outcomes(name, far)
    if mode:
        yield off_by(name, run.positions, mode, names)


def misfit(name, sds):
    """The finding about what a release would show of rows that are unlike those of the model."""
    return Finding(
        f"{name}: what it releases, from what its answer leads to expect",
        f"{sds:.1f} of the noise's sds{ADVICE if sds > MOST_MISFIT else ''}",
        f"at most {MOST_MISFIT:g}",
        not sds > MOST_MISFIT,
    )


def far_outcomes(name, far):
    """The finding about outcomes that are far out, which no wider bound would mend."""
    return Finding(
        f"{name}: outcomes beyond the model's farthest {far.level:.0%}",
        f"{far.found:.1%} of the rows{TOO_MANY if far.is_too_much else ''}",
        f"at most {MOST_RATIO * far.expected:.1%}",
        not far.is_too_much,
    )


def off_by(name, draws, mode, names):
    """The finding about draws of a method without noise, (k, d), beside the posterior's mode.

    Bounded scores use less than all that rows tell, so their answer differs from the exact one. If
    rows follow the model, the variance of this difference is that of the draws less that of the
    exact posterior (Hausman 1978, lemma 2.1). Components have names.
    """
    sds = np.sqrt(np.diag(mode.covariance))
    off = abs(draws.mean(axis=0) - mode.position) / sds
    wider = np.maximum((draws.std(axis=0) / sds) ** 2 - 1, 0)
    allowed = np.maximum(MOST_OFF, FAR * np.sqrt(wider))
    worst = int(np.argmax(off / allowed))
    is_near = bool(off[worst] <= allowed[worst])
    return Finding(
        f"{name}: off from the posterior of these data",
        f"{names[worst]} by {off[worst]:.1f} posterior sds{'' if is_near else ADVICE}",
        f"at most {allowed[worst]:.1f}",
        is_near,
    )


def only_mode(target):
    """The mode of a posterior; None if there are several, or none is found."""
    with suppress(JobError):
        modes = find_modes(np.random.default_rng(0), target)
        return modes[0] if len(modes) == 1 else None


def prepared_alone(entry):
    """A finding about `prepare` of one's own: a release calls it on one row at a time."""
    if not {"prepare", "is_outcome"} & {*own_functions(type(entry.model))}:
        return
    rows = DataFile(entry.data["file"]).rows(entry.data["columns"])
    problem = unlike_alone(entry.model, [rows])
    found, allowed = problem or "the same", "the same"
    yield Finding(
        "prepare: each row of the file alone, as in a release", found, allowed, not problem
    )
