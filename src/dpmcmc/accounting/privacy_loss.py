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

Iterations that differ compose likewise, tilted alike: transforms are multiplied, and K is summed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import minimize_scalar

UNIT = np.finfo(float).eps / 2  # largest relative error of one operation
BUTTERFLY = 6  # roundings of a value at each level of a transform, twiddle factor included
LOG_MASS_OUTSIDE = -50.0  # log of the tilted mass that may lie above the window, and below it
STEPS = (0.1, 0.3, 1.0, 2.5, 5.0, 7.5, 10.0)  # small ones where a larger tilt finds far losses
NOTHING = -80.0  # log of what is left out of a product of transforms
MAX_WINDOW = 2**24  # losses; beyond, there is Chernoff's bound alone
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
        return Composition([(self, iterations)]).delta(epsilon)

    def epsilon(self, iterations, delta):
        """Upper bound of the epsilon that they cost at delta; infinite if delta is too small."""
        return Composition([(self, iterations)]).epsilon(delta)

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

    def _tilted(self, tilt, log_scale, middle, length):
        """Transform of the tilted distribution, and what its probabilities are off by in all.

        Indices of losses count from `middle`, modulo the length.
        """
        logs = self._log_probabilities + tilt * self._losses - log_scale
        tilted = np.exp(logs)
        magnitudes = np.where(
            tilted > 0, abs(logs) + abs(tilt * self._losses) + abs(log_scale), 0.0
        )
        given = 2 * UNIT * (tilted @ (2 * magnitudes + 2))
        places = (np.arange(len(tilted)) + self.first - middle) % length
        return rfft(np.bincount(places, weights=tilted, minlength=length)), given


@dataclass(frozen=True, eq=False)
class Composition:
    """Iterations whose privacy losses differ: of each kind so many, in whatever order.

    Attributes
    ----------
    parts : list of (PrivacyLoss, int)
        Kinds, on the same grid, and how often each is there: at least once.
    """

    parts: list

    def __post_init__(self):
        if len(grids := {loss.grid for loss, _ in self.parts}) != 1:
            raise ValueError(f"parts: must be on one grid, not on {sorted(grids)}")

    def delta(self, epsilon):
        """Upper bound of the delta that they cost at epsilon >= 0."""
        if not all(loss.probabilities.any() for loss, _ in self.parts):
            return 1.0
        return self._composed(self._tilt_at(epsilon)).delta(epsilon)

    def epsilon(self, delta):
        """Upper bound of the epsilon that they cost at delta; infinite if delta is too small.

        It is a value at which `delta` of the same tilt is within the given one.
        """
        if infinite_mass(self.parts) >= delta:
            return math.inf

        # Chernoff's bound of epsilon, and the tilt at which it is least.
        log_delta = math.log(delta)

        def chernoff(log_tilt):
            tilt = math.exp(log_tilt)
            return (self._cumulants(tilt)[0] - log_delta) / tilt

        best = minimize_scalar(chernoff, bounds=(-25, math.log(STEEPEST)), method="bounded")
        composed = self._composed(math.exp(best.x))
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

    def _cumulants(self, tilt):
        """Sums over the iterations of K(s), K'(s) and K''(s) at a tilt s."""
        return weighted_sums((loss._cumulants(tilt), count) for loss, count in self.parts)

    def _tilt_at(self, epsilon):
        """Tilt s >= 0 that centres about epsilon, by bisection: it decides about digits alone."""
        low, high = 0.0, 1.0
        if self._cumulants(low)[1] >= epsilon:
            return low
        while self._cumulants(high)[1] < epsilon:
            low, high = high, 2 * high
            if high > STEEPEST:
                return low
        while high - low > 0.01 * high:
            middle = (low + high) / 2
            if self._cumulants(middle)[1] < epsilon:
                low = middle
            else:
                high = middle
        return low

    def _composed(self, tilt):
        """The convolution of the tilted distributions, in a window that holds nearly all."""
        grid = self.parts[0][0].grid
        cumulants = [loss._cumulants(tilt) for loss, _ in self.parts]
        counts = [count for _, count in self.parts]
        log_scale, _, variance = weighted_sums(zip(cumulants, counts, strict=True))
        deviation = math.sqrt(variance) + grid

        def reach(sign):
            """Least distance from the mean, of several, with mass e^LOG_MASS_OUTSIDE beyond it."""
            return min(
                (
                    sum(
                        k * (loss._cumulants(tilt + sign * s)[0] - scale - sign * s * mean)
                        for (loss, k), (scale, mean, _) in zip(self.parts, cumulants, strict=True)
                    )
                    - LOG_MASS_OUTSIDE
                )
                / s
                for s in (factor / deviation for factor in STEPS)
            )

        infinite = infinite_mass(self.parts)
        below, above = (math.ceil(reach(sign) / grid) + 1 for sign in (-1, 1))
        width = sum(count * (len(loss.probabilities) - 1) for loss, count in self.parts)
        if min(below + above, width) >= MAX_WINDOW:
            nothing = np.empty(0)
            return Composed(nothing, nothing, 0.0, tilt, log_scale, 0.0, infinite, len(self.parts))
        # Indices of losses count from the mean of one iteration, that phases may be small.
        middles = [round(mean / grid) for _, mean, _ in cumulants]
        middle = sum(k * m for k, m in zip(counts, middles, strict=True))
        off_middle = sum(
            k * (mean / grid - m)
            for k, m, (_, mean, _) in zip(counts, middles, cumulants, strict=True)
        )
        start = round(off_middle) - below
        length = next_fast_len(min(below + above, width) + 1, real=True)
        if length > width:  # all of it
            start = sum(count * loss.first for loss, count in self.parts) - middle
        product = Product(length)
        for (loss, k), (scale, _, _), m in zip(self.parts, cumulants, middles, strict=True):
            product.multiply(*loss._tilted(tilt, scale, m, length), k)
        powers, error = product.value()
        probabilities = np.roll(irfft(powers, length), -(start % length))
        return Composed(
            losses=grid * (np.arange(start, start + length) + middle),
            probabilities=probabilities,
            error=error,
            tilt=tilt,
            log_scale=log_scale,
            log_outside=LOG_MASS_OUTSIDE,
            infinite=infinite,
            num_kinds=len(self.parts),
        )


def weighted_sums(parts):
    """Sums of tuples of numbers, each so many times: of (numbers, count)."""
    return [sum(terms) for terms in zip(*([k * x for x in xs] for xs, k in parts), strict=True)]


@dataclass(frozen=True, eq=False)
class Composed:
    """Tilted distribution of a `Composition`.

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
    num_kinds : int
        Whose K were summed.
    """

    losses: np.ndarray
    probabilities: np.ndarray
    error: float
    tilt: float
    log_scale: float
    log_outside: float
    infinite: float
    num_kinds: int

    def delta(self, epsilon):
        """Upper bound of delta at epsilon."""
        first = self.losses.searchsorted(epsilon, side="right")
        excess = self.losses[first:] - epsilon
        weights = np.exp(-self.tilt * excess) * -np.expm1(-excess)
        tilted = self.probabilities[first:] @ weights + self.error * weights.sum()
        exponent = self.log_scale - self.tilt * epsilon
        # Rounding of the exponent, of sums and of weights; what lies above the window.
        tilted = tilted * (1 + 1e-12) + math.exp(self.log_outside)
        terms = (self.num_kinds + 1) * abs(self.log_scale) + abs(self.tilt * epsilon)
        log_finite = exponent + terms * 4 * UNIT + math.log(tilted)
        return min(1.0, self.infinite + math.exp(min(0.0, log_finite)))


class Product:
    """Product of powers of transforms, and a bound of the error of each value it transforms to.

    The values z of the transform of probabilities, whose own errors add up to `given`, have an
    error of at most d = BUTTERFLY u (log2(length) + 1) + given, u the unit of rounding, since the
    terms' absolute values add up to 1. So the product of their powers z^k is off by at most the
    product of (|z| + d)^k times the sum of k d / (|z| + d), and by some units of rounding, of
    k ln z times; the inverse transform adds as many as one transform did. Each value that it
    returns is the mean over the frequencies, and so is its error.

    Parameters
    ----------
    length : int
        Of what is transformed.
    """

    def __init__(self, length):
        self.length = length
        self.transform = BUTTERFLY * UNIT * (math.log2(length) + 1)
        frequencies = length // 2 + 1
        self.logs = np.zeros(frequencies, complex)  # sum of k ln z
        self.log_most = np.zeros(frequencies)  # sum of k ln(|z| + d)
        self.relative = np.full(frequencies, self.transform)  # sum of k d / (|z| + d), and rounding
        self.matters = np.ones(frequencies, bool)  # where the product is not far below all digits

    def multiply(self, spectrum, given, count):
        """Multiply by the power of a transform."""
        error = self.transform + given
        at = np.flatnonzero(self.matters)
        values = spectrum[at]
        size = np.abs(values)
        self.log_most[at] += count * np.log(np.maximum(size + error, 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values)
            self.logs[at] += count * logs
        logs, total = (np.where(np.isfinite(x), abs(x), 0.0) for x in (logs, self.logs[at]))
        rounding = UNIT * (8.0 + 4.0 * count * logs + total)
        self.relative[at] += count * error / (size + error) + rounding
        self.matters[at] = self.log_most[at] > NOTHING

    def value(self):
        """The product (m,), and the bound."""
        product = np.zeros_like(self.logs)
        product[self.matters] = np.exp(self.logs[self.matters])
        errors = np.exp(self.log_most[self.matters]) * self.relative[self.matters]
        # Frequencies below 0 are as many as those above.
        return product, 2.0 * errors.sum() / self.length + math.exp(NOTHING)


def infinite_mass(parts):
    """Probability that the loss of some iteration is infinite, of (PrivacyLoss, count)."""
    if any(loss.infinite >= 1 for loss, _ in parts):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-loss.infinite) for loss, count in parts))
