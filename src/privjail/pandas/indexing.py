"""df.loc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RowsError
from privjail.pandas.series import PrivSeries
from privjail.pandas.slicing import Iloc
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
        columns = chosen_columns(list(self._frame._exprs), columns)
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
        changed = {
            name: frame._with_mask(frame._expr(name), rows, value)
            if name in frame._exprs
            else frame._only_where(rows, value)
            for name in names
        }
        frame._exprs = frame._exprs | changed


def chosen_columns(names: list[Any], key: Any) -> Any:
    """loc[:, …]: "a":"c" takes both ends, a list of true/false takes some, a function is asked for the key."""
    if isinstance(key, slice) and key != slice(None):
        if key.step is not None:
            raise PlanError("columns are chosen by a list of names", do='df.loc[:, ["a", "b"]]')
        ends = [end for end in (key.start, key.stop) if end is not None]
        for end in ends:
            if end not in names:
                raise PlanError(f"there is no column {end!r}", do=f"the columns are {', '.join(map(str, names[:10]))}")
        first = 0 if key.start is None else names.index(key.start)
        last = len(names) - 1 if key.stop is None else names.index(key.stop)
        return names[first : last + 1]
    listed = key.tolist() if hasattr(key, "tolist") and not isinstance(key, Prisoner) else key
    if isinstance(listed, list) and listed and all(isinstance(x, bool) for x in listed):
        if len(listed) != len(names):
            raise PlanError(f"{len(names)} true/false values are needed, one for each column")
        return [name for name, wanted in zip(names, listed, strict=True) if wanted]
    return listed


class TableIloc:
    """df.iloc[rows], df.iloc[:, columns], df.iloc[rows, columns]: by public positions."""

    def __init__(self, frame: PrivDataFrame) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        names = list(self._frame._exprs)
        chosen: Any
        if isinstance(columns, slice):
            chosen = names[columns]
        elif isinstance(columns, list):
            chosen = [self._name(names, i) for i in columns]
        else:
            chosen = self._name(names, columns)
        table = self._frame
        if not (isinstance(rows, slice) and rows == slice(None)):
            table = Iloc(table._slice)[rows]
        return table if isinstance(columns, slice) and columns == slice(None) else table[chosen]

    @staticmethod
    def _name(names: list[Any], i: Any) -> Any:
        if type(i) is not int or not -len(names) <= i < len(names):
            raise PlanError(f"iloc takes positions of columns from 0 to {len(names) - 1}")
        return names[i]
