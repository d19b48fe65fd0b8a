"""Coverage of the intervals of private posteriors over many data sets of a model."""

from contextlib import suppress

import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation.coverage import of_data_set, summary
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_noise, with_precomputed
from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.chain import run_chain
from dpmcmc_studies.frames import write_csv
from dpmcmc_studies.jobs.budgets import given_epsilon, noise_of, price_of
from dpmcmc_studies.jobs.samplers import build_sampler
from dpmcmc_studies.study import specs

LEAST_ITERATIONS = 4  # of a chain from which an interval is made


def intervals(spec: specs.Intervals, output):
    """Draw theta from the prior and data at it, run every cell on them, and count, as CSV.

    All cells have the same data sets. Where the model has no exact draws, columns that compare with
    them are missing. So is all of a cell whose budget allows too few iterations for an interval.
    """
    name, model = spec.model, registry.build(spec.model_entry)
    runs = [prepared(cell) for cell in spec.cells]
    found = [[] for _ in runs]
    for number in range(spec.data_sets):
        labels = spec.study_seed, "intervals", name, number
        rng = generator(*labels)
        try:
            truth = model.sample_prior(rng)
            target = Target(model, model.simulate(rng, truth))
        except NotImplementedError as error:
            raise JobError(f"intervals.models: {name}: {error}") from None
        exact = None
        with suppress(NotImplementedError):
            exact = model.sample_posterior(rng, target.data, spec.draws)
        for i, (cell, (sampler, iterations)) in enumerate(zip(spec.cells, runs, strict=True)):
            if iterations < LEAST_ITERATIONS:
                continue
            streams = three_streams(seed_sequence(*labels, cell.algorithm, cell.epsilon))
            chain = run_chain(sampler, target, streams, None, iterations)
            draws = chain.positions
            if not sampler.has_free_steps:  # it has to come to the posterior first
                draws = kept_draws(draws)
            found[i].append(of_data_set(truth, draws, exact))
    keys = ("model", "algorithm", "epsilon")
    rows = [
        {key: getattr(cell, key) for key in keys} | {"iterations": run[1]} | summary(one)
        for cell, run, one in zip(spec.cells, runs, found, strict=True)
    ]
    write_csv(pd.DataFrame(rows), output)


def prepared(spec):
    """Sampler of a cell with the noise of its budget, and the iterations that this allows."""
    noise = noise_of(spec, spec.epsilon)
    sampler = with_noise(with_precomputed(build_sampler(spec)), noise)
    if not sampler.prepares:
        raise JobError(f"intervals.algorithms: {spec.algorithm} has no private start")
    iterations = spec.iterations or given_epsilon(spec, price_of(spec, noise))["iterations"]
    return sampler, iterations
