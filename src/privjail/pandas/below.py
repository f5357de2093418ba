"""Tables of one population below each other: pd.concat([a, b])."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.ops.rows.append import Append, Appended
from privjail.pandas.beside import beside
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.series import PrivSeries
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

Part = tuple[Rows, dict[Any, Expr]]


def concatenated(objs: Any, axis: Any, join: Any) -> PrivDataFrame | PrivSeries:
    """pd.concat of private parts: columns of the same rows side by side, or rows below each other."""
    parts = list(objs.values() if hasattr(objs, "values") else objs)
    if axis in (1, "columns"):
        return beside(parts)
    if axis not in (0, "index"):
        raise PlanError(f"axis is 0 or 1, not {axis!r}")
    if join not in ("outer", "inner"):
        raise PlanError(f"join is 'outer' or 'inner', not {join!r}")
    if not parts:
        raise PlanError("there is nothing to put together")
    if all(isinstance(each, PrivSeries) for each in parts):
        names = {each.name for each in parts}
        name = names.pop() if len(names) == 1 else None
        rows, columns = _below([(each._rows, {name: each._expr}) for each in parts], "outer")
        return PrivSeries(rows, columns[name], name)
    if not all(isinstance(each, PrivDataFrame) for each in parts):
        raise PlanError(
            "private tables are put below private tables only, and private columns below private columns",
            do='for a public table: `df.merge(table, on="g", how="left")`; for a column: df[["a"]]',
        )
    rows, columns = _below([(each._rows, each._exprs) for each in parts], join)
    return PrivDataFrame(rows, columns)


def _below(parts: list[Part], join: str) -> Part:
    """All rows of each table in turn: halves first, so that many tables are not deeply nested."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    (first, mine), (second, theirs) = _below(parts[:middle], join), _below(parts[middle:], join)
    rows = Append(first, second)
    names = [n for n in mine if n in theirs] if join == "inner" else list(dict.fromkeys([*mine, *theirs]))
    columns: dict[Any, Expr] = {}
    for name in names:
        try:
            columns[name] = Appended(rows, mine.get(name), theirs.get(name))
        except PlanError as error:
            raise PlanError(f"the column {name!r}: {error.what}", plan=str(rows), do=error.do) from None
    return rows, columns
