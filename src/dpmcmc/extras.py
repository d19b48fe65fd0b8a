"""The one line for a library that is missing: which extra of the distribution brings it."""


def missing(library, extra):
    """Line for a library of an extra that is not installed.

    It names a checkout and no project of a package index: the index has none of this name, so
    anybody could put one there, and who protects data must not be told to install that.

    Parameters
    ----------
    library : str
        Name of its module.
    extra : str
        As pyproject.toml has it.
    """
    return (
        f"there is no package {library}: run pip install '.[{extra}]' in a checkout of dpmcmc, or "
        "with the name of its wheel in place of the dot"
    )
