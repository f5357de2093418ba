"""What comes out of ciphertexts and two servers equals the plain algorithm, bit for bit, under the same noise."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privjail.encrypted import analyst
from privjail.encrypted.numbers import MOST_BINS, P, uniform
from privjail.encrypted.owner import Submitter
from privjail.encrypted.records import Sum
from privjail.histograms import Law, PrivateHistogram, block_tree

from .parties import Parties


class Given:
    """Noise of known values, drawn like discrete Laplace noise, kept for the plain algorithm."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.drawn: dict[float, list[int]] = defaultdict(list)

    def __call__(self, scale: float, n: int) -> list[int]:
        p = 1 - math.exp(-1 / scale)
        values = (self._rng.geometric(p, n) - self._rng.geometric(p, n)).tolist()
        self.drawn[scale] += values
        return values


def put(parties: Parties, counts: Any) -> None:
    """Both servers' sums of any counts, as so many owners would have left them."""
    from privjail.encrypted.journal import Database
    from privjail.encrypted.tally import write_sum

    pads = uniform(P, len(counts))
    for server, values in (("ds", pads), ("cs", (counts + pads) % P)):
        database = Database(parties.where / server / "state.sqlite")
        with database.writing() as db:
            write_sum(db, Sum(values, int(np.sum(counts))))
        database.close()


def plain_block_tree(
    counts: Any, eps: Fraction, neighbours: str, *noise: Given, purpose: str = "both"
) -> PrivateHistogram:
    total = int(counts.sum()) if neighbours == "replace" else None
    split = block_tree.split(eps, len(counts), neighbours, purpose, total)
    assert len(set(split.scales)) == len(split.scales), "what was drawn is told apart by its scale"
    sums = [
        np.add.reduceat(counts, range(0, len(counts), size)) + sum(np.array(n.drawn[scale]) for n in noise)
        for size, scale in zip(split.sizes, split.scales, strict=True)
    ]
    laws = [Law.of(scale, 2) for scale in split.scales]
    return block_tree.estimate_nested(
        sums, split.sizes, laws, neighbours=neighbours, epsilons=split.epsilons, total=total
    )


def plain_partition(counts: Any, eps: Fraction, distance: int, *noise: Given) -> tuple[Any, Any, Any]:
    """Merges, bucket sums and counts in whole numbers: the thesis' algorithm 1, with noise inside the absolute value."""
    one, two = eps / 4, eps * 3 / 4
    first, second = [max(scales) for scales in zip(*(sorted(n.drawn) for n in noise), strict=True)][::-1]
    assert Fraction(first) >= 2 * distance / one and Fraction(second) >= distance / two
    z = sum(np.array(n.drawn[first]) for n in noise)
    merges = [
        abs(int(b) - int(a) + int(e)) < math.ceil(1.1462 * first)
        for a, b, e in zip(counts[:-1], counts[1:], z, strict=True)
    ]
    buckets = [[0]]
    for i, merged in enumerate(merges):
        buckets[-1].append(i + 1) if merged else buckets.append([i + 1])
    z2 = sum(np.array(n.drawn[second]) for n in noise)
    sums = [int(counts[bucket].sum() + e) for bucket, e in zip(buckets, z2, strict=True)]
    means = [s / len(bucket) for s, bucket in zip(sums, buckets, strict=True) for _ in bucket]
    return [int(m) for m in merges], sums, means


def random_counts(rng: Any, bins: int) -> Any:
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 2**20 + 1, bins) % (2**22 // bins + 1)
    if kind == 1:  # extreme: a few bins at 2**20, the rest empty
        counts = np.zeros(bins, dtype=np.int64)
        counts[rng.choice(bins, 3, replace=False)] = 2**20
        return counts
    if kind == 2:
        return np.repeat(rng.poisson(30, -(-bins // 8)), 8)[:bins]
    return rng.poisson(0.2, bins)


def compare_both(
    where: Path,
    bins: int,
    neighbours: str,
    counts: Any,
    eps: Any,
    seed: int,
    methods: Any = ("block_tree", "partition"),
) -> None:
    parties = Parties(where, bins=bins, neighbours=neighbours, budget=100)
    put(parties, counts)
    for i, method in enumerate(methods):
        d, c = Given(2 * seed + i), Given(2 * seed + i + 10**6)
        with parties.in_threads(d, c):
            found = analyst.publish(parties.study, parties.tickets.operator(), method, method, eps)
        if method == "block_tree":
            assert json.loads(found.to_json()) == json.loads(
                plain_block_tree(counts, Fraction(eps), neighbours, d, c).to_json()
            )
        else:
            distance = 1 if neighbours == "add-remove" else 2
            merges, sums, means = plain_partition(counts, Fraction(eps), distance, d, c)
            assert found.released["buckets"].tolist() == np.cumsum([0, *(1 - np.array(merges))]).tolist()
            assert found.released["sums"].tolist() == sums
            assert found.counts.tolist() == means


@pytest.mark.parametrize("seed", range(2))
def test_equal_to_the_plain_algorithms(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bins = int(rng.integers(2, 300))
    counts = random_counts(rng, bins) if seed else np.where(np.arange(bins) == 1, 2**20, 0)
    compare_both(tmp_path, bins, "add-remove" if seed % 2 else "replace", counts, "1/2", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 124))
def test_equal_to_the_plain_algorithms_on_many_histograms(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bins = MOST_BINS if seed < 106 else int(rng.integers(2, MOST_BINS))
    counts = random_counts(rng, bins)
    compare_both(tmp_path, bins, ("add-remove", "replace")[seed % 2], counts, ("1/10", "1", "2")[seed % 3], seed)


@pytest.mark.parametrize("purpose", ["bins", "ranges"])
def test_both_servers_divide_epsilon_by_what_the_histogram_is_for(tmp_path: Path, purpose: str) -> None:
    parties, counts = Parties(tmp_path, bins=300, budget=100), np.arange(300) % 7
    put(parties, counts)
    d, c = Given(3), Given(4)
    with parties.in_threads(d, c):
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", f"block_tree for {purpose}", 1)
    plain = plain_block_tree(counts, Fraction(1), "add-remove", d, c, purpose=purpose)
    assert json.loads(found.to_json()) == json.loads(plain.to_json())


def test_where_the_number_of_records_is_public_both_servers_choose_sums_by_it(tmp_path: Path) -> None:
    parties, counts = Parties(tmp_path, bins=2000, neighbours="replace", budget=100), np.arange(2000) % 2
    put(parties, counts)
    d, c = Given(3), Given(4)
    with parties.in_threads(d, c):
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree for ranges", "1/5")
    plain = plain_block_tree(counts, Fraction(1, 5), "replace", d, c, purpose="ranges")
    assert json.loads(found.to_json()) == json.loads(plain.to_json())
    assert found.epsilons["leaves"] == Fraction(3, 10) / 5 and len(found.released["blocks"]) < 100  # wide blocks


def test_records_of_real_owners_add_up(tmp_path: Path) -> None:
    parties = Parties(tmp_path, bins=9, budget=100)
    values = [0, 8, 8, None, 3, 3, 3, None, 1]
    with parties.in_threads(Given(1), Given(2)), Submitter(parties.study) as submitter:
        report = submitter.submit(parties.records(values), batch=4)
        found = analyst.publish(parties.study, parties.tickets.operator(), "a", "block_tree", 2)
    d, c = Given(1), Given(2)
    split = block_tree.split(2, 9)
    for given in (d, c):
        given(split.leaf_scale, 9)
        given(split.block_scale, 1)
    counts = np.bincount([v for v in values if v is not None], minlength=9)

    assert report.kept == 9
    assert (
        found.released["leaves"].tolist()
        == plain_block_tree(counts, Fraction(2), "add-remove", d, c).released["leaves"].tolist()
    )
