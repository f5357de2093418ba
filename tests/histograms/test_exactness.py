"""Long counts: no float on the way may hide a record, or show it twice."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np
import pytest

from privjail.errors import PlanError
from privjail.histograms import (
    ahp,
    dawa,
    hierarchy,
    identity,
    block_tree,
    equal_width,
    partition,
    php,
    structure_first,
    wavelet,
)
from privjail.histograms.counts import MOST_RECORDS, exact_counts
from privjail.histograms.deviations import COST_MOVES, GRID, LARGEST_COST, Deviations, steps
from privjail.histograms.structure_first import NEVER, Structure

from tests.histograms.worlds import Scripted, Silent

EPS = 0.5
FOUND = [3058562869629944, 3074806439286006, 4279204778415307]  # floats moved its cost by 4 records for 1
ALGORITHMS = (identity, equal_width, partition, dawa, php, structure_first, ahp, hierarchy, wavelet, block_tree)


def true_cost(counts: list[int]) -> int:
    """⌊1024 · Σ |x - mean|⌋ in fractions."""
    mean = Fraction(sum(counts), len(counts))
    return floor(GRID * sum(abs(x - mean) for x in counts))


def ranges(bins: int) -> tuple[np.ndarray, np.ndarray]:
    begin, end = np.triu_indices(bins)
    return begin, end + 1


def adversarial(total: int, seed: int) -> list[int]:
    """A few long counts with this total: alike but for the last digits, or far apart, or one that has nearly all."""
    rng = random.Random(seed)
    bins = rng.randint(2, 7)
    match seed % 3:
        case 0:
            counts = [total // bins + rng.randint(-3, 3) for _ in range(bins)]
        case 1:
            cuts = sorted(rng.randint(0, total) for _ in range(bins - 1))
            counts = [b - a for a, b in pairwise([0, *cuts, total])]
        case _:
            counts = [rng.randint(0, 4) for _ in range(bins)]
    counts[rng.randrange(bins)] += total - sum(counts)
    return counts


LONG = [adversarial(total, seed) for total in (2**40 - 1, 2**49 + 1, MOST_RECORDS - 1) for seed in range(24)]
LONG += [[x // 16 for x in FOUND], [0] * 5 + [MOST_RECORDS - 1], [MOST_RECORDS // 8 - 1] * 8]


@pytest.mark.parametrize("counts", LONG)
def test_costs_of_long_counts_are_exact_and_one_record_moves_them_by_no_more_than_is_claimed(counts):
    begin, end = ranges(len(counts))
    before = Deviations(counts)(begin, end)
    assert before.tolist() == [true_cost(counts[a:b]) for a, b in zip(begin, end, strict=True)]
    for k in range(len(counts)):
        more = [x + (i == k) for i, x in enumerate(counts)]
        after = Deviations(more)(begin, end)
        around = (begin <= k) & (k < end)
        assert np.abs(after - before)[around].max() <= COST_MOVES and not (after - before)[~around].any()


def test_no_bins_cost_nothing():
    assert Deviations([5, 7])(np.array([0, 1, 2]), np.array([0, 1, 2])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "counts",
    [
        FOUND,
        [2**53 - 1, 1],
        [2**53, 2**53 + 1],
        [2**62, 2**62],
        [2**63 - 1] * 4,
        [-(2**63), 5],
        np.array([2**63 + 1, 1], dtype=np.uint64),
        [2.0**80, 0.0],
        [np.inf, 0.0],
        [MOST_RECORDS + 2**10, 0],
        [MOST_RECORDS // 2, -MOST_RECORDS // 2 - 2**10],
    ],
    ids=str,
)
def test_counts_that_no_sum_would_be_exact_for_are_refused_before_anything_is_drawn(algorithm, counts):
    drawn = Silent()
    with pytest.raises(PlanError, match=r"2\*\*50 records|64 bits"):
        algorithm.release(counts, EPS, draw=drawn)
    assert not drawn.scales


def test_the_most_records_are_taken_and_exact():
    assert exact_counts([MOST_RECORDS - 1, 1]).tolist() == [MOST_RECORDS - 1, 1]
    assert exact_counts([float(MOST_RECORDS)]).tolist() == [MOST_RECORDS]
    with pytest.raises(PlanError, match="at least one bin"):
        exact_counts(np.zeros(0, dtype=int))


@pytest.mark.parametrize("counts", LONG[::7] + LONG[-3:])
@pytest.mark.parametrize("algorithm", [identity, hierarchy, wavelet, block_tree])
def test_long_counts_and_their_neighbours_cost_epsilon_at_most(algorithm, counts):
    def released(x):
        options = {"smooth": False} if algorithm is block_tree else {}
        return algorithm.release(x, EPS, draw=Silent(), **options)

    before = released(counts)
    for k in range(len(counts)):
        after = released([x + (i == k) for i, x in enumerate(counts)])
        moved = {name: int(np.abs(after.released[name] - before.released[name]).sum()) for name in before.released}
        assert sum(d / before.laws[name].scales[0] for name, d in moved.items()) <= EPS


@pytest.mark.parametrize("counts", LONG[::5] + LONG[-3:])
@pytest.mark.parametrize("algorithm", [php, structure_first])
def test_scores_of_long_counts_move_by_no_more_than_is_claimed(algorithm, counts):
    def asked(x):
        pick = Scripted(len(counts))
        options = {"buckets": 2} if algorithm is structure_first else {}
        algorithm.release(x, EPS, draw=Silent(), pick=pick, **options)
        return pick.asked

    before = asked(counts)
    for k in range(len(counts)):
        after = asked([x + (i == k) for i, x in enumerate(counts)])
        for (a, starts, sensitivity, _), (b, *_) in zip(before, after, strict=True):
            moved = np.abs(a - b)
            assert moved.max() <= sensitivity == COST_MOVES and (np.maximum.reduceat(moved, starts) > 0).sum() <= 1


def every_partition(bins: int):
    for cuts in range(2 ** (bins - 1)):
        yield [True, *(bool(cuts >> i & 1) for i in range(bins - 1))]


def spent(starts: list[bool], noisy: list[np.ndarray], price: int) -> int:
    """What a partition costs, in Python's integers."""
    places = [i for i, begins in enumerate(starts) if begins]
    ends = [*places[1:], len(starts)]
    return sum(int(noisy[b - 1][b - a - 1]) + price for a, b in zip(places, ends, strict=True))


@pytest.mark.parametrize("far", [0, 2**20, 2**61, 2**63 - 1, 2**70])
def test_dawa_takes_the_cheapest_partition_also_with_noise_beyond_64_bits(far):
    rng = random.Random(far)
    for counts in (*LONG[-3:], [0, 0, 1, 0], [3, 3, 9]):
        seen = []

        def draw(scale, n, seen=seen):
            seen[:] = [rng.choice((-1, 1)) * rng.randint(0, far) for _ in range(n)] if n > 1 and not seen else seen
            return seen if len(seen) == n else [0] * n

        lengths = dawa.lengths_of(len(counts), every=True)
        found = dawa.release(counts, EPS, every_length=True, draw=draw).released["buckets"]
        costs, at, noisy = dawa.costs(counts, lengths), 0, []
        for cost in costs:
            noisy.append([int(c) + z for c, z in zip(cost, seen[at : at + len(cost)], strict=True)])
            at += len(cost)
        price = steps(1 / (Fraction(EPS) * 3 / 4), len(counts))
        starts = [True, *(np.diff(found) > 0).tolist()]
        cheapest = min(spent(each, noisy, price) for each in every_partition(len(counts)))
        assert spent(starts, noisy, price) == cheapest


@pytest.mark.parametrize("counts", LONG[:24:3])
def test_structures_of_long_counts_are_the_cheapest(counts):
    made = Structure.of(counts, len(counts))
    begin, end = ranges(len(counts))
    cost = dict(
        zip(zip(begin.tolist(), end.tolist(), strict=True), Deviations(counts)(begin, end).tolist(), strict=True)
    )
    for starts in every_partition(len(counts)):
        places = [i for i, begins in enumerate(starts) if begins]
        total = sum(cost[a, b] for a, b in pairwise([*places, len(counts)]))
        assert made.best[len(places) - 1, len(counts)] <= total


def test_nothing_that_is_added_up_leaves_64_bits():
    assert NEVER + LARGEST_COST < 2**63 and NEVER > LARGEST_COST
    assert steps(10**30, 7) * 7 <= LARGEST_COST and steps(Fraction(1, 2), 7) == GRID // 2
    with pytest.raises(PlanError, match="bins"):
        Deviations(np.zeros(2**25 + 1, dtype=np.int8))
