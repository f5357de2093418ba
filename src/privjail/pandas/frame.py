"""PrivDataFrame: a private table."""

from __future__ import annotations

from typing import Any

from privjail.pandas.frame_rows import FrameRows
from privjail.pandas.frame_statistics import FrameStatistics
from privjail.pandas.frame_values import FrameValues
from privjail.pandas.refusals import refuse
from privjail.pandas.series_core import SeriesCore
from privjail.prisoner import Prisoner


class PrivDataFrame(FrameStatistics, FrameRows, FrameValues):
    """A private table: rows that nobody sees, and public column names with expressions over the rows."""

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_exprs", {}):
            return self._series(name)
        return refuse(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # df.age = … sets the column if there is one, as in pandas; anything else would be lost silently.
        if name in self.__dict__.get("_exprs", {}):
            self[name] = value
        elif isinstance(value, Prisoner):
            refuse(self, name)
        else:
            object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(n for n in self._exprs if isinstance(n, str) and n.isidentifier())]


SeriesCore._frame_class = PrivDataFrame
