"""All neighbouring inputs of a bounded domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product

Vector = tuple[int, ...]
Pair = tuple[Vector, Vector]


def vectors(n: int, values: int, reach: int = 1, one_way: bool = False, up_to_order: bool = False) -> Iterator[Pair]:
    """All pairs of vectors whose elements differ by at most ``reach``, the left one from 0 … values − 1.

    ``one_way``: all elements move in the same direction, as counts do when a row is added (a pair is checked in both
    directions, so removing one is covered). ``up_to_order``: left vectors that differ only in their order are
    visited once; right where the mechanism treats all positions alike.
    """
    steps = range(reach + 1) if one_way else range(-reach, reach + 1)
    moves = list(product(steps, repeat=n))
    lefts = combinations_with_replacement(range(values), n) if up_to_order else product(range(values), repeat=n)
    for left in lefts:
        for move in moves:
            yield left, tuple(x + m for x, m in zip(left, move, strict=True))


def within_l1(n: int, values: int, distance: int) -> Iterator[Pair]:
    """All pairs whose elements together differ by at most ``distance``."""
    for left, right in vectors(n, values, distance):
        if sum(abs(a - b) for a, b in zip(left, right, strict=True)) <= distance:
            yield left, right


def tables(kinds: int, rows: int) -> Iterator[tuple[Vector, Vector]]:
    """All tables of up to so many rows of so many kinds, each beside itself with one row more."""
    for n in range(rows):
        for table in combinations_with_replacement(range(kinds), n):
            for row in range(kinds):
                yield table, tuple(sorted((*table, row)))


def counted(pairs: Iterator[Pair], queries: Callable[[Vector], Vector]) -> set[Pair]:
    """The pairs of answers that queries give on pairs of tables."""
    return {(queries(left), queries(right)) for left, right in pairs}


def histogram(kinds: int) -> Callable[[Vector], Vector]:
    """How many rows of each kind."""

    def count(table: Vector) -> Vector:
        found = Counter(table)
        return tuple(found[k] for k in range(kinds))

    return count
