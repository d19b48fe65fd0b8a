"""Models of the chapter: a prior, an exponential-family likelihood and its exact posterior."""

from dpmcmc.models.banana import Banana
from dpmcmc.models.blocks import arranged
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.target import Target

KINDS = {"banana": Banana, "gaussian": Gaussian, "circle": Circle}

__all__ = ["KINDS", "Banana", "Circle", "Gaussian", "Target", "arranged", "build_model"]


def build_model(settings):
    """The model that an entry of the configuration's `models` describes.

    Parameters
    ----------
    settings : dict
        `kind` and the fields of that kind's class.

    Returns
    -------
    Banana, Gaussian or Circle
    """
    fields = dict(settings)
    return KINDS[fields.pop("kind")](**fields)
