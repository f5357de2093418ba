"""What a release costs and which noise each server adds: derived by both servers, from public facts only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privjail.budget.amounts import amount, float_up
from privjail.encrypted.numbers import LARGEST_SCALE, Whole
from privjail.encrypted.study import Terms, parse_amount
from privjail.errors import PlanError
from privjail.histograms import block_tree, partition

PURPOSES = {"block_tree for bins": "bins", "block_tree": "both", "block_tree for ranges": "ranges"}
METHODS = (*PURPOSES, "partition")
MEDIAN = 1.1462  # of |X + Y| for two Laplace variables of scale 1: equal neighbours are merged half of the time


@dataclass(frozen=True)
class Plan:
    """One release. Each server adds noise of these scales, enough alone."""

    method: str
    epsilon: Fraction
    bins: int
    scales: tuple[float, ...]  # block_tree: of the sums of each size; partition: of the differences, of bucket sums
    epsilons: dict[str, Fraction]
    sizes: tuple[int, ...] = ()  # block_tree: of the blocks that are summed, from single bins up
    threshold: int = 0  # partition: neighbours are merged if |difference + noise| is below

    @property
    def partitioned(self) -> bool:
        """Whether bins are compared; else sums are all that is made."""
        return self.method == "partition"

    def check(self) -> None:
        if max(self.scales) > LARGEST_SCALE:
            raise PlanError("ε is too small: the noise would not fit", do="use a larger epsilon")


def spelled_amount(epsilon: Any) -> Fraction:
    """An amount as a number or as text: 0.5, 1/2."""
    return amount(parse_amount(epsilon) if isinstance(epsilon, str) else epsilon)


def plan(method: str, epsilon: Any, terms: Terms, submissions: int | None = None) -> Plan:
    """The plan of a release, or an error that says why not.

    Where records are only ever replaced, their number is public, and which sums are made depends on it. What is charged
    does not.
    """
    eps = spelled_amount(epsilon)
    if method in PURPOSES:
        public = submissions if terms.neighbours == "replace" else None
        split = block_tree.split(eps, terms.bins, terms.neighbours, PURPOSES[method], public)
        made = Plan(method, eps, terms.bins, split.scales, split.epsilons, split.sizes)
    elif method == "partition":
        cut, rest = eps * partition.SHARE, eps * (1 - partition.SHARE)
        # One record more or less moves one count by 1, and so two differences by 1 each.
        scales = float_up(2 * terms.distance / cut), float_up(terms.distance / rest)
        threshold = math.ceil(MEDIAN * scales[0])
        made = Plan(method, eps, terms.bins, scales, {"cuts": cut, "sums": rest}, threshold=threshold)
    else:
        raise PlanError(f"{method!r} is no method that runs on encrypted data", do=f"use one of: {', '.join(METHODS)}")
    made.check()
    return made


def bucket_starts(merges: Whole) -> Whole:
    """Where buckets begin: at 0, and wherever bin i + 1 was not merged with bin i."""
    return np.concatenate([[0], 1 + np.flatnonzero(np.asarray(merges) == 0)]).astype(np.int64)
