"""head, tail and iloc[a:b]: a window of consecutive rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privjail.errors import PlanError
from privjail.plan.node import node
from privjail.plan.rows import Rows


@node
class Slice(Rows):
    """Rows a to b, counted as Python counts: from the end if negative.

    Distance, for one row inserted into n rows. Let the window run from S(n) to E(n); each of the two
    either stays or moves on by one row when n grows by one. At most one row comes in, and

    - the start stays, the end moves (iloc[a:], iloc[:-b], iloc[a:-b]): none goes out. Every row that was inside
      stays inside, or the inserted row takes the place of one that comes in.
    - both ends stay, or both move (head, tail, iloc[a:b] with equal signs): at most one goes out.
    - the start moves and the end stays (iloc[-a:b]): at most two go out, one at each end.
      n = 5, iloc[-3:5]: 2 3 4 becomes x 3 when x is inserted between 2 and 3.

    A slice of a slice is one window again, whose ends move as ``ends_of_chain`` says. So a chain of slices is
    taken as one step, and lets at most two rows go out. Two windows of at most w rows are never more than 2w apart.
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
        most = width(self.start, self.stop)
        most = most if self.rows.most is None else (self.rows.most if most is None else min(most, self.rows.most))
        first, chain = flatten(self)
        self.start_moved_base(first, 1, goes_out(ends_of_chain(chain)), most=most)
        self.fact(parent=self.rows)

    def polars(self, frame: Any, *columns: Any) -> Any:
        return frame[slice(self.start, self.stop)]

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        return rows[self.start : self.stop]

    def text(self) -> str:
        if self.start is None and self.stop is not None and self.stop >= 0:
            return f"head({self.stop})"
        if self.stop is None and self.start is not None and self.start < 0:
            return f"tail({-self.start})"
        return f"iloc[{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}]"


Bounds = tuple[int | None, int | None]
Ends = tuple[bool, bool]  # whether the start and the end move on by a row when a row is inserted


def flatten(last: Slice) -> tuple[Rows, list[Bounds]]:
    """The rows below a chain of slices, and the slices in their order."""
    chain: list[Bounds] = []
    rows: Rows = last
    while isinstance(rows, Slice):
        chain.append((rows.start, rows.stop))
        rows = rows.rows
    return rows, chain[::-1]


def ends_of_chain(chain: Sequence[Bounds]) -> set[Ends]:
    """How the two ends of a chain of slices can move for one inserted row, whatever the number of rows.

    The whole table starts at 0 and ends at n: its end moves. Let a window run from S to E, and slice it by c and d.
    A start c ≥ 0 is S + c: it moves as S does. A start c < 0 is E + c, or S where the window is shorter. A stop d ≥ 0
    is S + d, or E where the window is shorter; a stop d < 0, or none, is E + d. (If S + c lies behind E with the
    inserted row, the window is empty with and without it; likewise if E + d lies before S.)
    """
    found: set[Ends] = {(False, True)}
    for start, stop in chain:
        found = {
            (s, e)
            for at, to in found
            for s in ({at, to} if start is not None and start < 0 else {at})
            for e in ({at, to} if stop is not None and stop >= 0 else {to})
        }
    return found


def goes_out(found: set[Ends]) -> int:
    """How many rows can leave a window with such ends when one row is inserted."""
    return max(1 + start - end for start, end in found)


def width(start: int | None, stop: int | None) -> int | None:
    """The most rows that a slice can have."""
    first = start or 0
    if first >= 0:
        return None if stop is None or stop < 0 else max(0, stop - first)
    if stop is None:
        return -first
    return max(0, stop - first) if stop < 0 else min(-first, stop)
