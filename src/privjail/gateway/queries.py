"""A query of the gateway: a data set, steps that change the table, and one question with its price."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pandas as pd
from privjail.answers.answer import Answer
from privjail.answers.released import ReleasedSeries
from privjail.errors import BudgetError, PlanError
from privjail.gateway.expressions import Expressions, named
from privjail.pandas import read_csv
from privjail.pandas.frame import PrivDataFrame

MOST_STEPS = 100
CONFIDENCE = 0.95
#: Statistics that are released by reveal(), which takes every price; the others take ε.
REVEALED = ("count", "sum")
STATISTICS = (*REVEALED, "mean", "var", "std", "median", "min", "max", "quantile")
AMOUNT = re.compile(r"[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?(e-?[0-9]{1,2})?")


def asked(query: dict[str, Any]) -> dict[str, Any]:
    """Build the plan of a query, release it through the connection of this context, and return the answer as JSON."""
    _keys(query, {"dataset", "ask"}, {"steps", "request"}, "a query")
    if not isinstance(query["dataset"], str):
        raise PlanError("dataset is a name")
    reader, table = Expressions(), read_csv(query["dataset"])
    for step in _list(query.get("steps", []), MOST_STEPS, "steps"):
        table = _stepped(reader, table, step)
    return _answer(reader, table, query["ask"])


# -- steps


def _stepped(reader: Expressions, table: PrivDataFrame, step: Any) -> PrivDataFrame:
    if not isinstance(step, dict) or len(step) != 1 or next(iter(step)) not in STEPS:
        raise PlanError("a step is an object with one key", do=f"use one of: {', '.join(STEPS)}")
    ((kind, given),) = step.items()
    return STEPS[kind](reader, table, given)


def _filter(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    return table[reader.column(table, given)]


def _assign(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    if not isinstance(given, dict) or not given:
        raise PlanError("assign takes an object: names of columns, and expressions")
    return table.assign(**{name: reader.column(table, each) for name, each in given.items()})


def _sort(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    _keys(given, {"by"}, {"descending"}, "sort")
    descending = given.get("descending", False)
    if not isinstance(descending, bool):
        raise PlanError("descending is true or false")
    return table.sort_values(_names(table, given["by"]), ascending=not descending)


def _head(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    return table.head(_whole(given, "head"))


def _tail(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    return table.tail(_whole(given, "tail"))


def _dropna(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    return table.dropna(subset=_names(table, given))


def _head_of_each(reader: Expressions, table: PrivDataFrame, given: Any) -> PrivDataFrame:
    _keys(given, {"by", "rows"}, set(), "head_of_each")
    names = _names(table, given["by"])
    if len(names) != 1:
        raise PlanError("head_of_each takes one column", do='{"head_of_each": {"by": ["patient"], "rows": 3}}')
    found: PrivDataFrame = table.groupby(names[0]).head(_whole(given["rows"], "rows"))
    return found


STEPS: dict[str, Callable[[Expressions, PrivDataFrame, Any], PrivDataFrame]] = {
    "filter": _filter, "assign": _assign, "sort": _sort, "head": _head, "tail": _tail, "dropna": _dropna,
    "head_of_each": _head_of_each,
}  # fmt: skip


# -- the question


def _answer(reader: Expressions, table: PrivDataFrame, ask: Any) -> dict[str, Any]:
    _keys(ask, {"statistic"}, {"of", "by", "q", "eps", "delta", "rho"}, "ask")
    statistic = ask["statistic"]
    if statistic not in STATISTICS:
        raise PlanError(f"there is no statistic {str(statistic)[:50]!r}", do=f"use one of: {', '.join(STATISTICS)}")
    if ("q" in ask) is not (statistic == "quantile"):
        raise PlanError("quantile takes q, a number from 0 to 1, and no other statistic does")
    if ("of" in ask) is (statistic == "count"):
        raise PlanError("every statistic but count is of an expression", do='e.g. "of": {"column": "age"}')
    price = {name: _amount(ask[name], name) for name in ("eps", "delta", "rho") if name in ask}
    if not price:
        raise PlanError("a release has a price", do='e.g. "eps": "1/10"')
    if statistic not in REVEALED and set(price) != {"eps"}:
        raise PlanError(f"{statistic} is paid for in eps alone", do='e.g. "eps": "1/10"')
    by = _names(table, ask["by"]) if "by" in ask else []
    found = _released(reader, table, ask, by, price)
    return {"answer": _rows(found, by), "price": {name: str(each) for name, each in price.items()}}


def _released(reader: Expressions, table: PrivDataFrame, ask: Any, by: list[str], price: dict[str, Fraction]) -> Any:
    statistic, more = ask["statistic"], {}
    if statistic == "quantile":
        more["q"] = _share(ask["q"])
    if statistic == "count":
        private: Any = table.groupby(by).size() if by else table.shape[0]
    else:
        column = reader.column(table, ask["of"])
        private = table.assign(**{VALUE: column}).groupby(by)[VALUE] if by else column
    if statistic == "sum":
        private = private.sum()
    if statistic in REVEALED:
        return private.reveal(**price)
    return getattr(private, statistic)(eps=price["eps"], **more)


VALUE = "\x00value"  # the name of the column that is asked about, which no schema can have


def _rows(found: Any, by: list[str]) -> list[dict[str, Any]]:
    """Each number with the group that it belongs to, and an interval."""
    if not by:
        low, high = found.interval(CONFIDENCE) if isinstance(found, Answer) else (math.nan, math.nan)
        return [_row({}, found, low, high)]
    ends = found.interval(CONFIDENCE) if isinstance(found, ReleasedSeries) else None
    rows = []
    for i, (key, value) in enumerate(pd.Series(found).items()):
        labels = key if isinstance(key, tuple) else (key,)
        low, high = (math.nan, math.nan) if ends is None else ends.iloc[i]
        rows.append(_row(dict(zip(by, map(_label, labels), strict=True)), value, low, high))
    return rows


def _row(group: dict[str, Any], value: Any, low: Any, high: Any) -> dict[str, Any]:
    return {"group": group, "value": finite(value), "low": finite(low), "high": finite(high)}


def finite(x: Any) -> float | None:
    """JSON has neither infinity nor NaN: null."""
    return float(x) if math.isfinite(x) else None


def _label(x: Any) -> Any:
    """A category as JSON: true, a number or a text; null for missing."""
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if hasattr(x, "item"):
        return _label(x.item())
    if isinstance(x, float):
        return finite(x)
    return str(x)


# -- parts of a query


def _keys(given: Any, needed: set[str], more: set[str], what: str) -> None:
    if not isinstance(given, dict) or not needed <= set(given) or set(given) - needed - more:
        raise PlanError(
            f"{what} has the keys {', '.join(sorted(needed))}; it may have {', '.join(sorted(more)) or 'no more'}"
        )


def _list(given: Any, most: int, what: str) -> list[Any]:
    if not isinstance(given, list) or len(given) > most:
        raise PlanError(f"{what} is a list of at most {most}")
    return given


def _names(table: PrivDataFrame, given: Any) -> list[str]:
    names = _list(given, 20, "a list of columns")
    if not names or not all(isinstance(each, str) for each in names):
        raise PlanError("a list of columns has at least one name")
    for each in names:
        named(table, each)
    return names


def _whole(given: Any, what: str) -> int:
    if type(given) is not int or not 0 <= given < 2**31:
        raise PlanError(f"{what} takes a whole number of at least 0")
    return given


def _share(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise PlanError("q is a number from 0 to 1")
    return float(given)


def _amount(given: Any, what: str) -> Fraction:
    """An exact amount: a text such as "1/10" or "0.1"; or a number, which is taken as it is written."""
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise BudgetError(f'{what} is a number, or a text such as "1/10"')
    text = given if isinstance(given, str) else repr(given)
    if not AMOUNT.fullmatch(text):
        raise BudgetError(f'{what} is a number, or a text such as "1/10"')
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BudgetError(f'{what} is a number, or a text such as "1/10"') from None
