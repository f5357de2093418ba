"""From what both servers' noise stands on to the published histogram. Post-processing: public, and free."""

from __future__ import annotations

import numpy as np

from privjail.encrypted.numbers import Whole
from privjail.encrypted.plans import Plan
from privjail.encrypted.study import Terms
from privjail.histograms import Law, PrivateHistogram, block_tree
from privjail.histograms.buckets import NOISE_ONLY, averages, labels_of
from privjail.histograms.spread import BucketSpread


def histogram(plan: Plan, terms: Terms, submissions: int, *noisy: Whole) -> PrivateHistogram:
    """The histogram of a release. Each element carries one draw of each server: the law of two draws.

    Where records are only ever replaced, their number is public, and used. Otherwise it is not: some submissions
    may be of people who take no part.
    """
    if not plan.partitioned:
        laws = [Law.of(scale, 2) for scale in plan.scales]
        total = submissions if terms.neighbours == "replace" else None
        return block_tree.estimate_nested(
            noisy, plan.sizes, laws, neighbours=terms.neighbours, epsilons=plan.epsilons, total=total
        )
    merges, sums = noisy
    return partitioned(plan, terms.neighbours, merges, sums)


def partitioned(plan: Plan, neighbours: str, merges: Whole, sums: Whole) -> PrivateHistogram:
    """Each bin gets its bucket's mean. ``error`` knows the noise, not how uneven the bins of a bucket were."""
    labels = labels_of(np.concatenate([[True], merges == 0]))
    laws = {"cuts": Law.of(plan.scales[0], 2), "sums": Law.of(plan.scales[1], 2)}
    return PrivateHistogram(
        averages(sums, labels),
        BucketSpread(labels, laws["sums"].variance),
        f"partition ({NOISE_ONLY})",
        neighbours,
        plan.epsilons,
        laws,
        {"sums": sums, "buckets": labels},
        exact=False,
    )
