"""Rows where a condition is true."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.compare import Compare
from privjail.ops.isin import IsIn
from privjail.ops.logic import Logic, Not
from privjail.plan.cells import Cell
from privjail.plan.domain import BoolDomain, CategoryDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node
from privjail.plan.rows import MOST_CELLS, Rows, refine


@node
class Filter(Rows):
    """Keep the rows where a condition is true; null counts as false.

    Distance: kept. A row that comes or goes does so in the output or not at all, and no other row moves.
    The output lies in the cells where the condition holds: of the partition by a column, if the
    condition is about one column with finitely many values, else of the partition by the condition itself.
    """

    kind = "filter"
    rows: Rows
    condition: Expr

    def __post_init__(self) -> None:
        if self.condition.base is not None and self.condition.base is not self.rows.base:
            raise RowsError("the condition does not belong to the rows of this table")
        if not isinstance(self.condition.domain, BoolDomain):
            raise PlanError(f"a filter needs a true/false column, not {self.condition.domain.dtype}")
        self.derive(self.rows, cells=_where(self.rows, self.condition))

    def expressions(self) -> tuple[Any, ...]:
        return (self.condition,)

    def polars(self, frame: Any, *columns: Any) -> Any:
        return frame.filter(columns[0])

    def text(self) -> str:
        return f"filter({self.condition})"


def keep(rows: Rows, condition: Expr) -> Rows:
    """Filter by each part of a conjunction in turn: a & b is true where both are."""
    if isinstance(condition, Logic) and condition.op == "&":
        return keep(keep(rows, condition.a), condition.b)
    return Filter(rows, condition)


def _where(rows: Rows, condition: Expr) -> tuple[Cell, ...]:
    """The cells of the rows where a condition is true."""
    if condition.base is None:
        return rows.cells
    found = single_key(condition)
    if found is not None and len(found[1]) <= MOST_CELLS:
        return refine(rows, *found)
    if isinstance(condition, Not):
        return refine(rows, condition.a, (Lit.of(False),))
    return refine(rows, condition, (Lit.of(True),))


def single_key(condition: Expr) -> tuple[Expr, tuple[Lit, ...]] | None:
    """The one finite column that decides a condition, and the labels for which it is true."""
    match condition:
        case Compare("==", a, right) if isinstance(right, Lit) and a.domain.labels is not None:
            return a, _kept(a, [right.value])
        case IsIn(a, values) if a.domain.labels is not None:
            return a, _kept(a, [v.value for v in values])
        case Not(a):
            inner = single_key(a)
            if inner is None or isinstance(a, IsIn) and inner[0].domain.nullable:
                return None  # not isin(…) is true for nulls, which are no label
            return inner[0], _others(inner[0], inner[1])
        case Logic("|", a, b):
            left, right_ = single_key(a), single_key(b)
            if left and right_ and left[0] is right_[0]:
                return left[0], tuple(dict.fromkeys(left[1] + right_[1]))
    return None


def _kept(a: Expr, wanted: list[Any]) -> tuple[Lit, ...]:
    """The labels that equal one of these constants, by the same rule that the engine compares with."""
    labels = a.domain.labels
    assert labels is not None
    if isinstance(labels, range):
        return tuple(Lit.of(int(v)) for v in dict.fromkeys(wanted) if v in labels)
    codes = [a.domain.code(v) if isinstance(a.domain, CategoryDomain) else int(v) for v in wanted]
    return tuple(label_lit(labels[code]) for code in dict.fromkeys(codes) if code is not None)


def _others(a: Expr, keys: tuple[Lit, ...]) -> tuple[Lit, ...]:
    labels = a.domain.labels
    assert labels is not None
    if len(labels) > MOST_CELLS + len(keys):
        return tuple(label_lit(v) for v in labels[: MOST_CELLS + 1])  # too many to spread over: see _where
    return tuple(k for k in map(label_lit, labels) if k not in keys)


def label_lit(label: Any) -> Lit:
    """A category's label as a constant; labels that are intervals go by their text."""
    return Lit.of(str(label) if isinstance(label, Interval) else label)
