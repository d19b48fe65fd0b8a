"""Costs of a sampler's iterations, the number that a budget allows, and the noise that they need.

For those who plan a chain of their own, and for the jobs of a study; no data is touched. All
numbers are rounded to the safe side: what is answered never costs more than was asked for.
"""

import dataclasses
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

from dpmcmc.accounting.accountants import accountant as accountant_named
from dpmcmc.accounting.accountants import epsilon_of, first_guess
from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases
from dpmcmc.accounting.releases import of_chains
from dpmcmc.accounting.search import max_iterations, rounded_up, spent_epsilon

if TYPE_CHECKING:
    from dpmcmc.samplers.sampler import Sampler

Prepared = TypeVar("Prepared", bound="Sampler")
DELTA_TIMES_N = 0.1  # as in the studies: delta = 0.1 / n
DIGITS = 6  # of a noise setting that was searched
LEAST_NOISE, MOST_NOISE = 1e-9, 1e9  # between which noise is searched


class Price:
    """Costs of a private sampler's iterations by one accountant; each is computed once.

    Iterations are those of all chains of the same data together, spread evenly over them. Each
    chain has its preparation, if their sampler prepares.

    Raises
    ------
    ValueError
        If the sampler is not private, or a number is out of range.
    """

    def __init__(
        self,
        sampler: "Sampler",
        num_rows: int,
        accountant: str,
        likelihood_power: float = 1.0,
        chains: int = 1,
    ) -> None:
        _require_object(sampler)
        _require_count(chains, "chains", 1)
        power = "likelihood_power: must be a positive number"
        _require_number(likelihood_power, power, math.inf)
        if not getattr(sampler, "is_private", False):  # or no sampler at all
            name = type(sampler).__name__
            raise ValueError(f"{name} is not private: it has no releases, so no epsilon covers it")
        self.accountant = accountant_named(accountant)
        self.chains = chains
        self._of_chain = partial(sampler.releases, num_rows, likelihood_power)
        self._deltas: dict[tuple[int, float], float] = {}  # by iterations and epsilon
        self.accountant.check(self.releases(1))

    def of_chain(self, iterations: int) -> Releases:
        """All that one chain of so many releases, a list of (mechanism, count)."""
        return self._of_chain(iterations)

    def releases(self, iterations: int) -> Releases:
        """All that the iterations release, a list of (mechanism, count)."""
        return of_chains(self.of_chain, iterations, self.chains)

    def delta(self, iterations: int, epsilon: float) -> float:
        """Delta that iterations cost at epsilon."""
        asked = iterations, epsilon
        if asked not in self._deltas:
            self._deltas[asked] = self.accountant.delta(self.releases(iterations), epsilon)
        return self._deltas[asked]

    def iterations(self, epsilon: float, delta: float, limit: int = 10**9) -> int:
        """Most iterations that (epsilon, delta) allows; the search ends at a limit."""
        guess, spread = first_guess(self.accountant, self.releases, epsilon, delta)
        return max_iterations(lambda k: self.delta(k, epsilon), delta, guess, spread, limit)

    def epsilon(self, iterations: int, delta: float, at_most: float | None = None) -> float:
        """Epsilon that iterations cost at delta, rounded up to six decimals.

        Where it is known that (at_most, delta) allows them, the search starts there.
        """
        if at_most is None:
            return rounded_up(epsilon_of(self.accountant, self.releases(iterations), delta))
        spent = spent_epsilon(lambda e: self.delta(iterations, e), delta, at_most)
        return min(rounded_up(spent), at_most)


def iterations(
    sampler: "Sampler",
    num_rows: int,
    epsilon: float,
    delta: float | None = None,
    accountant: str = "certified",
    likelihood_power: float = 1.0,
    chains: int = 1,
) -> int:
    """The largest number of iterations of a private sampler that (epsilon, delta) allows.

    Parameters
    ----------
    sampler
        A private sampler with its settings.
    num_rows : int
        n.
    epsilon, delta : float
        Bound under substitution of one row. By default delta = 0.1 / n, as in the studies.
    accountant : str
        By default `certified`, which is sound and tight for every mechanism of this package. A path
        that ends in .py is an accountant of your own.
    likelihood_power : float
        Tempering T of the model, `model.likelihood_power`. The releases of FullDataDPBarker and of
        stochastic-gradient samplers depend on it.
    chains : int
        Chains of the same data that share the budget.

    Returns
    -------
    int
        Iterations of each chain: 0 if not even one fits, and at most 10^9, where the search ends.
        It is 10^9 too if iterations are free.

    Raises
    ------
    TypeError
        If the accountant does not price what the sampler releases.
    ValueError
        If a number is out of range, the sampler is not private or the accountant unknown.

    Examples
    --------
    The noise of the thesis is meant for a hundred thousand rows. It allows five thousand little:

    >>> import dpmcmc
    >>> sampler = dpmcmc.DPPenalty(dpmcmc.GaussianWalk(0.008), noise_scale=0.1, clip_bound=2)
    >>> dpmcmc.iterations(sampler, num_rows=100_000, epsilon=2)
    201
    >>> dpmcmc.iterations(sampler, num_rows=5000, epsilon=2)
    13
    >>> dpmcmc.iterations(sampler, num_rows=5000, epsilon=2, chains=4)
    3
    """
    delta = _delta(num_rows, delta)
    _require_number(epsilon, "epsilon: must be a positive number", math.inf)
    price = Price(sampler, num_rows, accountant, likelihood_power, chains)
    return price.iterations(epsilon, delta) // chains


def epsilon(
    sampler: "Sampler",
    num_rows: int,
    iterations: int,
    delta: float | None = None,
    accountant: str = "certified",
    likelihood_power: float = 1.0,
    chains: int = 1,
) -> float:
    """Epsilon that iterations of a private sampler cost at delta, rounded up to six decimals.

    Several chains of the same data cost as much as one chain of their total length. DPSGHMC with
    decreasing steps is different, because its noise starts again in each chain.

    Parameters
    ----------
    sampler, num_rows, delta, accountant, likelihood_power, chains
        As for `iterations`.
    iterations : int
        k >= 0, of each chain.

    Returns
    -------
    float
        Infinite above a million, or if delta is too small for any epsilon.

    Raises
    ------
    TypeError, ValueError
        As for `iterations`.

    Examples
    --------
    >>> import dpmcmc
    >>> sampler = dpmcmc.DPPenalty(dpmcmc.GaussianWalk(0.008), noise_scale=0.1, clip_bound=2)
    >>> dpmcmc.epsilon(sampler, num_rows=5000, iterations=13)
    1.950968
    """
    delta = _delta(num_rows, delta)
    _require_count(iterations, "iterations", 0)
    price = Price(sampler, num_rows, accountant, likelihood_power, chains)
    return price.epsilon(chains * iterations, delta)


def noise_scale(
    sampler: "Sampler",
    num_rows: int,
    iterations: int,
    epsilon: float,
    delta: float | None = None,
    accountant: str = "certified",
    likelihood_power: float = 1.0,
    setting: str | None = None,
    chains: int = 1,
) -> float:
    """The smallest noise with which (epsilon, delta) allows a number of iterations.

    Parameters
    ----------
    sampler
        With its settings. The setting of the noise is searched, and its value is ignored.
    num_rows, epsilon, delta, accountant, likelihood_power, chains
        As for `iterations`.
    iterations : int
        k >= 1, of each chain.
    setting : str, optional
        Field of the sampler that makes an iteration cheaper as it grows. By default its only field
        with "noise" in its name. DPHMC has two, so name one of them.

    Returns
    -------
    float
        Value of that field, in its own units (`noise_scale` is a standard deviation,
        `noise_variance` a variance), rounded up to six digits.

    Raises
    ------
    TypeError
        As for `iterations`.
    ValueError
        As for `iterations`, and if the sampler has no such field, several, or no value is enough.

    Examples
    --------
    >>> import dataclasses, dpmcmc
    >>> sampler = dpmcmc.DPPenalty(dpmcmc.GaussianWalk(0.008), noise_scale=0.1, clip_bound=2)
    >>> tau = dpmcmc.noise_scale(sampler, num_rows=5000, iterations=1000, epsilon=2)
    >>> tau
    0.857921
    >>> sampler = dataclasses.replace(sampler, noise_scale=tau)
    >>> dpmcmc.iterations(sampler, num_rows=5000, epsilon=2)
    1000
    """
    delta = _delta(num_rows, delta)
    _require_number(epsilon, "epsilon: must be a positive number", math.inf)
    _require_count(iterations, "iterations", 1)
    setting = _noise_setting(sampler, setting)

    def cost(value: float) -> float:
        changed = dataclasses.replace(sampler, **{setting: value})
        price = Price(changed, num_rows, accountant, likelihood_power, chains)
        return price.delta(chains * iterations, epsilon)

    what = f"{iterations} iterations of {type(sampler).__name__}"
    return _least_noise(cost, delta, f"makes {what} cost at most epsilon {epsilon:g}", setting)


def for_budget(
    sampler: Prepared,
    num_rows: int,
    epsilon: float,
    delta: float | None = None,
    accountant: str = "certified",
    chains: int = 1,
) -> Prepared:
    """A sampler that prepares, with the noise for a budget if its settings leave that open.

    The preparation gets all of mu^2 that (epsilon, delta) allows, or the share that is a setting of
    the sampler. In the second case `iterations` says how many steps the rest allows.

    Parameters
    ----------
    sampler
        With `prepare` and `with_preparation_noise`, such as `NoisyStatistics`.
    num_rows, epsilon, delta, accountant, chains
        As for `iterations`.

    Returns
    -------
    sampler

    Raises
    ------
    TypeError, ValueError
        As for `noise_scale`, and if the sampler does not prepare.

    Examples
    --------
    >>> import dpmcmc
    >>> sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), num_rows=5000, epsilon=1)
    >>> sampler.noise_scale
    3.57255
    >>> dpmcmc.epsilon(sampler, num_rows=5000, iterations=1000)
    0.999999
    """
    _require_object(sampler)
    if not getattr(sampler, "prepares", False):
        raise ValueError(f"sampler: {type(sampler).__name__} does not prepare")
    budget = num_rows, epsilon, delta, accountant
    return sampler.with_preparation_noise(preparation_noise(*budget, chains=chains))


def preparation_noise(
    num_rows: int,
    epsilon: float,
    delta: float | None = None,
    accountant: str = "certified",
    chains: int = 1,
) -> float:
    """1 / mu of a preparation that has all of a budget; arguments as for `iterations`."""
    delta = _delta(num_rows, delta)
    _require_number(epsilon, "epsilon: must be a positive number", math.inf)
    _require_count(chains, "chains", 1)
    module = accountant_named(accountant)

    def cost(value: float) -> float:
        return module.delta([(GaussianMechanism(1 / value), chains)], epsilon)

    what = f"makes a preparation cost at most epsilon {epsilon:g}"
    return _least_noise(cost, delta, what, "noise_scale")


def _least_noise(cost: Callable[[float], float], delta: float, what: str, setting: str) -> float:
    """Smallest value of a noise setting whose cost is at most delta."""
    from scipy.optimize import brentq

    cost = cache(cost)

    def excess(log_value: float) -> float:  # of the cost, as a logarithm, which is smooth
        return math.log(max(cost(math.exp(log_value)), 1e-300) / delta)

    low = high = 1.0
    while cost(high) > delta and high < MOST_NOISE:
        low, high = high, 4 * high
    while cost(low) <= delta and low > LEAST_NOISE:
        low, high = low / 4, low
    if cost(high) > delta:
        raise ValueError(f"{setting}: no value up to {MOST_NOISE:g} {what} at delta {delta:g}")
    if cost(low) > delta:
        low = math.exp(brentq(excess, math.log(low), math.log(high), xtol=1e-8))
    value = _up_to_digits(low)
    while cost(value) > delta:  # by what the root was off
        value = _up_to_digits(value * (1 + 10**-DIGITS))
    return value


def _up_to_digits(value: float) -> float:
    """A number of `DIGITS` digits, not below the value."""
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(Decimal(value)))


def _noise_setting(sampler: "Sampler", setting: str | None) -> str:
    """Name of the field of a sampler that is searched."""
    _require_object(sampler)
    name, fields = type(sampler).__name__, [f.name for f in dataclasses.fields(sampler)]
    noisy = [field for field in fields if "noise" in field]
    if setting in fields:
        return setting
    if setting is not None:
        raise ValueError(f"setting: {name} has no field {setting}; it has {', '.join(fields)}")
    if len(noisy) == 1:
        return noisy[0]
    has = f"several noise settings, {', '.join(noisy)}" if noisy else "no noise setting"
    raise ValueError(f"setting: {name} has {has}; name the field that is to be searched")


def _delta(num_rows: int, delta: float | None) -> float:
    """Delta, by default that of the studies."""
    _require_count(num_rows, "num_rows", 1)
    delta = DELTA_TIMES_N / num_rows if delta is None else delta
    _require_number(delta, "delta: must be between 0 and 1", 1)
    return delta


def _require_object(sampler: object) -> None:
    if isinstance(sampler, type):
        name = sampler.__name__
        raise ValueError(f"sampler: must be an object, {name}(...), not the class {name}")


def _require(is_valid: bool, problem: str, value: object) -> None:
    if not is_valid:
        raise ValueError(f"{problem}, not {value}")


def _require_number(value: Any, problem: str, most: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    _require(is_number and 0 < value < most, problem, value if is_number else repr(value))


def _require_count(value: Any, name: str, least: int) -> None:
    is_count = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    _require(is_count, f"{name}: must be a whole number of at least {least}", repr(value))
