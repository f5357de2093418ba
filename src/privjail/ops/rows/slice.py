"""head, tail and iloc[a:b]: a window of consecutive rows."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.plan.node import node
from privjail.plan.rows import Rows


@node
class Slice(Rows):
    """Rows a to b, counted as Python counts: from the end if negative.

    Distance, for one row inserted into n rows. Let the window run from S(n) to E(n); each of the two
    either stays or moves on by one row when n grows by one.

    - only one end is cut (iloc[a:], iloc[:-b], iloc[a:-b]): 1. Every row that was inside stays inside, or
      the inserted row takes the place of one that comes in: the window gains one row.
    - both ends stay, or both move (head, tail, iloc[a:b] with equal signs): 2. One row comes in, at
      most one goes out.
    - the start moves and the end stays (iloc[-a:b]): 3. The inserted row comes in, and at both ends one
      row goes out. n = 5, iloc[-3:5]: 2 3 4 becomes x 3 when x is inserted between 2 and 3.

    A slice of a slice is one window again: S and E stay functions that move by 0 or 1 (if the inner start
    moves, the inner length moves by 0 or -1; so the outer offset moves by 0 or -1, and the sum by 0 or 1).
    So a chain of slices costs at most 3 in all, and 2 (or 1) if it can be written as one such slice.
    Two windows of at most w rows are never more than 2w apart.
    """

    kind = "slice"
    starts_base = True
    rows: Rows
    start: int | None
    stop: int | None

    def __post_init__(self) -> None:
        for bound in (self.start, self.stop):
            if bound is not None and (type(bound) is not int or abs(bound) >= 2**62):
                raise PlanError(f"iloc takes whole numbers, got {bound!r}")
        first, window = flatten(self)
        factor = 3 if window is None else moves(*window)
        most = width(self.start, self.stop)
        most = most if self.rows.most is None else (self.rows.most if most is None else min(most, self.rows.most))
        self.start_base(
            first,
            factor=None if first.factor is None else first.factor * factor,
            cap=None if first.cap is None else first.cap * factor,
            most=most,
        )
        self.fact(parent=self.rows)
        limit = self.distance.value
        if most is not None and (limit is None or 2 * most < limit):
            self.change(cap=2 * most, edits=2 * most)

    def polars(self, frame: Any, *columns: Any) -> Any:
        return frame[slice(self.start, self.stop)]

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        return rows[self.start : self.stop]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table.slice(self.start, self.stop)

    def text(self) -> str:
        if self.start is None and self.stop is not None and self.stop >= 0:
            return f"head({self.stop})"
        if self.stop is None and self.start is not None and self.start < 0:
            return f"tail({-self.start})"
        return f"iloc[{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}]"


Window = tuple[int | None, int | None]


def flatten(last: Slice) -> tuple[Rows, Window | None]:
    """The rows below a chain of slices, and the one slice that the chain is; None if it is not one."""
    window: Window | None = (last.start, last.stop)
    rows: Rows = last.rows
    while isinstance(rows, Slice):
        window = None if window is None else compose((rows.start, rows.stop), window)
        rows = rows.rows
    return rows, window


def compose(inner: Window, outer: Window) -> Window | None:
    """Two slices as one, where both count from the front or both from the end."""
    (a, b), (c, d) = inner, outer
    a, c = a or 0, c or 0
    if a >= 0 and c >= 0 and (b is None or b >= 0) and (d is None or d >= 0):
        stop = b if d is None else (a + d if b is None else min(b, a + d))
        return a + c, stop if stop is None else max(stop, a + c)
    if a == 0 and c == 0 and b is not None and b < 0 and d is not None and d < 0:
        return 0, b + d
    if b is None and d is None and inner[0] is not None and outer[0] is not None and a < 0 and c < 0:
        return max(a, c), None
    return None


def moves(start: int | None, stop: int | None) -> int:
    """How many edits of the window one edit of the rows can cause."""
    from_end, to_end = start is not None and start < 0, stop is None or stop < 0
    if start in (None, 0) and stop is None:
        return 1
    if not from_end:
        return 1 if to_end else 2
    return 2 if to_end else 3


def width(start: int | None, stop: int | None) -> int | None:
    """The most rows that a slice can have."""
    first = start or 0
    if first >= 0:
        return None if stop is None or stop < 0 else max(0, stop - first)
    if stop is None:
        return -first
    return max(0, stop - first) if stop < 0 else min(-first, stop)
