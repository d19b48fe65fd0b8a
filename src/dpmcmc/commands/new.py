"""The command `new`: a model, an algorithm or a release of one's own to start from."""

import keyword
import re
import shlex
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from string import Template

from dpmcmc.configuration.catalogue import CATALOGUE
from dpmcmc.configuration.yaml_files import read_config
from dpmcmc.files import replacing

TEMPLATES = Path(__file__).parents[1] / "templates"


def new(kind, path):
    """Write a model or an algorithm that runs as it stands and a study of it, or one for a release.

    Parameters
    ----------
    kind : str
        "model", "algorithm" or "release".
    path : str
        Of the Python file, beside which the study file gets the suffix .yaml; of a release, which
        needs no code, the study file.

    Returns
    -------
    int
        Exit status: 0, or 2 where nothing was written, for a kind or name that cannot be or a file
        that is there already.
    """
    file = Path(path)
    problem = refused(kind, file)
    if problem:
        print(f"new: {problem}", file=sys.stderr)
        return 2
    study = file.with_suffix(".yaml")
    words = {"file": file.name, "id": id_of(file), "class": class_of(file)}
    words |= {"check": check_command(file), "study": shlex.quote(study.as_posix())}
    for suffix in suffixes(kind):
        text = Template((TEMPLATES / f"{kind}{suffix}.txt").read_text(encoding="utf-8"))
        with replacing(file.with_suffix(suffix)) as output:
            output.write(text.substitute(words).encode())
    if not has_code(kind):
        print(f"{file} is for a release of {file.stem}.csv. Write what you have into it. Next:")
        steps = release_commands(file)
    else:
        print(f"{file} has the {kind}, {study} a study of it. Next:")
        steps = words["check"], run_command(study)
    print(*(f"    {step}" for step in steps), sep="\n")
    return 0


def has_code(kind):
    """True if a kind has a Python file, and not a study alone."""
    return ".py" in suffixes(kind)


def suffixes(kind):
    """Suffixes of the files of a kind."""
    return sorted(Path(template.stem).suffix for template in TEMPLATES.glob(f"{kind}.*.txt"))


def release_commands(file):
    """The commands of a release by a study, in their order; capital letters are to be filled in."""
    data, study = (shlex.quote(path.as_posix()) for path in (file.with_suffix(".csv"), file))
    of = f"{study} --model {id_of(file)} --algorithm newton --epsilon E"
    return [
        f"python -m dpmcmc {step}"
        for step in (
            f"ledger new {data} --epsilon E --delta D --rows N --for full-data",
            f"check {study} {id_of(file)}",
            f"rehearse {of}",
            f"release {of} --output FOLDER",
        )
    ]


def check_command(file):
    """The command that checks the class in a file."""
    return shlex.join(["python", "-m", "dpmcmc", "check", f"{file.as_posix()}:{class_of(file)}"])


def run_command(study):
    """The command that runs a study; it needs the rules of a checkout, in its current directory."""
    is_checkout = Path("Snakefile").is_file()
    path = study if is_checkout else study.absolute()
    command = shlex.join(["snakemake", "--cores", "all", "--configfile", path.as_posix()])
    return command if is_checkout else f"{command}  # in a checkout of dpmcmc"


def id_of(file):
    """Id of a study, model or algorithm named like a file."""
    return file.stem.lower().replace("_", "-")


def class_of(file):
    """Name of the class in a file."""
    return "".join(part.capitalize() for part in file.stem.split("_"))


def refused(kind, file):
    """Why files cannot be written, in one line; None if they can."""
    kinds = sorted({template.name.split(".")[0] for template in TEMPLATES.glob("*.txt")})
    if kind not in kinds:
        return f"unknown kind {kind}; valid kinds: {', '.join(kinds)}"
    suffix, what = (".py", "Python") if has_code(kind) else (".yaml", "YAML")
    is_name = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", file.stem)
    if file.suffix != suffix or not is_name or keyword.iskeyword(file.stem):
        return (
            f"{file}: must be a {what} file, named by letters, digits and _, such as "
            f"my_{kind}{suffix}"
        )
    for written in (file.with_suffix(suffix) for suffix in reversed(suffixes(kind))):
        if written.exists():
            return f"{written} exists already and is not overwritten"
    of_kind = f"{kind if has_code(kind) else 'model'}s"
    if id_of(file) in read_config(CATALOGUE)[of_kind]:
        return f"{file}: {id_of(file)} is one of the {of_kind} of the package; give it another name"
    return refused_class(kind, file) if has_code(kind) else None


def refused_class(kind, file):
    """Why the class of a file cannot be written, in one line; None if it can."""
    if file.stem in sys.stdlib_module_names or PathFinder.find_spec(file.stem) is not None:
        return f"{file}: there is a module {file.stem} already; give it another name"
    template = (TEMPLATES / f"{kind}.py.txt").read_text(encoding="utf-8")
    if re.search(rf"\b{class_of(file)}\b", template):
        return (
            f"{file}: its class would be {class_of(file)}, which it imports; give it another name"
        )
    return None
