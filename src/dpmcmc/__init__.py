"""Differentially private Markov chain Monte Carlo: samplers, models, accounting and metrics.

For the same digits on every machine call `dpmcmc.pin()` before NumPy is imported; the jobs of a
study do so.

Public names come from the modules that `__init__.pyi` says, imported when they are asked for: so a
job neither loads what it does not use nor, by `dpmcmc_studies.study.sources`, depends on it.
"""

# Names of before, and what they are now.
RENAMED = {
    f"{kind}Release": f"{kind}Mechanism" for kind in ("Gaussian", "SubsampledGaussian", "Barker")
}


def __getattr__(name):
    modules = _public_names()
    if name == "__all__":
        return list(modules)
    if name in RENAMED:
        raise AttributeError(f"{__name__}.{name} is {__name__}.{RENAMED[name]} now")
    if name not in modules:
        raise AttributeError(f"module {__name__} has no attribute {name}; see dir({__name__})")
    from importlib import import_module

    value = getattr(import_module(modules[name]), name)
    return globals().setdefault(name, value)  # a package of that name is there now, and stays


def __dir__():
    return sorted({*globals(), *_public_names()} - {"_public_names", "RENAMED"})


def _public_names():
    """Modules of the public names, by name, as the stub beside this file imports them."""
    import re
    from pathlib import Path

    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from (\S+) import (\w+)", stub, re.M)}
