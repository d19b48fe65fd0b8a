"""Samplers of the chapter, by algorithm id."""

from dpmcmc.samplers.chain import Chain, Info, State, Streams, run_chain
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, OneComponentWalk

__all__ = [
    "ALGORITHMS",
    "DPHMC",
    "HMC",
    "Chain",
    "DPPenalty",
    "GaussianWalk",
    "GuidedWalk",
    "Info",
    "Metropolis",
    "OneComponentWalk",
    "State",
    "Streams",
    "run_chain",
]


def _dp_penalty(move):
    return lambda proposal_scale, **settings: DPPenalty(move=move(proposal_scale), **settings)


# Algorithm id -> function of the settings in the configuration that builds the sampler.
ALGORITHMS = {
    "dp-penalty": _dp_penalty(GaussianWalk),
    "dp-penalty-ocu": _dp_penalty(OneComponentWalk),
    "dp-penalty-ocu-gwmh": _dp_penalty(GuidedWalk),
    "dp-hmc": DPHMC,
}
