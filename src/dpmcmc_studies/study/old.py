"""Committed results that are knowingly of a former version: docs/old.yaml names them, and why.

They stay where they are until their study is renewed. Pages say so on top.
"""

from pathlib import Path

from dpmcmc.configuration.keys import Names, Table, Text
from dpmcmc.configuration.yaml_files import converted, read_config

FILE = "docs/old.yaml"


class Old(Table):
    """Some old results of a study."""

    names: Names  # MODEL, MODEL/ALGORITHM or MODEL/ALGORITHM/RUN; * stands for any text
    reason: Text  # why they are old, as pages say it


def read_old(root, study):
    """Entries of docs/old.yaml for a study, a list of `Old`.

    Raises
    ------
    ConfigError
        If the file says something else.
    """
    path = Path(root, FILE)
    if not path.exists():
        return []
    return converted(read_config(path), dict[str, list[Old]], FILE).get(study, [])
