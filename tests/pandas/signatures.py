"""How our signatures differ from those of pandas: every argument of pandas is taken, or answered with a reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from pandas.api.typing import DataFrameGroupBy, Rolling, SeriesGroupBy

import pandas
from privjail import pandas as pd
from privjail.pandas import rolling
from privjail.pandas.keywords import KEYWORDS, Keyword

PAIRS = {
    "DataFrame": (pd.PrivDataFrame, pandas.DataFrame),
    "Series": (pd.PrivSeries, pandas.Series),
    "DataFrameGroupBy": (pd.PrivDataFrameGroupBy, DataFrameGroupBy),
    "SeriesGroupBy": (pd.PrivSeriesGroupBy, SeriesGroupBy),
    "Rolling": (rolling.Rolling, Rolling),
    "pandas": (pd, pandas),
}
PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Difference(NamedTuple):
    owner: str
    method: str
    argument: str
    rule: Keyword | None  # None: nothing answers it


def methods() -> Iterator[tuple[str, str, inspect.Signature, inspect.Signature]]:
    """Every method that both have, with our signature and pandas'."""
    for owner, (ours, theirs) in PAIRS.items():
        for name in dir(ours):
            mine, his = getattr(ours, name, None), getattr(theirs, name, None)
            if name.startswith("_") or not inspect.isfunction(mine) or not callable(his) or inspect.isclass(his):
                continue
            if mine.__module__.startswith("privjail"):
                yield owner, name, inspect.signature(mine), inspect.signature(his)


def differences() -> list[Difference]:
    """Every argument of pandas that one of our methods does not have."""
    found = []
    for owner, name, mine, his in methods():
        if any(p.kind == p.VAR_KEYWORD for p in mine.parameters.values()):
            continue
        for argument, parameter in his.parameters.items():
            if argument in mine.parameters or argument == "self" or parameter.kind in (2, 4):
                continue
            rule = KEYWORDS.get(f"{name}.{argument}") or KEYWORDS.get(argument)
            found.append(Difference(owner, name, argument, rule))
    return found
