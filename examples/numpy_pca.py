"""Principal components of private images, as a numpy program: scikit-learn's digits, 8 × 8 pixels.

    python examples/numpy_pca.py

A noisy mean, one noisy matrix of products around it, then numpy's eigenvectors. Prints how much of the test
images' variance the components hold, beside the components of the same images without noise.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy
from sklearn.datasets import load_digits

import pandas
import privjail as pj
from privjail import learn
from privjail import pandas as pd

PIXELS = [f"p{i}" for i in range(64)]
SCHEMA = {name: {"type": "Int64", "range": [0, 16]} for name in PIXELS} | {"digit": {"type": "Int64", "range": [0, 9]}}
MIDDLE = 5.0  # a public guess of the mean pixel
LENGTH, AROUND = 55.0, 40.0  # longer images are shortened: around MIDDLE, and around the noisy mean
FOR_MEAN = 0.1  # the share of the price that the mean gets


def images(rows: int | None, seed: int) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Images to fit and images to test."""
    found = load_digits()
    table = pandas.DataFrame(found.data.astype(int), columns=PIXELS).assign(digit=found.target)
    table = table.iloc[numpy.random.default_rng(seed).permutation(len(table))]
    cut = 2 * len(table) // 3
    return table[:cut][:rows], table[cut:]


def private(train: pandas.DataFrame, eps: float, delta: float) -> Any:
    """The images to fit, in a jail: a zCDP budget that implies (ε, δ)."""
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(Path(folder) / "digits.csv", index=False)
        return pd.read_csv(Path(folder) / "digits.csv", schema=SCHEMA, budget=pj.ZCDP(float(learn.rho_for(eps, delta))))


def components(X: Any, k: int, rho: float) -> Any:
    """The k directions in which private rows vary most."""
    near = pj.clip_norm(X - MIDDLE, LENGTH)
    count = (X[:, 0] >= 0).sum().reveal(rho=rho * FOR_MEAN / 10)
    mean = MIDDLE + near.sum(axis=0).reveal(rho=rho * FOR_MEAN * 9 / 10) / max(count, 1)
    short = pj.clip_norm(X - mean, AROUND)
    products = (short.T @ short).reveal(rho=rho * (1 - FOR_MEAN) * 0.999999)
    return numpy.linalg.eigh(products)[1][:, ::-1][:, :k]


def captured(basis: Any, points: Any) -> float:
    centred = points - points.mean(axis=0)
    return float(((centred @ basis) ** 2).sum() / (centred**2).sum())


def main(rows: int | None = None, k: int = 4, eps: float = 3.0, delta: float = 1e-5, seed: int = 0) -> float:
    train, test = images(rows, seed)
    df = private(train, eps, delta)
    basis = components(df[PIXELS].to_numpy(), k, float(learn.rho_for(eps, delta)))
    moved = train[PIXELS].to_numpy() - train[PIXELS].to_numpy().mean(axis=0)
    best = numpy.linalg.eigh(moved.T @ moved)[1][:, ::-1][:, :k]
    points = test[PIXELS].to_numpy(float)
    found = captured(basis, points)
    without = captured(best, points)
    print(f"{k} components at ({eps:g}, {delta:g}) hold {found:.1%} of the variance; without noise {without:.1%}")
    return found


if __name__ == "__main__":
    main()
