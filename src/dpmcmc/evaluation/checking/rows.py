"""Checks of a model's functions of rows and of its prior; `posteriors` has the statistical ones."""

import math

import numpy as np

from dpmcmc.evaluation.checking.cases import (
    FEW_ROWS,
    SOME_ROWS,
    row_axis,
    row_gradients,
    row_ratios,
    scale_of,
)
from dpmcmc.evaluation.checking.findings import NotTried, Outcome, at_most, relative
from dpmcmc.likelihoods.target import Target

SMALL_BLOCK = 64  # rows, where a block's size can be chosen
STEPS = 10.0 ** np.arange(-6, -1)  # of finite differences, in units of a scale
ROUNDING = 1e-8  # allowed, relative to the largest value
DIFFERENCES = 1e-5  # likewise, of finite differences
HOSTILE_VALUES = (math.nan, math.inf, -math.inf, 1e300, -1e300, 1e6, -1e6, 0.0)


def data_are_read(case, rng):
    """Data: finite numbers, of the shape data_shape."""
    case.read()
    n = case.configured.num_rows
    used = f", {case.target.num_rows} of them used" if case.target.num_rows < n else ""
    origin = "simulated" if case.given is None else "given"
    return Outcome(f"{n} rows{used}, {origin}", "finite numbers", True)


def ratio_antisymmetric(case, rng):
    """Ratio of a row: r(a, b) = -r(b, a)."""
    rows = case.rows[:SOME_ROWS]
    forth = np.array([row_ratios(case.target, a, b, rows) for a, b in case.pairs])
    back = np.array([row_ratios(case.target, b, a, rows) for a, b in case.pairs])
    return at_most(relative(forth + back, abs(forth).max(axis=1, keepdims=True)), ROUNDING)


def ratio_adds_up(case, rng):
    """Ratio of a row: r(a, b) + r(b, c) = r(a, c)."""
    rows = case.rows[:SOME_ROWS]
    a, b, c, _ = case.thetas
    parts = [row_ratios(case.target, *step, rows) for step in ((a, b), (b, c), (a, c))]
    return at_most(relative(parts[0] + parts[1] - parts[2], abs(np.array(parts)).max()), ROUNDING)


def ratio_is_difference(case, rng):
    """Ratio of a row: the difference of log_likelihood."""
    if not hasattr(case.model, "log_likelihood"):
        raise NotTried("no log_likelihood")
    indices = case.rows[:SOME_ROWS]
    ratios = np.array([row_ratios(case.target, a, b, indices) for a, b in case.pairs])
    rows = np.moveaxis(case.target.data, row_axis(case.model), 0)[indices]
    differences = np.array(
        [
            case.model.log_likelihood(b, rows) - case.model.log_likelihood(a, rows)
            for a, b in case.pairs
        ]
    )
    return at_most(
        relative(ratios - differences, abs(differences).max(axis=1, keepdims=True)), ROUNDING
    )


def gradient_differences(case, rng):
    """Gradient of a row: finite differences of its ratio."""
    rows, errors, sizes = case.rows[:FEW_ROWS], [], []
    for theta in case.thetas[1:]:
        gradients = row_gradients(case.target, theta, rows)
        scale = np.minimum(scale_of(gradients), case.row_scale)  # which is large where they vanish
        found = differences(lambda a, b: row_ratios(case.target, a, b, rows), theta, scale)
        errors.append(least(abs(found - gradients)))
        sizes.append(sizes_of(gradients))
    return worst_component(errors, sizes, DIFFERENCES)


def gradient_of_jax(case, rng):
    """Gradient of a row: JAX's of log_likelihood_row."""
    if not hasattr(case.model, "log_likelihood_row"):
        raise NotTried("no log_likelihood_row")
    try:
        from dpmcmc.likelihoods.jax import JaxLikelihood, jax
    except ModuleNotFoundError as error:
        raise NotTried(error) from None
    if isinstance(case.target.likelihood, JaxLikelihood):
        raise NotTried("the gradient is JAX's own")
    indices, errors, sizes = case.rows[:FEW_ROWS], [], []
    rows = np.moveaxis(case.target.data, row_axis(case.model), 0)[indices]
    by_jax = jax.vmap(jax.grad(case.model.log_likelihood_row), (None, 0))
    for theta in case.thetas:
        expected = np.asarray(by_jax(theta, rows))
        errors.append(abs(row_gradients(case.target, theta, indices) - expected))
        sizes.append(sizes_of(expected))
    return worst_component(errors, sizes, ROUNDING)


def differences(ratio, theta, scale):
    """Central differences of a log-ratio (a, b) at theta, (h, ..., d), by steps of h sizes."""

    def difference(step):
        return ratio(theta - step, theta + step) / (2 * step.max())

    return np.array([np.stack([difference(s) for s in np.diag(h * scale)], axis=-1) for h in STEPS])


def least(errors):
    """Least error over the steps, the first axis, where it is a number at all."""
    return np.where(np.isnan(errors), math.inf, errors).min(axis=0)


def sizes_of(gradients):
    """Scale for errors of gradients (k, d), (1, d); rounding errors of 0 are small against it."""
    return (abs(gradients).max(axis=0) + 1e-3 / scale_of(gradients))[None]


def worst_component(errors, sizes, allowed):
    """Outcome of errors (..., d) relative to sizes, of the component where they are largest."""
    pairs = zip(np.moveaxis(errors, -1, 0), np.moveaxis(sizes, -1, 0), strict=True)
    found = [relative(*pair) for pair in pairs]
    j = int(np.argmax(found))  # of a NaN, if there is one
    return at_most(found[j], allowed, where=f" (theta[{j}])")


def ratio_sums(case, rng):
    """Clipped ratios: a batch or block sums as its rows alone."""
    target, (a, b) = in_small_blocks(case), case.pairs[2]
    ratios = row_ratios(target, a, b, case.rows)
    bound = between(abs(ratios))
    clipped, of_rows = np.clip(ratios, -bound, bound), (abs(ratios) > bound).sum()
    expected = np.array([clipped.sum(), (clipped**2).sum(), of_rows])
    sums = [target.clipped_batch_ratio(a, b, bound, batch) for batch in batches(case)]
    if len(ratios) == target.num_rows:
        total, count = target.clipped_log_likelihood_ratio(a, b, bound)
        sums.append((total, expected[1], count))
    sizes = [abs(clipped).sum(), expected[1], len(ratios)]
    remark = f" ({of_rows / len(ratios):.0%} clipped)"
    return at_most(relative(np.array(sums) - expected, sizes), ROUNDING, where=remark)


def gradient_sums(case, rng):
    """Clipped gradients: a batch or block sums as its rows alone."""
    target, theta = in_small_blocks(case), case.thetas[2]
    gradients = row_gradients(target, theta, case.rows)
    norms = np.linalg.norm(gradients, axis=1)
    bound = between(norms)
    clipped = gradients * np.minimum(1, bound / np.maximum(norms, bound))[:, None]
    of_rows, size = (norms > bound).sum(), np.minimum(norms, bound).sum()
    sums = [target.clipped_batch_gradient(theta, bound, batch) for batch in batches(case)]
    if len(norms) == target.num_rows:
        sums.append(target.clipped_gradient(theta, bound))
    errors = [np.append(total - clipped.sum(axis=0), count - of_rows) for total, count in sums]
    sizes = [*[size] * len(theta), len(norms)]
    remark = f" ({of_rows / len(norms):.0%} clipped)"
    return at_most(relative(errors, sizes), ROUNDING, where=remark)


def in_small_blocks(case):
    """The target, which reads small blocks where the size of a block can be chosen."""
    target = Target(case.model, case.target.data)
    if hasattr(target.likelihood, "block"):
        target.likelihood.block = SMALL_BLOCK
    return target


def batches(case):
    """The case's rows as indices and as a mask."""
    yield case.rows
    yield np.isin(np.arange(case.target.num_rows), case.rows)


def between(values):
    """A bound that about half of the values exceed, and none is near."""
    ordered = np.sort(values)
    middle = ordered[len(ordered) // 4 : 3 * len(ordered) // 4 + 1]
    gaps = np.diff(middle)
    if gaps.size and gaps.max() > 1e-6 * middle[-1]:
        i = gaps.argmax()
        return (middle[i] + middle[i + 1]) / 2
    return 0.7 * middle[-1] or 1.0


def ratio_of_a_substituted_row(case, rng):
    """Clipped ratios: what one other row changes in their sum."""
    a, b = case.pairs[2]
    bound = between(abs(row_ratios(case.target, a, b, case.rows[:SOME_ROWS])))
    total, _ = case.target.clipped_log_likelihood_ratio(a, b, bound)
    moved = [
        abs(target.clipped_log_likelihood_ratio(a, b, bound)[0] - total) / bound
        for target in substituted(case, rng)
    ]
    return at_most(np.max(moved), 2 + ROUNDING, " x bound")


def gradient_of_a_substituted_row(case, rng):
    """Clipped gradients: what one other row changes in their sum."""
    theta = case.thetas[2]
    bound = between(
        np.linalg.norm(row_gradients(case.target, theta, case.rows[:SOME_ROWS]), axis=1)
    )
    total, _ = case.target.clipped_gradient(theta, bound)
    moved = [
        np.linalg.norm(target.clipped_gradient(theta, bound)[0] - total) / bound
        for target in substituted(case, rng)
    ]
    return at_most(np.max(moved), 2 + ROUNDING, " x bound")


def substituted(case, rng):
    """The target with one of its rows another: far, extreme, not finite."""
    for value in HOSTILE_VALUES:
        data = np.array(case.target.data)
        np.moveaxis(data, row_axis(case.model), 0)[rng.integers(case.target.num_rows)] = value
        yield Target(case.model, data, "clip")


def rows_not_finite(case, rng):
    """Rows not finite or huge: a batch sums as its rows alone."""
    data, axis = np.array(case.target.data), row_axis(case.model)
    rows, finite = np.moveaxis(data, axis, 0), np.moveaxis(case.target.data, axis, 0)
    chosen = case.rows[:SOME_ROWS]
    poisoned = chosen[: min(10, len(chosen) // 2)]
    for row, value in zip(poisoned, np.resize(HOSTILE_VALUES[:5], len(poisoned)), strict=True):
        rows[row] = value
    for row in poisoned[5:]:  # of these one entry only
        rows[row, 1:] = finite[row, 1:]
    target, (a, b) = Target(case.model, data, "clip"), case.pairs[2]
    bound = between(abs(row_ratios(case.target, a, b, chosen)))
    norm_bound = between(np.linalg.norm(row_gradients(case.target, a, chosen), axis=1))
    together = [
        *target.clipped_batch_ratio(a, b, bound, chosen),
        *np.hstack(target.clipped_batch_gradient(a, norm_bound, chosen)),
    ]
    alone = [
        [
            *target.clipped_batch_ratio(a, b, bound, row),
            *np.hstack(target.clipped_batch_gradient(a, norm_bound, row)),
        ]
        for row in chosen[:, None]
    ]
    sizes = len(chosen) * np.array([bound, bound**2, 1, *[norm_bound] * len(a), 1])
    error = relative(np.array(together) - np.sum(alone, axis=0), sizes)
    return at_most(error, ROUNDING, where=f" ({len(poisoned)} such rows of {len(chosen)})")


def prior_antisymmetric(case, rng):
    """Prior ratio: r(a, b) = -r(b, a)."""
    ratio = case.model.log_prior_ratio
    forth = np.array([ratio(a, b) for a, b in case.pairs])
    back = np.array([ratio(b, a) for a, b in case.pairs])
    return at_most(relative(forth + back, abs(forth).max()), ROUNDING)


def prior_adds_up(case, rng):
    """Prior ratio: r(a, b) + r(b, c) = r(a, c)."""
    ratio, (a, b, c, _) = case.model.log_prior_ratio, case.thetas
    parts = np.array([ratio(a, b), ratio(b, c), ratio(a, c)])
    return at_most(relative(parts[0] + parts[1] - parts[2], abs(parts).max()), ROUNDING)


def prior_gradient(case, rng):
    """Prior gradient: finite differences of its ratio."""
    model, thetas = case.model, case.thetas
    gradients = np.array([model.grad_log_prior(theta) for theta in thetas], dtype=float)
    if gradients.shape != thetas.shape:
        expected, found = thetas.shape[1:], gradients.shape[1:]
        raise ValueError(f"grad_log_prior: must return an array of shape {expected}, not {found}")
    found = np.stack(
        [differences(model.log_prior_ratio, theta, case.row_scale) for theta in thetas], axis=1
    )
    sizes = np.maximum(abs(gradients), abs(found).max(axis=0)).max(axis=0, keepdims=True)
    return worst_component(least(abs(found - gradients)), sizes, DIFFERENCES)
