"""The command `new`: a model or an algorithm of one's own to start from, and a study of it."""

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
    """Write a model or an algorithm that runs as it stands, and a study of it, to start from.

    Parameters
    ----------
    kind : str
        "model" or "algorithm".
    path : str
        Of the Python file; the study file lies beside it, with the suffix .yaml.

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
    for suffix in (".yaml", ".py"):
        text = Template((TEMPLATES / f"{kind}{suffix}.txt").read_text(encoding="utf-8"))
        with replacing(file.with_suffix(suffix)) as output:
            output.write(text.substitute(words).encode())
    print(f"{file} has the {kind}, {study} a study of it. Next:")
    print(f"    {words['check']}")
    print(f"    {run_command(study)}")
    return 0


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
    is_name = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", file.stem)
    if file.suffix != ".py" or not is_name or keyword.iskeyword(file.stem):
        return (
            f"{file}: must be a Python file, named by letters, digits and _, such as my_{kind}.py"
        )
    for written in (file, file.with_suffix(".yaml")):
        if written.exists():
            return f"{written} exists already and is not overwritten"
    if file.stem in sys.stdlib_module_names or PathFinder.find_spec(file.stem) is not None:
        return f"{file}: there is a module {file.stem} already; give it another name"
    template = (TEMPLATES / f"{kind}.py.txt").read_text(encoding="utf-8")
    if re.search(rf"\b{class_of(file)}\b", template):
        return (
            f"{file}: its class would be {class_of(file)}, which it imports; give it another name"
        )
    if id_of(file) in read_config(CATALOGUE)[f"{kind}s"]:
        return f"{file}: {id_of(file)} is one of the {kind}s of the package; give it another name"
    return None
