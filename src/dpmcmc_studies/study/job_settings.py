"""The settings of each job of a study, and nothing else.

So a change of the configuration reruns what it changes and no more. `dpmcmc_studies.jobs.table`
says which job has which settings.
"""

NOT_OF_A_SEARCH = {"models", "algorithms", "fixed"}  # keys of `tuning` that no search depends on


class JobSettings:
    """The part of a `Study` that its jobs see: a dict of settings for each kind of job."""

    def dataset(self, model):
        """What the data set of a model depends on."""
        entry = self.models[model]
        spec = {"study_seed": self.config["seed"], "model": model, "model_entry": entry.spec}
        if entry.data:
            return spec | {"data": entry.data}
        data_sets = entry.data_sets or self.config.get("data_sets")
        return spec | ({"data_sets": data_sets} if data_sets else {})

    def reference(self, model):
        """What the reference sample of a model depends on."""
        kind = self.models[model].reference
        of_kind = {} if kind == "exact" else {"reference": kind}
        return self.dataset(model) | of_kind | {"draws": self.config["reference_draws"]}

    def has_data_sets(self, model):
        """Whether several data sets of a model are simulated."""
        return "data_sets" in self.dataset(model)

    def baselines(self, model):
        """What the baseline samples of a model depend on."""
        return self.reference(model) | {"samples": self.config["baseline_samples"]}

    def settings(self, cell):
        """Settings of a cell's algorithm."""
        return self.algorithms[cell.algorithm].settings_on(cell.model, self.runs[cell].varied)

    def sampler(self, cell):
        """Id of a cell's algorithm, and its sampler for `dpmcmc.registry.build`."""
        spec = self.algorithms[cell.algorithm].spec(self.settings(cell))
        return {"algorithm": cell.algorithm, "sampler": spec}

    def mechanism(self, model, algorithm, settings):
        """What the privacy of an iteration depends on, and the delta to be kept; no data."""
        posterior, entry = self.models[model].model, self.algorithms[algorithm]
        return {
            "model": model,
            "algorithm": algorithm,
            "sampler": entry.spec(settings),
            "num_rows": posterior.num_rows,
            "likelihood_power": posterior.likelihood_power,
            "delta": self.config["delta_times_n"] / posterior.num_rows,
            "accountant": entry.accountant,
            "chains_per_sample": self.chains_per_sample,
        }

    def budget(self, cell):
        """What the number of iterations of a cell depends on, or what they cost."""
        run = self.runs[cell]
        spec = self.mechanism(cell.model, cell.algorithm, self.settings(cell))
        spec |= {"varied": run.varied}
        if run.iterations is not None:
            spec |= {"iterations": run.iterations}
        if run.epsilon is None:
            return spec
        cap = self._optional("max_iterations")
        if run.max_iterations is not None:
            cap = {"max_iterations": run.max_iterations}
        return spec | {"epsilon": run.epsilon} | cap

    def certification(self, cell):
        """What the cost of a cell by its stand-in's accountant depends on, beside its budget."""
        stand_in = self.algorithms[dict(self.replaced_cells)[cell]]
        more = {"epsilon": self.runs[cell].epsilon, "accountant": stand_in.accountant}
        return self.mechanism(cell.model, cell.algorithm, self.settings(cell)) | more

    def accounting_curve(self, algorithm, accountant):
        """What a curve of iterations against epsilon depends on."""
        curves = self.config["accounting_curves"]
        model = curves["model"]
        low, high, count = (curves["epsilons"][key] for key in ("from", "to", "count"))
        step = (high - low) / (count - 1)
        settings = self.algorithms[algorithm].settings_on(model)
        return self.mechanism(model, algorithm, settings) | {
            "accountant": self.accounting_curves[algorithm, accountant],
            "epsilons": [low + i * step for i in range(count)],
        }

    def chain(self, cell, seed):
        """What one chain depends on, beside the files it reads."""
        run = self.runs[cell]
        spec = self.dataset(cell.model) | self.sampler(cell)
        spec |= {"run": run.seed_label, "varied": run.varied, "seed": int(seed)}
        if run.start_sd is not None:
            spec["start_sd"] = run.start_sd
        return spec | self._optional("stored_draws")

    def baseline_table(self, model):
        """What the metrics of a model's samples depend on, beside the samples."""
        settings = {key: self.config[key] for key in ("mmd", "seeds")}
        return self.dataset(model) | settings | {"chains_per_sample": self.chains_per_sample}

    def chain_table(self, model, cells=None):
        """What the table of a model's chains, or of those in some cells, depends on beside them."""
        cells = self.cells_of(model) if cells is None else cells
        rows = [
            [cell.algorithm, cell.run, self.runs[cell].seed_label, len(self.seeds_of(cell))]
            for cell in cells
        ]
        return self.baseline_table(model) | {"cells": rows}

    def study_tables(self):
        """What the tables of the study depend on, beside those of its models."""
        models = [
            {"model": m.id, "d": m.model.dimension, "settings": m.spec, "reference": m.reference}
            for m in self.models.values()
            if m.id in self.model_ids
        ]
        return {"models": models, "swept": self.swept}

    def analysis(self):
        """What the tables that follow depend on, beside those of the study."""
        return {
            "stand_ins": self.stand_ins,
            "swept": self.swept,
            "claims": [{k: v for k, v in claim.items() if k != "label"} for claim in self.claims],
            "chains_per_sample": self.chains_per_sample,
        }

    def audited_case(self, case):
        """What the audit of a case depends on."""
        settings = {key: self.config["audit"][key] for key in ("runs", "delta", "confidence")}
        return {"study_seed": self.config["seed"], "case": case} | settings

    def intervals(self, model):
        """What the intervals of a model depend on."""
        cells = [self.budget(cell) for cell in self.interval_cells(model)]
        more = {"data_sets": self.config["intervals"]["data_sets"], "cells": cells}
        entry = {"study_seed": self.config["seed"], "model_entry": self.models[model].spec}
        return {"model": model, "draws": self.config["reference_draws"]} | entry | more

    def search(self, model, algorithm):
        """What the search of the settings of an algorithm on a model depends on."""
        settings = self.algorithms[algorithm].settings_on(model)
        most, fixed = self.tuning["max_iterations"], self.tuning.get("fixed", {})
        searched = settings.keys() - set(fixed.get(algorithm, []))
        of_twin = self.reference(model)
        of_twin.pop("data_sets", None)
        return {
            **of_twin,
            **self.mechanism(model, algorithm, settings),
            **{key: self.tuning[key] for key in self.tuning.keys() - NOT_OF_A_SEARCH},
            **self._optional("stored_draws"),
            "settings": settings,
            "max_iterations": min(most, self.config.get("max_iterations", most)),
            "mmd": self.config["mmd"],
            "factors": {k: v for k, v in self.tuning["factors"].items() if k in searched},
        }

    def _optional(self, key):
        """A setting of the study that may be left out, and then changes no job."""
        return {key: self.config[key]} if key in self.config else {}
