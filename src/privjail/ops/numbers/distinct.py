"""nunique: how many of the possible values occur."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Any

from privjail.errors import RowsError
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows
from privjail.plan.value import Facts, PerElement, Value


@node
class Distinct(Value):
    """The number of labels that at least one row has.

    Distance: of a count. An inserted row makes at most one label occur, a deleted row makes at most one disappear.
    """

    kind = "distinct"
    rows: Rows
    key: Expr

    def __post_init__(self) -> None:
        if self.key.base is not None and self.key.base is not self.rows.base:
            raise RowsError("the column does not belong to the rows of this table")
        self.fact(counts=Tally(self.rows, (self.key,), None), index=(), grid=Fraction(1))

    def derive(self) -> Facts:
        return self.counts.facts._replace(joint=PerElement((self.rows.sum_distance(1, 1),)))

    counts: Tally = field(init=False)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.counts,)

    def compute(self, *inputs: Any) -> Any:
        return sum(1 for n in inputs[0] if n)

    def text(self) -> str:
        return f"{self.rows} | nunique({self.key})"
