"""pivot_table and crosstab: group statistics laid out as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.ops.numbers.tally import Tally
from privjail.pandas.aggregate import statistic_of
from privjail.pandas.axes import Axis
from privjail.pandas.deferred import Deferred, deferred
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import SensitiveDataFrame, SensitiveSeries
from privjail.plan.domain import BoolDomain, Numeric, TimeDomain
from privjail.rowwise import same_rows
from privjail.together import several

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame

ADDITIVE = ("sum", "count", "size")  # margins of these are sums of released cells


def _list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


@several
def pivot(
    table: PrivDataFrame, values: Any, index: Any, columns: Any, aggfunc: Any, fill_value: Any, margins: bool,
    margins_name: str, eps: Any,
) -> Any:  # fmt: skip
    """Group statistics with the groups of ``index`` down and those of ``columns`` across."""
    down, across = _list(index), _list(columns)
    if not down and not across:
        raise PlanError("pivot_table needs index= or columns=", do='df.pivot_table(values="a", index="b", eps=0.1)')
    chosen = _values(table, values, [*down, *across], aggfunc)
    if values is None and not isinstance(aggfunc, (Mapping, list, tuple)) and statistic_of(aggfunc) == "size":
        chosen = chosen[:1] or [n for n in table._exprs if n not in [*down, *across]][:1]
        values = chosen[0] if chosen else None  # sizes are the same for every column: pandas shows them once
    several = isinstance(aggfunc, (list, tuple))
    if margins and (several or isinstance(aggfunc, Mapping)):
        raise PlanError("margins are offered for one statistic at a time", do='aggfunc="mean"')
    spec = aggfunc if isinstance(aggfunc, Mapping) else dict.fromkeys(chosen, aggfunc)
    parts = 1
    if margins and not _additive(aggfunc):
        parts = 4 if down and across else 2
    share = amount(eps) / parts if parts > 1 else eps
    found: Any = table.groupby([*down, *across]).agg(spec, eps=share)
    from privjail.answers.released import reshaped

    shaped: Any = reshaped(found, lambda t: _unstacked(t, len(across), several, values))
    if margins:
        shaped = shaped.to_plain()  # margins are sums, whose errors are others
        one = values is not None and not isinstance(values, (list, tuple))
        table = _with_keys(table, [*down, *across])
        total = _totals(table, down, across, spec, share, _additive(aggfunc), one)
        shaped = _with_margins(shaped, bool(down), bool(across), margins_name, total)
    return shaped if fill_value is None else shaped.fillna(fill_value)


def _with_keys(table: PrivDataFrame, keys: list[Any]) -> PrivDataFrame:
    """The rows that are in some cell: pandas' margins leave out rows without a key, too."""
    named = [k for k in keys if not isinstance(k, PrivSeries)]
    return table.dropna(subset=named) if len(named) == len(keys) else table


def _values(table: PrivDataFrame, values: Any, keys: list[Any], aggfunc: Any) -> list[Any]:
    if isinstance(aggfunc, Mapping):
        return list(aggfunc)
    if values is not None:
        return _list(values)
    names = [k.name if isinstance(k, PrivSeries) else k for k in keys]
    numbers = (Numeric, BoolDomain)
    found = [n for n, d in table.domains.items() if isinstance(d, numbers) and not isinstance(d, TimeDomain)]
    return [n for n in found if n not in names]


def _additive(aggfunc: Any) -> bool:
    return not isinstance(aggfunc, (Mapping, list, tuple)) and statistic_of(aggfunc) in ADDITIVE


def _unstacked(found: Any, across: int, several: bool, values: Any) -> Any:
    """The last levels of the index as columns; statistics first, then columns, as pandas lays them out."""
    if several:
        found = found.swaplevel(axis=1)
        order = list(dict.fromkeys(found.columns.get_level_values(0)))
        found = found[[c for s in order for c in found.columns if c[0] == s]]
    if not across:
        return found
    levels = list(range(found.index.nlevels - across, found.index.nlevels))
    if found.index.nlevels == across:  # no index: the statistic's columns go down
        return found.T
    shaped = found.unstack(levels)
    if values is not None and not isinstance(values, (list, tuple)):
        shaped = shaped.droplevel(1 if several else 0, axis=1)
    return shaped


def _totals(
    table: PrivDataFrame, down: list[Any], across: list[Any], spec: Any, eps: Any, additive: bool, one: bool
) -> Callable[[Any, str], Any] | None:
    """What stands in the margins: sums of cells where that is right, else statistics of their own."""
    if additive:
        return None

    def flat(keys: list[Any]) -> Any:
        found: Any = table.groupby(keys).agg(spec, eps=eps) if keys else table.agg(spec, eps=eps)
        return (found.iloc[:, 0] if keys else found.iloc[0]) if one else found

    rows = flat(down) if across else None
    columns = flat(across) if across and down else None
    corner = flat([])
    return lambda _, which: {"rows": rows, "columns": columns, "corner": corner}[which]


def _with_margins(shaped: Any, down: bool, across: bool, name: str, total: Callable[[Any, str], Any] | None) -> Any:
    import pandas

    shaped = plain_labels(shaped)
    if across and shaped.columns.nlevels > 1:
        raise PlanError("margins are offered for one column of values", do='values="a"')
    if total is None:
        if across:
            shaped = shaped.assign(**{name: shaped.sum(axis=1)})
        if down:
            shaped.loc[name] = shaped.sum(axis=0)
        return shaped
    if across:
        last = total(shaped, "rows")
        shaped[name] = last.to_numpy()
    if down:
        bottom = [*total(shaped, "columns"), total(shaped, "corner")] if across else total(shaped, "corner")
        shaped.loc[name] = bottom if isinstance(bottom, (list, pandas.Series)) else [bottom]
    return shaped


def plain_labels(shaped: Any) -> Any:
    """Labels that take one more: categories as plain objects."""
    shaped = shaped.copy()
    if shaped.index.nlevels == 1:
        shaped.index = shaped.index.astype(object)
    if shaped.columns.nlevels == 1:
        shaped.columns = shaped.columns.astype(object)
    return shaped


def crossed(index: Any, columns: Any, rownames: Any, colnames: Any) -> SensitiveDataFrame | Deferred:
    """How often each combination of values occurs."""
    down, across = _list(index), _list(columns)
    if not down or not across or not all(isinstance(s, PrivSeries) for s in [*down, *across]):
        raise PlanError("crosstab needs private columns of one table", do='pd.crosstab(df["a"], df["b"])')
    rows, keys = same_rows(*((s._rows, s._expr) for s in [*down, *across]))
    names = [*(rownames or [s.name for s in down]), *(colnames or [s.name for s in across])]
    axes = tuple(Axis(name, key.domain) for name, key in zip(names, keys, strict=True))
    tally = Tally(rows, tuple(keys), None)
    if len(across) == 1:
        return SensitiveDataFrame(tally, axes)
    levels = list(range(len(down), len(keys)))
    return deferred(SensitiveSeries(tally, "count", axes), "unstack(…)", lambda found: found.unstack(levels))


def normalised(normalize: Any, margins: bool, name: str) -> Callable[[Any], Any]:
    """Shares of the total, of each row or of each column; and sums beside the table."""
    if normalize not in (False, True, "all", "index", "columns", 0, 1):
        raise PlanError("normalize takes True, 'all', 'index' or 'columns'")

    def shaped(counts: Any) -> Any:
        kind = "all" if normalize is True else {0: "index", 1: "columns"}.get(normalize, normalize)
        total = counts.to_numpy().sum()
        if normalize is False:
            return _with_margins(counts, True, True, name, None) if margins else counts
        if kind == "index":
            found = counts.div(counts.sum(axis=1), axis=0)
            if margins:
                found = plain_labels(found)
                found.loc[name] = (counts.sum(axis=0) / total).to_numpy()
            return found
        if kind == "columns":
            found = counts / counts.sum(axis=0)
            if margins:
                found = plain_labels(found)
                found[name] = (counts.sum(axis=1) / total).to_numpy()
            return found
        found = counts / total
        return _with_margins(found, True, True, name, None) if margins else found

    return shaped
