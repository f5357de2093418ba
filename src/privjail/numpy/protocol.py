"""What numpy calls for a private value: ``__array_ufunc__`` and ``__array_function__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from privjail.errors import PlanError, PrisonerError, RowsError
from privjail.numpy import elementwise as each
from privjail.numpy import within
from privjail.numpy.arrays import PrivArray, Transposed, _public_tail, asarray, elementwise, norm
from privjail.numpy.refused import check_call, refuse
from privjail.numpy.sums import SensitiveArray
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner
from privjail.rowwise import numeric


def ufunc(asked: Any, function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.log(x)``, ``numpy.maximum(x, 0)``, ``numpy.add.reduce(x)``, …"""
    name = function.__name__
    if name in ("matmul", "vecdot") and method == "__call__" and not kwargs:
        return (
            asarray(inputs[0]) @ asarray(inputs[1]) if isinstance(inputs[0], (Prisoner, Transposed)) else refuse(name)
        )
    if method == "reduce" and name in REDUCED:
        options = {k: v for k, v in kwargs.items() if k in ("axis", "keepdims") and v}
        return getattr(asarray(inputs[0]), REDUCED[name])(**{"axis": 0, **options})
    if method != "__call__" or any(v is not None for v in kwargs.values()):
        refuse(f"{name}.{method}" if method != "__call__" else f"{name} with {', '.join(kwargs)}")
    arrays = [asarray(x) for x in inputs]
    if len(arrays) == 1 and name in each.UNARY:
        return arrays[0]._map(each.UNARY[name])
    if len(arrays) == 2 and name in each.BINARY:
        return elementwise(name, *arrays)
    return refuse(name)


def function(asked: Any, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.where(condition, a, b)``, ``numpy.histogram(x, …)``, …"""
    name = called.__name__
    if called is numpy.linalg.norm:
        return norm(*args, **kwargs)
    found = FUNCTIONS.get(name) if called.__module__ in ("numpy", "numpy.lib") or hasattr(numpy, name) else None
    if found is None:
        if name in PRICED:
            raise PlanError(
                f"numpy.{name} over private rows is released at once and needs eps",
                do=f"use np.{name}(x, …, eps=0.1) of `from privjail import numpy as np`, or the method with eps",
            )
        refuse(name)
    check_call(name, found, args, kwargs)
    return found(*args, **kwargs)


#: the reductions that numpy's methods call
REDUCED = {"add": "sum", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all"}
_STATISTICS = ("mean", "var", "std", "min", "max", "median", "quantile", "percentile")
PRICED = {*_STATISTICS, *[f"nan{x}" for x in _STATISTICS], "cov", "corrcoef", "average", "amin", "amax"}


def where(condition: Any, *choices: Any) -> PrivArray:
    if len(choices) != 2:
        raise PrisonerError("numpy.where(condition) would show which rows meet it", do="numpy.where(condition, a, b)")
    operands = [asarray(x) for x in (condition, *choices)]
    private = [a for a in operands if isinstance(a, PrivArray)]
    if not isinstance(operands[0], PrivArray):
        raise PlanError("the condition of where must be private here", do="use a plain if for a public condition")
    if any(a._rows is not private[0]._rows for a in private):
        raise RowsError("the arrays do not have the same rows in the same order", do="take all from the same table")
    tails = [a._cells if isinstance(a, PrivArray) else _public_tail(a, private[0]) for a in operands]
    return PrivArray(private[0]._rows, numpy.frompyfunc(each.where, 3, 1)(*tails))


def round_(a: Any, decimals: int = 0) -> PrivArray:
    """To a public number of decimals, from 0 to 15."""
    found: PrivArray = asarray(a).round(decimals)
    return found


def select(condlist: Any, choicelist: Any, default: Any = 0) -> PrivArray:
    """The choice of the first condition that holds, else the default."""
    if not condlist or len(condlist) != len(choicelist):
        raise PlanError("numpy.select needs as many choices as conditions, and at least one")
    chosen = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        chosen = where(condition, choice, chosen)
    assert isinstance(chosen, PrivArray)
    return chosen


def clip(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> PrivArray:
    found: PrivArray = asarray(a).clip(kwargs.get("min", a_min), kwargs.get("max", a_max))
    return found


def concatenate(arrays: Any, axis: int = 0) -> PrivArray:
    """Side by side. One below the other would be other rows."""
    parts = [asarray(a) for a in arrays]
    if axis == 0 or not all(isinstance(a, PrivArray) for a in parts):
        raise PlanError("private arrays are put side by side", do="use axis=1, np.hstack or np.column_stack")
    if any(a._rows is not parts[0]._rows for a in parts):
        raise RowsError("the arrays do not have the same rows in the same order", do="take all from the same table")
    return PrivArray(parts[0]._rows, numpy.concatenate([a._cells for a in parts], axis=axis - 1 if axis > 0 else axis))


def column_stack(arrays: Any) -> PrivArray:
    parts = [asarray(a) for a in arrays]
    return concatenate([a[:, None] if isinstance(a, PrivArray) and a.ndim == 1 else a for a in parts], axis=1)


def _no_density() -> NoReturn:
    raise PlanError(
        "a density needs the number of rows, which is private",
        do="release it at once: np.histogram(x, bins, density=True, eps=0.1) of `from privjail import numpy as np`",
    )


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """Private counts (or sums of weights) between public edges, and the edges. The last bin has both ends."""
    if density:
        _no_density()
    counts, edges = histogramdd([a], [bins], None if range is None else [range], weights=weights)
    return counts, edges[0]


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """The same over several columns: each row is in one cell at most, so all counts together move by 1."""
    if density:
        _no_density()
    table = sample if isinstance(sample, (list, tuple)) else asarray(sample)
    columns = [asarray(c) for c in table] if isinstance(table, (list, tuple)) else [table[:, i] for i in _places(table)]
    given = list(bins) if isinstance(bins, (list, tuple)) and len(bins) == len(columns) else [bins] * len(columns)
    keys, edges = [], []
    for i, (column, wanted) in enumerate(zip(columns, given, strict=True)):
        key, ends = _binned(column, wanted, None if range is None else range[i])
        keys.append(key)
        edges.append(ends)
    value = None if weights is None else numeric(asarray(weights)._flat[0])
    _same_rows([*columns, *([] if weights is None else [asarray(weights)])])
    tally = Tally(columns[0]._rows, tuple(keys), value)
    return SensitiveArray(tally, numpy.arange(tally.size).reshape([len(e) - 1 for e in edges])), edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,  # noqa: A002
) -> Any:
    """The counts of two columns, and the edges of each."""
    given = bins if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    counts, edges = histogramdd([x, y], list(given), range, density, weights)
    return counts, *edges


def _same_rows(arrays: list[Any]) -> None:
    if any(not isinstance(a, PrivArray) or a._rows is not arrays[0]._rows for a in arrays):
        raise RowsError("the arrays do not have the same rows in the same order", do="take all from the same table")


def _places(table: Any) -> Any:
    return range(table._cells.shape[0])


def _binned(column: PrivArray, bins: Any, ends: Any) -> tuple[Cut, Any]:
    expr = numeric(column._flat[0])
    domain: Any = expr.domain
    if isinstance(bins, (int, numpy.integer)) and not isinstance(bins, bool):
        low, high = (domain.lower, domain.upper) if ends is None else ends
        if low is None or high is None:
            raise PlanError("the range of the column is not known", do="give range=(low, high), or clip it first")
        edges = numpy.linspace(float(low), float(high), int(bins) + 1)
    else:
        edges = numpy.asarray(bins, dtype=numpy.float64)
    # numpy's last bin includes its right edge: the next float after it closes a bin that is open on the right
    closed = [*edges[:-1].tolist(), float(numpy.nextafter(edges[-1], numpy.inf))]
    return Cut(expr, tuple(map(Lit.of, closed)), None, 0, 0), edges


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> SensitiveArray:
    """Private counts (or sums of weights) of the values 0, 1, 2, … up to the column's upper bound."""
    column = asarray(x)
    expr = column._flat[0]
    if isinstance(expr.domain, CategoryDomain):
        key, size = expr, len(expr.domain.categories)
    else:
        if not isinstance(expr.domain, IntDomain) or not expr.domain.bounded or expr.domain.lower < 0:
            raise PlanError("bincount needs whole numbers from 0 to a known bound", do="clip the column first")
        size = max(minlength, expr.domain.upper + 1)
        key = Cut(expr, tuple(Lit.of(float(i)) for i in range(size + 1)), None, 0, 0)
    _same_rows([column, *([] if weights is None else [asarray(weights)])])
    value = None if weights is None else numeric(asarray(weights)._flat[0])
    return SensitiveArray(Tally(column._rows, (key,), value), numpy.arange(size))


def _sum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return asarray(a).sum(axis, keepdims=keepdims)


def _product(a: Any, b: Any) -> Any:
    return asarray(a) @ asarray(b)


def _truths(a: PrivArray) -> PrivArray:
    return a if a.dtype == numpy.dtype(bool) else a != 0


def _within(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return getattr(asarray(a), name)(axis, keepdims=keepdims)

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where, "select": select, "clip": clip, "concatenate": concatenate,
    "hstack": lambda a: concatenate(a, axis=1) if
    all(asarray(x).ndim > 1 for x in a) else column_stack(a), "column_stack": column_stack,
    "histogram": histogram, "histogramdd": histogramdd, "bincount": bincount,
    "histogram2d": histogram2d,
    "sum": _sum, "nansum": _sum, "dot": _product, "matmul": _product, "inner": _product, "vdot": _product,
    "count_nonzero": lambda a, axis=None: _truths(asarray(a)).sum(axis=axis),
    "any": _within("any"), "all": _within("all"),
    "max": _within("max"), "amax": _within("max"), "min": _within("min"), "amin": _within("min"),
    "isin": within.isin, "digitize": within.digitize, "searchsorted": within.searchsorted, "interp": within.interp,
    "polyval": within.polyval, "stack": within.stack, "append": lambda a, b, axis=None: concatenate([a, b], axis or 0),
    "ones_like": lambda a, dtype=None: within.filled_like(a, 1),
    "zeros_like": lambda a, dtype=None: within.filled_like(a, 0),
    "full_like": lambda a, value, dtype=None: within.filled_like(a, value),
    "transpose": lambda a, axes=None: asarray(a).transpose(axes), "copy": lambda a: asarray(a).copy(),
    "squeeze": lambda a, axis=None: asarray(a).squeeze(axis), "fix": lambda a: asarray(a)._map(each.UNARY["trunc"]),
    "argmax": lambda a, axis=None: asarray(a).argmax(axis), "argmin": lambda a, axis=None: asarray(a).argmin(axis),
    "reshape": lambda a, *shape, **k: asarray(a).reshape(*(shape or (k["shape"],))),
    "ndim": lambda a: asarray(a).ndim, "shape": lambda a: asarray(a).shape,
    "expand_dims": lambda a, axis: asarray(a)[:, None] if axis in (1, -1) else refuse("expand_dims"),
    "square": lambda a: asarray(a)._map(each.UNARY["square"]), "round": round_, "around": round_,
    "nan_to_num": lambda a, nan=0.0: asarray(a)._map(lambda e: _filled(e, nan)),
}  # fmt: skip


def _filled(e: Any, value: Any) -> Any:
    from privjail.ops.columns.where import FillNull

    return FillNull(numeric(e), each.constant(value))
