"""Noisy steps, shrunk by how much of them must be noise: empirical Bayes with a few public covariances."""

from __future__ import annotations

from functools import lru_cache
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


def shrunk_steps(
    gradients: dict[Any, Any], curvatures: dict[Any, Any], noise: float, covariances: dict[Any, list[Any]]
) -> tuple[dict[Any, Any], list[Any]]:
    """The steps of all features, and the features that show something by themselves.

    A feature that shows nothing alone takes part if all such features together do: many weak ones are one strong one.
    """
    tried = {name: posteriors(g, curvatures[name], noise, covariances[name]) for name, g in gradients.items()}
    best = {name: max(each, key=each.__getitem__) for name, each in tried.items()}
    alone = [name for name, each in tried.items() if each[best[name]] > EVIDENCE]
    steps = {name: np.zeros_like(g) for name, g in gradients.items()}
    chosen = {name: best[name] for name in alone}
    kinds: dict[int, list[Any]] = {}
    for name in gradients:
        if name not in chosen:
            kinds.setdefault(len(covariances[name]), []).append(name)
    for names in kinds.values():
        together = {key: sum(tried[name][key] for name in names) for key in tried[names[0]]}
        key = max(together, key=together.__getitem__)
        if together[key] > EVIDENCE:
            chosen |= dict.fromkeys(names, key)
    for name, (which, size) in chosen.items():
        covariance, curvature = covariances[name][which], curvatures[name]
        spread = np.diag(noise + curvature) + size * curvature[:, None] * covariance * curvature
        steps[name] = size * covariance @ (curvature * np.linalg.solve(spread, gradients[name]))
    return steps, list(chosen)


def posteriors(gradient: Any, curvature: Any, noise: float, covariances: list[Any]) -> dict[tuple[int, float], float]:
    """For each prior of a step d, how much more likely it makes the gradient than no step at all (logarithm).

    gradient = curvature·d + error of variance noise + curvature. In units of that error, and along the eigenvectors of
    the prior, the elements are independent with variances 1 + size·eigenvalue: one decomposition serves all sizes.
    """
    root = 1 / np.sqrt(noise + curvature)
    found = {}
    for which, covariance in enumerate(covariances):
        values, vectors = decomposed((curvature * root)[:, None] * covariance * (curvature * root))
        along = gradient * root if vectors is None else vectors.T @ (gradient * root)
        squares = along**2
        for size in SIZES:
            variances = 1 + size * np.maximum(values, 0)
            found[which, size] = 0.5 * float(np.sum(squares - squares / variances - np.log(variances)))
    return found


def decomposed(matrix: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors; no eigenvectors if the matrix is diagonal.

    Curvature and noise are the same in all rounds of a fit but the first, so most matrices come again.
    """
    diagonal = np.diagonal(matrix)
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        return diagonal, None
    return _decomposed(matrix.tobytes(), len(matrix))


@lru_cache(maxsize=128)
def _decomposed(content: bytes, size: int) -> tuple[Any, Any]:
    values, vectors = np.linalg.eigh(np.frombuffer(content).reshape(size, size))
    return values, vectors
