"""From what both servers' noise stands on to the published histogram. Post-processing: public, and free."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from privjail.encrypted.numbers import Whole
from privjail.encrypted.plans import Plan, bucket_starts
from privjail.encrypted.study import Terms
from privjail.histograms import Law, PrivateHistogram, ours
from privjail.histograms.laws import Floats


def histogram(plan: Plan, terms: Terms, submissions: int, first: Whole, second: Whole) -> PrivateHistogram:
    """The histogram of a release. Each element carries one draw of each server: the law of two draws.

    Where records are only ever replaced, their number is public, and used. Otherwise it is not: some submissions
    may be of people who take no part.
    """
    if plan.method == "ours":
        laws = Law.of(plan.first, 2), Law.of(plan.second, 2)
        total = submissions if terms.neighbours == "replace" else None
        return ours.estimate(
            first, second, ours.BLOCK_SIZE, *laws, neighbours=terms.neighbours, epsilons=plan.epsilons, total=total
        )
    return partitioned(plan, terms.neighbours, first, second)


def partitioned(plan: Plan, neighbours: str, merges: Whole, sums: Whole) -> PrivateHistogram:
    """Each bin gets its bucket's mean. ``error`` knows the noise, not how uneven the bins of a bucket were."""
    spread = BucketSpread(bucket_starts(merges), len(merges) + 1, Law.of(plan.second, 2).variance)
    counts = np.repeat(sums / spread.widths, spread.widths)
    laws = {"partition": Law.of(plan.first, 2), "buckets": Law.of(plan.second, 2)}
    released = {"merges": merges, "buckets": sums}
    return PrivateHistogram(counts, spread, "partition", neighbours, plan.epsilons, laws, released, exact=False)


class BucketSpread:
    """Bins that share their bucket's noisy sum evenly: m of w bins carry m / w of its noise."""

    def __init__(self, starts: Whole, bins: int, variance: float) -> None:
        self._edges = np.append(starts, bins)
        self.widths, self._variance = np.diff(self._edges), variance

    def variance(self, a: int, b: int) -> float:
        covered: Floats = np.maximum(0, np.minimum(self._edges[1:], b) - np.maximum(self._edges[:-1], a)) / self.widths
        return float(self._variance * (covered @ covered))

    def to_json(self) -> dict[str, Any]:
        return {"shape": "buckets", "starts": self._edges[:-1].tolist(), "variance": self._variance}


def read(text: str) -> PrivateHistogram:
    """A published histogram, from its JSON."""
    found = json.loads(text)
    if found.get("spread", {}).get("shape") != "buckets":
        return PrivateHistogram.from_json(text)
    kept = found["spread"]
    plain = PrivateHistogram.from_json(
        json.dumps(found | {"spread": {"shape": "blocks", "bins": [], "block_size": 1, "block_variance": None}})
    )
    spread = BucketSpread(np.array(kept["starts"], dtype=np.int64), len(plain), float(kept["variance"]))
    if not math.isfinite(float(kept["variance"])):
        raise ValueError("a variance is a number")
    return PrivateHistogram(
        plain.counts, spread, plain.method, plain.neighbours, plain.epsilons, plain.laws, plain.released, plain.exact
    )
