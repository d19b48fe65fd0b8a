"""Accuracy of classifiers without privacy, beside which that of a private posterior is read.

Rows are those of a model like `dpmcmc.models.softmax.Softmax`: the class, then the covariates.
"""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression


class Accuracy(NamedTuple):
    """Mean and standard deviation (divisor: one less than their number) over random splits."""

    mean: float
    sd: float


def baseline(train, test):
    """Accuracy of scikit-learn's softmax regression by L-BFGS, with its own defaults.

    These have a prior too: Normal(0, I) on all coefficients but the intercepts.

    Parameters
    ----------
    train, test : (k, p) array, (l, p) array
        Rows that it is fitted to, and others that it is judged by.

    Returns
    -------
    float
        Share of the test rows whose class is the most probable one.
    """
    fitted = LogisticRegression(max_iter=1000).fit(train[:, 1:], train[:, 0])
    return float(fitted.score(test[:, 1:], test[:, 0]))


def majority(train, test):
    """Accuracy of saying the most frequent class of `train` whatever the row; as `baseline`."""
    classes, counts = np.unique(train[:, 0], return_counts=True)
    return float((test[:, 0] == classes[counts.argmax()]).mean())


def over_splits(accuracy, rows, held_out=0.2, splits=15, seed=0):
    """Accuracy over random splits of rows.

    Parameters
    ----------
    accuracy : function
        `baseline`, `majority`, or another of their parameters.
    rows : (n, p) array
    held_out : float
        Share of the rows that is for the test.
    splits : int
    seed : int
        Of the splits, which are the same for every function.

    Returns
    -------
    Accuracy
    """
    rng, size = np.random.default_rng(seed), round(held_out * len(rows))
    found = []
    for _ in range(splits):
        order = rng.permutation(len(rows))
        found.append(accuracy(rows[order[size:]], rows[order[:size]]))
    return Accuracy(float(np.mean(found)), float(np.std(found, ddof=1)))
