"""From files to a configuration: the catalogue, the study's own file, and what that one extends.

`catalogue.yaml` of the package has the models, algorithms and defaults that all studies draw on. A
study's file says what it has beside these, and what it has otherwise. With
`extends: file.yaml`, a path beside it, it does so on top of another study. Maps are merged, lists
are replaced, and null takes an entry out.

Files that a study names (classes, data, accountants, notebooks) are looked for in the folder of its
file, then in those of what that extends, then at the top of the checkout.
"""

from pathlib import Path

from dpmcmc.configuration.yaml_files import ConfigError, merged, read_config, short

CATALOGUE = Path(__file__).parents[1] / "catalogue.yaml"


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
