"""value_counts: counts of every possible value, with what pandas does to them after the release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.logic import negation
from privjail.ops.numbers.combine import Element, Stack
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.deciding import label_lit
from privjail.ops.rows.filter import keep
from privjail.pandas.axes import Axis
from privjail.pandas.deferred import Deferred, deferred
from privjail.pandas.reachable import narrowed
from privjail.pandas.vectors import SensitiveSeries
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

Counts = SensitiveSeries | Deferred


def counted(
    rows: Rows, keys: Sequence[tuple[Any, Expr]], *, sort: bool, ascending: bool, normalize: bool, dropna: bool,
    within: int = 0,
) -> Counts:  # fmt: skip
    """Counts by one or more keys. ``within``: shares and order are taken inside the groups of so many first keys."""
    if not keys:
        raise PlanError("value_counts needs at least one column", do='df.value_counts("sex"); all rows: df.shape[0]')
    axes = tuple([Axis(name, expr.domain) for name, expr in keys])
    tally = Tally(rows, tuple([narrowed(expr) for _, expr in keys]), None)
    plain = SensitiveSeries(tally, "proportion" if normalize else "count", axes)
    found: Counts = plain
    if not dropna and any(expr.domain.nullable for _, expr in keys):
        if len(keys) > 1:
            raise PlanError(
                "missing values are counted for one column at a time", do='fill them first: .fillna("missing")'
            )
        found = _with_missing(rows, tally, plain)
    if normalize:
        found = _then(found, "divided by the total", _shares(within))
    if sort:
        found = _then(found, "sorted", _order(within, ascending))
    return found


def _then(found: Counts, name: str, step: Callable[[Any], Any]) -> Deferred:
    return found._then(name, step) if isinstance(found, Deferred) else deferred(found, name, step)


def _shares(within: int) -> Callable[[Any], Any]:
    def divided(counts: Any) -> Any:
        if within:
            return counts / counts.groupby(level=list(range(within)), observed=False).transform("sum")
        return counts / counts.sum()

    return divided


def _order(within: int, ascending: bool) -> Callable[[Any], Any]:
    def ordered(counts: Any) -> Any:
        if not within:
            return counts.sort_values(ascending=ascending, kind="stable")
        parts = counts.groupby(level=list(range(within)), observed=False, sort=False, group_keys=False)
        return parts.apply(lambda each: each.sort_values(ascending=ascending, kind="stable"))

    return ordered


def _with_missing(rows: Rows, tally: Tally, counts: SensitiveSeries) -> Deferred:
    """One more count, of the missing values: rows for which the column has none of its possible values.

    That is one more cell of the same partition, so the counts still move by one in all.
    """
    key = tally.keys[0]
    labels = tuple(label_lit(label) for label in key.domain.labels or ())
    missing = Tally(keep(rows, negation(IsIn(key, labels))), (), None)
    elements = (*(Element(tally, i) for i in range(len(labels))), missing)
    stacked = SensitiveSeries(Stack(elements, (*range(len(labels)), -1)), counts.name, (Axis(),))
    index, name = counts.index, counts.name

    def labelled(found: Any) -> Any:
        import pandas

        shown = pandas.Index([*index.astype(object), float("nan")], dtype=object, name=index.name)
        return pandas.Series(found.to_numpy(), index=shown, name=name)

    return deferred(stacked, "labelled", labelled)
