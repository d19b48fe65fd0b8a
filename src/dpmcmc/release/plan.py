"""What a release will run and cost: from the study's file and the ledger's, without the data."""

import dataclasses
import importlib.util
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpmcmc import registry
from dpmcmc.accounting.costs import Price, preparation_noise
from dpmcmc.accounting.joint import mu_and_delta0
from dpmcmc.accounting.mechanisms import BarkerMechanism, GaussianMechanism
from dpmcmc.accounting.search import rounded_up
from dpmcmc.accounting.sequences import GrowingNoise, Prepared, grouped
from dpmcmc.files import JobError
from dpmcmc.models.model import Model
from dpmcmc.release.ledger import DELTA_RESERVE, RESERVE
from dpmcmc.release.streams import SLACK
from dpmcmc.study.config import ConfigError, check_known, check_type
from dpmcmc.study.entries import ModelEntry, check_settings, check_sizes, load_class, read_algorithm
from dpmcmc.study.loading import read_study
from dpmcmc.study.schema import MODEL_KEYS, Config

ROOT = Path(__file__).parents[3]  # whose library.yaml has models and algorithms for all studies
ACCOUNTANT = "certified"
DRAWS = 4000  # that are written of a chain, at most
MOST_ITERATIONS = 10**7  # a chain is held in memory
DELTA0_SHARE = 0.1  # of delta: what a method on batches takes of it
VARIANCE_ROUNDING = 1e-9  # of the variance of a batch, as it is computed
NEAR = 1e-4  # of an epsilon: so much more may be told than is spent
ALIKE = 1.01  # noise variances, in the list of what is released


class Part(NamedTuple):
    """A model and an algorithm of a study, and the data that are to be read; nothing is read."""

    study: str
    model: ModelEntry
    algorithm: object  # AlgorithmEntry
    settings: dict
    columns: list
    files: list  # of one's own code

    @property
    def where(self):
        """The keys of the settings, for messages."""
        return f"algorithms.{self.algorithm.id}.settings.{self.model.id}"


class Plan(NamedTuple):
    """What will run, and what it costs."""

    part: Part
    noise_scale: float | None  # of the preparation, where the budget says it
    start: str | list  # "prior", "preparation" or numbers
    chains: int
    iterations: int  # of each chain; draws, where steps are free
    kept: int  # positions that are written of each chain
    epsilon: float  # an upper bound, with all slack
    delta: float
    mu: float
    delta0: float
    least_noise: float
    what: list  # what is released, for the ledger

    @property
    def model(self):
        """The model, with its declared rows."""
        return self.part.model.model

    @property
    def sampler(self):
        """The sampler; to run, some need what is computed beside their settings."""
        return with_noise(sampler_of(self.part), self.noise_scale)

    @property
    def entry(self):
        """What the ledger notes."""
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


# -- Reading the study -----------------------------------------------------------------------------


def read_part(file, model, algorithm, rows=None):
    """A model and an algorithm of a study's file, checked; data are not opened.

    Parameters
    ----------
    file : path
    model, algorithm : str
        Ids.
    rows : int, optional
        How many rows of its data the model keeps, which is public. A model without a file of data
        says so itself.

    Raises
    ------
    ConfigError
        For what is unknown, missing or out of range.
    """
    config, folders = read_study(ROOT, [Path(file)])
    runs = [{"models": [model], "algorithms": [algorithm], "epsilons": [1]}]
    check_type({"runs": runs} | config, Config)
    check_known([model], config["models"], "--model", "model")
    check_known([algorithm], config["algorithms"], "--algorithm", "algorithm")
    entry = read_entry(model, config["models"][model], folders, rows)
    of_algorithm = read_algorithm(algorithm, config["algorithms"][algorithm], folders)
    if not of_algorithm.is_private:
        raise ConfigError(
            f"--algorithm: {algorithm} is not private, as {of_algorithm.sampler_class.__name__} "
            "adds no noise that an accountant could price"
        )
    if of_algorithm.accountant != ACCOUNTANT:
        of_algorithm = with_accountant(of_algorithm)
    settings = of_algorithm.settings_on(model)
    columns = config["models"][model].get("columns") or entry.model.columns
    if entry.data and not columns:
        raise ConfigError(f"models.{model}: missing key columns, because the model names none")
    part = Part(
        config["study"], entry, of_algorithm, settings, list(columns), own_files(entry.spec)
    )
    check_settings(of_algorithm, entry, settings, part.where)
    return part._replace(files=part.files + own_files(of_algorithm.spec(settings)))


def read_entry(name, entry, folders, rows):
    """A model's entry with its declared rows."""
    where = f"models.{name}"
    reference, cls = load_class("model", entry["kind"], f"{where}.kind", folders)
    settings = {key: value for key, value in entry.items() if key not in MODEL_KEYS}
    path = None
    if "data" in entry:
        # Its rows are declared: they are public, and known before the data are opened.
        if "held_out" in entry:
            raise ConfigError(f"{where}.held_out: a release holds out no rows; remove this key")
        settings["num_rows"] = rows
        path = Path(registry.beside(entry["data"], folders))
    try:
        model = cls(**settings)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None
    check_sizes({key: value for key, value in settings.items() if key != "num_rows"}, where)
    spec = {"class": reference} | settings
    return ModelEntry(name, entry.get("label", name), model, spec, path, *[None] * 3)


def with_accountant(algorithm):
    """The algorithm, priced by the accountant of releases."""
    import msgspec

    return msgspec.structs.replace(algorithm, accountant=ACCOUNTANT)


def own_files(spec):
    """Files of classes that a spec names, but for the package's."""
    found = []
    for key, value in spec.items():
        if isinstance(value, dict):
            found += own_files(value)
        elif key == "class" and value.rpartition(":")[0].endswith(".py"):
            found.append(value.rpartition(":")[0])
    return found


def sampler_of(part):
    """The sampler of a part."""
    return registry.build(part.algorithm.spec(part.settings))


def with_noise(sampler, scale):
    """The sampler with the noise of its preparation, if it needs to be told."""
    return sampler if scale is None else sampler.with_preparation_noise(scale)


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
    if part.algorithm.has_free_steps and chains > 1:
        raise JobError("--chains: must be 1, because draws are free; --draws says how many")
    size = model.num_rows
    ideal = epsilon - RESERVE, delta * (1 - DELTA_RESERVE)
    scale = None
    if hasattr(sampler, "with_preparation_noise"):
        scale = preparation_noise(size, *ideal, chains=chains)
        sampler = with_noise(sampler, scale)
    price = Price(sampler, size, ACCOUNTANT, model.likelihood_power, chains)
    price.mechanism = with_rounded_variance(price.mechanism)
    if part.algorithm.has_free_steps:
        iterations = draws
        if price.delta(iterations, ideal[0]) > ideal[1]:
            raise JobError(
                f"{part.where}: costs more than epsilon {epsilon:g}; leave out its noise_scale, "
                "so that it follows from epsilon"
            )
    else:
        iterations = min(price.iterations(*ideal, chains * (MOST_ITERATIONS + 1)), MOST_ITERATIONS)
    if iterations < 1:
        raise JobError(
            f"epsilon {epsilon:g} at delta {delta:g} allows no iteration of "
            f"{part.algorithm.id} on {part.model.id}: each needs more noise"
        )
    total = iterations * price.chains
    mu, delta0 = mu_and_delta0(price.mechanism, total, DELTA0_SHARE * delta)
    if not mu < math.inf:
        raise JobError(f"epsilon {epsilon:g} is more than the ledger can add up")
    return Plan(
        part,
        scale,
        where,
        chains,
        iterations,
        iterations // max(1, -(-iterations // draws)),
        as_asked(rounded_up(price.epsilon(iterations, ideal[1]) + RESERVE), epsilon),
        delta,
        mu,
        delta0,
        least_noise(price.mechanism),
        [described(kind, count) for kind, count in grouped(price.mechanism, total, ALIKE)],
    )


def as_asked(spent, epsilon):
    """What is spent; the epsilon that was asked for, where that is hardly more."""
    return epsilon if spent > epsilon * (1 - NEAR) else spent


def read_start(part, sampler, start):
    """Where chains start: "prior", "preparation" or numbers."""
    model = part.model.model
    if hasattr(sampler, "prepare"):
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
        numbers = [float(text) for text in start.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not np.isfinite(numbers).all() or len(numbers) != model.dimension:
        raise JobError(
            f"--start: must be prior, preparation, or {model.dimension} numbers with commas "
            f"between them, not {start}"
        )
    return numbers


def with_rounded_variance(mechanism):
    """A mechanism whose batches may vary more, by what rounding can add to their variance."""
    if isinstance(mechanism, Prepared):
        return dataclasses.replace(mechanism, iteration=with_rounded_variance(mechanism.iteration))
    if isinstance(mechanism, BarkerMechanism):
        more = mechanism.batch_variance * (1 + VARIANCE_ROUNDING)
        return dataclasses.replace(mechanism, batch_variance=more)
    return mechanism


def least_noise(mechanism):
    """Least standard deviation over sensitivity of what a mechanism releases."""
    if isinstance(mechanism, Prepared):
        parts = [mechanism.preparation, *[mechanism.iteration] * (mechanism.iteration is not None)]
        return min(map(least_noise, parts))
    if isinstance(mechanism, GrowingNoise):
        return least_noise(mechanism.first)
    if isinstance(mechanism, GaussianMechanism):  # of several releases, each has no larger mu
        return 1 / mechanism.mu
    if isinstance(mechanism, BarkerMechanism):  # of variance 2 - s^2, and a sensitivity 2 / sqrt(b)
        return math.sqrt(2 - mechanism.batch_variance) * math.sqrt(mechanism.batch_size) / 2
    return math.sqrt(mechanism.noise_variance)


def described(mechanism, count):
    """A mechanism and how often it is, as the ledger and the statement have it."""
    return {"mechanism": type(mechanism).__name__, **dataclasses.asdict(mechanism), "count": count}


def data_of(file, model):
    """Path of the data of a model of a study's file; they are not opened."""
    config, folders = read_study(ROOT, [Path(file)])
    check_known([model], config["models"], "--model", "model")
    entry = config["models"][model]
    if "data" not in entry:
        raise ConfigError(
            f"models.{model}: missing key data: it simulates its data, which need no protection"
        )
    return Path(registry.beside(entry["data"], folders))


def require_libraries():
    """Raise a JobError without the libraries of the extra."""
    missing = [name for name in ("randomgen", "opendp") if importlib.util.find_spec(name) is None]
    if missing:
        raise JobError(f"there is no package {missing[0]}: pip install 'dpmcmc[release]'")
