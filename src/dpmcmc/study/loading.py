"""From files to a study: the catalogue, the study's own file, and what that one extends.

`catalogue.yaml` of the package has the models, algorithms and defaults that all studies draw on. A
study's file says what it has beside these, and what it has otherwise. With
`extends: file.yaml`, a path beside it, it does so on top of another study. Maps are merged, lists
are replaced, and null takes an entry out.

Files that a study names (classes, data, accountants, notebooks) are looked for in the folder of its
file, then in those of what that extends, then at the top of the checkout.
"""

from pathlib import Path

from dpmcmc.study.config import ConfigError, merged, read_config, short
from dpmcmc.study.study import Study

CATALOGUE = Path(__file__).parents[1] / "catalogue.yaml"
DEFAULT = "config.yaml"


def load_study(root, files=(), overrides=None):
    """The study of a file.

    Parameters
    ----------
    root : path
        Top of the checkout.
    files : list of path
        The study's file, and others that change it; config.yaml if there are none.
    overrides : dict, optional
        Further changes, of the command line.

    Raises
    ------
    ConfigError
        For a file that cannot be read, a key given twice, and all that `Study` refuses.
    """
    config, folders = read_study(root, files or [Path(root, DEFAULT)])
    study = Study(merged(config, overrides or {}), root, folders)
    if files or overrides:
        check_name(study.config, root)
    return study


def study_files(root, name):
    """Files of a study of the checkout, by its name: a list, empty for that of config.yaml.

    Raises
    ------
    ConfigError
        If there is no study of that name.
    """
    default, file = Path(root, DEFAULT), Path(root, f"studies/{name}/study.yaml")
    if file.exists():
        return [file]
    if read_config(default).get("study") != name:
        known = sorted(path.parent.name for path in Path(root).glob("studies/*/study.yaml"))
        raise ConfigError(f"there is no study {name}; valid names: {', '.join(known)}")
    return []


def read_study(root, files):
    """Configuration in some files and what they extend, and the folders that have files of these.

    Parameters
    ----------
    root : path or None
        Top of the checkout; None if there is no checkout.
    files : list of path
    """
    parts = [part for file in files for part in with_bases(Path(file))]
    config = read_config(CATALOGUE)
    for _, contents in parts:
        if "study" in contents:
            config.pop("title", None)  # of the study that this one extends
        config = merged(config, contents)
    folders = [path.parent for path, _ in reversed(parts)]
    return config, list(dict.fromkeys(folders if root is None else [*folders, Path(root)]))


def with_bases(path, extending=()):
    """Paths and contents of what a file extends, and of the file, last."""
    contents = read_config(path)
    base = contents.pop("extends", None)
    if base is None:
        return [(path, contents)]
    if not isinstance(base, str):
        raise ConfigError(f"{path}: extends: must be the path of a file, not {short(base)}")
    file = path.parent / base
    if file.resolve() in extending:
        raise ConfigError(f"{path}: extends: {base} extends this file")
    return [*with_bases(file, (*extending, path.resolve())), (path, contents)]


def check_name(config, root):
    """No study but that of config.yaml, with more seeds at most, may write to its results."""
    default = Path(root, DEFAULT)
    if not default.is_file() or config["study"] != read_config(default).get("study"):
        return
    published, _ = read_study(root, [default])
    same = config | {"seeds": published["seeds"]} == published
    if not same or config["seeds"] < published["seeds"]:
        raise ConfigError(
            f"study: {config['study']} is the study of {DEFAULT}, whose results this one would "
            "overwrite; give it a name of its own"
        )
