"""Fingerprints of results: digests of the settings and the source that their values depend on.

A part of a study's results is what one job makes, or the rows of one cell. Parts have names:
`reference/MODEL`, `baselines/MODEL`, `chains/MODEL/ALGORITHM/RUN`, `intervals/MODEL`,
`accounting/ALGORITHM/ACCOUNTANT`, `certified/MODEL/ALGORITHM/RUN`, `audit/CASE` and `kept/PAGE`.
Labels, prose and pages are in no fingerprint. Nor are the bytes of data files, since fingerprints
are published.
"""

import hashlib
from functools import cached_property
from types import SimpleNamespace

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
            kind, *ids = part.split("/", 3)  # a run may have dashes and slashes
            self._known[part] = getattr(self, f"_{kind}")(*ids)
        return self._known[part]

    @cached_property
    def names(self):
        """Names of all parts but references and kept files: those that have rows in tables."""
        study = self.study
        return [
            *(f"baselines/{model}" for model in study.model_ids),
            *(f"chains/{'/'.join(cell)}" for cell in study.cells),
            *(f"intervals/{model}" for model in study.interval_models),
            *(f"accounting/{'/'.join(curve)}" for curve in study.accounting_curves),
            *(f"certified/{'/'.join(cell)}" for cell, _ in study.replaced_cells),
            *(f"audit/{case}" for case in study.audited_cases),
        ]

    def _reference(self, model):
        return self._of(["dataset", "reference"], {"model": model})

    def _baselines(self, model):
        names = ["dataset", "reference", "baselines", "baseline_table"]
        return self._of(names, {"model": model})

    def _intervals(self, model):
        return self._of(["intervals"], {"model": model})

    def _accounting(self, algorithm, accountant):
        return self._of(["accounting_curve"], {"algorithm": algorithm, "accountant": accountant})

    def _certified(self, model, algorithm, run):
        return self._of(["budget", "certification"], of_cell(model, algorithm, run))

    def _audit(self, case):
        return self._of(["audit_case"], {"case": case})

    def _chains(self, model, algorithm, run):
        study, of = self.study, SimpleNamespace(**of_cell(model, algorithm, run), seed=0)
        jobs = [
            ("precompute", SimpleNamespace(precomputed=name))
            for name in study.precomputed_by(algorithm)
        ]
        jobs += [(name, of) for name in ("dataset", "reference", "budget", "chain")]
        table = study.chain_table(model, [study.cell(of)])
        return fingerprint(study, jobs, [table], [JOBS["chain_table"].source(study, of)])

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

    def _of(self, names, of):
        return fingerprint(self.study, [(name, SimpleNamespace(**of)) for name in names])


def of_cell(model, algorithm, run):
    """Wildcards of a cell."""
    return {"model": model, "algorithm": algorithm, "run": run}


def fingerprint(study, jobs, settings=(), sources=()):
    """Fingerprint of jobs, pairs of a name in the table and its wildcards, and of what is more."""
    of_jobs = [JOBS[name].settings(study, of) for name, of in jobs]
    source_of_jobs = [JOBS[name].source(study, of) for name, of in jobs]
    return joined([*of_jobs, *settings], [*source_of_jobs, *sources])


def joined(settings, sources):
    """A fingerprint: eight hexadecimal digits of each digest."""
    texts = map(text_of, (settings, sources))
    return "-".join(hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts)
