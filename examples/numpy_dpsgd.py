"""Gradient descent on private images, as a numpy program: which digit is it?

    python examples/numpy_dpsgd.py

Images are made smaller by public weights; then rounds of clipped gradients with Gaussian noise. All rows take part in
each round: with so few rows that needs less noise than small samples would.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy_pca
from numpy_pca import MIDDLE, PIXELS

import privjail as pj
from privjail import learn
from privjail import numpy as np

DIGITS, ROWS = 10, 1200  # classes; about how many images there are (public)
LENGTH, SHORT = 0.8, 0.7  # longer rows and residuals are shortened
RATE, MOMENTUM, OFFSET = 40.0, 0.5, -2.2  # log odds of one digit among ten


def smaller() -> Any:
    """Public weights that average four neighbouring pixels, about to the length 1: 8 × 8 to 4 × 4."""
    weights = numpy.zeros((64, 16))
    for i in range(64):
        weights[i, 4 * (i // 16) + i % 8 // 2] = 1 / 80
    return weights


def fit(X: Any, y: Any, rounds: int, rho: float) -> Any:
    """One weight vector for each digit."""
    Z = pj.clip_norm((X - MIDDLE) @ smaller(), LENGTH)
    Y = np.eye(DIGITS)[y]
    weights = velocity = numpy.zeros((16, DIGITS))
    for _ in range(rounds):
        residual = pj.clip_norm(Y - np.sigmoid(Z @ weights + OFFSET), SHORT)
        gradient = (Z.T @ residual).reveal(rho=rho / rounds * 0.999999)
        velocity = MOMENTUM * velocity + gradient / ROWS
        weights = weights + RATE * velocity
    return weights


def recognised(weights: Any, images: Any, digits: Any) -> float:
    scores = (images - MIDDLE) @ smaller() @ weights
    return float((scores.argmax(axis=1) == digits).mean())


def main(rows: int | None = None, rounds: int = 10, eps: float = 3.0, delta: float = 1e-5, seed: int = 0) -> float:
    train, test = numpy_pca.images(rows, seed)
    df = numpy_pca.private(train, eps, delta)
    weights = fit(df[PIXELS].to_numpy(), df["digit"], rounds, float(learn.rho_for(eps, delta)))
    found = recognised(weights, test[PIXELS].to_numpy(float), test["digit"].to_numpy())
    print(f"{found:.1%} of the test images are recognised at (ε, δ) = ({eps:g}, {delta:g})")
    return found


if __name__ == "__main__":
    main()
