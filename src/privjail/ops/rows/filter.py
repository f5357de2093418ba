"""Rows where a condition is true."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.plan.cells import Cell
from privjail.plan.domain import BoolDomain, CategoryDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import NOT_YET, Lit, node, set_frozen
from privjail.plan.rows import MOST_CELLS, Rows, refine

SHOWN = 4  # columns, in the text of a filter that looks at many


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
        self.select(self.rows, _where(self.rows, self.condition))

    def expressions(self) -> tuple[Any, ...]:
        return (self.condition,)

    @staticmethod
    def kept(condition: Any) -> Any:
        """The Polars line: where a condition's column is true; null counts as false."""
        return condition.fill_null(False) if condition.null_count() else condition

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        return [row for row, kept in zip(rows, columns[0], strict=True) if kept is True]

    def text(self) -> str:
        columns = _complete(self.condition)
        return f"filter({self.condition})" if columns is None else f"dropna({listed(columns)})"


def keep(rows: Rows, condition: Expr) -> Rows:
    """Filter by each part of a conjunction in turn: a & b is true where both are."""
    if isinstance(condition, Logic) and condition.op == "&":
        return keep(keep(rows, condition.a), condition.b)
    return Filter(rows, condition)


def _complete(condition: Expr) -> list[Expr] | None:
    """The columns of which a condition says that none is missing, if it says just that of several."""
    if not isinstance(condition, Not) or not isinstance(condition.a, Logic):
        return None
    columns: list[Expr] = []
    waiting: list[Expr] = [condition.a]
    seen: set[Expr] = set()  # a part may occur often: 40 times itself | itself are 2**40 columns
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case Logic("|", a, b):
                waiting += [b, a]
            case IsNull(a):
                columns.append(a)
            case _:
                return None
    return columns


def listed(columns: list[Expr]) -> str:
    """Some columns by their texts, and how many there are beside them."""
    more = len(columns) - SHOWN
    return ", ".join(map(str, columns[:SHOWN])) + (f", … {more} more" if more > 0 else "")


def _where(rows: Rows, condition: Expr) -> tuple[Cell, ...]:
    """The cells of the rows where a condition is true."""
    if condition.base is None:
        return rows.cells
    found = single_key(condition)
    if found is not None:
        return refine(rows, *found)
    if isinstance(condition, Not):
        return refine(rows, condition.a, (Lit.of(False),))
    return refine(rows, condition, (Lit.of(True),))


def single_key(condition: Expr) -> SingleKey:
    """The same as found_key; for a comparison, which picks the same group of many tables, looked up once."""
    if not isinstance(condition, Compare):
        return found_key(condition)
    if condition.key is NOT_YET:
        set_frozen(condition, "key", found_key(condition))
    known: SingleKey = condition.key
    return known


def found_key(condition: Expr) -> SingleKey:
    """The one finite column that decides a condition, and the keys for which it is true.

    A missing value is a key of its own: ~isin(…) is true for it, and its rows are in no label's cell.
    None if there is no such column, or if the keys are too many to spread over.
    """
    found = _decided(condition, {})
    if found is None:
        return None
    by, keys, if_missing = found
    if by.domain.nullable and if_missing:
        keys = (*keys, MISSING)
    return None if len(keys) > MOST_CELLS else (by, keys)


MISSING = Lit.of(None)
SingleKey = tuple[Expr, tuple[Lit, ...]] | None
Truth = bool | None  # None: null
Decided = tuple[Expr, tuple[Lit, ...], Truth]


def _decided(condition: Expr, known: dict[Expr, Decided | None]) -> Decided | None:
    """The column that decides a condition, the labels for which it is true, and what it is for a null.

    For every other label it is false. A part of the condition that occurs often is looked at once.
    """
    if condition not in known:
        known[condition] = _deciding(condition, known)
    return known[condition]


def _deciding(condition: Expr, known: dict[Expr, Decided | None]) -> Decided | None:
    match condition:  # the most frequent first
        case Compare("==", a, right) if isinstance(right, Lit) and a.domain.labels is not None:
            return a, _equal(a, right), None
        case IsIn(a, values) if a.domain.labels is not None:
            return a, _kept(a, [v.value for v in values]), False
        case Not(a):
            inner = _decided(a, known)
            if inner is None or len(inner[0].domain.labels or ()) > MOST_CELLS + len(inner[1]):
                return None
            return inner[0], _others(inner[0], inner[1]), None if inner[2] is None else not inner[2]
        case Logic("|", a, b):
            left, other = _decided(a, known), _decided(b, known)
            if left and other and left[0] is other[0]:
                sure = left[2] is True or other[2] is True
                unknown = left[2] is None or other[2] is None
                keys = tuple(dict.fromkeys(left[1] + other[1]))
                return left[0], keys, True if sure else (None if unknown else False)
    return None


def _equal(a: Expr, wanted: Lit) -> tuple[Lit, ...]:
    """The label that equals a constant, if there is one; mostly that is the constant itself."""
    domain = a.domain
    if wanted.type_ == "text" and isinstance(domain, CategoryDomain):
        code = domain.code(wanted.spelling)
        if code is not None and type(domain.categories[code]) is str:
            return (wanted,)
    return _kept(a, [wanted.value])


def _kept(a: Expr, wanted: list[Any]) -> tuple[Lit, ...]:
    """The labels that equal one of these constants, by the same rule that the engine compares with."""
    labels = a.domain.labels
    assert labels is not None
    if isinstance(labels, range):
        return tuple(Lit.of(int(v)) for v in dict.fromkeys(wanted) if v in labels)
    codes = [a.domain.code(v) if isinstance(a.domain, CategoryDomain) else int(v) for v in wanted]
    return tuple(label_lit(labels[code]) for code in dict.fromkeys(codes) if code is not None)


def _others(a: Expr, keys: tuple[Lit, ...]) -> tuple[Lit, ...]:
    return tuple(k for k in map(label_lit, a.domain.labels or ()) if k not in keys)


def label_lit(label: Any) -> Lit:
    """A category's label as a constant; labels that are intervals go by their text."""
    return Lit.of(str(label) if isinstance(label, Interval) else label)
