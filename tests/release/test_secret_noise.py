"""Secret streams, and noise that floating point does not give away."""

import copy
import math
import os
import pickle
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpmcmc.release.noise import DiscreteGaussian, rounded_up
from dpmcmc.release.streams import (
    CELLS,
    SLACK,
    Allowance,
    SecretStreams,
    log_ratio_of_densities,
    most_draws,
    secret_generator,
    widening,
)
from dpmcmc.samplers.batches import draw_batch, without_replacement
from dpmcmc.samplers.streams import Streams

# Of statistical tests: the noise is secret, so it cannot be the same each time.
FALSE_ALARM = 1e-7


def streams(num_rows=1000, least_noise=0.5, chains=1, mu_squared=1e9, **allowed):
    return SecretStreams(num_rows, Allowance(least_noise, mu_squared, **allowed), chains)


# -- Random numbers --------------------------------------------------------------------------------


def chacha20(key, counter):
    """A block of 64 bytes of ChaCha20 (Bernstein 2008), with a counter of 128 bits."""
    constants = np.frombuffer(b"expand 32-byte k", np.uint32)
    words = [*constants, *np.frombuffer(key, np.uint32)]
    words += [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    start = [int(word) for word in words]
    x = list(start)

    def quarter(a, b, c, d):
        for target, source, mixed, bits in (
            (a, b, d, 16),
            (c, d, b, 12),
            (a, b, d, 8),
            (c, d, b, 7),
        ):
            x[target] = (x[target] + x[source]) & 0xFFFFFFFF
            y = x[mixed] ^ x[target]
            x[mixed] = (y << bits | y >> 32 - bits) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join(
        ((u + v) & 0xFFFFFFFF).to_bytes(4, "little") for u, v in zip(x, start, strict=True)
    )


def test_our_chacha20_is_that_of_the_standard():
    """RFC 8439, section 2.3.2: there the last 96 bits of the counter are a nonce."""
    nonce = int.from_bytes(bytes.fromhex("000000090000004a00000000"), "little")
    block = chacha20(bytes(range(32)), 1 | nonce << 32)
    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4")


def test_generators_are_chacha20_with_a_key_of_the_system(monkeypatch):
    keys = []

    def urandom(size):
        keys.append(bytes(range(len(keys), len(keys) + size)))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    words = secret_generator().bit_generator.random_raw(64)
    assert len(keys[0]) == 32
    assert words.astype("<u8").tobytes() == b"".join(chacha20(keys[0], i) for i in range(8))


def test_no_two_streams_are_alike():
    several = [streams() for _ in range(4)]
    firsts = {generator.bit_generator.random_raw() for rng in several for generator in rng}
    assert len(firsts) == 12
    assert len({rng.add_noise(0.0, 1.0, 1.0) for rng in several}) == 4


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, pickle.dumps, lambda rng: rng._replace(noise=None)]
)
def test_streams_cannot_be_copied(copied):
    with pytest.raises(TypeError, match="cannot be copied"):
        copied(streams())


FORK = """
import os
from dpmcmc.release.streams import Allowance, SecretStreams
rng = SecretStreams(10, Allowance(0.5, 1.0))
if not os.fork():
    for call in (lambda: rng.add_noise(0.0, 1.0, 1.0), lambda: rng.batch(None, 2, 1)):
        try:
            call()
        except RuntimeError as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_fork_has_no_noise_and_no_batch():
    """In a process of its own, as threads of libraries do not bear one."""
    forked = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    assert forked.stdout == 2 * "secret streams are of the process that made them\n"


# -- Noise -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def draws():
    return DiscreteGaussian().draw(2.0**20, 40_000) / 2.0**20


def test_noise_is_normal(draws):
    n = len(draws)
    assert abs(draws.mean()) < 5.5 / math.sqrt(n)
    assert abs(draws.var() - 1) < 5.5 * math.sqrt(2 / n)
    assert abs((draws**4).mean() - 3) < 5.5 * math.sqrt(96 / n)
    cells = np.searchsorted(stats.norm.ppf(np.arange(1, 40) / 40), draws)
    assert stats.chisquare(np.bincount(cells, minlength=40)).pvalue > FALSE_ALARM
    assert stats.kstest(draws, "norm").pvalue > FALSE_ALARM


def test_noise_a_tenth_less_would_be_seen(draws):
    """By its variance, and by a bound of mu from the best test of two neighbours."""
    n = len(draws)
    assert abs((0.9 * draws).var() - 1) > 15 * math.sqrt(2 / n)
    zero, one = (DiscreteGaussian().draw(2.0**20, 200_000) / 2.0**20 for _ in range(2))
    bounds = {scale: least_mu(scale * zero, 1 + scale * one) for scale in (1.0, 0.9)}
    assert bounds[1.0] <= 1.0 < bounds[0.9]


def least_mu(zero, one):
    """Bound from below of mu, of draws at a statistic 0 and at its sensitivity 1."""
    n, alarms, missed = len(zero), (zero > 0.5).sum(), (one <= 0.5).sum()
    false_alarms = stats.beta.ppf(1 - FALSE_ALARM, alarms + 1, n - alarms)
    misses = stats.beta.ppf(1 - FALSE_ALARM, missed + 1, n - missed)
    return -stats.norm.ppf(false_alarms) - stats.norm.ppf(misses)


def test_small_scales_have_the_probabilities_of_the_discrete_gaussian():
    scale, n = 1.5, 20_000
    numbers = np.arange(-30, 31)
    weights = np.exp(-(numbers**2) / (2 * scale**2))
    found = np.bincount(DiscreteGaussian().draw(scale, n) + 30, minlength=61)
    expected = n * weights / weights.sum()
    usual = expected > 5
    chi_squared = ((found - expected) ** 2 / expected)[usual].sum()
    assert stats.chi2.sf(chi_squared, usual.sum()) > FALSE_ALARM


def test_draws_are_used_once_and_scales_are_apart(monkeypatch):
    from dpmcmc.release import noise

    asked = []

    def counted(scale, size):
        asked.append((scale, size))
        return np.arange(size) + 1000 * len(asked)

    monkeypatch.setattr(noise, "sample", counted)
    source = DiscreteGaussian()
    drawn = [source.draw(8.0, 3).tolist() for _ in range(4)]
    assert drawn[0] == [1000, 1001, 1002] and drawn[1:3] == [[2000, 2001, 2002], [2003, 2004, 2005]]
    assert source.draw(8.0 * (1 - 1e-15), 1).tolist() == [2009]  # as rounding makes it
    assert source.draw(9.0, 2).tolist() == [3000, 3001]
    assert asked == [(8.0, 3), (8.0, 1000), (9.0, 2)]


@pytest.mark.parametrize("scale", [0.5, 2.0**57, math.nan, math.inf])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(ArithmeticError, match="scale of the noise"):
        DiscreteGaussian().draw(scale, 1)


def test_scales_are_rounded_up():
    scales = np.random.default_rng(1).uniform(1, 1e15, 1000)
    rounded = np.array([rounded_up(scale) for scale in scales])
    assert (rounded >= scales).all() and (rounded <= scales * (1 + 2.0**-31)).all()


# -- The release of a statistic --------------------------------------------------------------------


def test_what_is_released_is_the_statistic_with_that_noise():
    rng, n = streams(), 4000
    scalars = np.array([rng.add_noise(3.0, 0.5, 2.0) for _ in range(n)])
    arrays = np.array([rng.add_noise(np.array([1.0, -2.0]), 0.5, 2.0) for _ in range(n)])
    for values, mean in ((scalars, 3.0), (arrays[:, 0], 1.0), (arrays[:, 1], -2.0)):
        assert abs(values.mean() - mean) < 5.5 * 2 / math.sqrt(n)
        assert abs(values.std() / 2 - 1) < 5.5 / math.sqrt(2 * n)
    assert isinstance(rng.add_noise(3.0, 0.5, 2.0), float)
    assert arrays.shape == (n, 2)


def test_it_is_a_whole_number_of_cells():
    rng = streams()
    for sensitivity in (1.0, 0.3, 1e-30):
        values = np.array([rng.add_noise(0.123, sensitivity, sensitivity) for _ in range(50)])
        cells = values / (sensitivity / CELLS)
        assert np.allclose(cells, np.rint(cells), rtol=1e-15, atol=1e-6)


def low_bits(values):
    """Whether each value is a multiple of 2^-53: what a sum of floats near 1 is."""
    return np.ldexp(values, 53) == np.rint(np.ldexp(values, 53))


def test_low_bits_tell_nothing():
    """Mironov's attack: small results of floats show by their last digits what was added to."""
    n = 20_000
    seeded = Streams(*(np.random.default_rng(i) for i in range(3)))
    shares = {}
    for name, rng in (("floats", seeded), ("cells", streams())):
        for statistic in (0.0, 1.0):
            values = np.array([rng.add_noise(statistic, 1.0, 1.0) for _ in range(n)])
            shares[name, statistic] = low_bits(values[abs(values) < 0.25]).mean()
    assert shares["floats", 1.0] == 1.0 and shares["floats", 0.0] < 0.5
    assert shares["cells", 1.0] == shares["cells", 0.0] == 1.0


def test_the_parity_of_a_result_is_that_of_the_noise():
    rng, n = streams(), 8000
    for statistic in (0.0, 1.0 / CELLS, 0.7):
        cells = np.array([rng.add_noise(statistic, 1.0, 1.0) for _ in range(n)]) * CELLS
        assert abs((cells % 2).mean() - 0.5) < 5.5 * 0.5 / math.sqrt(n)


@pytest.mark.parametrize("statistic", [math.nan, -math.inf])
def test_what_is_no_number_is_far_below(statistic):
    """So a proposal with it is rejected."""
    assert streams().add_noise(statistic, 1.0, 1.0) < -(2.0**26)
    assert streams().add_noise(math.inf, 1.0, 1.0) > 2.0**26


def test_without_a_sensitivity_or_noise_nothing_is_shown():
    rng = streams()
    for pair in (
        (0.0, 0.0),
        (math.inf, math.inf),
        (1.0, math.nan),
        (math.nan, 1.0),
        (1e-320, 1e-320),
    ):
        assert math.isnan(rng.add_noise(0.25, *pair))
    assert np.isnan(rng.add_noise(np.ones(2), math.inf, math.inf)).all()


def test_less_noise_than_is_declared_is_refused():
    rng = streams(least_noise=2.0)
    rng.add_noise(0.0, 1.0, 2.0)
    with pytest.raises(ArithmeticError, match="less noise than was declared"):
        rng.add_noise(0.0, 1.0, 1.99)
    with pytest.raises(ValueError, match="sd: must be one number"):
        rng.add_noise(np.zeros(2), 1.0, [2.0, 2.0])


def test_releases_of_all_rows_add_up_whatever_their_noise():
    rng = streams(least_noise=1.0, mu_squared=1.0)
    for sd in (2.0, 4.0, 2.0, 4.0, 4.0, 4.0):  # 2 / 4 + 4 / 16: three quarters
        rng.add_noise(0.0, 1.0, sd)
    assert math.isnan(rng.add_noise(0.0, 0.0, 0.0))  # which shows nothing
    rng.add_noise(np.zeros(3), 1.0, 2.0)  # the rest
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="more would be released than was declared"):
            rng.add_noise(0.0, 1.0, 1e4)
    rng = streams(least_noise=1.0, mu_squared=1.0)
    for _ in range(3_000):  # rounded to a number slightly above
        rng.add_noise(0.0, 3e-5, 3e-5 * math.sqrt(3_000))
    assert rng._mu_squared == pytest.approx(1.0, rel=1e-14)


def of_batches(each=2):
    batches = [(1.0, each), (math.sqrt(2), 4 - each)]
    return streams(50, least_noise=1.0, mu_squared=0.0, batches=batches, batch_size=5)


def test_releases_of_batches_are_counted_and_their_noise_grows():
    rng = of_batches()
    for sd in (1.0, 1.0, math.sqrt(2), math.sqrt(2)):
        draw_batch(rng, 50, 5)
        rng.add_noise(0.0, 1.0, sd)
    draw_batch(rng, 50, 5)
    with pytest.raises(ArithmeticError, match="the number of batches is 5, not 4"):
        rng.add_noise(0.0, 1.0, 9.0)
    rng = of_batches(each=1)
    for sd in (1.0, 1.4):
        draw_batch(rng, 50, 5)
        if sd == 1.0:
            rng.add_noise(0.0, 1.0, sd)
    with pytest.raises(ArithmeticError, match=r"its sd is 1.4 times its sensitivity, not 1.41421"):
        rng.add_noise(0.0, 1.0, 1.4)


@pytest.mark.parametrize("drawn", [0, 2])
def test_each_release_of_a_batch_has_one_of_its_own(drawn):
    rng = of_batches()
    draw_batch(rng, 50, 5)
    rng.add_noise(0.0, 1.0, 1.0)
    for _ in range(drawn):
        draw_batch(rng, 50, 5)
    with pytest.raises(ArithmeticError, match="more than one batch" if drawn else "more would be"):
        rng.add_noise(0.0, 1.0, 2.0)


@pytest.mark.parametrize(
    "batch", [(without_replacement, 50, 6), (without_replacement, 49, 5), (lambda *_: [1], 50, 5)]
)
def test_batches_are_as_declared(batch):
    with pytest.raises(ArithmeticError, match="of all 50 rows, and have at most 5 of them"):
        of_batches().batch(*batch)


def test_no_more_is_drawn_than_the_slack_allows():
    h = log_ratio_of_densities(1.0)
    assert 2 * most_draws(1.0) * h <= SLACK < 2 * (most_draws(1.0) + 1) * h
    rng = streams(least_noise=1e-5, chains=2)
    assert rng._draws_left == most_draws(1e-5) // 2
    rng._draws_left = 1
    rng.add_noise(0.0, 1.0, 1.0)
    with pytest.raises(ArithmeticError, match="than were priced"):
        rng.add_noise(0.0, 1.0, 1.0)


def test_noise_is_wider_by_what_rounding_may_add(monkeypatch):
    assert widening(12_289, 3) == pytest.approx(1.011e-6, rel=1e-3)
    assert widening(10**7, 1) > 4e-5
    sizes = [widening(n, d) for n, d in ((10, 1), (10, 9), (10**6, 9))]
    assert sizes == sorted(sizes)
    scales = []

    def draw(_, scale, size):
        scales.append(scale)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(DiscreteGaussian, "draw", draw)
    streams(num_rows=10**7).add_noise(np.zeros(3), 0.5, 1.0)
    assert scales == [2 * CELLS * (1 + widening(10**7, 3))]


# -- The theorem -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [3, 30, 1000])
def test_the_discrete_gaussian_is_a_rounded_normal_but_for_h(scale):
    """Within 40 standard deviations, to 60 digits."""
    with mpmath.workdps(60):
        h = mpmath.mpf(1600) / (24 * scale**2) + 3 * mpmath.exp(-2 * mpmath.pi**2 * scale**2)
        total = mpmath.sqrt(2 * mpmath.pi) * scale  # by Poisson summation
        total *= 1 + 2 * mpmath.exp(-2 * mpmath.pi**2 * scale**2)
        largest = 0
        for k in {0, 1, scale, 7 * scale, 20 * scale, 40 * scale}:
            k = mpmath.mpf(k)
            discrete = mpmath.exp(-(k**2) / (2 * scale**2)) / total
            rounded = normal_mass(k, scale)
            largest = max(largest, abs(mpmath.log(rounded / discrete)))
        assert 0 < largest <= h
    assert h == pytest.approx(log_ratio_of_densities(scale / CELLS), rel=1e-6)


def normal_mass(k, scale):
    """Probability that a normal number is rounded to k >= 0, without cancellation."""
    root = mpmath.sqrt(2) * scale
    return (mpmath.erfc((k - 0.5) / root) - mpmath.erfc((k + 0.5) / root)) / 2


def test_three_draws_cost_no_more_than_the_theorem_says_and_hardly_less():
    """By brute force over all results: the hockey-stick curve of two neighbours.

    The loss of three draws depends on their sum alone, whose distribution is a convolution.
    """
    from dpmcmc.accounting.joint import gaussian_delta

    scale, move, m = 100, 100, 3
    k = np.arange(-40 * scale, 40 * scale + 1)
    weights = np.exp(-(k**2) / (2 * scale**2))
    one = weights / weights.sum()
    p = np.convolve(np.convolve(one, one), one)
    total = np.arange(m * k[0], m * k[-1] + 1)
    loss = (m * move**2 - 2 * total * move) / (2 * scale**2)  # ln P(k) / Q(k), P about 0
    h = log_ratio_of_densities(scale / CELLS)
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        inside = loss > epsilon
        delta = (p[inside] * -np.expm1(epsilon - loss[inside])).sum()
        ideal = gaussian_delta(move / scale * math.sqrt(m), epsilon - 2 * m * h)
        assert delta <= math.exp(m * h) * ideal <= 1.15 * delta
