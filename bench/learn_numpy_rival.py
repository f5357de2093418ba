"""The numpy examples with PyPI's privjail 0.1.2: run by bench/learn_numpy.py in an environment of its own.

    python learn_numpy_rival.py FILE.npz SCHEMA.json EPS DELTA ROUNDS K

The same steps, bounds and shares of ρ as in examples/numpy_pca.py and examples/numpy_dpsgd.py. Prints JSON: the
components and the weights.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np

import privjail as pj
from privjail import numpy as pnp

MIDDLE, LENGTH, AROUND, FOR_MEAN = 5.0, 55.0, 40.0, 0.1
ROWS, SHORT, RATE, MOMENTUM, OFFSET = 1200, 0.7, 40.0, 0.5, -2.2


def rho_for(eps: float, delta: float) -> float:
    log = -math.log(delta)
    return (math.sqrt(log + eps) - math.sqrt(log)) ** 2


def components(X, k: int, rho: float, limit: tuple[float, float]):
    with pj.zCDP(X, budget_limit=limit, delta=limit[1] / 2, prepaid=True) as X:
        near = pj.clip_norm(X - MIDDLE, LENGTH)
        count = pj.gaussian_mechanism(X.shape[0], rho=rho * FOR_MEAN / 10)
        moved = pj.gaussian_mechanism(near.sum(axis=0), rho=rho * FOR_MEAN * 9 / 10)
        mean = MIDDLE + float(np.mean(moved)) / max(count, 1)  # it subtracts one number, not a row
        short = pj.clip_norm(X - mean, AROUND)
        products = pj.gaussian_mechanism(short.T @ short, rho=rho * (1 - FOR_MEAN) * 0.999)
    return np.linalg.eigh((products + products.T) / 2)[1][:, ::-1][:, :k]


def weights(X, Y, rounds: int, rho: float, limit: tuple[float, float], smaller):
    found = velocity = np.zeros((smaller.shape[1], 10))
    with pj.zCDP([X, Y], budget_limit=limit, delta=limit[1] / 2, prepaid=True) as (X, Y):
        Z = pj.clip_norm((X - MIDDLE) @ smaller, 0.8)
        for _ in range(rounds):
            odds = Z @ found + OFFSET
            residual = pj.clip_norm(Y - 1 / (1 + pnp.exp(-odds)), SHORT)
            gradient = pj.gaussian_mechanism(Z.T @ residual, rho=rho / rounds * 0.999)
            velocity = MOMENTUM * velocity + gradient / ROWS
            found = found + RATE * velocity
    return found


def main() -> None:
    file, schema, eps, delta, rounds, k = sys.argv[1:]
    rho, limit = (
        rho_for(float(eps), float(delta)),
        (float(eps) * 1.2, float(delta) * 2),
    )  # the price is ρ; room for both
    smaller = np.zeros((64, 16))
    for i in range(64):
        smaller[i, 4 * (i // 16) + i % 8 // 2] = 1 / 80
    answer = {}
    held = pnp.load(file, schema, budget_limit=(1000.0, 0.5))
    for name, run in {
        "components": lambda: components(held["X"], int(k), rho, limit),
        "weights": lambda: weights(held["X"], held["Y"], int(rounds), rho, limit, smaller),
    }.items():
        try:
            answer[name] = np.asarray(run()).tolist()
        except Exception as problem:  # a rival's failure is a result
            answer[name] = f"{type(problem).__name__}: {problem}"[:300]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
