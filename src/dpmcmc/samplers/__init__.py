"""Samplers of the chapter, by algorithm id.

A sampler's module is imported when it is asked for: defining the classes of all of them would take
a tenth of the time of many a chain.
"""

from importlib import import_module

MODULES = {
    "barker_correction": ["Correction", "fit_correction"],
    "chain": ["Chain", "Info", "State", "Streams", "run_chain"],
    "dp_barker": ["DPBarker", "FullDataDPBarker"],
    "dp_hmc": ["DPHMC"],
    "dp_penalty": ["DPPenalty"],
    "hmc": ["HMC"],
    "metropolis": ["Metropolis"],
    "minibatch_dp_penalty": ["MinibatchDPPenalty"],
    "moves": ["GaussianWalk", "GuidedWalk", "OneComponentWalk"],
}


def __getattr__(name):
    for module, names in MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _sampler(name, move=None):
    """Function of the settings in the configuration that builds the sampler of that name."""

    def build(**settings):
        if move is not None:
            settings["move"] = __getattr__(move)(settings.pop("proposal_scale"))
        return __getattr__(name)(**settings)

    return build


# Algorithm id -> function of the settings in the configuration that builds the sampler.
ALGORITHMS = {
    "dp-penalty": _sampler("DPPenalty", move="GaussianWalk"),
    "dp-penalty-ocu": _sampler("DPPenalty", move="OneComponentWalk"),
    "dp-penalty-ocu-gwmh": _sampler("DPPenalty", move="GuidedWalk"),
    "dp-hmc": _sampler("DPHMC"),
    "minibatch-dp-penalty": _sampler("MinibatchDPPenalty", move="GaussianWalk"),
    "minibatch-dp-penalty-ocu-gwmh": _sampler("MinibatchDPPenalty", move="GuidedWalk"),
    "dp-barker": _sampler("DPBarker", move="GaussianWalk"),
    "dp-barker-full-data": _sampler("FullDataDPBarker", move="GaussianWalk"),
}

# Those on batches a second time, so that one study can hold two accountants of them.
ALGORITHMS |= {
    f"{name}-certified": ALGORITHMS[name]
    for name in ("minibatch-dp-penalty", "minibatch-dp-penalty-ocu-gwmh", "dp-barker")
}

# The same for the clipping study: samplers without privacy that take a clip bound.
CLIPPED = {"rwmh": _sampler("Metropolis", move="GaussianWalk"), "hmc": _sampler("HMC")}
