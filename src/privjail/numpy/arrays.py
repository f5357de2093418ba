"""PrivArray: a private array. Its first axis, the rows, is private; its other axes are public."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

import numpy
import numpy.typing as npt

from privjail.errors import PlanError, PrisonerError, RowsError, UnknownName
from privjail.numpy import elementwise as each
from privjail.numpy.operators import ArrayOperators
from privjail.numpy.sums import SensitiveArray, vector_sum
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.function import Function
from privjail.ops.columns.norms import Dot, RowScale, Truncate
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import row_norms
from privjail.ops.rows.filter import keep
from privjail.plan.distance import Distance, show, sqrt_up
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.rowwise import numeric
from privjail.samples import drawn
from privjail.sensitive import SensitiveFloat, SensitiveInt, number

Cells = Any  # a numpy array of expressions, in the shape of the public axes
WithinRows = Literal[1, 2, 3, -1, -2]  # an axis other than the rows, as a type checker can tell it
Sums = SensitiveArray | SensitiveInt | SensitiveFloat  # over the rows: one number if there are no public axes
Released = npt.NDArray[numpy.float64] | float
ORDERS = {1: "1", 2: "2", math.inf: "inf"}
_SUMS = "`X.sum(axis=0).reveal(eps=0.1)`"
#: What numpy's arrays have and private ones lack: why, what to type instead, and the names. All others: the last line.
_LACKS = [
    ("the number of rows is private", "release it: `X.shape[0].reveal(eps=0.1)`", "size nbytes strides"),
    ("it depends on all rows", f"sum over the rows: {_SUMS}",
     "argsort sort argpartition partition cumsum cumprod prod searchsorted nonzero compress trace diagonal"),
    ("the private first axis stays", "name the public axes: `X[:, None]`, `X.T @ X`",
     "flatten ravel swapaxes mT resize"),
    ("a private array is not changed in place", "make another one: `X * 2`, `X.clip(0, 1)`",
     "fill put setfield setflags byteswap"),
    ("it would show rows, or needs them one by one", f"sum over the rows and release the sums: {_SUMS}", ""),
]  # fmt: skip


def cells_of(columns: Iterable[Expr]) -> Cells:
    made = list(columns)
    found = numpy.empty(len(made), dtype=object)
    found[:] = made
    return found


class PrivArray(ArrayOperators):
    """An array with one row for each private row. It builds plans; nothing in it is computed here."""

    _shown_class = "numpy.ndarray"
    _way_out = "sum it over the rows and release the sums: X.sum(axis=0).reveal(eps=…), (X.T @ Y).reveal(rho=…)"

    def __init__(self, rows: Rows, cells: Cells) -> None:
        self._rows, self._cells = rows, numpy.asarray(cells, dtype=object)

    # -- public facts

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def ndim(self) -> int:
        return 1 + int(self._cells.ndim)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The number of rows, a private number; then the public axes."""
        return (number(Tally(self._rows, (), None)), *self._cells.shape)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        kinds = {type(e.domain) for e in self._flat}
        if kinds == {BoolDomain}:
            return numpy.dtype(bool)
        return numpy.dtype(numpy.int64 if kinds <= {IntDomain, BoolDomain} else numpy.float64)

    @property
    def _flat(self) -> list[Expr]:
        return list(self._cells.ravel())

    def row_norm(self, ord: float = 2) -> float:  # noqa: A002  numpy's name
        """A bound on the norm of every row, from public facts; inf if there is none."""
        place = list(ORDERS).index(_order(ord, as_number=True))
        if any(not isinstance(e.domain, BoolDomain) and not getattr(e.domain, "bounded", False) for e in self._flat):
            return math.inf
        bound = row_norms(self._flat)[place]
        return float(sqrt_up(bound) if place == 1 else bound)

    def __repr__(self) -> str:
        tail = "".join(f", {n}" for n in self._cells.shape)
        bound = self.row_norm()
        length = "no bound" if bound == math.inf else f"L2 ≤ {bound:.6g}"
        shape = f"(private{tail or ','})"
        return f"PrivArray(shape={shape}, dtype={self.dtype}, distance={show_distance(self)}, row norm: {length})"

    __str__ = __repr__

    def _plan(self) -> str:
        shown = ", ".join(map(str, self._flat[:3])) + (", …" if self._cells.size > 3 else "")
        return f"{self._rows} | array([{shown}])"

    # -- row by row

    def _new(self, cells: Cells) -> Self:
        return type(self)(self._rows, cells)

    def _map(self, f: Callable[[Expr], Expr]) -> Self:
        return self._new(numpy.frompyfunc(f, 1, 1)(self._cells))

    def _with(self, name: str, other: Any, flip: bool = False) -> Self:
        return elementwise(name, *((other, self) if flip else (self, other)))  # type: ignore[return-value]

    def __getitem__(self, key: Any) -> Self:
        if isinstance(key, PrivArray):
            return self._masked(key)
        parts = key if isinstance(key, tuple) else (key,)
        if parts and parts[0] is Ellipsis:
            return self._new(self._cells[key])
        if parts and isinstance(parts[0], PrivArray):
            return self._masked(parts[0])[(slice(None), *parts[1:])]
        if not parts or not isinstance(parts[0], slice) or parts[0] != slice(None):
            raise PrisonerError(
                "rows of a private array cannot be chosen by position",
                plan=self._plan(),
                do="use X[:, i] for columns, X[mask] for rows that meet a condition",
            )
        return self._new(self._cells[parts[1:]] if len(parts) > 1 else self._cells)

    def _masked(self, mask: PrivArray) -> Self:
        if mask.ndim != 1 or mask._rows is not self._rows:
            raise RowsError("a mask is a condition on the rows of the same array", do="X[X[:, 0] > 5]")
        condition = mask._flat[0]
        if not isinstance(condition.domain, BoolDomain):
            raise PlanError(f"a mask must be true/false, not {condition.domain.dtype}")
        return type(self)(keep(self._rows, condition), self._cells)

    def sample(self, rate: Any, random_state: Any = None) -> Self:
        """A random part of the rows, each drawn with this chance by coins of the jail: X.sample(0.01).

        Under pure ε a sample that costs ε adds about rate·ε to what its table costs.
        """
        return type(self)(drawn(self._rows, None, rate, False, None, random_state), self._cells)

    def reshape(self, *shape: Any) -> Self:
        """Other public axes; the first axis stays: X.reshape(-1, 8, 8)."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if not wanted or wanted[0] != -1 or -1 in wanted[1:]:
            raise PlanError("reshape keeps the private first axis", do="X.reshape(-1, 8, 8): -1 stands for the rows")
        if math.prod(wanted[1:]) != self._cells.size:
            raise PlanError(f"{self._cells.size} elements of a row cannot become {wanted[1:]}")
        return self._new(self._cells.reshape(wanted[1:]))

    def astype(self, dtype: Any) -> Self:
        to = {"i": "Int64", "u": "Int64", "f": "Float64", "b": "boolean"}.get(numpy.dtype(dtype).kind)
        if to is None:
            raise PlanError(f"no array of {dtype!s:.40}", do="use int, float or bool")
        return self._map(lambda e: Cast(e, to))

    def round(self, decimals: int = 0) -> Self:
        """To a public number of decimals, from 0 to 15."""
        if type(decimals) is not int or not 0 <= decimals <= 15:
            raise PlanError("round takes a whole number of decimals from 0 to 15", do='for tens: df["a"].round(-1)')
        return self._map(lambda e: Function("round", numeric(e), decimals))

    def copy(self) -> Self:
        """The same: private arrays are never changed in place."""
        return self._new(self._cells)

    def squeeze(self, axis: Any = None) -> Self:
        """Without public axes of length 1."""
        at = tuple(i for i, n in enumerate(self._cells.shape) if n == 1) if axis is None else (axis % self.ndim - 1,)
        if any(i < 0 or self._cells.shape[i] != 1 for i in at):
            raise PlanError("squeeze leaves out public axes of length 1", do="X[:, 0]")
        return self._new(self._cells.squeeze(at))

    def clip(self, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Self:  # noqa: A002
        """Between public bounds, of all elements or of each column."""
        a_min, a_max = a_min if min is None else min, a_max if max is None else max
        low, high = (numpy.broadcast_to(numpy.asarray(end, dtype=object), self._cells.shape) for end in (a_min, a_max))
        return self._new(numpy.frompyfunc(each.clip, 3, 1)(self._cells, low, high))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Prisoner):
            other = asarray(other)
            if self.ndim == 1 and isinstance(other, PrivArray) and other.ndim == 1:
                return self.T @ other  # the sum over the rows of products of two columns
            raise PlanError(
                "rows times rows is no row-wise product", do="X.T @ Y sums over rows; X @ W needs a public W"
            )
        weights = numpy.asarray(other, dtype=numpy.float64)
        if self._cells.ndim != 1 or weights.ndim not in (1, 2) or weights.shape[0] != self._cells.size:
            raise PlanError(
                f"a row of shape {self._cells.shape} cannot be multiplied by a matrix of shape {weights.shape}",
                do="use a matrix with as many rows as X has columns",
            )
        if not numpy.isfinite(weights).all():
            raise PlanError("the public matrix must be finite", do="look for nan and inf in it")
        columns = tuple(numeric(e) for e in self._flat)
        if weights.ndim == 1:
            return self._new(_one(Dot(columns, tuple(map(Lit.of, weights.tolist())))))
        return self._new(cells_of(Dot(columns, tuple(map(Lit.of, w))) for w in weights.T.tolist()))

    def __rmatmul__(self, other: Any) -> Any:
        raise PlanError("a public matrix with private rows as its columns has no rule", do="use X @ W, or X.T @ Y")

    dot = __matmul__

    @property
    def T(self) -> Transposed:  # noqa: N802  numpy's name
        """For X.T @ Y and X.T @ X: sums over the rows of products of their elements."""
        return Transposed(self)

    def transpose(self, *axes: Any) -> Transposed:
        """The same as X.T."""
        if axes not in ((), (None,), (1, 0), ((1, 0),)):
            raise PlanError("the private first axis stays", do="name the public axes: `X[:, None]`, `X.T @ X`")
        return Transposed(self)

    def argmax(self, axis: int | None = None) -> Self:
        """The position of the largest element of each row; the first of equal ones, or of missing ones."""
        return self._position(axis, "greater")

    def argmin(self, axis: int | None = None) -> Self:
        """The position of the smallest element of each row; the first of equal ones, or of missing ones."""
        return self._position(axis, "less")

    def _position(self, axis: int | None, better: str) -> Self:
        if axis not in (1, -1) or self._cells.ndim != 1:
            raise PlanError("over all rows the position of an extreme is private", do="use axis=1")
        best, at = self._cells[0], each.constant(0)
        for i, e in enumerate(self._flat[1:], 1):
            found = each.comes_before(better, e, best)
            best, at = each.where(found, e, best), each.where(found, each.constant(i), at)
        return self._new(_one(at))

    # -- over the rows

    @overload
    def sum(self, axis: WithinRows, *, keepdims: bool = False) -> Self: ...
    @overload
    def sum(self, axis: Literal[0] | None = None) -> Sums: ...
    @overload
    def sum(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Self | Sums: ...
    def sum(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Self | Sums:
        """Over the rows (axis=0): private sums. Within each row (axis=1, …): an array of row sums."""
        if keepdims:
            return cast("Self", self._kept("sum", axis))
        if axis == 0:
            return vector_sum(self._rows, self._flat, numpy.arange(self._cells.size).reshape(self._cells.shape))
        if axis is None:
            return self._new(_one(_total(self._flat))).sum(axis=0)
        axes = tuple(a % self.ndim - 1 for a in (axis if isinstance(axis, tuple) else (axis,)))
        if -1 in axes:
            raise PlanError("sum over the rows and within rows in two steps", do="X.sum(axis=1).sum(axis=0)")
        moved = numpy.moveaxis(self._cells, axes, range(-len(axes), 0))
        flat = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
        found = numpy.empty(flat.shape[:-1], dtype=object)
        for place in numpy.ndindex(found.shape):
            found[place] = _total(list(flat[place]))
        return self._new(found)

    @overload
    def mean(self, axis: WithinRows, *, keepdims: bool = False, eps: Any = None) -> Self: ...
    @overload
    def mean(self, axis: Literal[0] | None = None, *, eps: Any = None) -> Released: ...
    @overload
    def mean(self, axis: int | None, *, keepdims: bool = False, eps: Any = None) -> Self | Released: ...
    def mean(self, axis: int | None = None, *, keepdims: bool = False, eps: Any = None) -> Self | Released:
        """Within rows (axis=1) an array; over the rows (axis=0) released means, at eps in all."""
        if keepdims:
            return cast("Self", self._kept("mean", axis, eps=eps))
        if axis in (1, -1) and self._cells.ndim == 1:
            return self.sum(axis=1) / self._cells.size
        from privjail.statistics.mean import means

        self._need_eps("mean", axis, eps)
        found = means(self._rows, dict(enumerate(self._flat)), eps)
        return shaped(list(found.values()), self._cells.shape)

    def _kept(self, name: str, axis: Any, **options: Any) -> Any:
        """With the axis that was gone over as one of length 1."""
        if isinstance(axis, int) and axis % self.ndim == 0 and options.get("eps") is not None:
            return numpy.expand_dims(numpy.asarray(getattr(self, name)(0, **options)), 0)
        if not isinstance(axis, int) or axis % self.ndim == 0:
            raise PlanError(f"{name}(keepdims=True) goes over the elements of each row", do=f"X.{name}(axis=1)")
        found = getattr(self, name)(axis)
        return found._new(numpy.expand_dims(found._cells, axis % self.ndim - 1))

    def min(self, axis: int | None = None, *, keepdims: bool = False, eps: Any = None) -> Any:
        """Within rows (axis=1) an array; over the rows (axis=0) a value that few rows lie below, at eps in all."""
        return self._extreme("min", axis, keepdims, eps)

    def max(self, axis: int | None = None, *, keepdims: bool = False, eps: Any = None) -> Any:
        """Within rows (axis=1) an array; over the rows (axis=0) a value that few rows lie above, at eps in all."""
        return self._extreme("max", axis, keepdims, eps)

    def _extreme(self, name: str, axis: int | None, keepdims: bool, eps: Any) -> Any:
        from privjail.budget.amounts import amount
        from privjail.numpy.within import folded
        from privjail.statistics.quantile import extreme

        if axis is not None and axis % self.ndim:
            return folded(self, name + "imum", axis, keepdims)
        self._need_eps(name, axis, eps)
        share = amount(eps) / self._cells.size
        return shaped([extreme(self._rows, e, name, share) for e in self._flat], self._cells.shape)

    def any(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Within rows (axis=1): whether one element is true."""
        return self._truths("logical_or", "any", axis, keepdims)

    def all(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Within rows (axis=1): whether all elements are true."""
        return self._truths("logical_and", "all", axis, keepdims)

    def _truths(self, joined_by: str, name: str, axis: int | None, keepdims: bool) -> Self:
        from privjail.numpy.within import folded

        if axis is None or axis % self.ndim == 0:
            raise UnknownName(
                f"PrivArray.{name} is refused: one row could change it", plan=self._plan(),
                do=f"count the rows: `X.sum(axis=0).reveal(eps=0.1)`; within each row: `X.{name}(axis=1)`",
            )  # fmt: skip
        return folded(self, joined_by, axis, keepdims)  # type: ignore[return-value]

    def var(self, axis: int | None = None, *, ddof: int = 0, eps: Any = None) -> Released:
        """Released variances of the columns, at eps in all."""
        from privjail.budget.amounts import amount
        from privjail.statistics.variance import variance

        self._need_eps("var", axis, eps)
        share = amount(eps) / self._cells.size
        return shaped([variance(self._rows, e, share, ddof) for e in self._flat], self._cells.shape)

    def std(self, axis: int | None = None, *, ddof: int = 0, eps: Any = None) -> Released:
        """Released standard deviations of the columns, at eps in all."""
        found = numpy.sqrt(self.var(axis, ddof=ddof, eps=eps))
        return float(found) if found.ndim == 0 else found

    def _need_eps(self, name: str, axis: int | None, eps: Any) -> None:
        if eps is None:
            raise PlanError(f"{name} over the rows is released at once and needs eps", do=f"X.{name}(axis=0, eps=0.1)")
        if axis not in (0, None) or (axis is None and self._cells.ndim > 0):
            do = f"X.{name}(axis=0, eps=0.1)"
            raise PlanError(f"{name} goes over the rows: axis=0", plan=self._plan(), do=do)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from privjail.numpy.protocol import ufunc as call

        return call(self, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from privjail.numpy.protocol import function

        return function(self, func, args, kwargs)

    if not TYPE_CHECKING:  # or a misspelt name would pass for one of these

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"PrivArray has no {name!r}")
            if not hasattr(numpy.ndarray, name):
                near = get_close_matches(name, [n for n in dir(self) if not n.startswith("_")], n=3)
                do = f"did you mean {', '.join(near)}?" if near else f"sum over the rows: {_SUMS}"
                raise UnknownName(f"a private array has no {name!r:.40}", do=do)
            why, do, _ = next((line for line in _LACKS if name in line[2].split()), _LACKS[-1])
            raise UnknownName(f"PrivArray.{name} is refused: {why}", plan=self._plan(), do=do)


class Transposed:
    """X.T: it can be multiplied by an array of the same rows, and nothing else."""

    def __init__(self, array: PrivArray) -> None:
        self._array = array

    def __matmul__(self, other: Any) -> Any:
        x = self._array
        other = asarray(other)
        if not isinstance(other, PrivArray):
            raise PlanError("X.T @ y needs a private array of the same rows", do="for public weights use X @ w")
        if other._rows is not x._rows:
            raise RowsError("the operands do not have the same rows", do="take both from the same table")
        if x._cells.ndim > 1 or other._cells.ndim > 1:
            raise PlanError("X.T @ Y needs arrays of one or two axes")
        left, right = [numeric(e) for e in x._flat], [numeric(e) for e in other._flat]
        shape = (*x._cells.shape, *other._cells.shape)
        if left == right:  # symmetric: each pair once
            pairs = [(i, j) for i in range(len(left)) for j in range(i, len(left))]
            place = {pair: k for k, pair in enumerate(pairs)}
            at = numpy.array([[place[min(i, j), max(i, j)] for j in range(len(left))] for i in range(len(left))])
        else:
            pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
            at = numpy.arange(len(pairs))
        return vector_sum(x._rows, [product(left[i], right[j]) for i, j in pairs], at.reshape(shape))

    @property
    def T(self) -> PrivArray:  # noqa: N802
        return self._array

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._array.shape[::-1]

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def __len__(self) -> int:
        if self._array.ndim == 1:
            return len(self._array)
        return int(self._array._cells.shape[-1])

    def __getitem__(self, key: Any) -> Any:
        """A column: X.T[0] is X[:, 0]."""
        if self._array.ndim == 2 and isinstance(key, (int, numpy.integer, slice, list)):
            found = self._array[:, key]
            return found if found.ndim == 1 else Transposed(found)
        raise PlanError("X.T is taken apart by columns", do="X.T[0], or X[:, 0]")

    def __iter__(self) -> Any:
        """The columns: ``age, days = X.T``."""
        if self._array.ndim != 2:
            iter(self._array)
        return (self._array[:, i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc is numpy.matmul and method == "__call__" and not kwargs and inputs[0] is self:
            return self @ inputs[1]
        raise PrisonerError(f"numpy.{ufunc.__name__} has no rule for X.T", do="use X.T @ Y, or the function of X")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from privjail.numpy.protocol import function

        return function(self, func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        raise PrisonerError(f"X.T has no {name!s:.40}: columns of private length", do="use X.T @ Y, or X.sum(axis=0)")

    def __repr__(self) -> str:
        return f"{self._array!r}.T"


def product(u: Expr, v: Expr) -> Expr:
    """u·v on its grid: rounded toward zero, so that the norm of a row of products is that of its factors."""
    found = Arithmetic("*", u, v)
    return Truncate(found) if isinstance(found.domain, FloatDomain) else found


def elementwise(name: str, *operands: Any) -> PrivArray:
    """A binary function of two arrays; public ones meet the public axes alone."""
    arrays = [asarray(x) for x in operands]
    private = [a for a in arrays if isinstance(a, PrivArray)]
    if any(a._rows is not private[0]._rows for a in private):
        raise RowsError("the arrays do not have the same rows in the same order", do="take both from the same table")
    if len({a.ndim for a in private}) > 1 and min(a.ndim for a in private) == 1:
        raise PlanError("an array of one axis and one of several: which axis is meant?", do="use x[:, None]")
    tails = [a._cells if isinstance(a, PrivArray) else _public_tail(a, private[0]) for a in arrays]
    found = numpy.frompyfunc(lambda a, b: each.settled(name, each.binary(name, a, b)), 2, 1)(*tails)
    return type(private[0])(private[0]._rows, found)


def _public_tail(public: Any, private: PrivArray) -> Cells:
    """A public array as constants: its axes are the public ones. One row for all, never one for each."""
    values = numpy.asarray(public)
    if values.ndim > private._cells.ndim:
        if values.ndim > private.ndim or values.shape[0] != 1:
            raise RowsError(
                f"a public array of shape {values.shape} cannot meet private rows: which row comes where is private",
                do="use one row for all: X - row, with as many elements as X has columns",
            )
        values = values[0]
    return numpy.frompyfunc(lambda x: each.constant(x.item() if hasattr(x, "item") else x), 1, 1)(values.astype(object))


def asarray(x: Any) -> Any:
    """A private column or table as an array; anything else as it is."""
    if isinstance(x, PrivArray) or not isinstance(x, Prisoner):
        return x
    rows, exprs = getattr(x, "_rows", None), getattr(x, "_exprs", None)
    if rows is not None and exprs is not None:
        return PrivArray(rows, cells_of(_held(e) for e in exprs.values()))
    expr = getattr(x, "_expr", None)
    if rows is not None and isinstance(expr, Expr):
        return PrivArray(rows, _one(_held(expr)))
    raise PrisonerError("this private value is no array", do="use columns and tables of private rows")


def _held(e: Expr) -> Expr:
    """Numbers as they are; text that stands for numbers is parsed; a category stays one, to be compared or counted."""
    return e if isinstance(e.domain, CategoryDomain) else numeric(e) if not isinstance(e.domain, BoolDomain) else e


def _one(e: Expr) -> Cells:
    found = numpy.empty((), dtype=object)
    found[()] = e
    return found


def _total(exprs: list[Expr]) -> Expr:
    """The sum within a row."""
    numbers = tuple(numeric(e) for e in exprs)
    if all(isinstance(e.domain, IntDomain) for e in numbers):
        total = numbers[0]
        for e in numbers[1:]:
            total = Arithmetic("+", total, e)
        return total
    return Dot(numbers, (Lit.of(1.0),) * len(numbers))


def shaped(values: list[float], shape: tuple[int, ...]) -> Released:
    found = numpy.array(values, dtype=numpy.float64).reshape(shape)
    return float(found) if not shape else found


def show_distance(array: PrivArray) -> str:
    value = array.distance.value
    return "∞" if value is None else show(value)


def _order(ord_: Any, as_number: bool = False) -> Any:
    found = {1: 1, 2: 2, math.inf: math.inf}.get(ord_)
    if found is None:
        raise PlanError(f"no norm of order {ord_!s:.20}", do="use ord=1, ord=2 or ord=numpy.inf")
    return found if as_number else ORDERS[found]


def clip_norm(x: Any, bound: Any, ord: float = 2) -> PrivArray:  # noqa: A002  numpy's name
    """Rows longer than ``bound`` are scaled to it, and put on the grid of sums toward zero.

    A row with a missing element is missing as a whole.

    >>> X = pj.clip_norm(df[["age", "days"]].to_numpy(), 50)
    >>> X.row_norm()
    50.0
    """
    array = asarray(x)
    if not isinstance(array, PrivArray):
        raise PlanError("clip_norm takes a private array", do="df[cols].to_numpy()")
    columns = tuple(numeric(e) for e in array._flat)
    limit = float(bound)
    scale = RowScale(columns, Lit.of(limit), _order(ord))

    def short(e: Expr) -> Expr:
        return Truncate(Clip(Arithmetic("*", e, scale), Lit.of(-limit), Lit.of(limit)))

    return PrivArray(array._rows, cells_of(short(e) for e in columns).reshape(array._cells.shape))


def normalize(x: Any, ord: float = 2) -> PrivArray:  # noqa: A002  numpy's name
    """Rows divided by their norm; a row of zeros is missing.

    >>> X = pj.normalize(df[["age", "days"]].to_numpy())
    """
    array = asarray(x)
    return clip_norm(array / norm(array, ord=ord)[:, None], 1.0, ord)


def norm(x: Any, ord: float | None = None, axis: Any = None, keepdims: bool = False) -> PrivArray:  # noqa: A002
    """The norm of each row: numpy.linalg.norm(X, axis=1)."""
    if keepdims:
        return norm(x, ord, axis)[:, None]
    array = asarray(x)
    order = _order(2 if ord is None else ord)
    if axis not in (None, 1, -1) or array._cells.ndim != 1:
        raise PlanError("a norm is taken of each row", do="np.linalg.norm(X, axis=1)")
    sizes = [each.square(e) if order == "2" else each.UNARY["absolute"](e) for e in array._flat]
    if order == "2":
        total = Clip(each.as_floats(_total(sizes)), Lit.of(0.0), Lit.of(None))
        return PrivArray(array._rows, _one(each.UNARY["sqrt"](total)))
    if order == "1":
        return PrivArray(array._rows, _one(_total(sizes)))
    largest = sizes[0]
    for e in sizes[1:]:
        largest = each.binary("maximum", largest, e)
    return PrivArray(array._rows, _one(largest))
