"""Rows in SQL: where they are read from, which of them are kept, and in which order they are.

The order is a list of terms that ends with the stored ``position``, so it is total: no two rows tie, and LIMIT and
row_number() give the same rows on every engine, however the rows are partitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.term import Term, all_of, build, listed

LARGEST_LIMIT = 2**31 - 1  # that Spark takes


class By(NamedTuple):
    """One term that rows are ordered by."""

    term: Term
    descending: bool = False
    nulls_last: bool = True

    def reversed(self) -> By:
        return By(self.term, not self.descending, not self.nulls_last)

    def sql(self) -> Term:
        way = f" {'DESC' if self.descending else 'ASC'} NULLS {'LAST' if self.nulls_last else 'FIRST'}"
        return build(self.term, way)


def ordered(order: Sequence[By]) -> Term:
    return build("ORDER BY ", *listed([by.sql() for by in order]))


@dataclass(frozen=True)
class Table:
    """Rows of a base, in terms of its columns.

    ``positions``: how many rows the base has, if these are all rows of a data set from a position to another, in its
    order; then the n-th row is known by its position. ``taken`` is what one slice or groupby.head takes of the rows.
    """

    sql: Dialect
    order: tuple[By, ...]
    conditions: tuple[Term, ...] = ()
    positions: int | None = None
    taken: Term | None = None  # ORDER BY … LIMIT … OFFSET …
    ranks: tuple[tuple[Term, str, int], ...] = ()  # (row_number() OVER …, comparison, number)
    grouped: Term | None = None  # GROUP BY …: one row for each person

    def where(self, condition: Term) -> Table:
        return replace(self, conditions=(*self.conditions, condition), positions=None)

    def sort(self, keys: Sequence[tuple[Term, bool]]) -> Table:
        """In the order of these keys; nulls come last, ties keep their order."""
        return replace(self, order=(*(By(key, down) for key, down in keys), *self.order), positions=None)

    def slice(self, start: int | None, stop: int | None) -> Table:
        """Rows from … to …, as Python counts: from the end if negative."""
        if self.positions is not None:
            a, b, _ = slice(start, stop).indices(self.positions)
            position = self.order[-1].term
            inside = (position >= self.sql.whole(a)) & (position < self.sql.whole(max(a, b)))
            return replace(self, conditions=(*self.conditions, inside), positions=None)
        first = start or 0
        if first >= 0 and (stop is None or stop >= 0):
            return self._limited(self.order, first, None if stop is None else max(0, stop - first))
        backward = tuple(by.reversed() for by in self.order)
        if (start is None or start < 0) and (stop is None or stop < 0):
            last = 0 if stop is None else -stop
            return self._limited(backward, last, None if start is None else max(0, -start - last))
        # One end is counted from the front and the other from the end.
        ends: list[tuple[Term, str, int]] = []
        for bound, outside, inside_ in ((start, ">", "<="), (stop, "<=", ">")):
            if bound is None:
                continue
            number = replace(self, order=self.order if bound >= 0 else backward).rank()
            ends.append((number, outside if bound >= 0 else inside_, abs(bound)))
        return replace(self, ranks=tuple(ends), positions=None)

    def first(self, k: int, key: Term) -> Table:
        """The first k rows of each value of a key; rows without a key are dropped."""
        return replace(self.where(key.is_known()), ranks=((self.rank(key), "<=", k),))

    def first_of(self, keys: Sequence[Term]) -> Table:
        """The first row of each combination of keys."""
        return replace(self, ranks=((self.rank(*keys), "<=", 1),))

    def _limited(self, order: Sequence[By], skipped: int, most: int | None) -> Table:
        """The rows after some that are skipped, all of them or at most so many."""
        if most is None and not skipped:
            return replace(self, positions=None)
        if most is None or skipped + most > LARGEST_LIMIT:
            # By numbers: Sail drops ORDER BY before an OFFSET without LIMIT, and then skips other rows.
            number = replace(self, order=tuple(order)).rank()
            ends = [(number, ">", skipped)] + ([] if most is None else [(number, "<=", skipped + most)])
            return replace(self, ranks=tuple(ends), positions=None)
        offset = f" OFFSET {skipped:d}" if skipped else ""
        return replace(self, taken=build(ordered(order), f" LIMIT {most:d}", offset), positions=None)

    def rank(self, *keys: Term) -> Term:
        """The number of a row, from 1, among all rows or those with the same keys."""
        part: list[str | Term] = ["PARTITION BY ", *listed(list(keys)), " "] if keys else []
        return build("row_number() OVER (", *part, ordered(self.order), ")")

    def kept(self) -> Term | None:
        """One condition for the rows that are kept, for which null is as good as false; None if all are kept."""
        return all_of(self.conditions) if self.conditions else None

    def lagged(self, column: Term, k: int) -> Term:
        """The value k rows above (below if k < 0); null where there is no such row."""
        function = f"lag({{}}, {k:d})" if k >= 0 else f"lead({{}}, {-k:d})"
        before, after = function.split("{}")
        return build(before, column, after, " OVER (", ordered(self.order), ")")
