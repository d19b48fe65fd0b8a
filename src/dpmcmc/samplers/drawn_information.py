"""What noisy scores and noisy information say of theta, with the information itself unknown.

The information is H = R (I + Z) R', where R R' is that of simulated rows and Z is symmetric. Before
anything is released, the entries of Z are normal about 0. So, given a release of H with normal
noise, Z is normal, if one leaves out that H is positive definite. Elliptical slice sampling
(Murray, Adams and MacKay 2010) starts from this normal distribution and takes as likelihood that H
is positive definite, and what the scores say of H: those of two steps differ by H times the way
between them, and none of them may say of theta what the prior denies.

Given H, the posterior of theta is normal: the mean z of the scores, each moved to theta = 0, is
normal about H theta. Its covariance is J / T, for the sampling of the rows, and that of the noise
and of what is not linear, by which the scores of the steps are weighted. J is at most H, and has
its shape nearly; its trace is released.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from dpmcmc.likelihoods.information import derivative, upper_triangle
from dpmcmc.models.model import Model

SCALE_SD = 0.5  # of the size of H, before it is measured, in sizes of that of simulated rows
SHAPE_SD = 1.0  # times 1 / sqrt(d): eigenvalues of Z then reach from -sqrt(2) to sqrt(2)
CHAINS, ITERATIONS, KEPT = 40, 40, 5  # of the slice sampler; every second half's kept draws
PASSES = 4  # until the way of a step is as long as it is believed to be after it
LEAST_EIGENVALUE = 1e-3  # of I + Z, for a point estimate
# A step starts from what was believed before it, of which releases count by this less. Without this
# belief, releases on correlated covariates go ever farther away, since one step alone says little
# of directions in which the rows inform little.
WIDER = 4.0
# At most, of a belief and of an answer. Each depends on slopes, which are averaged over it.
ROUNDS = 6
SETTLED = 0.1  # relative change of its variance with which rounds end


class Slope(NamedTuple):
    """How scores at theta_k answer to a theta that is not near."""

    ratio: float  # of their slope to the information at theta_k
    variance: float  # of the summed scores, by what is not linear, over the information


class Released(NamedTuple):
    """Releases of a step."""

    theta: np.ndarray  # (d,), where
    gradient: np.ndarray  # (d,), summed scores
    gradient_sd: float  # of the noise of a component
    information: np.ndarray  # (d (d + 1) / 2,), summed; as of `dpmcmc.likelihoods.information`
    information_sd: float
    squares: float  # trace of J, the covariance of the summed scores by the sampling of the rows
    rest: float = 0.0  # further variance of the summed scores, over the information

    def along(self, slope: Slope) -> Self:
        """The same with scores of the slope H, and with what they are off by."""
        return self._replace(
            gradient=self.gradient / slope.ratio,
            gradient_sd=self.gradient_sd / slope.ratio,
            rest=slope.variance / slope.ratio**2,
        )


class Normal(NamedTuple):
    """A normal distribution."""

    mean: np.ndarray  # (d,)
    covariance: np.ndarray  # (d, d)


class Mixture(NamedTuple):
    """Normal distributions of equal weight: mean + factor z is a draw of one of them."""

    means: np.ndarray  # (q, d)
    factors: np.ndarray  # (q, d, d)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A draw, (d,)."""
        i = rng.integers(len(self.means))
        return self.means[i] + self.factors[i] @ rng.standard_normal(self.means.shape[1])

    @property
    def normal(self) -> Normal:
        """Its mean and covariance."""
        within = (self.factors @ self.factors.transpose(0, 2, 1)).mean(axis=0)
        return Normal(self.means.mean(axis=0), within + np.cov(self.means.T, ddof=0))


class LocalPrior(NamedTuple):
    """A normal prior, or one as it is about a theta; and the power of the likelihood."""

    precision: np.ndarray  # (d, d)
    pull: np.ndarray  # (d,), precision times mean
    power: float  # T

    @classmethod
    def of(cls, model: Model, theta: np.ndarray) -> Self:
        """That of a model about theta."""
        precision = prior_information(model, theta)
        pull = model.grad_log_prior(theta) + precision @ theta
        return cls(precision, pull, model.likelihood_power)


class Information(NamedTuple):
    """What some releases say of H: its Z is normal, but for being positive definite."""

    root: np.ndarray  # (d, d): R
    mean: np.ndarray  # (d (d + 1) / 2,), of Z
    factor: np.ndarray  # of the covariance of Z
    variance: float  # mean variance of an entry of H, as in the vectors
    squares: float  # trace of J
    most: float  # J over H at most

    @classmethod
    def of(cls, steps: Sequence[Released], expected: np.ndarray, most: float = 1.0) -> Self:
        """Information by the releases of some steps, and that of simulated rows, (d, d).

        J is at most H where scores are derivatives of a log-likelihood; `most` is for others.
        """
        d = len(expected)
        root = np.linalg.cholesky(expected)
        i, j, weights = upper_triangle(d)
        # Column l: R Z R' for the l-th vector of unit length.
        units = np.zeros((len(i), d, d))
        places = np.arange(len(i))
        units[places, i, j] = units[places, j, i] = 1 / weights
        moved = root @ units @ root.T
        change = moved[:, i, j].T * weights[:, None]
        precisions = np.array([step.information_sd**-2 for step in steps])
        measured = sum(p * s.information for p, s in zip(precisions, steps, strict=True))
        precision = precisions.sum()
        size = np.where(i == j, 1.0, 0.0)
        prior = SHAPE_SD**2 / d * np.eye(len(i)) + SCALE_SD**2 * np.outer(size, size)
        inverse = np.linalg.inv(prior) + precision * change.T @ change
        factor = np.linalg.inv(np.linalg.cholesky(inverse)).T
        pull = change.T @ (measured - precision * expected[i, j] * weights)
        mean = factor @ (factor.T @ pull)
        variance = float(((change @ factor) ** 2).sum() / len(i))
        squares = sum(p * s.squares for p, s in zip(precisions, steps, strict=True)) / precision
        return cls(root, mean, factor, variance, float(squares), most)

    def share(self, trace: np.ndarray) -> np.ndarray:
        """J over H, by the traces."""
        return np.clip(self.squares / trace, 0.0, self.most)

    def matrices(self, vectors: np.ndarray) -> np.ndarray:
        """I + Z of vectors (k, d (d + 1) / 2), (k, d, d)."""
        d = len(self.root)
        i, j, weights = upper_triangle(d)
        matrices = np.zeros((len(vectors), d, d))
        matrices[:, i, j] = matrices[:, j, i] = vectors / weights
        return matrices + np.eye(d)

    @property
    def estimate(self) -> np.ndarray:
        """H at the mean of Z, with eigenvalues that are positive, (d, d)."""
        eigenvalues, vectors = np.linalg.eigh(self.matrices(self.mean[None])[0])
        factor = self.root @ vectors
        return factor * np.maximum(eigenvalues, LEAST_EIGENVALUE) @ factor.T

    def belief(self, step: Released, before: Normal, power: float) -> Normal:
        """What is believed of theta after a step, with H at its estimate; power is T.

        What H is off by counts as noise, in proportion to the way from where the step was to theta.
        This is first as long as it was believed before, then as it is believed after the step.
        """
        H, d = self.estimate, len(before.mean)
        J = (self.share(H.trace()) / power + step.rest) * H  # over T, with what is not linear
        inverse, after = np.linalg.inv(before.covariance), before
        for _ in range(PASSES):
            way = after.covariance.trace() + ((after.mean - step.theta) ** 2).sum()
            v = step.gradient_sd**2 + self.variance * way * (d + 1) / (2 * d)
            gain = np.linalg.solve(J + v * np.eye(d), H).T  # H (J + v I)^-1
            precision = inverse + gain @ H
            pull = inverse @ before.mean + gain @ (step.gradient + H @ step.theta)
            covariance = np.linalg.inv((precision + precision.T) / 2)
            after = Normal(covariance @ pull, covariance)
        return after


def belief_after(
    released: Released,
    before: Normal,
    information: Information,
    power: float,
    slope: Callable[[Normal], Slope],
) -> Normal:
    """Belief after a step, whose slope is averaged over this belief.

    Over the belief before, scores may be far from linear: then a precise release would say little
    (García-Fernández, Svensson, Morelande and Särkkä 2015, posterior linearization). The first
    round takes scores as linear. Scores that bend back, as those of Student's t do, belong to a
    near theta and to a far one: so the step goes to the near one.

    Parameters
    ----------
    released : Released
    before : Normal
    information : Information
    power : float
        T, of the likelihood.
    slope : function
        Of a belief: the slope of the step's scores, averaged over it.
    """
    belief = information.belief(released, before, power)
    for _ in range(ROUNDS):
        last = belief
        belief = information.belief(released.along(slope(belief)), before, power)
        if is_settled(last, belief):
            break
    return belief


def answer_of(
    rng: np.random.Generator,
    steps: Sequence[Released],
    slopes: Sequence[Callable[[Normal], Slope]],
    information: Information,
    belief: Normal,
    prior: LocalPrior,
) -> tuple[Mixture, float]:
    """Posterior of theta that some steps give, with slopes averaged over it; and its `misfit`.

    Parameters
    ----------
    rng : numpy.random.Generator
    steps : sequence of Released
    slopes : sequence of functions
        Of a belief: the slope of the scores of each step, averaged over it.
    information : Information
    belief : Normal
        With which slopes begin.
    prior : LocalPrior
    """
    for _ in range(ROUNDS):
        along = [step.along(slope(belief)) for step, slope in zip(steps, slopes, strict=True)]
        answer = draws_given(rng, information, along, prior)
        before, belief = belief, answer.normal
        if is_settled(before, belief):
            break
    return answer, misfit(along, information.estimate, belief.mean)


def is_settled(before: Normal, after: Normal) -> bool:
    """True if a round has hardly changed the variance of a belief."""
    return abs(after.covariance.trace() / before.covariance.trace() - 1) < SETTLED


def wider(belief: Normal, prior: Normal) -> Normal:
    """A belief with up to `WIDER` times its variance, but no more than the prior's."""
    of_prior = np.linalg.inv(prior.covariance)
    precision = of_prior + (np.linalg.inv(belief.covariance) - of_prior) / WIDER
    return Normal(belief.mean, np.linalg.inv((precision + precision.T) / 2))


def misfit(steps: Sequence[Released], H: np.ndarray, mean: np.ndarray) -> float:
    """How far the scores of some steps are from what their answer leads to expect.

    It is a root mean square over components, in standard deviations of the scores' noise and of
    what is not linear: below 1 where scores are linear about the answer, as the answer is taken
    from them. All of it was released.

    Parameters
    ----------
    steps : sequence of Released
        With scores along H.
    H : (d, d) array
    mean : (d,) array
        Of the answer.
    """
    squares = []
    for step in steps:
        covariance = step.gradient_sd**2 * np.eye(len(mean)) + step.rest * H
        off = step.gradient - H @ (mean - step.theta)
        squares.append(off @ np.linalg.solve(covariance, off) / len(mean))
    return math.sqrt(float(np.mean(squares)))


def draws_given(
    rng: np.random.Generator,
    information: Information,
    steps: Sequence[Released],
    prior: LocalPrior,
) -> Mixture:
    """Posterior of theta that some steps give: a normal distribution for each drawn H.

    Parameters
    ----------
    rng : numpy.random.Generator
    information : Information
    steps : sequence of Released
        With scores along H.
    prior : LocalPrior
    """
    scores = Scores(steps, information, prior)

    def answers(vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        return scores.answers(information.root @ information.matrices(vectors) @ information.root.T)

    start = information.mean
    while not is_positive(information, start):
        start = start / 2  # towards the information of simulated rows
    if start is not information.mean:
        start = start / 2
    x = np.tile(np.linalg.solve(information.factor, start - information.mean), (CHAINS, 1))
    value = answers(information.mean + x @ information.factor.T)[0]
    means, factors = [], []
    for i in range(ITERATIONS):
        x, value = sliced(
            rng, x, value, lambda x: answers(information.mean + x @ information.factor.T)[0]
        )
        if i >= ITERATIONS // 2 and (i + 1) % (ITERATIONS // 2 // KEPT) == 0:
            _, mean, factor = answers(information.mean + x @ information.factor.T)
            means.append(mean)
            factors.append(factor)
    return Mixture(np.concatenate(means), np.concatenate(factors))


def is_positive(information: Information, vector: np.ndarray) -> bool:
    """True if H is positive definite."""
    return bool(np.linalg.eigvalsh(information.matrices(vector[None])[0])[0] > LEAST_EIGENVALUE)


def sliced(
    rng: np.random.Generator,
    x: np.ndarray,
    value: np.ndarray,
    log_likelihood: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """One iteration of elliptical slice sampling of several chains; x (k, m) is N(0, I) before."""
    nu = rng.standard_normal(x.shape)
    threshold = value - rng.standard_exponential(len(x))
    angle = rng.uniform(0, 2 * math.pi, len(x))
    low, high = angle - 2 * math.pi, angle.copy()
    new, new_value = x.copy(), value.copy()
    left = np.arange(len(x))
    while len(left):
        a = angle[left, None]
        proposal = x[left] * np.cos(a) + nu[left] * np.sin(a)
        found = log_likelihood(proposal)
        is_in = found > threshold[left]
        new[left[is_in]], new_value[left[is_in]] = proposal[is_in], found[is_in]
        left = left[~is_in]
        is_low = angle[left] < 0
        low[left[is_low]], high[left[~is_low]] = angle[left[is_low]], angle[left[~is_low]]
        angle[left] = rng.uniform(low[left], high[left])
    return new, new_value


class Scores:
    """Scores of some steps, and the prior about theta.

    Parameters
    ----------
    steps : sequence of Released
    information : Information
    prior : LocalPrior
    """

    def __init__(
        self, steps: Sequence[Released], information: Information, prior: LocalPrior
    ) -> None:
        self.information, self.prior = information, prior
        self.noise = np.array([step.gradient_sd**2 for step in steps])[:, None, None]
        self.rest = np.array([step.rest for step in steps])[:, None, None]
        self.gradients = np.array([step.gradient for step in steps])
        self.thetas = np.array([step.theta for step in steps])

    def answers(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-likelihood (k,) of matrices (k, d, d), and mean (k, d) and factor of theta's normal.

        -inf where a matrix is not positive definite.
        """
        eigenvalues, vectors = np.linalg.eigh(H)
        is_positive = eigenvalues[:, 0] > 0
        eigenvalues = np.where(is_positive[:, None], eigenvalues, 1.0)
        # In the coordinates of the eigenvectors: the scores of each step, moved to theta = 0.
        places = self.gradients[:, None] + np.einsum("kij,sj->ski", H, self.thetas)
        places = np.einsum("kij,ski->skj", vectors, places)
        weights = 1 / (self.noise + self.rest * eigenvalues)
        v = 1 / weights.sum(axis=0)
        turned = v * (weights * places).sum(axis=0)
        apart = (weights * (places - turned) ** 2).sum(axis=(0, 2))
        share = self.information.share(eigenvalues.sum(axis=1, keepdims=True))
        spread = share / self.prior.power * eigenvalues + v
        precision = (vectors * (eigenvalues**2 / spread)[:, None]) @ vectors.transpose(0, 2, 1)
        precision += self.prior.precision
        pull = np.einsum("kij,kj->ki", vectors, turned * eigenvalues / spread) + self.prior.pull
        cholesky = np.linalg.cholesky(precision)
        factor = np.linalg.inv(cholesky).transpose(0, 2, 1)
        half = np.einsum("kij,ki->kj", factor, pull)
        mean = np.einsum("kij,kj->ki", factor, half)
        log_size = 2 * np.log(np.einsum("kii->ki", cholesky)).sum(axis=1)
        log_size += (np.log(spread / v) - np.log(weights).sum(axis=0)).sum(axis=1)
        rest = apart + (turned**2 / spread).sum(axis=1) - (half**2).sum(axis=1)
        value = np.where(is_positive, -(log_size + rest) / 2, -math.inf)
        return value, mean, factor


def prior_information(model: Model, theta: np.ndarray) -> np.ndarray:
    """Minus the second derivatives of the log prior, (d, d), where they are positive."""
    matrix = -derivative(model.grad_log_prior, theta, 1.0)
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * np.maximum(eigenvalues, 0) @ vectors.T
