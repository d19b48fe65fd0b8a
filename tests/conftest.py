from pathlib import Path

import numpy as np
import pytest
import yaml

from dpmcmc.models import Banana, Circle, Gaussian, Target

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def config():
    """The configuration of the full study."""
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.fixture(scope="session")
def schema():
    return yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


SMALL_MODELS = {
    "banana": Banana(
        dimension=3,
        num_rows=40,
        curvature=1.5,
        prior_variance=4.0,
        likelihood_variances=[2.0, 0.5, 1.0],
        true_position=[0.5, 1.0, 0.0],
        tempered_rows=20,
    ),
    "gaussian": Gaussian(
        num_rows=30,
        prior_variance=2.0,
        covariance=[[1.0, 0.7], [0.7, 2.0]],
        true_position=[0.3, -1.0],
    ),
    "circle": Circle(
        num_rows=25,
        sharpness=0.02,
        radius_mean=2.0,
        radius_sd=0.5,
        start_mean=[0.0, 1.0],
        start_sd=0.4,
    ),
}


@pytest.fixture(params=SMALL_MODELS)
def small_target(request):
    """A small data set of each kind of model; the banana is tempered with T = 1/2."""
    model = SMALL_MODELS[request.param]
    return Target(model, model.simulate(np.random.default_rng(7)))
