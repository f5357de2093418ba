"""df.loc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RowsError
from privjail.pandas.series import PrivSeries
from privjail.prisoner import Prisoner

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame


class Loc:
    """df.loc[condition], df.loc[condition, columns], df.loc[:, columns], and assignment to them."""

    def __init__(self, frame: PrivDataFrame) -> None:
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

    def __getitem__(self, key: Any) -> PrivDataFrame | PrivSeries:
        rows, columns = self._parts(key)
        table = self._frame if rows is None else self._frame[rows]
        if isinstance(columns, slice):
            return table
        found: PrivDataFrame | PrivSeries = table[columns]
        return found

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
