"""An independent lower bound of epsilon: below the accountant, near it where that is tight."""

import functools

import numpy as np
import pytest
import yaml
from conftest import ROOT, chosen, fitted_correction

from dpmcmc import registry
from dpmcmc.evaluation.audit import OUTLIER, audit, bound_by, cases, epsilon_bound, mu_bound
from dpmcmc.likelihoods.target import Target

DELTA = 0.01
CASES = cases(correction=fitted_correction())


@functools.cache
def allowed(name):
    """What the accountant says of a case."""
    return CASES[name].epsilon(DELTA)


def test_a_case_is_named_by_its_length_and_is_of_a_private_chain():
    """`check` audits every sampler; these are cases whose worst data sets are known."""
    assert all(name.endswith(f"-{case.iterations}") for name, case in CASES.items())
    audited = {type(case.sampler) for case in CASES.values()}
    private = [registry.load(registry.resolve("sampler", n)) for n in registry.names("sampler")]
    chains = {cls for cls in private if cls.is_private and not cls.prepares}
    assert audited <= chains


@pytest.mark.parametrize("name", ["quick", "audit"])
def test_studies_audit_cases_that_there_are(name):
    named = yaml.safe_load((ROOT / f"studies/{name}/study.yaml").read_text())["audit"]["cases"]
    assert named and set(named) <= set(CASES)


@pytest.mark.parametrize(
    "name",
    chosen(CASES, "dp-penalty-1", "minibatch-dp-penalty-1", "dp-barker-full-data-1"),
)
def test_what_is_found_stays_below_the_accountant(name):
    most, mu = allowed(name), CASES[name].mu()
    values, positions, noise = audit(CASES[name], seed=1, runs=3000, delta=DELTA)
    assert values.epsilon <= most and positions.epsilon <= most
    assert values.epsilon > 0.02 * most  # and is no empty statement
    assert noise.p_value > 0.001 and noise.num_values >= 6000
    if not np.isnan(mu):  # all is Gaussian
        assert 0.7 * mu < values.mu <= mu and positions.mu <= mu


@pytest.mark.parametrize(
    ("name", "runs"),
    chosen(
        [("dp-penalty-1", 20_000), ("dp-penalty-1", 60_000), ("minibatch-dp-penalty-1", 60_000)],
        ("dp-penalty-1", 20_000),
    ),
)
def test_what_is_found_comes_close_where_the_accountant_is_tight(name, runs):
    most = allowed(name)
    values, _, _ = audit(CASES[name], seed=2, runs=runs, delta=DELTA)
    assert 0.7 * most < values.epsilon <= most


class Weak(np.random.Generator):
    """A noise generator that is not as loud as it should be."""

    factor = 0.7

    def __init__(self, rng):
        super().__init__(rng.bit_generator)

    def standard_normal(self, *size):
        return self.factor * super().standard_normal(*size)


class AlmostRight(Weak):
    factor = 0.9


CAUGHT = {
    "dp-penalty-1": 8_000,
    "dp-hmc-1": 12_000,
    "minibatch-dp-penalty-1": 30_000,
    "dp-barker-all-rows-4": 30_000,
    "dp-barker-full-data-1": 12_000,
}


@pytest.mark.parametrize("name", chosen(CAUGHT, "dp-penalty-1"))
def test_noise_that_is_too_small_is_caught(name):
    values, _, _ = audit(
        CASES[name], seed=3, runs=CAUGHT[name], delta=DELTA, noise=Weak, confidence=0.99
    )
    assert values.epsilon > allowed(name)


def test_noise_that_is_a_tenth_too_small_is_caught_by_its_variance_and_by_mu():
    """Which epsilon at one delta is too blunt for: it needs a rare event."""
    case = CASES["dp-penalty-1"]
    values, _, noise = audit(case, seed=3, runs=20_000, delta=DELTA, noise=AlmostRight)
    assert values.epsilon <= allowed("dp-penalty-1")
    assert values.mu > case.mu()
    assert abs(noise.variance - 0.81) < 0.03 and noise.p_value < 1e-20


@pytest.mark.parametrize("name", chosen(["dp-hmc-1", "dp-barker-4", "dp-sgld-1"], "dp-hmc-1"))
def test_its_variance_needs_few_runs_whatever_the_mechanism(name):
    _, _, noise = audit(CASES[name], seed=3, runs=1000, delta=DELTA, noise=AlmostRight)
    assert abs(noise.variance - 0.81) < 0.1 and noise.p_value < 1e-5


def test_mu_is_of_all_releases_together():
    assert CASES["dp-penalty-1"].mu() == pytest.approx(1)
    assert CASES["dp-penalty-4"].mu() == pytest.approx(2)
    assert np.isnan(CASES["minibatch-dp-penalty-1"].mu())


@pytest.mark.parametrize("mu", chosen([0.3, 1.0, 3.0], 1.0))
def test_the_bound_of_mu_holds_and_comes_close(mu):
    """At 95 %, of normal scores, 400 times."""
    rng = np.random.default_rng(7)
    scores = rng.standard_normal((400, 2, 4000)) + np.array([mu, 0.0])[:, None]
    found = np.array([bound_by(*pair, DELTA, 0.05).mu for pair in scores])
    assert (found <= mu).mean() > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 400)
    assert np.median(found) > mu - 0.2
    assert mu_bound(np.array(0), np.array(100), 100, 0.05) == -np.inf  # no event tells


class Clipping(Target):
    """A target that takes rows that are no numbers."""

    def __init__(self, model, data):
        super().__init__(model, data, nonfinite="clip")


class Careless(Clipping):
    """Sums of what `clip` makes of ratios and gradients, which is not what the proofs ask."""

    def ratios(self, theta, theta_new, bound, rows=slice(None)):
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        return self.clip(slope @ self.data[:, rows] - intercept, bound)

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        return self.ratios(theta, theta_new, bound).sum(), 0

    def clipped_batch_ratio(self, theta, theta_new, bound, batch):
        ratios = self.ratios(theta, theta_new, bound, batch)
        return ratios.sum(), (ratios**2).sum(), 0

    def clipped_gradient(self, theta, bound):
        jacobian, offset = self.model.gradient_coefficients(theta)
        return self.clip(jacobian.T @ self.data - offset[:, None], bound).sum(axis=1), 0


class ClippedAboveOnly(Careless):
    def clip(self, values, bound):
        return np.minimum(values, bound)


class NumbersOnly(Careless):
    """What lets a row through that is no number."""

    def clip(self, values, bound):
        return np.clip(values, -bound, bound)


@pytest.mark.parametrize("name", ["dp-penalty-1", "dp-hmc-1", "minibatch-dp-penalty-1"])
def test_a_clip_of_one_side_is_caught(name):
    values, _, _ = audit(CASES[name], seed=4, runs=2000, delta=DELTA, target_class=ClippedAboveOnly)
    assert values.epsilon > allowed(name)


@pytest.mark.parametrize(
    "name",
    chosen(
        ["dp-penalty-1", "dp-hmc-1", "minibatch-dp-penalty-1", "dp-barker-4"],
        "dp-penalty-1",
        "minibatch-dp-penalty-1",
    ),
)
def test_a_row_that_is_no_number_is_caught_where_it_passes_and_harmless_where_not(name):
    case = CASES[name]
    case = case._replace(rows=np.concatenate([[np.nan], case.rows[1:]]))
    values, positions, _ = audit(case, seed=5, runs=3000, delta=DELTA, target_class=NumbersOnly)
    assert max(values.epsilon, positions.epsilon) > case.epsilon(DELTA)
    values, positions, _ = audit(case, seed=5, runs=3000, delta=DELTA, target_class=Clipping)
    assert max(values.epsilon, positions.epsilon) <= case.epsilon(DELTA)


def test_barker_stops_by_itself_where_a_batch_varies_more_than_the_clip_allows():
    """As it does with the rows of this case, which pass the clip by far."""
    with pytest.raises(ArithmeticError, match="the clip does not bound the variance"):
        audit(CASES["dp-barker-4"], seed=5, runs=100, delta=DELTA, target_class=ClippedAboveOnly)


def test_the_rows_are_far_enough_to_be_clipped_everywhere():
    assert OUTLIER * 0.5 * 0.5 > 1e3  # ratio of a step of 0.5, against bounds below 1


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.1), (0.05, 0.001), (0.5, 0.5)])
def test_bounds_hold_as_often_as_they_say(p, q):
    """Coverage of the two-count bound at a fixed event, with 95 %."""
    rng = np.random.default_rng(6)
    counts = rng.binomial(500, p, 4000), rng.binomial(500, q, 4000)
    bounds = epsilon_bound(*counts, 500, 0.01, 0.025)
    assert (bounds <= np.log((p - 0.01) / q)).mean() > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 4000)
