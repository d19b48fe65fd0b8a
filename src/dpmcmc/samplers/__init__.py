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


def _with_move(sampler, move):
    return lambda proposal_scale, **settings: sampler(move=move(proposal_scale), **settings)


# Algorithm id -> function of the settings in the configuration that builds the sampler.
ALGORITHMS = {
    "dp-penalty": _with_move(DPPenalty, GaussianWalk),
    "dp-penalty-ocu": _with_move(DPPenalty, OneComponentWalk),
    "dp-penalty-ocu-gwmh": _with_move(DPPenalty, GuidedWalk),
    "dp-hmc": DPHMC,
    "minibatch-dp-penalty": _with_move(MinibatchDPPenalty, GaussianWalk),
    "minibatch-dp-penalty-ocu-gwmh": _with_move(MinibatchDPPenalty, GuidedWalk),
    "dp-barker": _with_move(DPBarker, GaussianWalk),
    "dp-barker-full-data": _with_move(FullDataDPBarker, GaussianWalk),
}

# The same for the clipping study: samplers without privacy that take a clip bound.
CLIPPED = {"rwmh": _with_move(Metropolis, GaussianWalk), "hmc": HMC}
