"""Columns of a private table: choosing, naming, setting and dropping them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from privjail.errors import PlanError, RowsError
from privjail.ops.carried import Constant
from privjail.ops.where import NullWhere, Where
from privjail.pandas.frame_core import FrameCore
from privjail.pandas.join import join_public
from privjail.pandas.rowwise import constant_like, literal, same_rows, typed
from privjail.pandas.series import PrivSeries
from privjail.pandas.series_values import literal_or_none
from privjail.plan.expr import Expr
from privjail.prisoner import Prisoner

NUMBERS = {"number", "Int64", "Float64"}


class FrameColumns(FrameCore):
    """assign, drop, rename, filter, merge and their like."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set columns (to columns of the same rows, or constants), or set values where a condition holds."""
        if isinstance(key, PrivSeries):
            changed = self._new({n: self._with_mask(e, key, value) for n, e in self._exprs.items()})
        elif isinstance(key, list):
            changed = self._assigned_list(key, value)
        else:
            changed = self._assigned(key, value)
        self._rows, self._exprs = changed._rows, changed._exprs

    def _assigned_list(self, names: list[Any], value: Any) -> Self:
        parts = [value] * len(names)
        if isinstance(value, FrameCore):
            parts = [value._series(n) for n in value._exprs]
            if len(parts) != len(names):
                raise PlanError(f"{len(names)} columns cannot be set to {len(parts)}")
        changed = self._new(self._exprs)
        for name, part in zip(names, parts, strict=True):
            changed = changed._assigned(name, part)
        return changed

    def __delitem__(self, name: Any) -> None:
        self._expr(name)
        del self._exprs[name]

    def assign(self, **columns: Any) -> Self:
        """A table with further or changed columns."""
        table = self._new(self._exprs)
        for name, value in columns.items():
            public = callable(value) and not isinstance(value, Prisoner)
            table = table._assigned(name, value(table) if public else value)
        return table

    def _assigned(self, name: Any, value: Any) -> Self:
        if isinstance(value, PrivSeries):
            rows, exprs = same_rows((value._rows, value._expr), *((self._rows, e) for e in self._exprs.values()))
            return self._new(dict(zip(self._exprs, exprs[1:], strict=True)) | {name: exprs[0]}, rows)
        if isinstance(value, Prisoner):
            raise PlanError(f"column {name!r} cannot be set to a private number or table")
        if isinstance(value, (list, tuple, dict, set, range)) or hasattr(value, "__array__") and value.ndim:
            raise RowsError(
                f"column {name!r} cannot be set to a public list: which row comes where is private",
                do="compute it from columns, or join a public table on a key with .merge(…)",
            )
        if literal_or_none(value) is None:
            raise PlanError(
                f"column {name!r} cannot be set to a missing value: it would have no type",
                do="make values of a column missing with .mask(condition)",
            )
        return self._new(self._exprs | {name: Constant(literal(value))})

    def _with_mask(self, expr: Expr, condition: PrivSeries, value: Any) -> Expr:
        if condition._rows is not self._rows:
            raise RowsError("the condition does not belong to the rows of this table")
        if isinstance(value, PrivSeries):
            if value._rows is not self._rows:
                raise RowsError("the new values do not belong to the rows of this table")
            return Where(condition._expr, value._expr, expr)
        if literal_or_none(value) is None:
            return NullWhere(condition._expr, expr)
        return Where(condition._expr, constant_like(value), typed(expr, value))

    def insert(self, loc: int, column: Any, value: Any) -> None:
        """Set a new column, at a position among the columns."""
        if column in self._exprs:
            raise PlanError(f"there is already a column {column!r}")
        if type(loc) is not int or not 0 <= loc <= len(self._exprs):
            raise PlanError(f"the position must lie between 0 and {len(self._exprs)}")
        changed = self._assigned(column, value)
        names = [n for n in changed._exprs if n != column]
        names.insert(loc, column)
        self._rows, self._exprs = changed._rows, {n: changed._exprs[n] for n in names}

    def pop(self, item: Any) -> PrivSeries:
        """Take a column out of the table."""
        taken = self._series(item)
        del self._exprs[item]
        return taken

    def get(self, key: Any, default: Any = None) -> Any:
        """A column, or the default if there is none of this name."""
        return self._series(key) if key in self._exprs else default

    def items(self) -> Iterator[tuple[Any, PrivSeries]]:
        """Each column's name, with the column."""
        return ((name, self._series(name)) for name in self._exprs)

    def drop(self, labels: Any = None, *, columns: Any = None, axis: Any = 0) -> Self:
        """Without some columns."""
        if columns is None and axis in (1, "columns"):
            columns = labels
        if columns is None:
            raise PlanError("rows have no public labels", do="drop columns with drop(columns=…), filter rows")
        gone = self._names(columns)
        return self._new({n: e for n, e in self._exprs.items() if n not in gone})

    def rename(self, mapper: Any = None, *, columns: Any = None, axis: Any = 0) -> Self:
        """Other names for columns."""
        names = mapper if columns is None and axis in (1, "columns") else columns
        if not isinstance(names, Mapping) and not callable(names):
            raise PlanError("rename takes columns={old: new}")
        return self._renamed(lambda n: names(n) if callable(names) else names.get(n, n))

    def _renamed(self, f: Callable[[Any], Any]) -> Self:
        new = [f(n) for n in self._exprs]
        if len(set(new)) != len(new):
            raise PlanError("two columns would have the same name")
        return self._new(dict(zip(new, self._exprs.values(), strict=True)))

    def add_prefix(self, prefix: str) -> Self:
        """Names of columns with a text before them."""
        return self._renamed(lambda n: f"{prefix}{n}")

    def add_suffix(self, suffix: str) -> Self:
        """Names of columns with a text after them."""
        return self._renamed(lambda n: f"{n}{suffix}")

    def set_axis(self, labels: Any, *, axis: Any = 0) -> Self:
        """Other names for all columns."""
        if axis not in (1, "columns"):
            raise PlanError("rows have no public labels", do="use axis=1 to name the columns")
        table = self._new(self._exprs)
        table.columns = labels
        return table

    def filter(self, items: Any = None, like: str | None = None, regex: str | None = None, axis: Any = 1) -> Self:
        """The columns with some names: a list, a part of the name, or a pattern."""
        if sum(x is not None for x in (items, like, regex)) != 1 or axis not in (1, "columns", None):
            raise PlanError(
                "filter takes the names of columns: one of items=, like=, regex=", do="filter rows by df[…]"
            )
        if items is not None:
            return self._new({n: self._exprs[n] for n in items if n in self._exprs})
        hit = (lambda n: like in n) if like is not None else re.compile(str(regex)).search
        return self._new({n: e for n, e in self._exprs.items() if hit(str(n))})

    def select_dtypes(self, include: Any = None, exclude: Any = None) -> Self:
        """The columns of some types."""
        wanted, unwanted = _types(include), _types(exclude)
        if not wanted and not unwanted:
            raise PlanError("select_dtypes needs include= or exclude=")
        kinds = {n: e.domain.dtype for n, e in self._exprs.items()}
        return self._new(
            {n: self._exprs[n] for n, t in kinds.items() if (not wanted or t in wanted) and t not in unwanted}
        )

    def copy(self, deep: bool = True) -> Self:
        """A table that can be given other columns without changing this one."""
        return self._new(self._exprs)

    def pipe(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """f(self, …)."""
        return f(self, *args, **kwargs)

    def merge(self, right: Any, how: str = "inner", on: Any = None) -> Self:
        """Join with a public table (a pandas frame) on a key that is unique there."""
        joined: Self = join_public(self, right, on, how)
        return joined


def _types(given: Any) -> set[str]:
    listed = [] if given is None else [given] if isinstance(given, (str, type)) else list(given)
    names = {t.__name__ if isinstance(t, type) else str(t) for t in listed}
    names |= {"Int64", "Float64"} if "number" in names else set()
    spelled = {"int": "Int64", "int64": "Int64", "float": "Float64", "float64": "Float64", "bool": "boolean",
               "datetime": "datetime64[us]", "str": "string", "object": "string"}  # fmt: skip
    return {spelled.get(n, n) for n in names}
