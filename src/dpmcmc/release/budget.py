"""The (epsilon, delta) that an owner allows for all releases of a ledger together."""

from bisect import bisect
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import NamedTuple

from dpmcmc.accounting.gaussian import epsilon as gaussian_epsilon
from dpmcmc.accounting.joint import largest_mu
from dpmcmc.accounting.mechanisms import GaussianMechanism

# Of epsilon, kept back for what floating point and exact noise differ from the ideal: `SLACK` for
# each release, so a hundred of them.
RESERVE = 1e-5
DELTA_RESERVE = 1e-5  # likewise, of delta, relative; a hundred releases need half of it
# By so much a sum may exceed its limit, relative: for floating point. Of mu^2 it moves delta by a
# part of 3e-6 at most (delta >= 1e-100), which the other half of `DELTA_RESERVE` covers.
TOLERANCE = 1e-8
DIGITS = 6  # of an epsilon that is shown
STEPS = 10**5  # of an epsilon, in 1
LEAST_EPSILON, MOST_EPSILON = 1e-3, 100  # of a release
KINDS = {"any": 0.5, "full-data": 0.0}  # share of delta that is kept for methods on batches


class Budget(NamedTuple):
    """The (epsilon, delta) that the owner allows for all releases together."""

    epsilon: float
    delta: float
    kinds: str  # a key of KINDS
    rows: int  # that a model keeps of the data, unless a release says so itself; public
    salt: str
    fingerprint: str  # of the data, by the salt; neither is ever published

    @property
    def delta0(self):
        """Part of delta for methods on batches: d of the Proposition."""
        return KINDS[self.kinds] * self.delta

    @property
    def mu_squared(self):
        """Limit of the sum of mu^2: M^2 of the Proposition."""
        return mu_squared_of(self.epsilon, self.of_gaussian)

    @property
    def of_gaussian(self):
        """Rest of delta, for what mu^2 stands for."""
        return self.ideal_delta - self.delta0

    @property
    def ideal_delta(self):
        """Delta without its reserve."""
        return self.delta * (1 - DELTA_RESERVE)

    def epsilon_of(self, mu_squared, slack):
        """Epsilon at the budget's delta of releases with these sums, rounded up to `DIGITS`.

        Holds by the Proposition, with d of the budget, if the sums were fixed before the first
        release. If later releases were chosen by results, the budget's epsilon is what holds.
        """
        if mu_squared <= 0:
            return 0.0
        mechanism = GaussianMechanism(mu_squared**0.5)
        epsilon = gaussian_epsilon([(mechanism, 1)], self.of_gaussian) + slack
        epsilon = rounded(epsilon, ROUND_CEILING)
        # The search for epsilon ends a little above it.
        fits = not self.exceeded({"mu_squared": mu_squared, "slack": slack})
        return min(epsilon, self.epsilon) if fits else epsilon

    def exceeded(self, sums):
        """Names of the sums over releases that exceed their limits."""
        limits = {"mu_squared": self.mu_squared, "delta0": self.delta0, "slack": RESERVE}
        return [name for name, total in sums.items() if total > limits[name] * (1 + TOLERANCE)]

    def left_epsilon(self, mu_squared):
        """Largest epsilon at the budget's delta of one release on all rows with that mu^2.

        Rounded down to `DIGITS`; 0 if no release can be so small.
        """
        least = round(LEAST_EPSILON * STEPS)
        steps = range(least, MOST_EPSILON * STEPS + 1)
        fit = bisect(steps, mu_squared, key=lambda k: mu_squared_of(k / STEPS, self.ideal_delta))
        return rounded((least + fit - 1) / STEPS, ROUND_FLOOR) if fit else 0.0

    def why_not_after(self, old):
        """Reason why this budget cannot follow another after a release; None if it can."""
        if self.kinds != old.kinds:
            return f"--for: cannot change after the first release; it is {old.kinds}"
        if self.delta != old.delta:
            return (
                f"--delta: cannot change after the first release; it is {old.delta:g}. "
                "--epsilon can be raised"
            )
        if self.epsilon < old.epsilon:
            return (
                f"--epsilon: cannot become less than {old.epsilon:g} after the first release, "
                "because a smaller one would not hold for all releases"
            )
        return None


def mu_squared_of(epsilon, delta):
    """Largest mu^2 that costs at most epsilon, less its reserve, at that delta."""
    return largest_mu(epsilon - RESERVE, delta) ** 2


def upward(value, digits=DIGITS):
    """Text of a number, rounded up: what is promised is never more than what holds."""
    return f"{rounded(value, ROUND_CEILING, digits):.{digits}g}"


def rounded(value, rounding, digits=DIGITS):
    """A number of so many digits, so that a text may show all of it."""
    return float(Context(prec=digits, rounding=rounding).plus(Decimal(repr(float(value)))))
