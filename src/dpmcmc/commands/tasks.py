"""Tasks: a posterior that any program can be tried on, as a folder of plain files.

`task.json` has the model, the budget and the format, in words and numbers. Data sets, draws of the
exact posterior of each and draws of the prior are CSV files with a line of names, and the same as
.npy. A method writes its draws for each data set, and what it spent, to `submissions/METHOD`. So
neither who solves a task nor who scores it needs the code of the model.
"""

import inspect
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from string import Template
from tempfile import mkdtemp
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from dpmcmc import committed
from dpmcmc.configuration.catalogue import CATALOGUE, read_study
from dpmcmc.configuration.entries import read_model
from dpmcmc.configuration.yaml_files import ConfigError, check_known, converted, read_config
from dpmcmc.data_files import READERS, DataError, DataFile
from dpmcmc.evaluation import references, scores
from dpmcmc.files import JobError, read_json, read_npy, replacing, write_json
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.random_streams import generator

RELATION = "one row is replaced by another; the number of rows is public"
TEXT = """\
# Task $task

$label. Draw from the posterior of each data set, with differential privacy.

- `task.json`: the model and its prior, the budget (epsilon $epsilon, delta $delta), and the
  names of the parameters.
- `data/0.csv` to `data/$last.csv`: the data sets, each with $rows rows. Each has a budget of its
  own.
- `reference/0.csv` to `reference/$last.csv`: draws of the exact posterior of each data set. They
  are for the score. A method must not read them.
- `prior.csv`: draws of the prior.

Every CSV file has a line of names. An .npy file beside it has the same numbers.

A method writes to a folder `submissions/NAME`:

- `0.csv` to `$last.csv`: its draws for each data set. The first line has the names of the
  parameters, every other line a draw. A file may also be .parquet, or .npy without names.
- `spent.csv`: a line of names, `epsilon,delta`, and a line with what the draws for one data set
  cost, by the relation of data sets in `task.json`.

Then `python -m dpmcmc score` with the name of this folder compares all methods in `submissions`.
"""


class Budget(Struct):
    """Numbers that the command is given as texts."""

    epsilon: Annotated[float, Meta(gt=0, le=1000)]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    data_sets: Annotated[int, Meta(ge=1, le=1000)]


class Task(Struct):
    """What `score` reads in `task.json`; the rest is for people."""

    task: str
    study: str | None
    model: dict
    parameters: list[str]
    epsilon: float
    delta: float
    data_sets: Annotated[int, Meta(ge=1)]


class Submission(NamedTuple):
    """A method's answer to a task."""

    name: str
    epsilon: float
    delta: float
    draws: list  # (k, d) for each data set


# -- Writing ---------------------------------------------------------------------------------------


def task(model, output=None, study=None, epsilon=1.0, delta=None, data_sets=20):
    """Write a task: data sets of a model, draws of their exact posteriors, a budget.

    Data sets are drawn at draws of the prior, by the random streams of the study. So they are those
    of its chains, if the study has several data sets and `theta: prior`.

    Parameters
    ----------
    model : str
        Id of a model of the catalogue, or of a study.
    output : path, optional
        A new folder; by default one with the name of the model.
    study : path, optional
        File of the study with the model. By default the catalogue is asked, then the studies of the
        checkout.
    epsilon, delta, data_sets : number or text
        delta is by default 0.1 / n.

    Raises
    ------
    JobError
        If the model is unknown or cannot make a task, or the folder exists.
    """
    folder = Path(output or model)
    if folder.exists():
        raise JobError(f"--output: {folder} exists already")
    try:
        config, folders = config_of(model, study)
        entry = read_model(model, config["models"][model], folders)
        delta = delta or config["delta_times_n"] / entry.model.num_rows
        budget = budget_of(epsilon=epsilon, delta=delta, data_sets=data_sets)
    except ValueError as error:
        raise JobError(str(error)) from None
    if entry.data:
        raise JobError(f"models.{model}: has a data file; a task is made of simulated data")
    with new_folder(folder) as partial:
        for i in range(budget.data_sets):
            rows, draws = posterior(entry, config["seed"], i, config["reference_draws"])
            if i == 0:
                facts = description(entry, config, budget, rows, draws)
            write_numbers(partial / f"data/{i}", rows, facts["columns"])
            write_numbers(partial / f"reference/{i}", draws, facts["parameters"])
        write_numbers(partial / "prior", scores.prior_draws(entry.model), facts["parameters"])
        write_json(facts, partial / "task.json")
        words = facts | {"last": budget.data_sets - 1, "label": entry.label}
        with replacing(partial / "README.md") as file:
            file.write(Template(TEXT).substitute(words).encode())
        (partial / "submissions").mkdir()
    print(f"{folder} has the task; {folder / 'README.md'} says what a method writes. Then:")
    print(f"    python -m dpmcmc score {folder}")


@contextmanager
def new_folder(path):
    """A folder that takes its name once it is whole; nothing is left of it otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield partial
        partial.chmod(0o755)
        partial.rename(path)
    finally:
        rmtree(partial, ignore_errors=True)


def config_of(model, study):
    """Configuration that has a model, and the folders with its files."""
    if study:
        config, folders = read_study(committed.checkout(), [Path(study)])
        check_known([model], config["models"], study, "model")
        return config, folders
    catalogue = read_config(CATALOGUE)
    if model in catalogue["models"]:
        return catalogue, []
    top = committed.checkout()
    files = sorted(top.glob("studies/*/study.yaml")) if top else []
    found = {file: read_study(top, [file]) for file in files}
    those = [file for file in files if model in found[file][0]["models"]]
    if len(those) == 1:
        return found[those[0]]
    if those:
        names = ", ".join(file.relative_to(top).as_posix() for file in those)
        raise ConfigError(f"{model}: is a model of several studies; give --study, one of {names}")
    known = {name for config, _ in found.values() for name in config["models"]}
    check_known([model], sorted(known | catalogue["models"].keys()), "task", "model")


def budget_of(**values):
    """The `Budget` of numbers or texts; a ConfigError that names the option."""
    kinds = {"data_sets": int, "epsilon": float, "delta": float}
    for name, value in values.items():
        try:
            values[name] = kinds[name](value)
        except ValueError:
            what = "a whole number" if kinds[name] is int else "a number"
            raise ConfigError(f"--{name}: must be {what}, not {value}".replace("_", "-")) from None
    try:
        return converted(values, Budget)
    except ConfigError as error:
        raise ConfigError(f"--{error}".replace("_", "-")) from None


def posterior(entry, seed, number, size):
    """Rows (n, p) of a data set with a number, and draws (size, d) of its exact posterior."""
    model = entry.model
    try:
        theta = model.sample_prior(generator(seed, "data-theta", entry.id, number))
        data = model.dataset(generator(seed, "data", entry.id, number), theta)
        rng = generator(seed, "reference", entry.id, number)
        if entry.reference == "exact":
            draws = model.sample_posterior(rng, data, size)
        else:
            draws = references.sample(entry.reference, rng, Target(model, data), size)
    except (NotImplementedError, JobError) as error:
        raise JobError(f"models.{entry.id}: {error}") from None
    return (data.T if isinstance(model, ExponentialFamily) else data), draws


def description(entry, config, budget, rows, draws):
    """Contents of `task.json`, for the rows and exact draws of a data set."""
    model = entry.model
    numbers = range(1, rows.shape[1] + 1), range(1, draws.shape[1] + 1)
    prior = scores.prior_draws(model)
    return {
        "task": entry.id,
        "study": config.get("study"),
        "words": words_of(model),
        "model": entry.spec,
        "likelihood_power": model.likelihood_power,
        "prior": {  # by draws, so to about two digits
            "mean": prior.mean(axis=0).round(4).tolist(),
            "sd": prior.std(axis=0, ddof=1).round(4).tolist(),
            "draws": len(prior),
        },
        "rows": len(rows),
        "columns": [*model.columns] or [f"column_{i}" for i in numbers[0]],
        "parameters": [*model.parameter_names] or [f"theta_{i}" for i in numbers[1]],
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "relation": RELATION,
        "data_sets": budget.data_sets,
        "reference_draws": len(draws),
        "seed": config["seed"],
    }


def words_of(model):
    """What the classes of a model say of its likelihood, prior and settings."""
    own = [cls for cls in type(model).__mro__ if "__dataclass_fields__" in vars(cls)]
    return [inspect.cleandoc(cls.__doc__) for cls in own if cls.__doc__]


def write_numbers(path, array, names):
    """Write an array (k, p) as .csv with names, in full precision, and as .npy."""
    lines = [",".join(names), *(",".join(map(repr, row)) for row in array.tolist())]
    with replacing(f"{path}.csv") as file:
        file.write(("\n".join(lines) + "\n").encode())
    with replacing(f"{path}.npy") as file:
        np.save(file, np.ascontiguousarray(array))


# -- Reading ---------------------------------------------------------------------------------------


def read_task(folder):
    """The `Task` of a folder; a JobError if it has none."""
    file = Path(folder, "task.json")
    if not file.is_file():
        raise JobError(f"{folder}: has no task.json; `python -m dpmcmc task` makes a task")
    try:
        return converted(read_json(file), Task)
    except ConfigError as error:
        raise JobError(f"{file}: {error}") from None


def read_submissions(folder, task):
    """All submissions in the folder of a task, in the order of their names; or a JobError."""
    place = Path(folder, "submissions")
    names = sorted(path.name for path in place.glob("*") if path.is_dir())
    if not names:
        raise JobError(f"{place}: has no submission, a folder with draws and spent.csv")
    return [read_submission(place / name, task) for name in names]


def read_submission(folder, task):
    """The `Submission` in a folder.

    Raises
    ------
    JobError
        If a file is missing, or holds anything but finite numbers.
    """
    spent = read_rows(folder, "spent", ["epsilon", "delta"])
    if len(spent) != 1 or not (spent >= 0).all():
        raise JobError(f"{folder / 'spent.csv'}: must have one line of numbers, none negative")
    missing = [i for i in range(task.data_sets) if not files_of(folder, i)]
    if missing:
        which = ", ".join(map(str, missing[:5])) + ", ..." * (len(missing) > 5)
        raise JobError(
            f"{folder}: has draws for {task.data_sets - len(missing)} of {task.data_sets} data "
            f"sets; missing: {which} (.csv, .parquet or .npy)"
        )
    draws = [read_rows(folder, i, task.parameters) for i in range(task.data_sets)]
    return Submission(folder.name, *spent[0].tolist(), draws)


def files_of(folder, name):
    """Files of a name with any suffix that is read."""
    return [file for suffix in READERS if (file := Path(folder, f"{name}{suffix}")).is_file()]


def read_rows(folder, name, columns):
    """Some columns of a file, (k, p)."""
    files = files_of(folder, name)
    if len(files) != 1:
        has = "has both " + " and ".join(file.name for file in files)
        raise JobError(f"{folder}: {has if files else f'has no {name}.csv'}")
    try:
        return DataFile(files[0]).rows(columns)
    except DataError as error:
        raise JobError(f"{folder}: {error}") from None


def read_reference(folder, task):
    """Draws of the exact posteriors, a list of (l, d), and of the prior, (m, d)."""
    try:
        exact = [read_npy(Path(folder, f"reference/{i}.npy")) for i in range(task.data_sets)]
        return exact, read_npy(Path(folder, "prior.npy"))
    except FileNotFoundError as error:
        raise JobError(f"{folder}: has no {Path(error.filename).relative_to(folder)}") from None
