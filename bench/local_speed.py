"""Ten million reports by every channel and method: processor seconds of estimating."""

from __future__ import annotations

import time

import numpy as np

from privjail.errors import DPError
from privjail.local import Categories, Duchi, Grid, GridLaplace, KaryResponse, LocalHashing, Piecewise, Survey, Unary

REPORTS = 10_000_000
ANSWERS = {"kary": KaryResponse.of, "unary": Unary.optimised, "hashing": LocalHashing.of}
NUMBERS = {"duchi": Duchi.of, "piecewise": Piecewise.of, "laplace": GridLaplace.of}


def speed() -> list[dict]:
    lines = []
    for k in (10, 100, 1000):
        for name, build in ANSWERS.items():
            lines += timed(f"{name}, k = {k}", build(Categories.numbered(k), 1), ("unbiased", "smooth", "ml"))
    for name, build in NUMBERS.items():
        lines += timed(f"{name}, 101 numbers", build(Grid.of(0, 1, 100), 1), ("mean",))
    return lines


def timed(name: str, channel: object, methods: tuple[str, ...]) -> list[dict]:
    rng = np.random.default_rng(1)
    survey, k = Survey("", {"t": channel}, {"t": 1}), channel.domain.size
    if isinstance(channel, Unary) and k >= 100:
        # Drawing 10⁹ exact bits is the slow part, not counting them: here the same reports come again.
        some = channel.draw((k * rng.random(REPORTS // 100) ** 2).astype(np.int64))
        reports = np.tile(some, (100, 1))
    else:
        reports = channel.draw((k * rng.random(REPORTS) ** 2).astype(np.int64))
    lines = []
    for method in methods:
        start = time.process_time()
        try:
            survey.estimate(reports, method=method)
            taken: float | str = round(time.process_time() - start, 2)
        except DPError as refused:
            taken = str(refused).splitlines()[0]
        lines.append({"what": name, "method": method, "seconds": taken})
        print(f"10,000,000 reports, {name}, {method}: {taken}", flush=True)
    return lines
