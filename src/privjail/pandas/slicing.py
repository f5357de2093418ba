"""head, tail and iloc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from privjail.errors import PlanError
from privjail.ops.columns.carried import Carried
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

Face = TypeVar("Face")


_SLICE = 'take a slice, and count or sum it: `df.iloc[10:20]["a"].sum().reveal(eps=0.1)`'


class Iloc(Generic[Face]):
    """Row positions: only slices of consecutive rows have a bounded distance."""

    def __init__(self, slice_rows: Callable[[int | None, int | None], Face]) -> None:
        self._slice = slice_rows

    def __getitem__(self, key: slice) -> Face:
        if not isinstance(key, slice):
            raise PlanError(
                "a single row is private",
                do=_SLICE,
            )
        if key.step not in (None, 1):
            raise PlanError(
                "every n-th row has no bounded distance: one inserted row exchanges all rows after it",
                do="use iloc[a:b] without a step",
            )
        for bound in (key.start, key.stop):
            if bound is not None and type(bound) is not int:
                raise PlanError("iloc takes whole numbers")
        return self._slice(key.start, key.stop)


def bounded(which: str, n: Any) -> tuple[int | None, int | None]:
    """The slice that head(n) or tail(n) is; a negative n leaves rows out, as in pandas."""
    if type(n) is not int:
        raise PlanError(f"{which}(n) takes a whole number of rows")
    if which == "head":
        return None, n
    return (-n, None) if n else (0, 0)


def carried(rows: Rows, expr: Expr) -> Expr:
    """A column taken along into a new base; constants fit everywhere."""
    return expr if expr.base is None else Carried(rows, expr)


def nulls_last(na_position: str) -> None:
    if na_position != "last":
        raise PlanError("missing values come last", do="leave out na_position")
