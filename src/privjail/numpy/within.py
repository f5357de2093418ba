"""Functions of numpy that put the elements of one row together, or look each element up between public edges."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy

from privjail.errors import PlanError
from privjail.numpy import elementwise as each
from privjail.numpy.arrays import PrivArray, asarray
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.isin import IsIn
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.rowwise import compared, literal, numeric


def folded(array: PrivArray, name: str, axis: Any, keepdims: bool) -> PrivArray:
    """The elements of one public axis put together by a function of two: maximum, logical_or, …"""
    at = axis % array.ndim if isinstance(axis, int) else 0
    if not at:
        raise PlanError(f"{name} goes over one public axis here", do="use axis=1, the elements of each row")

    def join(a: Expr, b: Expr) -> Expr:
        return each.binary(name, a, b)

    parts = numpy.moveaxis(array._cells, at - 1, 0)
    found = reduce(numpy.frompyfunc(join, 2, 1), parts)
    made = array._new(numpy.asarray(found, dtype=object))
    return made._new(numpy.expand_dims(made._cells, at - 1)) if keepdims else made


def digitize(x: Any, bins: Any, right: bool = False) -> PrivArray:
    """How many of the public edges lie at or below each element (right=True: below). A missing element stays so."""
    edges = _edges(bins)
    if len(edges) > 1 and edges[0] > edges[-1]:
        raise PlanError("digitize needs rising edges here", do="sort them: np.sort(bins)")
    found: PrivArray = asarray(x)._map(lambda e: _edges_below(numeric(e), edges, ">" if right else ">="))
    return found


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> PrivArray:
    """The place of each private element among public sorted numbers."""
    if not isinstance(asarray(v), PrivArray) or sorter is not None:
        raise PlanError("the sorted numbers must be public", do="np.searchsorted(edges, X), np.digitize(X, edges)")
    return digitize(v, a, right=side == "left")


def _edges(bins: Any) -> list[Any]:
    edges = numpy.asarray(bins)
    if edges.ndim != 1 or not edges.size:
        raise PlanError("the edges must be a list of numbers", do="np.digitize(X, [10, 20])")
    found: list[Any] = edges.tolist()
    return found


def _edges_below(e: Expr, edges: list[Any], op: str) -> Expr:
    counted: list[Expr] = [Cast(compared(op, e, edge), "Int64") for edge in edges]
    total = reduce(lambda a, b: Arithmetic("+", a, b), counted)
    return Clip(total, literal(0), literal(len(edges)))


def interp(x: Any, xp: Any, fp: Any) -> PrivArray:
    """The value of a public line of straight pieces at each element."""
    places, values = numpy.asarray(xp, dtype=numpy.float64), numpy.asarray(fp, dtype=numpy.float64)
    if places.ndim != 1 or places.shape != values.shape or not places.size or (numpy.diff(places) <= 0).any():
        raise PlanError("interp needs as many values as places, and rising places", do="np.interp(X, [0, 10], [0, 1])")
    slopes = numpy.diff(values) / numpy.diff(places)

    def at(e: Expr) -> Expr:
        e, found = each.as_floats(e), each.constant(float(values[0]))
        for low, high, slope in zip(places[:-1].tolist(), places[1:].tolist(), slopes.tolist(), strict=True):
            part = Arithmetic("-", Clip(e, Lit.of(low), Lit.of(high)), each.constant(low))
            found = Arithmetic("+", found, Arithmetic("*", part, each.constant(slope)))
        ends = Lit.of(float(values.min())), Lit.of(float(values.max()))
        return Clip(found, *ends) if len(slopes) else Clip(e, ends[0], ends[1])

    made: PrivArray = asarray(x)._map(at)
    return made


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> PrivArray:
    """Whether each element is one of a public list."""
    array = asarray(element)
    if not isinstance(array, PrivArray) or isinstance(asarray(test_elements), PrivArray):
        raise PlanError("isin tests private elements against a public list", do="np.isin(X, [1, 2])")
    values = tuple(literal(v) for v in dict.fromkeys(numpy.ravel(numpy.asarray(list(test_elements), object)).tolist()))
    found = array._map(lambda e: IsIn(e, values))
    return ~found if invert else found


def polyval(p: Any, x: Any) -> PrivArray:
    """A public polynomial at each element, the highest power first."""
    array = asarray(x)
    coefficients = numpy.asarray(p, dtype=object).tolist()
    if not isinstance(array, PrivArray) or not coefficients:
        raise PlanError("polyval takes public coefficients and private elements", do="np.polyval([2, 1], X)")
    found: PrivArray = array * 0 + coefficients[0]
    for c in coefficients[1:]:
        found = found * array + c
    return found


def filled_like(a: Any, value: Any) -> PrivArray:
    """np.ones_like(X): the same public number in every row."""
    found: PrivArray = asarray(a)._map(lambda e: each.constant(value))
    return found


def stack(arrays: Any, axis: int = 0) -> PrivArray:
    """Arrays of the same rows along a new public axis."""
    from privjail.numpy.protocol import concatenate

    parts = [asarray(a) for a in arrays]
    if axis == 0 or not all(isinstance(a, PrivArray) for a in parts):
        raise PlanError("private arrays are put side by side", do="use axis=1, or np.column_stack")
    at = axis % (parts[0].ndim + 1) - 1
    return concatenate([a._new(numpy.expand_dims(a._cells, at)) for a in parts], axis=at + 1)
