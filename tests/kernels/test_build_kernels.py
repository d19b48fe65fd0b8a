"""The library compiled ahead of time: the same bits as at run time, and never a stale one."""

import functools
import math
import subprocess
import sys
from pickle import UnpicklingError

import numba
import numpy as np
import pytest
from conftest import chosen
from numba import njit

from dpmcmc.kernels import build, compiling, library
from dpmcmc.kernels.batches import distinct_indices
from dpmcmc.kernels.blocks import BOX
from dpmcmc.kernels.ratios import BLOCK, EVERY_ROW, sorted_ratio_sum
from dpmcmc.registry import load_file


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The one that is there, which is of these very sources; else one built for the test."""
    if compiling.LIBRARY is not None:
        return compiling.LIBRARY
    path = tmp_path_factory.mktemp("build") / "kernels.so"
    build.build(path)
    return library.load_library(path)


def rows(rng, shape):
    """Statistics with a bad row here and there."""
    statistics = 2 * rng.standard_normal(shape)
    for bad in (math.nan, math.inf, -math.inf, 1e308):
        statistics[rng.integers(shape[0]), rng.integers(shape[1])] = bad
    return statistics


def blocks_of_rows(rng, m, n):
    """Middles, widths, lengths, sums, centre and factor of n blocks."""
    boxed = min(m, 2)
    return (
        3 * rng.standard_normal((boxed, n)),
        rng.random((boxed, n)),
        rng.random(n) if m > boxed else np.zeros(n),
        rng.standard_normal((m + 1, n)),
        rng.standard_normal(m),
        np.eye(m) + 0.1 * rng.standard_normal((m, m)),
    )


def arguments(rng, name, m, n):
    """Arguments of each kernel for m statistics of n rows."""
    if name == "clipped_ratio_block_sum":
        yield from (
            (rows(rng, (m, n)), blocks, length, rng.standard_normal(m), 0.1, b, members)
            for length in (BLOCK, BOX)
            for blocks in (np.arange(-(-n // length)), np.arange(0, -(-n // length), 2))
            for b in (0.0, 1.5, math.inf)
            for members in (EVERY_ROW, rng.random(n) < 0.4)
        )
    elif name == "clipped_batch_sum":
        batch = rng.integers(n, size=2 * n // 3 + 1)
        yield from (
            (rows(rng, (n, m)), batch, rng.standard_normal(m), 0.1, b) for b in (0.0, 1.5, math.inf)
        )
    elif name == "distinct_indices":
        random = rng.integers(2**64, size=n, dtype=np.uint64)
        yield from ((random, num_rows, n) for num_rows in (n, 2 * n, 10**9))
    elif name == "random_mask":
        random = rng.integers(2**64, size=n, dtype=np.uint64)
        yield from ((random, n, wanted) for wanted in (1, n // 3, n - 1, n))
    elif name in ("clipped_gradient_block_sum", "far_gradient_block_sum"):
        blocks = np.arange(0, -(-n // BOX), 2)
        jacobian = rng.standard_normal((m, 4)) * (rng.random((m, 4)) < 0.7)
        offset = rng.standard_normal(4)
        yield from ((rows(rng, (m, n)), blocks, jacobian, offset, b) for b in (0.0, 1.5, math.inf))
    elif name == "sorted_ratio_sum":
        column = np.sort(rng.standard_normal(n))
        sums = np.append(0.0, np.cumsum(column - 0.3))
        yield from ((column, sums, 0.3, a, 0.1, 1.5) for a in (0.8, -0.8, 1e-9, 1e9))
    elif name == "clipped_ratio_excess":
        slope, statistics = rng.standard_normal(m), rng.standard_normal((m, n))
        codes = np.rint(20 * np.clip(statistics, -6, 6)).astype(np.int8)
        yield from (
            (np.ascontiguousarray(statistics.T), codes, n // 3, slope, 0.1, b, slope / 20, -0.1, b)
            for b in (0.1, 2, 99)
        )
    elif name == "resting_block_sum":
        jacobian, offset = rng.standard_normal((m, 4)), rng.standard_normal(4)
        middles, widths, lengths, *others = blocks_of_rows(rng, m, n)
        reaches = 10.0 ** rng.uniform(0, 6, n)
        yield from (
            (middles, widths, lengths, reaches, *others, jacobian, offset, b, 1e5 * b, 1e10 * b)
            for b in (0.0, 9.0, math.inf)
        )
    elif name == "settled_block_sum":
        middles, widths, lengths, *others = blocks_of_rows(rng, m, n)
        reaches, slope = 10.0 ** rng.uniform(0, 6, n), rng.standard_normal(m)
        yield from (
            (middles, widths, lengths, reaches, *others, slope, 0.3, b, 1e5 * b, 1e10 * b)
            for b in (0.0, 9.0, math.inf)
        )
    else:
        raise NotImplementedError(name)


@functools.cache
def compiled(function):
    return njit(**compiling.OPTIONS)(function)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3000), (2, 1025), (10, 3000), (30, 700)])
@pytest.mark.parametrize(
    "function",
    chosen([function for function, _ in compiling.KERNELS], sorted_ratio_sum, distinct_indices),
)
def test_both_builds_give_the_same_bits(built, function, m, n):
    at_run_time = compiled(function)
    ahead = getattr(built, function.__name__)
    for values in arguments(np.random.default_rng(m), function.__name__, m, n):
        one, other = at_run_time(*values), ahead(*values)
        one, other = (x if isinstance(x, tuple) else (x,) for x in (one, other))
        np.testing.assert_array_equal(np.hstack(one), np.hstack(other))


def test_a_library_is_looked_for_by_all_that_it_depends_on(tmp_path, monkeypatch):
    found = library.library_path()
    assert found == library.library_path()
    monkeypatch.setattr(library, "target", lambda: "x86-64-v4")
    assert library.library_path().name != found.name
    monkeypatch.undo()
    for path in library.HERE.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(library, "HERE", tmp_path)
    assert library.library_path().name == found.name
    (tmp_path / "ratios.py").write_text("# changed")
    assert library.library_path().name != found.name


def test_without_a_library_or_a_known_cpu_numba_compiles(tmp_path, monkeypatch):
    assert library.load_library(None) is None
    assert library.load_library(tmp_path / "none.so") is None
    monkeypatch.setattr(library, "target", dict)
    assert library.library_path() is None
    assert "run time" in library.kernel_build()


@pytest.mark.parametrize("file", ["*.nbi", "*.nbc"])
def test_a_cache_of_numba_that_was_cut_short_is_compiled_anew(tmp_path, monkeypatch, file):
    (tmp_path / "few.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    twice = load_file(tmp_path / "few.py").twice
    assert compiling.of_numba(twice)(2.0) == 4.0
    [kept] = (tmp_path / "cache").rglob(file)
    whole = kept.read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 1):
        kept.write_bytes(whole[:length])
        with pytest.raises((EOFError, UnpicklingError)):
            njit(cache=True, **compiling.OPTIONS)(twice)(2.0)
        assert compiling.of_numba(twice)(2.0) == 4.0


@pytest.mark.skipif(compiling.LIBRARY is None, reason="kernels are compiled at run time")
def test_a_chain_starts_without_heavy_libraries():
    heavy = ("numba", "scipy", "pandas", "matplotlib", "jax", "dp_accounting")
    heavy += ("importlib.metadata",)
    code = (
        "import sys; from dpmcmc.likelihoods import target;"
        "from dpmcmc.models import banana; from dpmcmc.samplers import chain, dp_hmc;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
