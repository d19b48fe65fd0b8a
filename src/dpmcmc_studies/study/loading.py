"""From files to a study: `dpmcmc.configuration.catalogue` says how files are put together."""

from pathlib import Path

from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.yaml_files import ConfigError, merged, read_config
from dpmcmc_studies.study.study import StudyConfig

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
        For a file that cannot be read, a key given twice, and all that `StudyConfig` refuses.
    """
    config, folders = read_study(root, files or [Path(root, DEFAULT)])
    config = merged(config, overrides or {})
    study = StudyConfig(config, root, folders)
    if files or overrides:
        check_name(config, root)
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
