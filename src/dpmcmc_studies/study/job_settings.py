"""The settings of each job of a study, and nothing else.

So a change of the configuration reruns what it changes and no more. A method has the name of its
job in `dpmcmc_studies.jobs.table`.
"""

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from dpmcmc_studies.study import specs, study_specs


class JobSettings:
    """The part of a `StudyConfig` that its jobs see."""

    def dataset(self, model):
        """Settings that the data set of a model depends on."""
        entry = self.models[model]
        return specs.Dataset(
            study_seed=self.config.seed,
            model=model,
            model_entry=entry.spec,
            data=specs.DataFile(**entry.data) if entry.data else None,
            data_sets=None if entry.data else entry.data_sets or self.config.data_sets,
        )

    def reference(self, model):
        """Settings that the reference sample of a model depends on."""
        kind = self.models[model].reference
        return specs.Reference(
            **asdict(self.dataset(model)),
            reference=None if kind == "exact" else kind,
            draws=self.config.reference_draws,
        )

    def has_data_sets(self, model):
        """True if several data sets of a model are simulated."""
        return self.dataset(model).data_sets is not None

    def baselines(self, model):
        """Settings that the baseline samples of a model depend on."""
        samples = self.config.baseline_samples
        return specs.Baselines(**asdict(self.reference(model)), samples=samples)

    def precompute(self, precomputed):
        """Settings that a class that samplers need depends on."""
        return specs.Precompute(cls=self.precomputed[precomputed])

    def settings(self, cell):
        """Settings of a cell's algorithm."""
        run = self.runs[cell]
        return self.algorithms[cell.algorithm].settings_on(cell.model, run.varied, run.epsilon)

    def mechanism(self, model, algorithm, settings):
        """Settings that the privacy of an iteration depends on, and the target delta; no data."""
        posterior, entry = self.models[model].model, self.algorithms[algorithm]
        return specs.Mechanism(
            model=model,
            algorithm=algorithm,
            sampler=entry.spec(settings),
            num_rows=posterior.num_rows,
            likelihood_power=posterior.likelihood_power,
            delta=self.config.delta_times_n / posterior.num_rows,
            accountant=entry.accountant,
            chains_per_sample=self.config.chains_per_sample,
        )

    def budget(self, cell):
        """Settings that the number of iterations of a cell, or their cost, depends on."""
        run, cap = self.runs[cell], None
        if run.epsilon is not None:
            cap = run.max_iterations or self.config.max_iterations
        return specs.Budget(
            **asdict(self.mechanism(cell.model, cell.algorithm, self.settings(cell))),
            varied=run.varied,
            iterations=run.iterations,
            epsilon=run.epsilon,
            max_iterations=cap,
        )

    def certification(self, cell):
        """Settings that a cell's cost by its variant's accountant depends on, beside its budget."""
        stand_in = self.algorithms[dict(self.replaced_cells)[cell]]
        spec = self.mechanism(cell.model, cell.algorithm, self.settings(cell))
        spec.accountant = stand_in.accountant
        return specs.Certification(**asdict(spec), epsilon=self.runs[cell].epsilon)

    def accounting_curve(self, algorithm, accountant):
        """Settings that a curve of iterations against epsilon depends on."""
        curves = self.config.accounting_curves
        low, high, count = curves.epsilons.low, curves.epsilons.high, curves.epsilons.count
        step = (high - low) / (count - 1)
        settings = self.algorithms[algorithm].settings_on(curves.model)
        spec = self.mechanism(curves.model, algorithm, settings)
        spec.accountant = self.accounting_curves[algorithm, accountant]
        epsilons = [low + i * step for i in range(count)]
        return specs.AccountingCurve(**asdict(spec), epsilons=epsilons)

    def chain(self, cell, seed):
        """Settings that one chain depends on, beside the files that it reads."""
        run = self.runs[cell]
        return specs.Chain(
            **asdict(self.dataset(cell.model)),
            algorithm=cell.algorithm,
            sampler=self.algorithms[cell.algorithm].spec(self.settings(cell)),
            run=run.seed_label,
            varied=run.varied,
            seed=int(seed),
            start_sd=run.start_sd,
            stored_draws=self.config.stored_draws,
        )

    def baseline_table(self, model):
        """Settings that the metrics of a model's samples depend on, beside the samples."""
        return specs.BaselineTable(
            **asdict(self.dataset(model)),
            mmd=asdict(self.config.mmd),
            seeds=self.config.seeds,
            chains_per_sample=self.config.chains_per_sample,
        )

    def chain_table(self, model, cells=None):
        """Settings that the table of a model's chains, or of some cells, depends on."""
        cells = self.cells_of(model) if cells is None else cells
        return specs.ChainTable(
            **asdict(self.dataset(model)),
            mmd=asdict(self.config.mmd),
            chains_per_sample=self.config.chains_per_sample,
            cells=[self._row(cell) for cell in cells],
        )

    def score_table(self, model, cells=None):
        """Settings that the scores of a model's chains, or of those of some cells, depend on."""
        cells = self.cells_of(model) if cells is None else cells
        return specs.ScoreTable(
            **asdict(self.dataset(model)),
            chains_per_sample=self.config.chains_per_sample,
            cells=[self._row(cell) for cell in cells],
        )

    def _row(self, cell):
        label, seeds = self.runs[cell].seed_label, len(self.seeds_of(cell))
        return specs.Cell(cell.algorithm, cell.run, label, seeds)

    def study_tables(self):
        """Settings that the tables of the study depend on, beside those of its models."""
        models = [
            study_specs.Model(
                model=m.id, d=m.model.dimension, settings=m.spec, reference=m.reference
            )
            for m in self.models.values()
            if m.id in self.model_ids
        ]
        return study_specs.StudyTables(models=models, swept=self.swept)

    def analysis_tables(self):
        """Settings that the tables that follow depend on, beside those of the study."""
        return study_specs.AnalysisTables(
            stand_ins=self.stand_ins,
            swept=self.swept,
            claims=[replace(claim, label=None) for claim in self.claims],
            chains_per_sample=self.config.chains_per_sample,
        )

    def audit_case(self, case):
        """Settings that the audit of a case depends on."""
        audit = self.config.audit
        return study_specs.AuditCase(
            study_seed=self.config.seed,
            case=case,
            runs=audit.runs,
            delta=audit.delta,
            confidence=audit.confidence,
        )

    def intervals(self, model):
        """Settings that the intervals of a model depend on."""
        return specs.Intervals(
            study_seed=self.config.seed,
            model=model,
            model_entry=self.models[model].spec,
            draws=self.config.reference_draws,
            data_sets=self.config.intervals.data_sets,
            cells=[self.budget(cell) for cell in self.interval_cells(model)],
        )

    def provenance(self):
        """Provenance of the study, as far as it says itself."""
        return {"config": to_builtins(self.config), "old": to_builtins(self.old)}

    def notebook(self, notebook):
        """Parameters of a notebook."""
        return self.notebooks[notebook].parameters | {"results": f"results/{self.name}"}

    def twins(self, model):
        """Settings that the data sets depend on by which searches on a model judge a trial."""
        tuning = self.config.tuning
        sets = tuning.seeds + 2 * tuning.confirming_seeds  # the search's, the choice's, the last
        twins = replace(self.reference(model), data=None, data_sets=sets, theta=tuning.theta)
        return replace(twins, model=f"{model}-twins")  # a label of other random streams

    def search(self, model, algorithm, epsilon):
        """Settings that the search of the settings of an algorithm at an epsilon depends on."""
        tuning, epsilon = self.config.tuning, float(epsilon)
        settings = self.algorithms[algorithm].settings_on(model, epsilon=epsilon)
        searched = settings.keys() - set(tuning.fixed.get(algorithm, []))
        most = min(tuning.max_iterations, self.config.max_iterations or tuning.max_iterations)
        mechanism = asdict(self.mechanism(model, algorithm, settings))
        factors = {key: value for key, value in tuning.factors.items() if key in searched}
        of_all = {"models": (), "algorithms": (), "fixed": {}, "epsilons": [epsilon]}
        return study_specs.Search(
            twins=self.twins(model),
            budget=specs.Budget(**mechanism, varied={}, epsilon=epsilon, max_iterations=most),
            settings=settings,
            tuning=replace(tuning, factors=factors, **of_all),
            stored_draws=self.config.stored_draws,
        )
