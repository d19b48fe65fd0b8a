"""Faults that the tests have to see: `python tests/mutants.py`, part of `make test-slow`.

Each one is put into a copy of the source, on which the tests of its kind run until one fails. The
table says which were caught; exit status 1 means that one was missed. With names as arguments only
these; `--tree` runs the tests of another checkout on the same faults in its own source.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Mutant(NamedTuple):
    """A fault: what becomes of which text of a file, and where it should be seen."""

    name: str
    file: str  # below src
    old: str
    new: str
    tests: str  # files below tests, until one fails

    def apply(self, source):
        """Put the fault into a copy of the source; its text must be there once."""
        path = source / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.name}: {self.file} has {text.count(self.old)} x {self.old!r}")
        path.write_text(text.replace(self.old, self.new))


SAMPLERS = "samplers/test_samplers.py"
MINIBATCH = "samplers/test_minibatch.py samplers/test_batch_variance.py"
GRADIENTS = "samplers/test_stochastic_gradients.py samplers/test_sghmc.py"
ACCOUNTING = "accounting/test_accounting.py"
CERTIFIED = "accounting/test_certified.py accounting/test_privacy_loss.py"
RATIOS = "kernels/test_kernels.py likelihoods/test_ratio_sums.py likelihoods/test_hostile_data.py"
SUMS = "likelihoods/test_gradient_sums.py likelihoods/test_ratio_sums.py"
METRICS = "evaluation/test_metrics.py"
SCORES = "evaluation/test_scores.py"
STUDY = "study/test_study.py study/test_streams.py"
SECRET = "release/test_secret_noise.py"

MUTANTS = [
    # -- Samplers
    Mutant(
        "penalty: noise for a sensitivity of B in place of 2 B",
        "dpmcmc/samplers/dp_penalty.py",
        "sigma = 2 * self.noise_scale",
        "sigma = self.noise_scale",
        SAMPLERS,
    ),
    Mutant(
        "penalty: sigma^2 in place of sigma^2 / 2",
        "dpmcmc/samplers/dp_penalty.py",
        "(T * sigma) * (T * sigma) / 2",
        "(T * sigma) * (T * sigma)",
        SAMPLERS,
    ),
    Mutant(
        "penalty: a power that raises where it overflows",
        "dpmcmc/samplers/dp_penalty.py",
        "(T * sigma) * (T * sigma) / 2",
        "(T * sigma) ** 2 / 2",
        "samplers/test_overflow.py",
    ),
    Mutant(
        "DP HMC: the penalty is not tempered",
        "dpmcmc/samplers/dp_hmc.py",
        "(T * sigma) * (T * sigma) / 2",
        "sigma * sigma / 2",
        SAMPLERS,
    ),
    Mutant(
        "DP HMC: L gradients are charged, not L + 1",
        "dpmcmc/samplers/dp_hmc.py",
        "(self.num_integration_steps + 1)",
        "self.num_integration_steps",
        SAMPLERS,
    ),
    Mutant(
        "HMC: the likelihood's gradient is tempered twice",
        "dpmcmc/samplers/hmc.py",
        "return T * total +",
        "return T * T * total +",
        SAMPLERS,
    ),
    Mutant(
        "HMC: momenta of the inverse mass",
        "dpmcmc/samplers/hmc.py",
        "standard_normal(dimension) / np.sqrt(",
        "standard_normal(dimension) * np.sqrt(",
        SAMPLERS,
    ),
    Mutant(
        "guided walk: the direction is not flipped",
        "dpmcmc/samplers/moves.py",
        "flipped[j] = -flipped[j]",
        "flipped[j] = +flipped[j]",
        SAMPLERS,
    ),
    Mutant(
        "batches: the ratio is not scaled by n / b",
        "dpmcmc/samplers/batch_ratios.py",
        "a = target.num_rows * target.likelihood_power / batch_size",
        "a = target.likelihood_power",
        MINIBATCH,
    ),
    Mutant(
        "batches: drawn without replacement, priced with",
        "dpmcmc/samplers/batches.py",
        "return (1 - sampling_probability(batch_size, num_rows)) * batch_size",
        "return batch_size",
        MINIBATCH,
    ),
    Mutant(
        "minibatch penalty: all of the batch's variance comes off, not half",
        "dpmcmc/samplers/minibatch_dp_penalty.py",
        "log_ratio - variance / 2",
        "log_ratio - variance",
        MINIBATCH,
    ),
    Mutant(
        "DP Barker: the noise is not less by the batch's variance",
        "dpmcmc/samplers/dp_barker.py",
        "noise_sd = math.sqrt(NOISE_VARIANCE - variance)",
        "noise_sd = math.sqrt(NOISE_VARIANCE)",
        MINIBATCH,
    ),
    Mutant(
        "minibatch Barker: the noise is not less by the batch's variance",
        "dpmcmc/samplers/minibatch_barker.py",
        "math.sqrt(max(0.0, NOISE_VARIANCE - variance))",
        "math.sqrt(NOISE_VARIANCE)",
        "samplers/test_minibatch_barker.py",
    ),
    Mutant(
        "Barker's correction: tails of another distribution",
        "dpmcmc/samplers/barker_correction.py",
        "allowed = np.minimum(1.0, TAIL_WEIGHT * expit(x))",
        "allowed = np.ones_like(x)",
        MINIBATCH,
    ),
    Mutant(
        "gradients: a sensitivity of L in place of 2 L",
        "dpmcmc/samplers/batch_gradients.py",
        "step * scale * 2 * bound",
        "step * scale * bound",
        GRADIENTS,
    ),
    Mutant(
        "gradients: no n / b in the sum over a batch",
        "dpmcmc/samplers/batch_gradients.py",
        "grad_log_prior(theta) + scale * G",
        "grad_log_prior(theta) + target.likelihood_power * G",
        GRADIENTS,
    ),
    Mutant(
        "DP-SGLD: half the temperature",
        "dpmcmc/samplers/dp_sgld.py",
        "math.sqrt(self.temperature * self.step_size)",
        "math.sqrt(self.temperature * self.step_size / 2)",
        GRADIENTS,
    ),
    Mutant(
        "DP-SGNHT: the thermostat keeps |p|^2 at 1, not d",
        "dpmcmc/samplers/dp_sgnht.py",
        "(p @ p / theta.size - 1)",
        "(p @ p - 1)",
        GRADIENTS,
    ),
    Mutant(
        "SGHMC: momenta are not drawn afresh",
        "dpmcmc/samplers/sghmc.py",
        "p = draw_momentum(rng, theta.size, inverse_mass)",
        "p = np.zeros(theta.size)",
        GRADIENTS,
    ),
    Mutant(
        "SGHMC: noise for all of the friction, whatever the gradients' error",
        "dpmcmc/samplers/sghmc.py",
        "2 * (self.friction - self.gradient_error)",
        "2 * self.friction",
        GRADIENTS,
    ),
    Mutant(
        "SGHMC: steps do not get shorter",
        "dpmcmc/samplers/sghmc.py",
        "State(theta, t + 1)",
        "State(theta, t)",
        GRADIENTS,
    ),
    Mutant(
        "chain: of a stretch the first position is kept",
        "dpmcmc/samplers/chain.py",
        "if (i + 1) % thinning == 0:",
        "if i % thinning == 0 and i // thinning < len(positions):",
        SAMPLERS,
    ),
    # -- Accountants
    Mutant(
        "Gaussian: mu grows with k in place of sqrt(k)",
        "dpmcmc/accounting/gaussian.py",
        "mechanism.mu * math.sqrt(count)",
        "mechanism.mu * count",
        ACCOUNTING,
    ),
    Mutant(
        "Gaussian: digits of a small mu are lost",
        "dpmcmc/accounting/gaussian.py",
        "MIDPOINT_MU = 1e-4",
        "MIDPOINT_MU = 0.0",
        ACCOUNTING,
    ),
    Mutant(
        "epsilon is rounded down",
        "dpmcmc/accounting/search.py",
        "ROUND_CEILING))",
        "'ROUND_FLOOR'))",
        ACCOUNTING,
    ),
    Mutant(
        "Renyi: the classic conversion with alpha in place of alpha - 1",
        "dpmcmc/accounting/amplification.py",
        "exponent = (orders - 1) * (",
        "exponent = orders * (",
        ACCOUNTING,
    ),
    Mutant(
        "certified: a row of DP Barker cannot change the variance",
        "dpmcmc/accounting/certified.py",
        "[(least, least), (least + change, least), (least, least + change)]",
        "[(least, least)]",
        CERTIFIED,
    ),
    Mutant(
        "certified: losses below 0, of the other direction, are left out",
        "dpmcmc/accounting/certified.py",
        "np.concatenate([mirrored, [max(0.0, remainder)], probabilities])",
        "np.concatenate([0 * mirrored, [remainder + mirrored.sum()], probabilities])",
        CERTIFIED,
    ),
    Mutant(
        "certified: the margin comes off delta",
        "dpmcmc/accounting/certified.py",
        "computed / (1 - MARGIN)",
        "computed * (1 - MARGIN)",
        CERTIFIED,
    ),
    Mutant(
        "certified: a margin of half of delta",
        "dpmcmc/accounting/certified.py",
        "MARGIN = 1e-3",
        "MARGIN = 0.5",
        CERTIFIED,
    ),
    Mutant(
        "composition: rounding of the transforms is not added",
        "dpmcmc/accounting/privacy_loss.py",
        "@ weights + self.error * weights.sum()",
        "@ weights",
        CERTIFIED,
    ),
    Mutant(
        "growing noise: a kind has the most noise of its members",
        "dpmcmc/accounting/releases.py",
        "kinds[-1] = kinds[-1][0], kinds[-1][1] + count",
        "kinds[-1] = mechanism, kinds[-1][1] + count",
        "accounting/test_releases.py",
    ),
    # -- Sums over rows
    Mutant(
        "ratios are clipped from above only",
        "dpmcmc/kernels/ratios.py",
        """            ratio = min(max(ratio, -bound), bound)
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
        num_clipped""",
        """            ratio = min(ratio, bound)
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
        num_clipped""",
        RATIOS,
    ),
    Mutant(
        "a ratio that is no number passes",
        "dpmcmc/kernels/ratios.py",
        """            ratio = ratio if ratio == ratio else 0.0
            ratio = min(max(ratio, -bound), bound)
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
        num_clipped""",
        """            ratio = bound if ratio > bound else -bound if ratio < -bound else ratio
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
        num_clipped""",
        RATIOS,
    ),
    Mutant(
        "the last block counts as a whole one",
        "dpmcmc/likelihoods/blocks.py",
        "append=len(lengths))",
        "append=starts[-1] + BOX)",
        SUMS,
    ),
    Mutant(
        "prefix sums lose the digits of small differences",
        "dpmcmc/likelihoods/ratio_sums.py",
        "cumsum(dtype=np.longdouble)",
        "cumsum()",
        SUMS,
    ),
    Mutant(
        "far rows move the centre of coordinates",
        "dpmcmc/likelihoods/blocks.py",
        "np.where((low <= mean) & (mean <= high), mean, median)",
        "mean",
        f"likelihoods/test_hostile_data.py {SUMS}",
    ),
    Mutant(
        "the unclipped log density ratio is not tempered",
        "dpmcmc/likelihoods/target.py",
        "return self.likelihood_power * log_likelihood_ratio + prior",
        "return log_likelihood_ratio + prior",
        f"likelihoods/test_target.py {SAMPLERS}",
    ),
    # -- Metrics
    Mutant(
        "MMD: a point's pair with itself counts",
        "dpmcmc/evaluation/metrics.py",
        "within_x = 2 * kernel_pair_sum(x) / (k * (k - 1))",
        "within_x = (2 * kernel_pair_sum(x) + k) / (k * k)",
        METRICS,
    ),
    Mutant(
        "MMD: a row of pairs is left out between blocks",
        "dpmcmc/evaluation/metrics.py",
        "kernel(x[i : i + BLOCK], x[i:])",
        "kernel(x[i : i + BLOCK], x[i : -1 if i + BLOCK < len(x) else None])",
        METRICS,
    ),
    Mutant(
        "MMD: a bandwidth of one sample",
        "dpmcmc/evaluation/metrics.py",
        "right = reference[rng.integers(len(reference), size=num_pairs)]",
        "right = draws[rng.integers(len(draws), size=num_pairs)]",
        METRICS,
    ),
    Mutant(
        "the burn-in is kept",
        "dpmcmc/evaluation/metrics.py",
        "positions[max(0, (len(positions) - 1) // 2) :]",
        "positions",
        METRICS,
    ),
    Mutant(
        "covariances have the divisor k",
        "dpmcmc/evaluation/metrics.py",
        "np.cov(draws, rowvar=False)",
        "np.cov(draws, rowvar=False, bias=True)",
        METRICS,
    ),
    Mutant(
        "effective sample size of whole chains, not of halves by rank",
        "dpmcmc/evaluation/diagnostics.py",
        "size_of_halves(normal_scores(halves(x)))",
        "size_of_halves(x)",
        "evaluation/test_diagnostics.py",
    ),
    Mutant(
        "exact draws are scored by the interval of all, themselves too",
        "dpmcmc/evaluation/scores.py",
        "ordered.take(i + (ranks <= i)",
        "ordered.take(i + (ranks < 0)",
        SCORES,
    ),
    Mutant(
        "interval score: a miss on one side costs half",
        "dpmcmc/evaluation/scores.py",
        "np.maximum(theta - high, 0)",
        "np.maximum(theta - high, 0) / 2",
        SCORES,
    ),
    Mutant(
        "a sample that has diverged keeps its intervals",
        "dpmcmc/evaluation/scores.py",
        " and not has_diverged(draws, reference)",
        "",
        SCORES,
    ),
    Mutant(
        "intervals are honest on few samples",
        "dpmcmc/evaluation/scores.py",
        "(samples or count) >= LEAST_SAMPLES and ",
        "",
        SCORES,
    ),
    # -- What results depend on
    Mutant(
        "digests: imports in functions are not followed",
        "dpmcmc_studies/study/sources.py",
        "for node in as_it_runs(tree)):",
        "for node in tree.body):",
        "study/test_sources.py",
    ),
    Mutant(
        "digests: versions of libraries are left out",
        "dpmcmc_studies/study/sources.py",
        'contents.update(" ".join(sorted(libraries)).encode())',
        "pass",
        "study/test_sources.py",
    ),
    Mutant(
        "checked: another file of one's own needs no new check",
        "dpmcmc/release/checked.py",
        "    own = digests_of(own_files(model))\n",
        "    own = []\n",
        "release/test_checked.py",
    ),
    Mutant(
        "check: an answer may be off by more than its width explains",
        "dpmcmc/release/own_data.py",
        "allowed = np.maximum(MOST_OFF, FAR * np.sqrt(wider))",
        "allowed = MOST_OFF + FAR * np.sqrt(wider)",
        "release/test_owner_check.py",
    ),
    Mutant(
        "check: a flag is asked for codes",
        "dpmcmc/evaluation/checking/data.py",
        "len(levels) - LEAST_VALUES)",
        "len(levels) - 1)",
        "evaluation/checking/test_data.py",
    ),
    Mutant(
        "ledger: a delta of 1 / rows is allowed",
        "dpmcmc/release/owner.py",
        "if delta >= 1 / rows:",
        "if delta > 1 / rows:",
        "release/test_owner.py",
    ),
    Mutant(
        "columns with a range: a mean beyond an end is simulated at the other end",
        "dpmcmc/models/normal_columns.py",
        "min(place, 2 - place)",
        "place",
        "models/test_normal_columns.py",
    ),
    Mutant(
        "checked: a release needs no check",
        "dpmcmc/release/command.py",
        "        checked.require(found, part)\n",
        "        pass\n",
        "release/test_checked.py",
    ),
    Mutant(
        "budget: a promised epsilon is rounded to the nearest",
        "dpmcmc/release/budget.py",
        "rounded(value, ROUND_CEILING, digits):",
        "value:",
        "release/test_checked.py",
    ),
    Mutant(
        "noisy Newton: a slope is that of the rows' own noise",
        "dpmcmc/samplers/newton_settings.py",
        "(here.gradient - there.gradient) / middle",
        "here.gradient / middle",
        "samplers/test_noisy_newton.py",
    ),
    Mutant(
        "noisy Newton: first steps do not see far outcomes",
        "dpmcmc/samplers/newton_settings.py",
        'return getattr(model, "locating", model)',
        "return model",
        "samplers/test_noisy_newton.py",
    ),
    Mutant(
        "noisy Newton: scores of the last steps level off",
        "dpmcmc/samplers/noisy_newton.py",
        "Twins(model, B, b) if i >= first",
        "Twins(locating(model), B, b) if i >= first",
        "samplers/test_noisy_newton.py",
    ),
    Mutant(
        "noisy Newton: of bounds that are nearly as good the smallest is taken",
        "dpmcmc/samplers/newton_settings.py",
        "key=lambda one: (one[1], -one[0])",
        "key=lambda one: (-one[1], -one[0])",
        "samplers/test_noisy_newton.py",
    ),
    Mutant(
        "noisy Newton: rare covariates are not looked at more closely",
        "dpmcmc/samplers/noisy_newton.py",
        "if i == first and steps and can_turn(model):",
        "if i == first and steps and False:",
        "samplers/test_noisy_newton.py",
    ),
    Mutant(
        "noisy Newton: in the metric the prior is that of coefficients outside",
        "dpmcmc/samplers/metric.py",
        "return prior._replace(precision=precision, pull=self.turn @ prior.pull)",
        "return prior",
        "samplers/test_metric.py",
    ),
    Mutant(
        "far outcomes: a row that counts at two levels moves the counts by one",
        "dpmcmc/samplers/far_outcomes.py",
        "SENSITIVITY = math.sqrt(len(LEVELS))",
        "SENSITIVITY = 1.0",
        "samplers/test_far_outcomes.py",
    ),
    Mutant(
        "noisy Newton: far outcomes are counted beside the budget",
        "dpmcmc/samplers/noisy_newton.py",
        "math.sqrt(1 - self.share_of_fit(model))",
        "math.sqrt(1)",
        "samplers/test_far_outcomes.py",
    ),
    Mutant(
        "replay: how a preparation fits may depend on rows",
        "dpmcmc/release/replay.py",
        "(of_start.misfit, *of_start.far)",
        "of_start.far",
        "release/test_leaks.py",
    ),
    Mutant(
        "rehearsed: another epsilon counts as the same release",
        "dpmcmc/release/rehearsed.py",
        "size = planned.epsilon, planned.delta, planned",
        "size = planned.delta, planned",
        "release/test_rehearsed.py",
    ),
    Mutant(
        "fingerprints: digests of data files are published",
        "dpmcmc_studies/jobs/fingerprints.py",
        "        self.study = study.without_digests()\n",
        "        self.study = study\n",
        "study/test_own_data.py",
    ),
    Mutant(
        "specs: chains of all seeds are one",
        "dpmcmc_studies/study/job_settings.py",
        "            seed=int(seed),\n",
        "            seed=0,\n",
        STUDY,
    ),
    Mutant(
        "specs: delta is the same for any number of rows",
        "dpmcmc_studies/study/job_settings.py",
        "delta=self.config.delta_times_n / posterior.num_rows",
        "delta=self.config.delta_times_n / 1000",
        STUDY,
    ),
    Mutant(
        "paths: 4 and 4.0 are two epsilons",
        "dpmcmc_studies/study/runs.py",
        'format(value, "g") if isinstance(value, float) else str(value)',
        "str(value)",
        STUDY,
    ),
    Mutant(
        "streams: one for all purposes",
        "dpmcmc/random_streams.py",
        "json.dumps([study_seed, purpose, *labels])",
        "json.dumps([study_seed, *labels])",
        STUDY,
    ),
    Mutant(
        "streams: one for all algorithms",
        "dpmcmc/random_streams.py",
        'seed_sequence(study_seed, "chain", model_id, algorithm_id, stop, seed)',
        'seed_sequence(study_seed, "chain", model_id, stop, seed)',
        STUDY,
    ),
    Mutant(
        "data files: rows that are held out stay",
        "dpmcmc/data_files.py",
        "return rows[~is_held_out], rows[is_held_out]",
        "return rows, rows[is_held_out]",
        "study/test_data_files.py study/test_own_data.py",
    ),
    Mutant(
        "noisy histogram: a row counts whole in one bin, and by a share in the next",
        "dpmcmc/samplers/noisy_histogram.py",
        "np.where(corner, upper, 1 - upper)",
        "np.where(corner, upper, 1)",
        "samplers/test_noisy_histogram.py",
    ),
    Mutant(
        "noisy histogram: chance of the simulated rows stays in the answer",
        "dpmcmc/samplers/noisy_histogram.py",
        "share @ (model.num_rows * public.score)",
        "0 * (model.num_rows * public.score)",
        "samplers/test_noisy_histogram.py",
    ),
    Mutant(
        "noisy statistics: B for 2 B",
        "dpmcmc/samplers/noisy_statistics.py",
        "sensitivity = 2 * ball.radius",
        "sensitivity = ball.radius",
        "samplers/test_noisy_statistics.py",
    ),
    Mutant(
        "the last radius: what finds it is not paid for",
        "dpmcmc/samplers/noisy_statistics.py",
        "SAFE_ROUNDS = 1 - SKEW_SHARE - TAILS_SHARE",
        "SAFE_ROUNDS = 1.0",
        "samplers/test_safe_radius.py",
    ),
    Mutant(
        "the last radius: the skew vector is not taken off",
        "dpmcmc/samplers/noisy_statistics.py",
        "- found.ratio * s * far.skew",
        "- 0 * found.ratio * s * far.skew",
        "samplers/test_safe_radius.py",
    ),
    Mutant(
        "noisy least squares: information is free",
        "dpmcmc/samplers/clipped_residuals.py",
        "SENSITIVITY = math.sqrt(4 + INFORMATION_PART)",
        "SENSITIVITY = 2.0 + 0 * INFORMATION_PART",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: a clip that forgets the length of a row",
        "dpmcmc/samplers/clipped_residuals.py",
        "return self.bound / (self.weights(lengths) * lengths)",
        "return self.bound / (self.weights(lengths) * self.design.reach)",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: the slope of unclipped rows",
        "dpmcmc/samplers/clipped_residuals.py",
        "return self.weights(lengths) * (2 * ndtr(self.clips(lengths) / sd) - 1)",
        "return self.weights(lengths) * (2 * ndtr(9 + 0 * self.clips(lengths) / sd) - 1)",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: skewed errors are clipped about one place",
        "dpmcmc/samplers/clipped_residuals.py",
        "r = r - self.centres(c)",
        "r = r - 0 * self.centres(c)",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: rows of any length count",
        "dpmcmc/samplers/clipped_residuals.py",
        "SHORTEST, LONGEST = 1e-60, 1e60",
        "SHORTEST, LONGEST = 0.0, 1e300",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: the intercept is where the middle of errors is",
        "dpmcmc/samplers/noisy_least_squares.py",
        "off = mean.mean - (means - middle) @ covariates",
        "off = 0 * mean.mean - (means - middle) @ covariates",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy least squares: counts of residuals beside the budget",
        "dpmcmc/samplers/noisy_least_squares.py",
        "(1 - self.share_of_errors(num_rows) - self.fit_share) * (1 - COUNTS_SHARE)",
        "(1 - self.share_of_errors(num_rows) - self.fit_share)",
        "samplers/test_noisy_least_squares.py",
    ),
    Mutant(
        "noisy columns: each column spends the whole budget",
        "dpmcmc/samplers/noisy_columns.py",
        "noise = self.noise * math.sqrt(model.num_columns)  # of each column",
        "noise = self.noise",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "noisy columns: squares move as values do",
        "dpmcmc/samplers/column_scale.py",
        "SQUARES_SENSITIVITY = CLIP**2",
        "SQUARES_SENSITIVITY = CLIP",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "noisy histogram: fits as if counts had no noise",
        "dpmcmc/samplers/noisy_histogram.py",
        "(1 + self.model.num_rows / PUBLIC_ROWS) + variance",
        "(1 + self.model.num_rows / PUBLIC_ROWS)",
        "samplers/test_noisy_histogram.py",
    ),
    Mutant(
        "noisy histogram: far rows do not count for its fit",
        "dpmcmc/samplers/noisy_histogram.py",
        "OTHER_WEIGHTS = (4.0, 0.01, 1e-4, 0.0)",
        "OTHER_WEIGHTS = (4.0,)",
        "samplers/test_noisy_histogram.py",
    ),
    Mutant(
        "columns with a range: squares as large as values, and free",
        "dpmcmc/samplers/column_range.py",
        "OF_SQUARE = math.sqrt(2)",
        "OF_SQUARE = 2.0",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "columns with a range: a variance without its noise",
        "dpmcmc/samplers/column_range.py",
        "of_variance = 2 * max(variance, 0.0) ** 2 / self.rows + noise",
        "of_variance = 2 * max(variance, 0.0) ** 2 / self.rows + 0.01 * noise",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "noisy columns: sds by the rounds alone",
        "dpmcmc/samplers/one_column.py",
        "MOST_VARIANCE = 4.0",
        "MOST_VARIANCE = 0.0",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "noisy columns: laws as if columns had variance 1",
        "dpmcmc/samplers/column_laws.py",
        "values = (values - place.mean) / place.sd",
        "values = values + 0 * place.mean",
        "samplers/test_noisy_columns.py",
    ),
    Mutant(
        "far rows: directions of length up to sqrt(m)",
        "dpmcmc/samplers/safe_radius.py",
        "unit / np.maximum(lengths, 1.0)",
        "unit",
        "samplers/test_safe_radius.py",
    ),
    Mutant(
        "noise-aware posterior without the noise",
        "dpmcmc/samplers/noisy_statistics.py",
        "variance = NormalLaw(model, ball), released.sd**2",
        "variance = NormalLaw(model, ball), 0.0",
        "samplers/test_noisy_statistics.py",
    ),
    Mutant(
        "one preparation is priced for all chains",
        "dpmcmc/accounting/releases.py",
        "[(mechanism, number * count) for mechanism, count in releases_of(iterations)]",
        "releases_of(iterations)",
        "accounting/test_releases.py",
    ),
    Mutant(
        "all chains have the first data set",
        "dpmcmc_studies/study/data_sets.py",
        "arrays[seed % spec.data_sets]",
        "arrays[0]",
        "study/test_several_data_sets.py",
    ),
    Mutant(
        "settings are the same for every number of rows",
        "dpmcmc_studies/study/scaled_settings.py",
        "times(value, ratio ** powers[key])",
        "times(value, 1.0)",
        "study/test_several_data_sets.py",
    ),
    Mutant(
        "independent proposals are accepted by the density alone",
        "dpmcmc/evaluation/independence.py",
        "new = log_density - log_proposal",
        "new = log_density",
        "evaluation/test_references.py",
    ),
    Mutant(
        "gradients in other units are those in theta",
        "dpmcmc/models/exponential_family.py",
        "return jacobian @ self.factor, offset @ self.factor",
        "return jacobian, offset",
        "samplers/test_private_start.py",
    ),
    # -- Releases
    Mutant(
        "secret noise: not wider by what rounding may add",
        "dpmcmc/release/streams.py",
        "scale = noise * CELLS * (1 + widening(self._num_rows, x.size))",
        "scale = noise * CELLS",
        SECRET,
    ),
    Mutant(
        "secret noise: a scale is rounded down",
        "dpmcmc/release/noise.py",
        "np.ldexp(np.ceil(",
        "np.ldexp(np.floor(",
        SECRET,
    ),
    Mutant(
        "secret noise: a fork draws the same",
        "dpmcmc/release/streams.py",
        "if os.getpid() != self._process:",
        "if False:",
        SECRET,
    ),
    Mutant(
        "ledger: a release that was killed does not count",
        "dpmcmc/release/ledger.py",
        'if line["id"] not in void]',
        'if line["id"] in self.finished]',
        "release/test_ledger.py",
    ),
    Mutant(
        "ledger: only the last release counts",
        "dpmcmc/release/ledger.py",
        "sum(line[field] for line in self.releases)",
        "sum(line[field] for line in self.releases[-1:])",
        "release/test_ledger.py",
    ),
    Mutant(
        "ledger: delta changes after a release",
        "dpmcmc/release/budget.py",
        "if self.delta != old.delta:",
        "if False:",
        "release/test_ledger.py",
    ),
    Mutant(
        "ledger: any number of rows is published",
        "dpmcmc/release/ledger.py",
        "not in (declared := self.declared_rows):",
        "in (declared := []):",
        "release/test_ledger.py",
    ),
]


def run_tests(tree, source, tests):
    """Whether tests of a tree pass on some source, and the name of the first that fails."""
    files = [str(tree / "tests" / file) for file in tests.split()]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    options = ["-x", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode not in (0, 1):
        return False, f"pytest ended with {result.returncode}: " + result.stdout[-300:]
    failed = [line for line in result.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return not result.returncode, failed[0].split(" - ")[0].split("::")[-1] if failed else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("names", nargs="*", help="parts of the names of faults")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or any(n in m.name for n in options.names)]
    tree, missed = options.tree.resolve(), 0
    print("| fault | file | caught | by | s |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for i, mutant in enumerate([None, *chosen]):
            copy = Path(directory, str(i))
            source = copy / "src"
            shutil.copytree(tree / "src", source)
            if mutant is None:  # the source as it is passes
                tests = " ".join(sorted({file for m in chosen for file in m.tests.split()}))
                passes, failed = run_tests(tree, source, tests)
                if not passes:
                    raise SystemExit(f"without a fault, {failed} fails")
                continue
            mutant.apply(source)
            started = time.monotonic()
            passes, failed = run_tests(tree, source, mutant.tests)
            seconds = time.monotonic() - started
            missed += passes
            caught = "missed" if passes else "yes"
            row = mutant.name, mutant.file, caught, failed, f"{seconds:.0f}"
            print(f"| {' | '.join(row)} |", flush=True)
            shutil.rmtree(copy)
    print(f"\n{len(chosen) - missed} of {len(chosen)} caught", flush=True)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
