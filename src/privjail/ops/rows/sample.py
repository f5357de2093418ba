"""sample(frac=q): each row is drawn or not, by a secret coin of the jail."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail.errors import PlanError
from privjail.plan.cells import Cell, Draw
from privjail.plan.node import Lit, node
from privjail.plan.rows import DEEPEST, Rows

BITS = 32  # of the number that is drawn for each row
DRAWN = Lit.of(True)


@node
class Sample(Rows):
    """The rows whose coins show that they are drawn, in their order (Poisson sampling).

    Each row of the data set has a coin for each sample, independent of all others and of the data. So the coins of
    the rows that two neighbours share have the same law in both, and may be taken to be the same. Distance: kept.
    Given the coins, a row that comes or goes does so in the sample or not at all, and no other row moves. The sample
    lies in a cell of its own if a privacy unit has at most one row: the unit is in the sample with chance ``rate`` at
    most, so that under pure ε the table pays less than the sample does (budget/sampling.py). Otherwise it lies in the
    cells of its rows, which pay in full.

    ``tag``: rows, rate and tag together name the sample. The analyst chooses them, and cannot predict the coins.
    """

    kind = "sample"
    rows: Rows
    rate: Fraction
    tag: str

    def __post_init__(self) -> None:
        rows, rate = self.rows, self.rate
        if not isinstance(rate, Fraction) or not 0 < rate <= 1 or rate.denominator >= 2**64:
            raise PlanError("sample(frac=…) needs a part between 0 and 1, such as 0.1")
        if len(self.tag) > 64:
            raise PlanError("the name of a sample has at most 64 characters")
        if rows.base is not rows.source:
            raise PlanError(
                "rows are drawn from a data set, not from slices or windows of it",
                do="sample first: df.sample(frac=0.1).head(100)",
            )
        self.select(rows, self._cells())

    def _cells(self) -> tuple[Cell, ...]:
        rows = self.rows
        if rows.edits is None or rows.edits > 1 or any([cell.depth >= DEEPEST for cell in rows.cells]):
            return rows.cells
        draw = Draw(rows, self.rate, self.tag)
        return tuple([Cell(cell, draw, DRAWN) for cell in rows.cells])

    @property
    def below(self) -> int:
        """A row is drawn if its number is below this: the chance is the largest multiple of 2**-32 up to the rate."""
        return int(self.rate * 2**BITS)

    def polars(self, frame: Any, *columns: Any) -> Any:
        """Given the numbers of all rows of the data set as an array, and the positions that are drawn from."""
        numbers = columns[0]
        return (numbers < self.below).nonzero()[0] if frame is None else frame[numbers[frame] < self.below]

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        return [row for row in rows if columns[0][row] < self.below]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table.where(sql.drawn(self, table.order[-1].term))

    def text(self) -> str:
        return f"sample({self.rate})"
