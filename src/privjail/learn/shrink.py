"""Noisy steps, shrunk by how much of them must be noise: empirical Bayes with a few public covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)  # variances of a step that are tried
EVIDENCE = 3.0  # log-likelihood by which a step must be better than none


def smooth_covariances(size: int, known: int, ordered: bool) -> list[Any]:
    """Of the steps of bins: independent; or, where bins have an order, alike if near. A missing one is alone."""
    alone = np.eye(size)
    if not ordered or known < 3:
        return [alone]
    i = np.arange(known)
    far = np.abs(i[:, None] - i)
    near, round_ = np.eye(size), 1.05 * np.eye(size)
    near[:known, :known] = np.exp(-far / (known / 4))
    round_[:known, :known] = np.exp(-((far / (known / 6)) ** 2)) + 0.05 * np.eye(known)
    return [alone, near, round_, near + 0.2 * alone]


def linear_covariances(scales: list[Any], known: int) -> list[Any]:
    """Of steps that are linear in the position of a bin, on one scale or on all of them; a missing bin is alone.

    What all bins share is free: the intercept takes it.
    """
    lines = [np.outer(scale, scale) for scale in scales]
    found = list(lines)
    if len(lines) == 2:  # a number and its square
        found += [lines[0] + bend * lines[1] for bend in (0.1, 1.0)]
    elif len(lines) == 3:  # an amount, its logarithm, and whether there is any; slopes of amounts can be large
        found += [steep * lines[0] + lines[1] + lines[2] for steep in (0.0, 1.0, 30.0, 1000.0)]
        found += [steep * lines[0] + lines[1] for steep in (1.0, 30.0, 1000.0)]
    for straight in found:
        straight[:known, :known] += 10.0 * straight.max()
        for i in range(known, len(straight)):
            straight[i, i] = 1.0
    return found


def shrunk_step(gradient: Any, curvature: Any, noise: float, covariances: list[Any]) -> Any:
    """The posterior mean of a step d, given gradient = curvature·d + error of variance noise + curvature.

    The prior's size and covariance are those under which the gradient is most likely; no step at all, if that is not
    much less likely.
    """
    variance = noise + curvature
    none = -0.5 * float(np.sum(gradient**2 / variance) + np.sum(np.log(variance)))
    best, step = none + EVIDENCE, np.zeros_like(gradient)
    for covariance in covariances:
        spread = curvature[:, None] * covariance * curvature
        for size in SIZES:
            lower = np.linalg.cholesky(np.diag(variance) + size * spread)
            inner = np.linalg.solve(lower, gradient)
            likely = -0.5 * float(inner @ inner) - float(np.sum(np.log(np.diag(lower))))
            if likely > best:
                best = likely
                step = size * covariance @ (curvature * np.linalg.solve(lower.T, inner))
    return step
