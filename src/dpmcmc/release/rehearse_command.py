"""The command `rehearse`."""

import importlib.util
import json
from dataclasses import replace

from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc.extras import missing
from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import rehearsed
from dpmcmc.release.options import joined, rehearsal_parser
from dpmcmc.release.plan import plan, sampler_of
from dpmcmc.release.reading import data_of, read_part
from dpmcmc.release.running import with_noise
from dpmcmc.release.terminal import tell

FAR = 2.0  # factor by which a setting may differ from the one that would be chosen


def rehearse(arguments):
    """Run a release on simulated twins of the data, and say how many rows it is worth."""
    from dpmcmc.release.rehearsal import rehearsal, table

    given = rehearsal_parser().parse_args(joined(arguments))
    if given.plot and importlib.util.find_spec("matplotlib") is None:
        raise JobError(missing("matplotlib", "studies"))
    sizes, delta = given.rows, given.delta
    try:
        data = data_of(given.study, given.model)
    except ConfigError:
        data = None
    is_known = sizes is not None and delta is not None
    if data is not None and not is_known and ledgers.path_of(data).exists():
        budget = ledgers.read(data).budget
        sizes, delta = sizes or [budget.rows], delta or budget.delta
    if data is not None and sizes is None:
        raise JobError("--rows: must be given, because there is no ledger with the number of rows")
    rows = []
    for size in sizes or [None]:
        part = read_part(given.study, given.model, given.algorithm, size)
        of_size = delta or 0.1 / part.model.model.num_rows
        plans = [
            plan(part, epsilon, of_size, given.chains, given.start, given.draws)
            for epsilon in given.epsilon
        ]
        for one in plans:
            tell_of_settings(one)
        of_size_rows = rehearsal(plans, given.twins, given.seed)
        rows += of_size_rows
        if data is not None and ledgers.path_of(data).exists():
            for i, one in enumerate(plans):
                note_rehearsal(data, one, of_size_rows[i :: len(plans)])
    if given.plot:
        from dpmcmc.release.plot import draw

        draw(rows, given.plot)
    print(json.dumps(rows) if given.json else table(rows))
    return 0


def note_rehearsal(data, planned, rows):
    """Note in the ledger what a rehearsal has said, for the release; warn if that cannot be."""
    try:
        rehearsed.note(data, planned, rows)
    except JobError as error:
        tell(f"rehearse: a release will not know of this rehearsal: {error}")


def tell_of_settings(planned):
    """Warn of numbers that are far from those that public numbers lead to."""
    given = with_noise(sampler_of(planned.part), planned.noise_scale)
    chosen = planned.chosen
    free = {name: None for name in chosen if isinstance(getattr(given, name, None), float)}
    if not free:
        return
    best = replace(given, **free).chosen_settings(planned.model)
    for name in free:
        if not 1 / FAR < chosen[name] / best[name] < FAR:
            tell(
                f"rehearse: {name} is {chosen[name]:g}, at epsilon {planned.epsilon:g} "
                f"{best[name]:.3g} would be chosen; leave it out to take that"
            )
