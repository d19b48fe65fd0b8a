"""Plan of a release and its cost: from the study's file and the ledger's, without the data."""

import dataclasses
import importlib.util
import math
from typing import NamedTuple

import numpy as np

from dpmcmc import registry
from dpmcmc.accounting.certified import on_all_rows, on_batches
from dpmcmc.accounting.costs import Price, preparation_noise
from dpmcmc.accounting.joint import mu_and_delta0
from dpmcmc.accounting.mechanisms import NOISE_VARIANCE, BarkerMechanism
from dpmcmc.accounting.releases import grouped
from dpmcmc.accounting.search import rounded_up
from dpmcmc.data_files import is_plain
from dpmcmc.extras import missing
from dpmcmc.files import JobError
from dpmcmc.models.model import Model
from dpmcmc.release.budget import DELTA_RESERVE, RESERVE
from dpmcmc.release.reading import ACCOUNTANT, Part
from dpmcmc.release.running import message_of, with_noise
from dpmcmc.release.streams import SLACK, Allowance

DRAWS = 4000  # that are written of a chain, at most
MOST_ITERATIONS = 10**7  # a chain is held in memory
MOST_NUMBERS = 10**7  # so are all that are written
DELTA0_SHARE = 0.1  # of delta: what a method on batches takes of it
VARIANCE_ROUNDING = 1e-9  # of the variance of a batch, as it is computed
ALIKE = 1.01  # noise variances, in the list of what is released
STATED_SLACK = 1e-4  # of an epsilon: by so much the stated one may exceed the one that is spent


class Plan(NamedTuple):
    """Plan of a run, and its cost."""

    part: Part
    names: list  # of the components of theta
    noise_scale: float | None  # of the preparation, where the budget says it
    start: str | list  # "prior", "preparation" or numbers
    chains: int
    iterations: int  # of each chain; draws, where steps are free
    kept: int  # positions that are written of each chain
    epsilon: float  # an upper bound, with all slack
    delta: float
    mu: float
    delta0: float
    allowed: Allowance  # of each chain: no more is released
    what: list  # what is released, for the ledger
    chosen: dict  # settings that the sampler chooses by public numbers

    @property
    def model(self):
        """The model, with its declared rows."""
        return self.part.model.model

    @property
    def spec(self):
        """Entry of the sampler, for `registry.build`, with the settings that it has chosen.

        They are in the entry because the process that reads the data must not choose: its model
        has seen the rows.
        """
        spec = self.part.algorithm.spec(self.part.settings)
        if self.chosen and "start" in spec and "chain" in spec:
            return spec | {"start": spec["start"] | self.chosen}
        return spec | self.chosen

    @property
    def sampler(self):
        """The sampler; to run, some need what is computed beside their settings."""
        return with_noise(registry.build(self.spec), self.noise_scale)

    @property
    def least_noise(self):
        """Least standard deviation over sensitivity of a release."""
        return self.allowed.least_noise

    @property
    def entry(self):
        """Entry of the ledger."""
        part = self.part
        return {
            "mu_squared": self.mu**2,
            "delta0": self.delta0,
            "slack": SLACK,
            "epsilon": self.epsilon,
            "at_delta": self.delta,
            "what": self.what,
            "study": part.study,
            "model": part.model.spec,
            "algorithm": part.algorithm.id,
            "sampler": part.algorithm.spec(part.settings),
            "rows": self.model.num_rows,
            "chains": self.chains,
            "iterations": self.iterations,
            "start": self.start,
        }


def sampler_of(part):
    """The sampler of a part."""
    return registry.build(part.algorithm.spec(part.settings))


def chosen_settings(sampler, part):
    """Settings that a sampler chooses for the model of a part, by name; JobError if it cannot."""
    try:
        return sampler.chosen_settings(part.model.model)
    except (AttributeError, NotImplementedError, ValueError) as error:
        raise JobError(f"{part.where}: {message_of(error)}") from None


# -- What it costs ---------------------------------------------------------------------------------


def plan(part, epsilon, delta, chains=1, start=None, draws=DRAWS):
    """The `Plan` of a release.

    Parameters
    ----------
    part : Part
    epsilon, delta : float
        Of the release.
    chains : int
        That share this.
    start : str, optional
        "prior", "preparation", or numbers with commas between.
    draws : int
        That are written of each chain: as many where they are free, else at most.

    Raises
    ------
    JobError, ConfigError
        If nothing can run.
    """
    model, sampler = part.model.model, sampler_of(part)
    where = read_start(part, sampler, start)
    names = parameter_names(model, part.columns)
    if part.algorithm.has_free_steps and chains > 1:
        raise JobError("--chains: must be 1, because draws are free; --draws says how many")
    size = model.num_rows
    ideal = epsilon - RESERVE, delta * (1 - DELTA_RESERVE)
    scale = None
    if sampler.prepares:
        scale = preparation_noise(size, *ideal, chains=chains)
        sampler = with_noise(sampler, scale)
    price = RoundedPrice(sampler, size, ACCOUNTANT, model.likelihood_power, chains)
    if part.algorithm.has_free_steps:
        iterations = draws
        if price.delta(iterations, ideal[0]) > ideal[1]:
            raise JobError(
                f"{part.where}: costs more than epsilon {epsilon:g}; leave out its noise_scale, "
                "so that it follows from epsilon"
            )
    else:
        most = price.iterations(*ideal, chains * (MOST_ITERATIONS + 1)) // chains
        iterations = min(most, MOST_ITERATIONS)
    if iterations < 1:
        raise JobError(
            f"epsilon {epsilon:g} at delta {delta:g} allows no iteration of {part.algorithm.id} on "
            f"{part.model.id}: one iteration already costs more; use more noise"
        )
    total = chains * iterations
    mu, delta0 = mu_and_delta0(price.releases(total), DELTA0_SHARE * delta)
    if not mu < math.inf:
        raise JobError(f"epsilon {epsilon:g} is more than the ledger can add up")
    kept = iterations // max(1, -(-iterations // draws))
    if (most := MOST_NUMBERS // (chains * len(names))) < kept:
        raise JobError(f"--draws: must be at most {most} here, of each chain, not {draws}")
    return Plan(
        part,
        names,
        scale,
        where,
        chains,
        iterations,
        kept,
        as_asked(rounded_up(price.epsilon(total, ideal[1]) + RESERVE), epsilon),
        delta,
        mu,
        delta0,
        allowance(price.of_chain(iterations), size),
        [described(kind, count) for kind, count in grouped(price.releases(total), ALIKE)],
        chosen_settings(sampler, part),
    )


def as_asked(spent, epsilon):
    """Epsilon that is spent; the one that was asked for, if that is only slightly more."""
    return epsilon if spent > epsilon * (1 - STATED_SLACK) else spent


def read_start(part, sampler, start):
    """Start of chains: "prior", "preparation" or numbers."""
    model = part.model.model
    if sampler.prepares:
        if start not in (None, "preparation"):
            raise JobError(
                f"--start: {part.algorithm.id} prepares its own start; leave it out, or say "
                "preparation"
            )
        return "preparation"
    if start == "preparation":
        raise JobError(
            f"--start: {part.algorithm.id} has no preparation; the key start of its entry gives it "
            "one, such as NoisyNewton"
        )
    if start is None:
        raise JobError("--start: must be given: prior, or numbers with commas between them")
    if start == "prior":
        if type(model).sample_prior is Model.sample_prior:
            raise JobError(f"--start: {type(model).__name__} has no sample_prior; give numbers")
        return start
    try:
        numbers = [float(text) if is_plain(text) else math.nan for text in start.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not np.isfinite(numbers).all() or len(numbers) != model.dimension:
        raise JobError(
            f"--start: must be prior, preparation, or {model.dimension} numbers with commas "
            f"between them, not {start}"
        )
    return numbers


def parameter_names(model, columns=()):
    """Names of the components of theta: the model's own, those of columns, or theta_0 and so on.

    A model whose components belong to columns of its data has `names_of(columns)`.

    Raises
    ------
    JobError
        For `parameter_names` that a CSV cannot have.
    """
    d = model.dimension
    if names := model.parameter_names:
        if not are_names(names, d):
            raise JobError(
                f"{type(model).__name__}.parameter_names: must be a tuple of {d} different texts, "
                "without commas, quotes or line breaks, and not chain or draw"
            )
        return list(names)
    names = model.names_of(list(columns))
    return names if are_names(names, d) else [f"theta_{i}" for i in range(d)]


def are_names(names, number):
    """True if a CSV can have names, beside two of its own."""
    are_texts = isinstance(names, list | tuple) and all(
        isinstance(name, str) and name.isprintable() and not {*name} & {*',"'} for name in names
    )
    return are_texts and len(names) == number == len({"", "chain", "draw", *names}) - 3


class RoundedPrice(Price):
    """A `Price` of batches that may vary more, by what rounding can add to their variance."""

    def of_chain(self, iterations):
        """All that one chain releases."""
        return [
            (with_rounded_variance(mechanism), count)
            for mechanism, count in super().of_chain(iterations)
        ]


def with_rounded_variance(mechanism):
    """A mechanism whose batches may vary more, by what rounding can add to their variance."""
    if isinstance(mechanism, BarkerMechanism):
        more = mechanism.batch_variance * (1 + VARIANCE_ROUNDING)
        return dataclasses.replace(mechanism, batch_variance=more)
    return mechanism


def allowance(releases, num_rows):
    """The `Allowance` of a chain: the sum over chains is what mu or delta of the release cover.

    Parameters
    ----------
    releases : list of (mechanism, int)
        Of one chain.
    num_rows : int
        n.
    """
    on_all = [(mechanism.mu, count) for mechanism, count in on_all_rows(releases) if count]
    batches = [(noise_of(mechanism), count) for mechanism, count in on_batches(releases)]
    shares = [mechanism.sampling_probability for mechanism, _ in on_batches(releases)]
    return Allowance(  # of several releases with one mu, each has no larger one
        min([1 / mu for mu, _ in on_all] + [noise for noise, _ in batches]),
        math.fsum(count * mu**2 for mu, count in on_all),
        batches,
        round(max(shares, default=0) * num_rows),
    )


def noise_of(mechanism):
    """Least standard deviation over sensitivity of a release on a batch."""
    if isinstance(mechanism, BarkerMechanism):  # of variance 2 - s^2, and a sensitivity 2 / sqrt(b)
        noise = math.sqrt(NOISE_VARIANCE - mechanism.batch_variance)
        return noise * math.sqrt(mechanism.batch_size) / 2
    return math.sqrt(mechanism.noise_variance)


def described(mechanism, count):
    """A mechanism and how often it is, as the ledger and the statement have it."""
    return {"mechanism": type(mechanism).__name__, **dataclasses.asdict(mechanism), "count": count}


def require_libraries():
    """Raise a JobError without the libraries of the extra."""
    for name in ("randomgen", "opendp", "xarray", "h5netcdf", "h5py"):
        if importlib.util.find_spec(name) is None:
            raise JobError(missing(name, "release"))
