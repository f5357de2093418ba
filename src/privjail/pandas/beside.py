"""Columns of the same rows put side by side: df.join(other), and pd.concat([…], axis=1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
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
