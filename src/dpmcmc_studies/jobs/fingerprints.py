"""Fingerprints of results: digests of the settings and the source that their values depend on.

Labels, prose and pages are in no fingerprint. Nor are the bytes of data files, since fingerprints
are published.
"""

import hashlib
import os
from functools import cached_property
from types import SimpleNamespace

from dpmcmc_studies.jobs.parts import KINDS, ids_of, kind_of, parts_of
from dpmcmc_studies.jobs.table import JOBS, digest_of, text_of


class Fingerprints:
    """Fingerprints of the parts of a study, as its settings and the source are now.

    A fingerprint is two digests, of settings and of source, with a dash between them.

    Parameters
    ----------
    study : StudyConfig
    """

    def __init__(self, study):
        self.study = study.without_digests()
        self._known = {}

    def __getitem__(self, part):
        if part not in self._known:
            kind, _, name = part.partition("/")
            self._known[part] = self._kept(name) if kind == "kept" else self._of_jobs(part)
        return self._known[part]

    @cached_property
    def names(self):
        """Names of all parts but references and kept files: those that have rows in tables."""
        return [part for kind in KINDS for part in parts_of(self.study, kind)]

    def _of_jobs(self, part):
        study, kind = self.study, kind_of(part)
        of = SimpleNamespace(**ids_of(part), seed=0)
        jobs = [(JOBS[name], of) for name in kind.made_by]
        if kind.table_job:
            needed = study.precomputed_by(of.algorithm)
            jobs[:0] = [(JOBS["precompute"], SimpleNamespace(precomputed=name)) for name in needed]
        settings = [job.settings(study, its) for job, its in jobs]
        sources = [job.source(study, its) for job, its in jobs]
        if kind.table_job:
            of_table = getattr(study, kind.table_job)(of.model, [study.cell(of)])
            settings.append(text_of(of_table))
            sources.append(JOBS[kind.table_job].source(study, of))
        here = os.path.relpath(study.root) + "/"  # before paths of files in settings
        return joined([text.replace(f'"{here}', '"') for text in settings], sources)

    def _kept(self, page):
        notebook = self.study.notebooks[page]
        models = [*notebook.chain_models, *notebook.data_models]
        parts = [f"reference/{model}" for model in models]
        parts += [
            f"chains/{'/'.join(cell)}" for model in models for cell in self.study.cells_of(model)
        ]
        of_parts = [self[part].split("-") for part in parts]
        settings, sources = zip(*of_parts, strict=True)
        return joined(settings, [*sources, digest_of(*map(str, notebook.kept.values()))])


def joined(settings, sources):
    """A fingerprint: eight hexadecimal digits of each digest."""
    texts = map(text_of, (settings, sources))
    return "-".join(hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts)
