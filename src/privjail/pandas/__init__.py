"""pandas for private data: ``from privjail import pandas as pd``."""

from __future__ import annotations

from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.functions import crosstab, cut, isna, isnull, merge, notna, notnull, to_numeric
from privjail.pandas.groups import PrivDataFrameGroupBy
from privjail.pandas.io import from_frame, read_csv, read_parquet
from privjail.pandas.refusals import public_or_refused
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import SensitiveDataFrame, SensitiveSeries

__all__ = [
    "PrivDataFrame",
    "PrivDataFrameGroupBy",
    "PrivSeries",
    "SensitiveDataFrame",
    "SensitiveSeries",
    "crosstab",
    "cut",
    "from_frame",
    "isna",
    "isnull",
    "merge",
    "notna",
    "notnull",
    "read_csv",
    "read_parquet",
    "to_numeric",
]


def __getattr__(name: str) -> object:
    return public_or_refused(name)
