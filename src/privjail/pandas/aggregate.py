"""agg: several statistics of several columns, for one eps that they share.

Nothing here is released by itself: each statistic is the method of the same name, with its share of eps. ``eps`` may
also be a dict that names what each statistic, column or result may cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privjail.budget.amounts import amount
from privjail.errors import PlanError, RefusedError
from privjail.pandas.identifiers import need_amounts
from privjail.together import several

if TYPE_CHECKING:
    import pandas

#: statistics by their names, and by the functions that stand for them
STATISTICS = ("mean", "sum", "count", "size", "std", "var", "min", "max", "median", "nunique", "sem", "skew", "kurt",
              "quantile")  # fmt: skip
_FUNCTIONS = {"len": "size", "amin": "min", "amax": "max", "average": "mean", "kurtosis": "kurt"}


@dataclass(frozen=True)
class ColumnStatistic:
    """One statistic of one column: where its result goes, and how it is called."""

    column: Any
    statistic: str
    label: Any


def statistic_of(given: Any) -> str:
    """The name of a statistic, from its name or from a well-known function."""
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    name = _FUNCTIONS.get(name, name)
    if name in STATISTICS:
        return name
    if name in ("first", "last", "nth"):
        raise RefusedError(f"agg({name!r}) is refused: it would show a row", do="use 'min', 'max' or 'median'")
    if not isinstance(given, str):
        raise RefusedError(
            "agg takes the names of statistics: code of the analyst does not run on private data",
            do=f"use one of {', '.join(STATISTICS)}; make a column first: df.assign(y=df['g'] == 'x').groupby('h')['y']"
            ".mean(eps=0.1); or release the parts of a formula and compute with them",
        )
    raise PlanError(f"there is no statistic {given!r}", do=f"use one of {', '.join(STATISTICS)}")


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def column_statistics(columns: list[Any], func: Any, named: Mapping[str, Any]) -> list[ColumnStatistic]:
    """What a call of agg asks for, in the order of its results."""
    if func is None and not named:
        raise PlanError("agg needs statistics", do='agg("mean", eps=0.1), or agg(total=("cost", "sum"), eps=0.1)')
    if func is None:
        return [ColumnStatistic(*_pair(columns, given), label) for label, given in named.items()]
    if named:
        raise PlanError(f"agg has no argument {next(iter(named))!r}", do="give statistics, or named results, not both")
    chosen = func if isinstance(func, Mapping) else dict.fromkeys(columns, func)
    for name in chosen:
        if name not in columns:
            raise PlanError(f"there is no column {name!r} to aggregate", do=f"the columns are {columns}")
    return [ColumnStatistic(c, statistic_of(s), (c, _shown(s))) for c, given in chosen.items() for s in _listed(given)]


def _shown(given: Any) -> str:
    return given if isinstance(given, str) else getattr(given, "__name__", str(given))


def named_pair(given: Any) -> Any:
    """pd.NamedAgg(column="cost", aggfunc="sum") is the pair ("cost", "sum")."""
    return (given.column, given.aggfunc) if type(given).__name__ == "NamedAgg" else given


def _pair(columns: list[Any], given: Any) -> tuple[Any, str]:
    """name=("column", "statistic"); for one column name="statistic"."""
    given = named_pair(given)
    if isinstance(given, tuple) and len(given) == 2:
        if given[0] not in columns:
            raise PlanError(f"there is no column {given[0]!r} to aggregate", do=f"the columns are {columns}")
        return given[0], statistic_of(given[1])
    if len(columns) == 1:
        return columns[0], statistic_of(given)
    raise PlanError("a named result is a pair: the column and the statistic", do='agg(total=("cost", "sum"), eps=0.1)')


def shares(wanted: list[ColumnStatistic], eps: Any) -> list[Fraction]:
    """What each statistic may cost: equal parts of eps, or what a dict says."""
    if not wanted:
        raise PlanError("agg names no statistic", do='agg({"cost": "mean"}, eps=0.1)')
    if not isinstance(eps, Mapping):
        return [amount(eps) / len(wanted)] * len(wanted)
    keys = [_key(ask, eps) for ask in wanted]
    unused = [k for k in eps if k not in keys]
    if unused:
        raise PlanError(f"eps names {unused[0]!r}, which is not asked for", do="name results, columns or statistics")
    return [amount(eps[key]) / keys.count(key) for key in keys]


def _key(ask: ColumnStatistic, eps: Mapping[Any, Any]) -> Any:
    for key in (ask.label, (ask.column, ask.statistic), ask.column, ask.statistic):
        if key in eps:
            return key
    raise PlanError(f"eps says nothing about {ask.statistic} of {ask.column!r}", do="give one eps for all, or name it")


@several
def aggregated(
    column: Callable[[Any], Any], columns: list[Any], func: Any, named: Mapping[str, Any], eps: Any
) -> dict[Any, Any]:
    """The results of agg by (column, statistic), or by their names."""
    wanted = column_statistics(columns, func, named)
    prices = shares(wanted, eps)
    return {
        ask.label: getattr(column(ask.column), ask.statistic)(eps=price)
        for ask, price in zip(wanted, prices, strict=True)
    }


def is_several(func: Any) -> bool:
    """Whether results get a level for the statistic: a list anywhere."""
    given: Iterable[Any] = func.values() if isinstance(func, Mapping) else [func]
    return any(isinstance(each, (list, tuple)) for each in given)


@several
def frame_agg(table: Any, func: Any, eps: Any, named: Mapping[str, Any]) -> pandas.Series[Any] | pandas.DataFrame:
    """df.agg: one number per column and statistic."""
    import pandas
    from privjail.answers.released import frame_of, series_of

    table, named = _numbers_only(table, named)
    columns = list(func) if isinstance(func, Mapping) else list(table.columns)
    _need_amounts(table._exprs, func, "df")
    found = aggregated(table._series, columns, func, named, eps)
    if func is None:  # as in pandas: one row for each name, one column for each column
        return pandas.DataFrame(
            [{pair[0]: found[name]} for name, pair in named.items()], index=list(named)
        )  # fmt: skip
    if not is_several(func):
        return series_of(found.values(), index=[c for c, _ in found])
    rows = list(dict.fromkeys(s for _, s in found))
    names = list(dict.fromkeys(c for c, _ in found))
    return frame_of({c: [found.get((c, s), float("nan")) for s in rows] for c in names}, index=rows)


@several
def series_agg(series: Any, func: Any, eps: Any, named: Mapping[str, Any]) -> float | pandas.Series[Any]:
    """s.agg: one number, or a Series of several."""
    from privjail.answers.released import series_of

    if isinstance(func, Mapping):
        func, named = None, func
    found = aggregated(lambda _: series, [series.name], func, named, eps)
    if func is not None and not is_several(func):
        one: float = next(iter(found.values()))
        return one
    labels = [label if func is None else label[1] for label in found]
    return series_of(found.values(), index=labels, name=series.name)


@several
def groups_agg(groups: Any, func: Any, eps: Any, named: Mapping[str, Any]) -> pandas.DataFrame:
    """df.groupby(…).agg: a column for each result."""
    from privjail.answers.released import frame_of

    groups, named = _numbers_only(groups, named)
    columns = list(dict.fromkeys([*groups._chosen(), *_asked_columns(func, named, groups)]))
    _need_amounts(groups._chosen(), func, groups._typed())
    func = func if func is None or isinstance(func, Mapping) else dict.fromkeys(groups._chosen(), func)
    found = aggregated(groups._column, columns, func, named, eps)
    if func is None or is_several(func):
        return frame_of(found)
    return frame_of({c: v for (c, _), v in found.items()})


def _numbers_only(owner: Any, named: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """numeric_only= of pandas, which stands among the named results."""
    rest = {name: given for name, given in named.items() if name != "numeric_only" or type(given) is not bool}
    return (owner._numbers() if named.get("numeric_only") is True else owner), rest


def _need_amounts(columns: Mapping[Any, Any], func: Any, owner: str) -> None:
    """Of statistics of all columns: refuse those of numbers, if a column only names persons or rows."""
    if func is None or isinstance(func, Mapping):
        return
    if any(statistic_of(each) not in ("count", "size", "nunique") for each in _listed(func)):
        need_amounts(
            columns, owner, f"agg({[_shown(f) for f in func] if is_several(func) else _shown(func)!r}, eps=0.1)"
        )


def _asked_columns(func: Any, named: Mapping[str, Any], groups: Any) -> list[Any]:
    """Keys may be aggregated too, if they are named."""
    given = list(func) if isinstance(func, Mapping) else [v[0] for v in named.values() if isinstance(v, tuple)]
    return [name for name in given if name in groups._frame._exprs]


@several
def group_column_agg(
    column: Any, func: Any, eps: Any, named: Mapping[str, Any]
) -> pandas.Series[Any] | pandas.DataFrame:
    """df.groupby(…)["x"].agg: a Series, or a column for each statistic."""
    from privjail.answers.released import frame_of

    if isinstance(func, Mapping):
        func, named = None, func
    found = aggregated(lambda _: column, [column._name], func, named, eps)
    if func is not None and not is_several(func):
        one: pandas.Series[Any] = next(iter(found.values()))
        return one
    return frame_of({(label if func is None else label[1]): v for label, v in found.items()})
