"""Composition of a privacy loss on a grid, from above even far out in the tail.

The transforms that compose k iterations have an error that grows with k, and at the far end of the
distribution it would be larger than all that is left there. So the distribution is *tilted* before
it is transformed: with probabilities p(x), K(s) = ln sum p(x) e^(s x) and

    q(x) = p(x) e^(s x - K(s)),        q_k(x) = p_k(x) e^(s x - k K(s))

for the k-fold convolutions, delta at epsilon is

    P_k(infinity) + e^(k K(s) - s epsilon) sum over x > epsilon of q_k(x) e^(-s y) (1 - e^-y),

y = x - epsilon, whatever s >= 0 is. With k K'(s) = epsilon the tilted distribution is centred at
epsilon, so that its error counts relative to delta. (Cramer 1938; with transforms, Wilson and Keich
2016.) What rounding can have changed at most is added, as is the mass outside of the transform's
window (Chernoff's bound).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import minimize_scalar

UNIT = np.finfo(float).eps / 2  # largest relative error of one operation
BUTTERFLY = 6  # roundings of a value at each level of a transform, twiddle factor included
OUTSIDE = -50.0  # log of the tilted mass that may lie above the window, and below it
STEPS = (0.1, 0.3, 1.0, 2.5, 5.0, 7.5, 10.0)  # small ones where a larger tilt finds far losses
LONGEST = 2**24  # of a window; beyond, there is Chernoff's bound alone
STEEPEST = 1e4  # largest tilt


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """Distribution of the privacy loss of one iteration, on a grid.

    Attributes
    ----------
    grid : float
        Losses are its multiples.
    first : int
        The smallest loss is first * grid.
    probabilities : (m,) array
        Of the losses first * grid, (first + 1) * grid, ...; read-only.
    infinite : float
        Probability of an infinite loss.
    """

    grid: float
    first: int
    probabilities: np.ndarray
    infinite: float

    def __post_init__(self):
        self.probabilities.setflags(write=False)

    def delta(self, iterations, epsilon):
        """Upper bound of the delta that so many iterations, at least one, cost at epsilon >= 0."""
        if not self.probabilities.any():
            return 1.0
        return self._composed(iterations, self._tilt_at(epsilon / iterations)).delta(epsilon)

    def epsilon(self, iterations, delta):
        """Upper bound of the epsilon that they cost at delta; infinite if delta is too small.

        It is a value at which `delta` of the same tilt is within the given one.
        """
        never = infinite_mass(self.infinite, iterations)
        if never >= delta:
            return math.inf

        # Chernoff's bound of epsilon, and the tilt at which it is least.
        log_delta = math.log(delta)

        def chernoff(log_tilt):
            tilt = math.exp(log_tilt)
            return (iterations * self._cumulants(tilt)[0] - log_delta) / tilt

        best = minimize_scalar(chernoff, bounds=(-25, math.log(STEEPEST)), method="bounded")
        composed = self._composed(iterations, math.exp(best.x))
        low, high = 0.0, max(0.0, 1.01 * best.fun)
        if composed.delta(low) <= delta:
            return low
        if not composed.delta(high) <= delta:
            return math.inf
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            if composed.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high

    @cached_property
    def _losses(self):
        return self.grid * np.arange(self.first, self.first + len(self.probabilities))

    @cached_property
    def _log_probabilities(self):
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    def _cumulants(self, tilt):
        """K(s), K'(s) and K''(s) at a tilt s."""
        losses = self._losses
        logs = self._log_probabilities + tilt * losses
        shift = logs.max()
        weights = np.exp(logs - shift)
        total = weights.sum()
        mean = weights @ losses / total
        return math.log(total) + shift, mean, weights @ (losses - mean) ** 2 / total

    def _tilt_at(self, loss):
        """Tilt s >= 0 with K'(s) about the loss, by bisection: it decides about digits alone."""
        low, high = 0.0, 1.0
        if self._cumulants(low)[1] >= loss:
            return low
        while self._cumulants(high)[1] < loss:
            low, high = high, 2 * high
            if high > STEEPEST:
                return low
        while high - low > 0.01 * high:
            middle = (low + high) / 2
            if self._cumulants(middle)[1] < loss:
                low = middle
            else:
                high = middle
        return low

    def _composed(self, iterations, tilt):
        """The k-fold convolution of the tilted distribution, in a window that holds nearly all."""
        k, grid = iterations, self.grid
        log_scale, mean, variance = self._cumulants(tilt)
        deviation = math.sqrt(k * variance) + grid

        def reach(sign):
            """Least distance from the mean, of several, beyond which there is e^OUTSIDE at most."""
            return min(
                (k * (self._cumulants(tilt + sign * s)[0] - log_scale - sign * s * mean) - OUTSIDE)
                / s
                for s in (factor / deviation for factor in STEPS)
            )

        log_scale_k, infinite = k * log_scale, infinite_mass(self.infinite, k)
        below, above = (math.ceil(reach(sign) / grid) + 1 for sign in (-1, 1))
        size = len(self.probabilities)
        if min(below + above, k * (size - 1)) >= LONGEST:
            return Composed(np.empty(0), np.empty(0), 0.0, tilt, log_scale_k, 0.0, infinite)
        logs = self._log_probabilities + tilt * self._losses - log_scale
        tilted = np.exp(logs)
        magnitudes = np.where(
            tilted > 0, abs(logs) + abs(tilt * self._losses) + abs(log_scale), 0.0
        )
        given = 2 * UNIT * (tilted @ (2 * magnitudes + 2))
        # Indices of losses count from the mean of one iteration, that phases may be small.
        middle = round(mean / grid)
        start = round(k * (mean / grid - middle)) - below
        length = next_fast_len(min(below + above, k * (size - 1)) + 1, real=True)
        if length > k * (size - 1):  # all of it
            start = k * (self.first - middle)
        places = (np.arange(size) + self.first - middle) % length
        spectrum = rfft(np.bincount(places, weights=tilted, minlength=length))
        powers, error = power(spectrum, k, length, given)
        probabilities = np.roll(irfft(powers, length), -(start % length))
        return Composed(
            losses=grid * (np.arange(start, start + length) + k * middle),
            probabilities=probabilities,
            error=error,
            tilt=tilt,
            log_scale=log_scale_k,
            log_outside=OUTSIDE,
            infinite=infinite,
        )


@dataclass(frozen=True, eq=False)
class Composed:
    """What `PrivacyLoss` composes to, tilted.

    Attributes
    ----------
    losses, probabilities : (m,) arrays
        Of q_k.
    error : float
        Bound of the error of each probability.
    tilt, log_scale : float
        s and k K(s).
    log_outside : float
        Log of a bound of q_k above these losses.
    infinite : float
        P_k(infinity).
    """

    losses: np.ndarray
    probabilities: np.ndarray
    error: float
    tilt: float
    log_scale: float
    log_outside: float
    infinite: float

    def delta(self, epsilon):
        """Upper bound of delta at epsilon."""
        first = self.losses.searchsorted(epsilon, side="right")
        excess = self.losses[first:] - epsilon
        weights = np.exp(-self.tilt * excess) * -np.expm1(-excess)
        tilted = self.probabilities[first:] @ weights + self.error * weights.sum()
        exponent = self.log_scale - self.tilt * epsilon
        # Rounding of the exponent, of sums and of weights; what lies above the window.
        tilted = tilted * (1 + 1e-12) + math.exp(self.log_outside)
        log_finite = exponent + abs(exponent) * 4 * UNIT + math.log(tilted)
        return min(1.0, self.infinite + math.exp(min(0.0, log_finite)))


def power(spectrum, iterations, length, given):
    """k-th power of a transform, and a bound of the error of each value that it transforms to.

    The values z of the transform of probabilities, whose own errors add up to `given`, have an
    error of at most d = BUTTERFLY u (log2(length) + 1) + given, u the unit of rounding, since the
    terms' absolute values add up to 1. So their powers are off by at most k d (|z| + d)^(k - 1),
    and by some units of rounding of their own, of ln z k times; the inverse transform adds as many
    as the transform did. Each value that it returns is the mean over the frequencies, and so is its
    error.
    """
    k, levels = iterations, math.log2(length) + 1
    size = np.abs(spectrum)
    transform = BUTTERFLY * UNIT * levels + given
    matters = k * np.log(np.maximum(size + transform, 1e-300)) > -80.0
    values, size = spectrum[matters], size[matters]
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    powers = np.zeros_like(spectrum)
    powers[matters] = np.exp(k * logs)
    rounding = UNIT * (8.0 + 4.0 * k * np.where(size > 0, abs(logs), 0.0)) + transform
    errors = np.exp((k - 1) * np.log(size + transform)) * (k * transform + rounding)
    both_sides = 2.0 * errors.sum() / length  # frequencies below 0 are as many as those above
    return powers, both_sides + math.exp(-80.0)


def infinite_mass(infinite, iterations):
    """Probability that the loss of some iteration is infinite."""
    return -math.expm1(iterations * math.log1p(-infinite)) if infinite < 1 else 1.0
