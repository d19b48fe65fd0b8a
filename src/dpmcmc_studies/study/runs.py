"""Runs of a study: model x algorithm x (epsilon | iterations) x swept settings, and their paths."""

from itertools import product
from typing import NamedTuple

from dpmcmc.configuration.yaml_files import ConfigError, check_known

# Columns of tables of chains, budgets and costs: no swept setting may have such a name.
COLUMNS = {"model", "algorithm", "epsilon", "delta", "sample", "iterations", "chains_per_sample"}
COLUMNS |= {"acceptance_rate", "clip_fraction", "gradient_clip_fraction", "kept_draws", "ess"}
COLUMNS |= {"r_hat", "sd_ratio", "mmd", "mmd_draws", "mean_error", "covariance_error", "accuracy"}
COLUMNS |= {"changed_decisions", "accountant", "target_delta", "allowed_iterations"}
COLUMNS |= {"run", "spent_epsilon", "cpu_seconds", "wall_seconds", "peak_rss_mb"}
COLUMNS |= {"startup_seconds", "load_seconds", "sampling_seconds"}
COLUMNS |= {"score_ratio", "coverage", "width", "is_scored", "widened_ratio", "energy_ratio"}


class Cell(NamedTuple):
    """Chains that differ by seed only: where they are, below a model's and an algorithm's name."""

    model: str
    algorithm: str
    run: str  # "epsilon-4", or "iterations-3000/clip_bound-2" in a sweep


class Run(NamedTuple):
    """Parts of a cell's name."""

    epsilon: float | None  # the accountant decides the iterations, or the noise if they are free
    iterations: int | None  # the accountant says what they cost, if no epsilon does
    varied: dict  # swept settings
    start_sd: float | None  # chains start at Normal(true theta, start_sd^2 I); None: the model says
    max_iterations: int | None = None  # of a chain, whatever epsilon allows; None: the study says
    max_seeds: int | None = None  # chains, where the study has more; None: as many as it has

    @property
    def is_compared(self):
        """True if it has an epsilon and is of no sweep, so that algorithms can be ranked by it."""
        return self.epsilon is not None and not self.varied

    @property
    def seed_label(self):
        """Label that seeds are hashed from; chains of a sweep share it and their random numbers."""
        if self.epsilon is not None:
            return text_of(self.epsilon)
        return f"iterations-{self.iterations}"

    @property
    def path(self):
        """Name of the run in paths; what varies comes in the order of its names."""
        label = self.seed_label
        stop = label if self.epsilon is None else f"epsilon-{label}"
        varied = sorted(self.varied.items())
        return "/".join([stop, *(f"{key}-{text_of(value)}" for key, value in varied)])


def text_of(value):
    """A value as it stands in paths: 4, 4.0 and 4.00 are all "4"."""
    return format(value, "g") if isinstance(value, float) else str(value)


def check_runs(entries, models, algorithms):
    """Raise a ConfigError for a model or algorithm that is unknown, or cannot run so."""
    for i, entry in enumerate(entries):
        where = f"runs[{i}]"
        check_known(entry.models, models, f"{where}.models", "model")
        check_known(entry.algorithms, algorithms, f"{where}.algorithms", "algorithm")
        if not (entry.epsilons or entry.iterations):
            raise ConfigError(f"{where}: needs one of the keys epsilons, iterations")
        if entry.iterations and entry.max_iterations:
            raise ConfigError(f"{where}.max_iterations: goes with epsilons, not with iterations")
        for name in entry.algorithms:
            check_stop(entry, algorithms[name], where)
            if entry.epsilons and not algorithms[name].is_private:
                raise ConfigError(
                    f"{where}.epsilons: {name} is not private, so it has no epsilon; "
                    "give iterations"
                )
        for key in entry.vary:
            if key in COLUMNS:
                raise ConfigError(
                    f"{where}.vary.{key}: is a column of the tables; rename the field"
                )


def check_stop(entry, algorithm, where):
    """Raise a ConfigError unless epsilons go with iterations just where these are free."""
    if not entry.epsilons or algorithm.has_free_steps == bool(entry.iterations):
        return
    if algorithm.has_free_steps:
        raise ConfigError(
            f"{where}: missing key iterations: the steps of {algorithm.id} are free, so no epsilon "
            "says how many there are"
        )
    raise ConfigError(
        f"{where}: needs one of the keys epsilons, iterations: the steps of {algorithm.id} are not "
        "free, so epsilon says how many there are"
    )


def all_cells(entries):
    """Map from every cell of the study to its run, in the order of the configuration.

    Raises
    ------
    ConfigError
        If two entries mean different things by one cell.
    """
    cells = {}
    for entry in entries:
        stops = list(product(entry.epsilons or [None], entry.iterations or [None]))
        more = entry.start_sd, entry.max_iterations, entry.max_seeds
        runs = [
            Run(*stop, dict(zip(entry.vary, values, strict=True)), *more)
            for stop, values in product(stops, list(product(*entry.vary.values())))
        ]
        for model, algorithm, run in product(entry.models, entry.algorithms, runs):
            other = cells.setdefault(Cell(model, algorithm, run.path), run)
            if other != run:
                raise ConfigError(
                    f"runs: {algorithm} on {model} runs twice as {run.path}, "
                    f"with different numbers, start points or caps: {other} and {run}"
                )
    return cells
