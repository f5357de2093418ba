"""Slices (head, tail, iloc[a:b]) and slices of slices: how far the window moves when one row is inserted.

Let a chain of slices be applied to tables of n and n + 1 rows, the second with one row inserted. Both results are
windows of consecutive rows. Rows that both contain keep their order; all other rows of the new one are inserted, all
others of the old one are deleted. How many these are depends on n and on the place of the inserted row.

*Why finitely many n are enough.* Start and end of a window are computed from n by adding or subtracting the bounds of
the slices and by taking minima and maxima. So both are piecewise linear in n, with slope 0 or 1, and the slope changes
only near sizes n = ±bound ±bound … (any of the bounds). Between two such sizes each end either stays or moves with n,
and the distance for the worst place of insertion does not change. So it is enough to try the sizes around those sums,
and one size larger than all of them. Likewise for the place of insertion: it matters only on which side of the four
ends it lies. A test compares this with all tables of up to 24 rows.
"""

from itertools import product
from math import inf

from privjail.verify.checker.verdict import CannotCheck, Number

Bounds = tuple[int | None, int | None]

MOST_BOUNDS = 6  # that are not zero: three slices, one of another


def sliced(rows: range, chain: list[Bounds]) -> range:
    """The positions that are left after one slice after another."""
    for start, stop in chain:
        rows = rows[start:stop]
    return rows


def stability(chain: list[Bounds]) -> tuple[tuple[int, int], Number]:
    """The most insertions and deletions for one inserted row, and the most rows that the window can have."""
    bounds = [abs(x) for pair in chain for x in pair if x]
    if len(bounds) > MOST_BOUNDS:
        raise CannotCheck("more than three slices, one of another")
    beyond = 10 * (sum(bounds) + 9)
    inserted, deleted, width = 0, 0, {}
    for n in {*critical_sizes(bounds), beyond}:
        old, new = sliced(range(n), chain), sliced(range(n + 1), chain)
        width[n], width[n + 1] = len(old), len(new)
        ends = (0, old.start, old.stop, new.start, new.stop)
        for place in {min(max(end + near, 0), n) for end in ends for near in (-1, 0, 1)}:
            came, went = moved(old, new, place)
            inserted, deleted = max(inserted, came), max(deleted, went)
    grows_for_ever = width[beyond + 1] > width[beyond]
    return (inserted, deleted), inf if grows_for_ever else max(width.values())


def critical_sizes(bounds: list[int]) -> set[int]:
    """All sums of some bounds with signs, and the numbers around them."""
    signs = product((-1, 0, 1), repeat=len(bounds))
    sums = {abs(sum(sign * x for sign, x in zip(each, bounds, strict=True))) for each in signs}
    return {max(0, size + near) for size in sums for near in (-2, -1, 0, 1, 2)}


def moved(old: range, new: range, place: int) -> tuple[int, int]:
    """Inserted and deleted rows between two windows, the second over a table with a row inserted at ``place``.

    Old row i is new row i if i < place, else new row i + 1.
    """
    if not len(old) or not len(new):
        return len(new), len(old)
    first = new.start - (new.start > place)  # the new window holds the old rows from first to last - 1
    last = new.stop - (new.stop > place)
    common = max(0, min(old.stop, last) - max(old.start, first))
    return len(new) - common, len(old) - common
