"""pandas for private data: ``from privjail import pandas as pd``.

Names, arguments and meaning are those of pandas with nullable types and groupby(observed=False). What differs:

- counts and sums are private numbers, to be released; ``mean``, ``quantile``, ``describe``, … take ``eps``;
- what pandas makes an exception over data (a cast that fails) or infinite (x / 0) is a missing value;
- a comparison with a missing value is missing in every type, also for categories and times;
- rows have no labels: columns meet only if they have the same rows in the same order;
- a column that no schema declares is ``untyped``: text, and a number wherever it is used as one.
"""

from __future__ import annotations

from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.functions import (
    Grouper,
    concat,
    crosstab,
    cut,
    get_dummies,
    isna,
    isnull,
    merge,
    notna,
    notnull,
    pivot_table,
    qcut,
    to_datetime,
    to_numeric,
    to_timedelta,
)
from privjail.pandas.groups import PrivDataFrameGroupBy, PrivSeriesGroupBy
from privjail.pandas.io import from_frame, read_csv, read_parquet
from privjail.pandas.refusals import public_or_refused
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import SensitiveDataFrame, SensitiveSeries

__all__ = [
    "Grouper",
    "PrivDataFrame",
    "PrivDataFrameGroupBy",
    "PrivSeriesGroupBy",
    "PrivSeries",
    "SensitiveDataFrame",
    "SensitiveSeries",
    "concat",
    "crosstab",
    "cut",
    "from_frame",
    "get_dummies",
    "isna",
    "isnull",
    "merge",
    "notna",
    "notnull",
    "pivot_table",
    "qcut",
    "read_csv",
    "read_parquet",
    "to_datetime",
    "to_numeric",
    "to_timedelta",
]


def __getattr__(name: str) -> object:
    return public_or_refused(name)
