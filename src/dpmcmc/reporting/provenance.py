"""What made a study: its configuration, the source, the packages, the machine, the date."""

import hashlib
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dpmcmc import machine
from dpmcmc.kernels.build import recipe

PARTS = ("Snakefile", "src/dpmcmc", "workflow", "notebooks", "studies", "envs")
SUFFIXES = {"", ".py", ".ipynb", ".j2", ".css", ".smk", ".yaml", ".rst", ".txt"}


def tree_digest(root):
    """Digest of everything in a checkout that results and pages come from, but its settings.

    Parameters
    ----------
    root : path
        Top of the checkout.
    """
    digest = hashlib.sha256()
    add_files(digest, root, *PARTS)
    return digest.hexdigest()[:16]


def add_files(digest, root, *parts):
    """Feed names and contents of the source files in parts of a tree to a digest."""
    for part in parts:
        for file in [Path(root, part), *sorted(Path(root, part).rglob("*"))]:
            if file.is_file() and file.suffix in SUFFIXES:
                digest.update(file.relative_to(root).as_posix().encode())
                digest.update(file.read_bytes())


def record(config, source):
    """Provenance of a study as it is now.

    Parameters
    ----------
    config : dict
        As resolved from all its files.
    source : str
        `tree_digest` of the checkout.

    Returns
    -------
    dict
        study, date (UTC), source, platform, processor, python, packages (name to version),
        digits (what these hang on, beside the source), config.
    """
    packages = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    return {
        "study": config["study"],
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "source": source,
        "platform": platform.platform(),
        "processor": processor(),
        "python": platform.python_version(),
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
        "digits": digits(packages),
        "config": config,
    }


def digits(packages):
    """What the digits of results hang on beside the source: {name: version or choice}."""
    chosen = {name: value for name, value in machine.PINNED.items() if machine.is_common()}
    return {
        "python": platform.python_version(),
        "libm": " ".join(platform.libc_ver()),
        "kernels": recipe(),
        **{name: packages[name] for name in ("numpy", "scipy", "pandas", "dp-accounting")},
        **chosen,
    }


def processor():
    """Name of the processor, as the operating system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
