"""Reuse of committed results: rows and files that a run takes as they are.

`parts.csv` has the fingerprint of every part. A part whose source has changed since is old. A run
with reuse takes it all the same, with the fingerprint that it has, unless the run is asked to renew
it. It never takes a part whose settings have changed. So rendering pages, renewing some results and
adding a column are one and the same run.
"""

from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc_studies.jobs.fingerprints import Fingerprints
from dpmcmc_studies.jobs.parts import OF_CHAINS, read_parts
from dpmcmc_studies.study import specs

MOST_NAMED = 5  # parts in a line


class Reuse:
    """Committed results of a study, and which of them a run may take.

    Parameters
    ----------
    study : StudyConfig
    directory : Path, optional
        Committed results; without, nothing is reused.
    renewed : iterable of str
        Old parts that are computed: ids as in paths, `MODEL`, `MODEL/ALGORITHM` or a whole cell,
        where * stands for any text.
    anew : iterable of str
        Parts that are computed although they are not old.
    is_assumed : bool
        Take parts whose settings have changed as well: to check a few of them, drawn at random.

    Raises
    ------
    ConfigError
        If a name of `renewed` is that of no part.
    """

    def __init__(self, study, directory=None, renewed=(), anew=(), is_assumed=False):
        self.study, self.directory = study, directory
        self.renewed, self.anew, self.is_assumed = renewed, frozenset(anew), is_assumed
        self.fingerprints = Fingerprints(study)
        for name in renewed:
            if not any(is_named(part, [name]) for part in self.fingerprints.names):
                raise ConfigError(
                    f"renewed: {name} is not in {study.name}; name a model, MODEL/ALGORITHM or "
                    "MODEL/ALGORITHM/RUN, * stands for any text"
                )

    def has(self, part):
        """True if a run takes a part from what is committed."""
        return self.found(part) is not None

    def found(self, part):
        """Fingerprint of a part that a run takes from what is committed, else None."""
        if self.directory is None or part in self.anew or part not in self.committed:
            return None
        was, now = self.committed[part], self.fingerprints[part]
        if self.is_assumed or was == now:
            return was
        return was if has_same_settings(was, now) and not self._is_renewed(part) else None

    def _is_renewed(self, part):
        """True if an old part is computed; a file is if any part that is made from it is."""
        kind, _, ids = part.partition("/")
        if kind == "kept":
            models = self.study.notebooks[ids].chain_models
        elif kind == "reference":
            models = [ids]
        else:
            return is_named(part, self.renewed)
        kinds = ("baselines", *OF_CHAINS)
        made = [name for name in self.fingerprints.names if name.split("/")[0] in kinds]
        return any(not self.has(name) for name in made if name.split("/")[1] in models)

    def old(self):
        """Committed parts of tables whose source has changed, or their settings, in order."""
        return [
            part
            for part in self.fingerprints.names
            if self.committed.get(part, self.fingerprints[part]) != self.fingerprints[part]
        ]

    def in_effect(self, parts):
        """Fingerprints of parts as a run leaves them, by their names."""
        return {part: self.found(part) or self.fingerprints[part] for part in parts}

    def rows(self, *parts):
        """Which rows of parts a job of tables takes."""
        return specs.Rows(
            tables=str(Path(self.directory, "tables")) if self.directory else "",
            parts={part: self.found(part) for part in parts},
        )

    def file(self, part):
        """Committed file or directory of a part that a run takes; else an empty text."""
        return str(Path(self.directory, place_of(part))) if self.has(part) else ""

    @cached_property
    def committed(self):
        """Fingerprints of all that is committed, by part."""
        return read_parts(self.directory)

    def plan(self):
        """Lines that say what a run takes, what it computes, and why."""
        taken, lines = [], {}
        settings = {was.split("-")[0] for was in self.committed.values()}
        for part in self.fingerprints.names:
            if self.has(part):
                taken.append(part)
                continue
            why = "their settings changed, or they are new"
            if part in self.anew:
                why = "they are to be checked"
            elif self.fingerprints[part].split("-")[0] in settings:
                why = "their source changed and you named them"
            lines.setdefault(why, []).append(part)
        total = len(self.fingerprints.names)
        yield f"reused from {self.directory}: {len(taken)} of {total} parts"
        if old := [part for part in self.old() if self.has(part)]:
            yield f"old, and reused unless you name them in renewed: {some_of(old)}"
        for why, parts in lines.items():
            yield f"computed, as {why}: {some_of(parts)}"
        files = {entry.data["file"] for entry in self.study.models.values() if entry.data}
        for file in sorted(map(str, files)):
            yield f"taken to be as it was: {file} (fingerprints have no digest of data)"


def place_of(part):
    """File of a reference sample, or directory of what a page keeps, below a study's results."""
    return f"{part}.npy" if part.startswith("reference/") else part


def has_same_settings(fingerprint, other):
    """True if two fingerprints differ at most in the source."""
    return fingerprint.split("-")[0] == other.split("-")[0]


def is_named(part, names):
    """True if names (as `renewed` of `Reuse`) have a part among them."""
    ids = part.partition("/")[2]
    return any(fnmatchcase(ids, end) for name in names for end in (name, f"{name}/*"))


def some_of(parts):
    """The first names of parts, and how many more there are."""
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return ", ".join(parts[:MOST_NAMED]) + more
