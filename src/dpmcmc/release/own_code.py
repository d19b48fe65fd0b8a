"""Code of one's own must pass the checks that privacy rests on, before anything is spent."""

import shlex

from dpmcmc import registry
from dpmcmc.evaluation.checking import models, samplers
from dpmcmc.evaluation.checking.cases import Case, with_rows
from dpmcmc.evaluation.checking.findings import find_all
from dpmcmc.files import JobError
from dpmcmc.precomputed import with_needed
from dpmcmc.random_streams import generator
from dpmcmc.release.plan import sampler_of, with_noise

ROWS = 2000  # of the twin that a model is checked on
MODEL = [check for check in models.CHECKS if not check.__module__.endswith(".posteriors")]
SAMPLER = samplers.OF_PRIVATE[: samplers.OF_PRIVATE.index(samplers.OF_OTHERS[0])]


def check_own_code(part):
    """Try the classes of a part that are in files of one's own, on simulated data.

    Raises
    ------
    JobError
        If a check fails, or there are no data to check with.
    """
    if is_own(part.model.spec):
        model = with_rows(part.model.model, min(ROWS, part.model.model.num_rows))
        case = Case(model, generator(0, "check"))
        calls = [(check, case, generator(0, "check", check.__name__)) for check in MODEL]
        require_passed(part.model.spec["class"], find_all(calls))
    spec = part.algorithm.spec(part.settings)
    for one in (spec["chain"], spec["start"]) if "chain" in spec else (spec,):
        if is_own(one) or is_own(one.get("move", {})):
            sampler = registry.build(one) if "chain" in spec else sampler_of(part)
            scale = 1.0 if hasattr(sampler, "with_preparation_noise") else None
            checked = samplers.Checked(
                samplers.for_any_dimension(with_needed(with_noise(sampler, scale))), 0
            )
            require_passed(one["class"], find_all((check, checked) for check in SAMPLER))


def is_own(spec):
    """Whether a class is in a file of one's own."""
    return spec.get("class", "").rpartition(":")[0].endswith(".py")


def require_passed(name, findings):
    """Raise a JobError for the first check that failed; or where the first one was not tried."""
    command = shlex.join(["python", "-m", "dpmcmc", "check", name])
    for i, finding in enumerate(findings):
        if finding.passed is False:
            raise JobError(
                f"{name} does not pass its check, so nothing was started: {finding.tried}: "
                f"{finding.found}, and not {finding.allowed}; `{command}` says more"
            )
        if finding.passed is None and i == 0:
            raise JobError(f"{name} cannot be checked: {finding.found.removeprefix('not tried: ')}")
