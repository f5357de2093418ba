"""Intervals: dates between public edges, and numbers between private quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.cut import Cut
from privjail.pandas.dates import as_numbers, is_missing_date, kind_of, number_of
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit
from privjail.rowwise import literal, numeric
from privjail.statistics.quantile import quantiles

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries


def cut_dates(x: PrivSeries, bins: Any, right: bool, labels: Any, lowest: bool) -> PrivSeries:
    """Dates or spans into public intervals. Labels are texts, as pandas spells its intervals."""
    if isinstance(bins, int):
        raise PlanError(
            "cut with a number of bins would take the range from the data",
            do='give the edges: pd.date_range("2024-01-01", "2025-01-01", freq="MS")',
        )
    given = list(bins)
    if any(is_missing_date(edge) for edge in given):
        raise PlanError("a missing date is no edge")
    edges = [number_of(x._expr, edge) for edge in given]
    if labels is False:
        labels = range(len(edges) - 1)
    if labels is None:
        ends = [str(edge) for edge in _shown(x, given)]
        opening, closing = ("(", "]") if right else ("[", ")")
        labels = [f"{opening}{a}, {b}{closing}" for a, b in pairwise(ends)]
    numbers = as_numbers(x._expr)
    lits = tuple(literal(label) for label in labels)
    return x._new(Cut(numbers, tuple(map(Lit.of, edges)), lits, int(right), int(lowest)))


def _shown(x: PrivSeries, edges: list[Any]) -> list[Any]:
    import pandas

    kind = kind_of(x._expr)
    return list(pandas.TimedeltaIndex(edges) if kind == "span" else map(pandas.Timestamp, edges))


def quantile_cut(x: PrivSeries, q: Any, labels: Any, duplicates: str, eps: Any) -> PrivSeries:
    """Intervals between private quantiles. The outermost edges are public: nothing lies beyond ±inf."""
    shares = _shares(q)
    lits = None if labels is None or labels is False else _labels(labels, len(shares) - 1)
    expr = numeric(x._expr)
    inner: list[float] = sorted(map(float, quantiles(x._rows, expr, shares[1:-1], eps))) if len(shares) > 2 else []
    if isinstance(expr.domain, IntDomain):
        inner = [round(edge) for edge in inner]
    edges = [-math.inf, *dict.fromkeys(inner), math.inf]
    lost = len(shares) - len(edges)
    if lost and (duplicates != "drop" or lits is not None):
        raise PlanError(
            f"{lost} of the quantiles that were released equal another one; what they cost stays charged",
            do="use fewer bins" if lits is not None else 'use fewer bins, or duplicates="drop"',
        )
    if labels is False:
        lits = tuple(literal(label) for label in range(len(edges) - 1))
    return x._new(Cut(expr, tuple(map(Lit.of, edges)), lits, 1, 1))


def _labels(labels: Any, bins: int) -> tuple[Lit, ...]:
    """A label for each interval. They are checked before the quantiles are paid for."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise PlanError("labels are a list, or False for numbers", do='qcut(x, 2, labels=["low", "high"], eps=0.1)')
    lits = tuple(literal(label) for label in labels)
    if len(lits) != bins:
        raise PlanError(f"{bins} intervals need as many labels, not {len(lits)}", do="give one label for each interval")
    if len(set(lits)) < bins:
        raise PlanError("labels of intervals must differ", do="give each interval a label of its own")
    return lits


def _shares(q: Any) -> list[Any]:
    if type(q) is int:
        if not 1 <= q <= 100:
            raise PlanError("qcut takes between 1 and 100 bins")
        return [i / q for i in range(q + 1)]
    shares = [float(each) for each in q]
    if len(shares) < 2 or shares[0] != 0 or shares[-1] != 1 or any(a >= b for a, b in pairwise(shares)):
        raise PlanError("qcut takes a number of bins, or rising shares from 0 to 1", do="qcut(x, [0, 0.5, 0.9, 1])")
    return shares
