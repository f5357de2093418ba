"""Columns that name a person or a row: what sums leave out, and what has no groups with a row of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from privjail.errors import PlanError
from privjail.ops.rows.source import Column
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import BoolDomain, FloatDomain, IntDomain, Numeric, OrdinalDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner

if TYPE_CHECKING:
    from privjail.pandas.groups import PrivDataFrameGroupBy

#: expressions whose values are those of another column
_TAKEN_ALONG = ("carried", "lookup", "paired")


def identifier(expr: Expr) -> bool:
    """Whether a column is a person, a key or a link as it was loaded, in whatever table it is now."""
    while not isinstance(expr, Column):
        first = expr.kind == "aggregate" and getattr(expr, "how", None) in ("first", "last")
        inner = getattr(expr, "inner", None)
        if not (first or expr.kind in _TAKEN_ALONG) or not isinstance(inner, Expr):
            return False
        expr = inner
    known = expr.source.dataset
    return expr.column in (known.unit.column, *known.keys, *(link.column for link in known.links))


def is_amount(expr: Expr) -> bool:
    """Whether a column holds bounded numbers that are more than names of rows."""
    domain = expr.domain
    if not isinstance(domain, (IntDomain, FloatDomain)) or isinstance(domain, (TimeDomain, OrdinalDomain)):
        return False
    return domain.bounded and not identifier(expr)


def need_amounts(columns: Mapping[Any, Expr], owner: str, method: str) -> None:
    """Refuse to add up all columns if nothing bounds one of them because it is a name."""
    named = [
        n for n, e in columns.items() if identifier(e) and not (isinstance(e.domain, Numeric) and e.domain.bounded)
    ]
    if not named:
        return
    amounts = [n for n, e in columns.items() if is_amount(e) or isinstance(e.domain, BoolDomain)]
    listed = ", ".join(repr(n) for n in amounts) or '"cost"'
    raise PlanError(
        f"{method} of all columns takes {', '.join(map(str, named))} too: names of persons or rows, without bounds",
        do=f"choose the columns: `{owner}[[{listed}]].{method}`",
    )


class KeyGroups(Prisoner):
    """groupby(key or link): its groups cannot be told apart, so each name is refused with what is possible instead."""

    _shown_class = "pandas.core.groupby.generic.DataFrameGroupBy"

    def __init__(self, groups: PrivDataFrameGroupBy, column: Any = None) -> None:
        self._groups, self._column = groups, column

    @property
    def distance(self) -> Any:
        return self._groups.distance

    def _plan(self) -> str:
        return self._groups._plan()

    def __str__(self) -> str:
        return f"{Prisoner.__repr__(self)}\n  groups: one for each value that occurs, which is private"

    __repr__ = __str__

    def __getitem__(self, columns: Any) -> KeyGroups:
        chosen: Any = self._groups[columns]
        return KeyGroups(chosen, columns[0] if isinstance(columns, list) and columns else columns)

    def __getattr__(self, name: str) -> Any:
        if name in ("head", "pipe", "ndim"):
            return getattr(self._groups, name)
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse_groups(name)

    def __iter__(self) -> Any:
        self._refuse_groups("a loop over its groups")

    def __len__(self) -> int:
        self._refuse_groups("len()")

    def _refuse_groups(self, name: str) -> NoReturn:
        groups, owner = self._groups, self._groups._frame._rows.base.owner()
        keys = [(n, e) for n, e in zip(groups._names, groups._keys, strict=True) if no_list(e)]
        key = next((n for n, e in keys if e is not owner), None)
        if key is None:
            _refuse_persons_and_more(keys[0][0], [n for n in groups._names if n != keys[0][0]], name, self._plan())
        refuse_groups(groups._frame._rows, groups._frame._exprs, key, self._column, name)


def no_list(key: Expr) -> bool:
    """Whether a column names persons or rows, and its values are not known to the schema."""
    return key.domain.labels is None and identifier(key)


def refuse_groups(rows: Rows, columns: Mapping[Any, Expr], key: Any, column: Any, name: str) -> NoReturn:
    """Groups by a key or link: why there are none, and the nearest that is possible."""
    why = "only persons can have a row each"
    if rows.base.owner() is None:
        why = "after a slice or window not even persons can have a row each"
    raise RefusedAttribute(
        f"groupby({key!r}) has no {name}: which values {key} has is private, and {why}",
        plan=str(rows),
        do=_instead(rows, columns, key, column),
    )


def _refuse_persons_and_more(person: Any, others: list[Any], name: str, plan: str) -> NoReturn:
    """Groups by the person and another column: one row for each person in each group of the others."""
    by = repr(others if len(others) > 1 else others[0])
    raise RefusedAttribute(
        f"groupby({[person, *others]!r}) has no {name}: a person would have several rows, and how many is private",
        plan=plan,
        do=f"one group after the other, and its persons: `{{key: rows.groupby({person!r}).size().clip(0, 20)"
        f".mean(eps=0.1) for key, rows in df.groupby({by})}}`",
    )


def _instead(rows: Rows, columns: Mapping[Any, Expr], key: Any, column: Any) -> str:
    owner: Any = rows.base.owner()
    person = next((n for n, e in columns.items() if e is owner), None)
    if owner is None or person is None:
        return (
            f'how many rows each {key} has on average: `df.shape[0].reveal(eps=0.1) / df["{key}"].nunique()'
            ".reveal(eps=0.1)`; one row for each person: groupby(person) in rows that were filtered and sorted only"
        )
    amounts = [n for n, e in columns.items() if is_amount(e)]
    if not amounts:
        many, sizes = f'df.groupby("{person}")["{key}"].nunique()', f'df.groupby("{person}").size()'
        return (
            f"rows of one {key} on average: `{sizes}.clip(0, 100).sum().reveal(eps=0.1) / {many}.clip(0, 100).sum()"
            f".reveal(eps=0.1)`; the average of each person's averages: `({sizes} / {many}).clip(0, 100).mean(eps=0.1)`"
        )
    summed = column if column in amounts else amounts[0]
    domain: Any = columns[summed].domain
    most = 20 * max(1, int(domain.magnitude))
    bounds = f"{0 if domain.lower >= 0 else -most}, {most}"
    total = f'total=("{summed}", "sum"), rows=("{key}", "size"), n=("{key}", "nunique")'
    return (
        f"for each {person} the rows, how many different {key} there are, and what they add up to: `per = df.groupby("
        f'"{person}").agg({total})`; {summed} of one {key} on average: `per["total"].clip({bounds}).sum()'
        '.reveal(eps=0.1) / per["n"].clip(0, 20).sum().reveal(eps=0.1)`; the average of each person\'s averages: '
        f'`(per["total"] / per["n"]).clip({bounds}).mean(eps=0.1)`'
    )
