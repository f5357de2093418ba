"""Columns of the same rows put side by side: df.join(other) and pd.concat([…], axis=1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RefusedError
from privjail.pandas.series import PrivSeries
from privjail.rowwise import same_rows

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame


def beside(parts: list[Any]) -> PrivDataFrame:
    """One table of the columns of several, which must have the same rows in the same order."""
    from privjail.pandas.frame import PrivDataFrame

    columns: list[tuple[Any, PrivSeries]] = []
    for part in parts:
        if isinstance(part, PrivDataFrame):
            columns += list(part.items())
        elif isinstance(part, PrivSeries):
            columns.append((part.name, part))
        else:
            raise PlanError(
                "a private table is put beside private columns of the same rows",
                do='a public table is joined on a key: `df.merge(table, on="g", how="left")`',
            )
    names = [name for name, _ in columns]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise PlanError(f"two columns would have the name {twice[0]!r}", do='rename one: `df["a"].rename("c")`')
    rows, exprs = same_rows(*((column._rows, column._expr) for _, column in columns))
    return PrivDataFrame(rows, dict(zip(names, exprs, strict=True)))


def concatenated(objs: Any, axis: Any) -> PrivDataFrame:
    """pd.concat of private parts."""
    if axis not in (1, "columns"):
        raise RefusedError(
            "pd.concat of rows is refused: rows of different tables are not put together, since which of them belong "
            "to one person is private",
            do='add what you release of each: `df.shape[0] + df.shape[0]`; side by side: `pd.concat([df["a"], '
            'df["b"]], axis=1)`; for a public table `df.merge(table, on="g")`',
        )
    return beside(list(objs.values() if hasattr(objs, "values") else objs))
