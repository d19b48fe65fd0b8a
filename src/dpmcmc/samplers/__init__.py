"""Samplers of the chapter, by algorithm id."""

from dpmcmc.samplers.barker_correction import Correction, fit_correction
from dpmcmc.samplers.chain import Chain, Info, State, Streams, run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, OneComponentWalk

__all__ = [
    "ALGORITHMS",
    "CLIPPED",
    "DPHMC",
    "HMC",
    "Chain",
    "Correction",
    "DPBarker",
    "DPPenalty",
    "FullDataDPBarker",
    "GaussianWalk",
    "GuidedWalk",
    "Info",
    "Metropolis",
    "MinibatchDPPenalty",
    "OneComponentWalk",
    "State",
    "Streams",
    "fit_correction",
    "run_chain",
]


def _builder(sampler, move=None):
    """Function of the settings in the configuration that builds a sampler of that class."""

    def build(**settings):
        if move is not None:
            settings["move"] = move(settings.pop("proposal_scale"))
        return sampler(**settings)

    return build


# Algorithm id -> function of the settings in the configuration that builds the sampler.
ALGORITHMS = {
    "dp-penalty": _builder(DPPenalty, move=GaussianWalk),
    "dp-penalty-ocu": _builder(DPPenalty, move=OneComponentWalk),
    "dp-penalty-ocu-gwmh": _builder(DPPenalty, move=GuidedWalk),
    "dp-hmc": _builder(DPHMC),
    "minibatch-dp-penalty": _builder(MinibatchDPPenalty, move=GaussianWalk),
    "minibatch-dp-penalty-ocu-gwmh": _builder(MinibatchDPPenalty, move=GuidedWalk),
    "dp-barker": _builder(DPBarker, move=GaussianWalk),
    "dp-barker-full-data": _builder(FullDataDPBarker, move=GaussianWalk),
}

# Those on batches a second time, so that one study can hold two accountants of them.
ALGORITHMS |= {
    f"{name}-certified": ALGORITHMS[name]
    for name in ("minibatch-dp-penalty", "minibatch-dp-penalty-ocu-gwmh", "dp-barker")
}

# The same for the clipping study: samplers without privacy that take a clip bound.
CLIPPED = {"rwmh": _builder(Metropolis, move=GaussianWalk), "hmc": _builder(HMC)}
