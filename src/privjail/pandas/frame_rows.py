"""Rows of a private table: filters, slices, sorts and groups."""

from __future__ import annotations

from typing import Any, Self

from privjail.errors import PlanError, RowsError
from privjail.ops.filter import keep
from privjail.ops.isin import IsNull
from privjail.ops.logic import joined, negation
from privjail.ops.slice import Slice
from privjail.ops.sort import Sort
from privjail.pandas.frame_columns import FrameColumns
from privjail.pandas.groups import PrivDataFrameGroupBy
from privjail.pandas.query import parse_query
from privjail.pandas.refusals import refuse_row_numbers
from privjail.pandas.rowwise import same_rows
from privjail.pandas.series import PrivSeries
from privjail.pandas.slicing import Iloc, bounded, carried, nulls_last
from privjail.plan.expr import Expr
from privjail.prisoner import Prisoner


class FrameRows(FrameColumns):
    """Selecting and ordering rows."""

    def __getitem__(self, key: Any) -> Any:
        if callable(key) and not isinstance(key, Prisoner):
            key = key(self)
        if isinstance(key, PrivSeries):
            return self._filtered(key)
        if isinstance(key, list) or type(key).__name__ == "Index":
            return self._new({name: self._expr(name) for name in key})
        if isinstance(key, slice):
            return self.iloc[key]
        if isinstance(key, Prisoner):
            raise PlanError("a table is filtered by one true/false column of its own")
        return self._series(key)

    def _filtered(self, condition: PrivSeries) -> Self:
        if condition._rows is self._rows:
            return self._new(self._exprs, keep(self._rows, condition._expr))
        rows, exprs = same_rows((condition._rows, condition._expr), *((self._rows, e) for e in self._exprs.values()))
        return self._new(dict(zip(self._exprs, exprs[1:], strict=True)), keep(rows, exprs[0]))

    @property
    def loc(self) -> Loc:
        return Loc(self)

    @property
    def iloc(self) -> Iloc:
        return Iloc(self._window)

    def _window(self, start: int | None, stop: int | None) -> Self:
        rows = Slice(self._rows, start, stop)
        return self._new({n: carried(rows, e) for n, e in self._exprs.items()}, rows)

    def head(self, n: int = 5) -> Self:
        """The first rows."""
        return self._window(*bounded("head", n))

    def tail(self, n: int = 5) -> Self:
        """The last rows."""
        return self._window(*bounded("tail", n))

    def query(self, expr: str) -> Self:
        """Rows that meet a condition written as text, e.g. ``query("age > 40 and sex == 'F'")``."""
        condition: PrivSeries = parse_query(expr, self)
        return self._filtered(condition)

    def sort_values(
        self, by: Any, *, ascending: Any = True, kind: str = "stable", na_position: str = "last",
        ignore_index: bool = True,
    ) -> Self:  # fmt: skip
        """Sorted by columns, ties in their order, missing values last."""
        nulls_last(na_position)
        names = self._names(by)
        up = [ascending] * len(names) if isinstance(ascending, (bool, int)) else list(ascending)
        if len(up) != len(names):
            raise PlanError("ascending needs one direction for each column")
        keys = tuple(self._expr(n) for n in names)
        return self._new(self._exprs, Sort(self._rows, keys, tuple(int(not a) for a in up)))

    def reset_index(self, *, drop: bool = False) -> Self:
        """The same rows: they have no labels that could be dropped."""
        return self._new(self._exprs) if drop else refuse_row_numbers(self)

    def dropna(self, *, subset: Any = None, how: str = "any") -> Self:
        """Rows without missing values (how='all': rows in which not everything is missing)."""
        if how not in ("any", "all"):
            raise PlanError(f"how must be 'any' or 'all', got {how!r}")
        names = list(self._exprs) if subset is None else self._names(subset)
        nulls: list[Expr] = [IsNull(self._expr(n)) for n in names if self._expr(n).domain.nullable]
        if not nulls or (how == "all" and len(nulls) < len(names)):
            return self._new(self._exprs, self._rows)
        # One condition, and so one partition: one for each column would leave no depth for the groups of a wide table.
        dropped = joined("|" if how == "any" else "&", nulls)
        return self._new(self._exprs, keep(self._rows, negation(dropped)))

    def groupby(self, by: Any, *, sort: bool = True, observed: bool = False, dropna: bool = True) -> Any:
        """Groups by one or more columns with finitely many values; absent values give empty groups."""
        if observed or not dropna:
            raise PlanError(
                "which groups occur is private: every possible group is there, and rows without a key in none",
                do="leave out observed=True and dropna=False",
            )
        if isinstance(by, Prisoner) and not isinstance(by, PrivSeries):
            raise PlanError("groups are made by columns, not by a private number or table")
        if callable(by) and not isinstance(by, Prisoner):
            raise PlanError("groups are made by columns, not by code", do='df.groupby("column")')
        return PrivDataFrameGroupBy(self, by)


class Loc:
    """df.loc[condition], df.loc[condition, columns], df.loc[:, columns], and assignment to them."""

    def __init__(self, frame: FrameRows) -> None:
        self._frame = frame

    def _parts(self, key: Any) -> tuple[PrivSeries | None, Any]:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        if callable(rows) and not isinstance(rows, Prisoner):
            rows = rows(self._frame)
        if isinstance(columns, slice) and columns != slice(None):
            raise PlanError("columns are chosen by a list of names", do='df.loc[condition, ["a", "b"]]')
        if isinstance(rows, PrivSeries):
            return rows, columns
        if isinstance(rows, slice) and rows == slice(None):
            return None, columns
        raise PlanError("rows have no public labels", do="use a condition: df.loc[df['age'] > 40]")

    def __getitem__(self, key: Any) -> Any:
        rows, columns = self._parts(key)
        table = self._frame if rows is None else self._frame[rows]
        return table if isinstance(columns, slice) else table[columns]

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, columns = self._parts(key)
        frame = self._frame
        names = (
            list(frame._exprs) if isinstance(columns, slice) else (columns if isinstance(columns, list) else [columns])
        )
        if rows is None:
            for name in names:
                frame[name] = value
            return
        if rows._rows is not frame._rows:
            raise RowsError("the condition does not belong to the rows of this table")
        changed = {name: frame._with_mask(frame._expr(name), rows, value) for name in names}
        frame._exprs = frame._exprs | changed
