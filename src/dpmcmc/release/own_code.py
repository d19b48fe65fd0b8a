"""Code of one's own must pass the checks that privacy rests on, before anything is spent."""

import shlex

import numpy as np

from dpmcmc import registry
from dpmcmc.evaluation.checking import models, samplers
from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.findings import Outcome, find_all, optional
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import generator
from dpmcmc.release.plan import sampler_of
from dpmcmc.release.replay import NotedStreams, Replayed
from dpmcmc.release.running import start_position
from dpmcmc.samplers.chain import run_chain

ROWS = 2000  # of the twin that a model is checked on; `prepare` sees as many as are declared
TWINS = 3  # on which the planned chain runs
MOST_ITERATIONS = 3000  # of it
MODEL = [check for check in models.CHECKS if not check.__module__.endswith(".posteriors")]
SAMPLER = samplers.OF_PRIVATE[: samplers.OF_PRIVATE.index(samplers.OF_OTHERS[0])]


def check_own_code(planned):
    """Try the classes of a plan that are in files of one's own, on simulated data.

    Parameters
    ----------
    planned : Plan

    Raises
    ------
    JobError
        If a check fails, or there are no data to check with.
    """
    part = planned.part
    if registry.is_own(part.model.spec):
        case = Case(part.model.model, generator(0, "check"), most_rows=ROWS)
        calls = [(check, case, generator(0, "check", check.__name__)) for check in MODEL]
        name = part.model.spec["class"]
        require_passed(name, find_all(calls), says_more(name))
    spec = part.algorithm.spec(part.settings)
    for one in (spec["chain"], spec["start"]) if "chain" in spec else (spec,):
        if registry.is_own(one):
            sampler = registry.build(one) if "chain" in spec else sampler_of(part)
            sampler = with_precomputed(sampler.with_preparation_noise(1.0))
            checked = samplers.Checked(samplers.for_any_dimension(sampler), 0)
            findings = find_all((check, checked) for check in SAMPLER)
            require_passed(one["class"], findings, says_more(one["class"]))
            require_passed(one["class"], find_all([(same_chain, planned)]))


def same_chain(planned):
    """Other rows and batches, the same releases, as many iterations as planned: the same chain."""
    sampler, model = with_precomputed(planned.sampler), planned.model
    iterations = min(planned.iterations, MOST_ITERATIONS)
    start = start_position(planned.start, model, np.random.default_rng(0))
    allowed, expected, noted = f"the same for {iterations:,} iterations", None, None
    for twin in range(TWINS):
        data = optional(model.simulate, np.random.default_rng([2, twin]))
        if twin == 0:
            rng = NotedStreams(*(np.random.default_rng([0, i]) for i in range(3)))
        else:
            same = (np.random.default_rng([0, i]) for i in range(2))
            rng = Replayed(*same, np.random.default_rng([1, twin]), noted)
        chain = run_chain(sampler, Target(model, data, "clip"), rng, start, iterations)
        found = np.column_stack([chain.positions, chain.is_accepted])
        if twin == 0:
            expected, noted = found, rng.released
        is_other = ((found != expected) & ~(np.isnan(found) & np.isnan(expected))).any(axis=1)
        if is_other.any():
            return Outcome(f"another from iteration {is_other.argmax() + 1:,} on", allowed, False)
    return Outcome(allowed, allowed, True)


def says_more(name):
    """Which command says more, as the end of a message."""
    return f"; `{shlex.join(['python', '-m', 'dpmcmc', 'check', name])}` says more"


def require_passed(name, findings, more=""):
    """Raise a JobError for the first check that failed; or where the first one was not tried."""
    for i, finding in enumerate(findings):
        if finding.passed is False:
            raise JobError(
                f"{name} does not pass its check, so nothing was started: {finding.tried}: "
                f"{finding.found}, and not {finding.allowed}{more}"
            )
        if finding.passed is None and i == 0:
            raise JobError(f"{name} cannot be checked: {finding.found.removeprefix('not tried: ')}")
