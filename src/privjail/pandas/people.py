"""Joining private tables of one population: on the person, or on a key that a link points to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.where import FillNull, Where
from privjail.ops.rows.filter import keep
from privjail.ops.rows.lookup import Lookup, at_most_one
from privjail.ops.rows.pairs import Paired, Pairs, most_partners
from privjail.ops.rows.per_person import PerPerson
from privjail.ops.rows.source import Column, Source
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.series import PrivSeries

TRUE, FALSE = Constant(Lit.of(True)), Constant(Lit.of(False))
ONLY_PERSONS = "private tables are joined on the person, or on a key that the curator declared as a link"
_DO = 'join on the column that says whose rows they are: `df.merge(other, on="person")`'


def person_of(rows: Rows) -> str | None:
    """The name of the column that says whose rows they are."""
    source = rows.source
    return source.dataset.unit.column if isinstance(source, Source) and rows.base.owner() is not None else None


def merged(
    left: PrivDataFrame, right: PrivDataFrame, how: str, on: list[tuple[Any, Any]], suffixes: Any, indicator: bool
) -> tuple[Rows, dict[Any, Expr]]:
    """Left or inner join. Each row finds one row of the same person (then rows stay as they are), or several."""
    if how not in ("left", "inner"):
        raise PlanError(
            f"how must be 'left' or 'inner' for private tables, got {how!r}",
            do='rows of the other table are kept by joining the other way round: `other.merge(df, on="person", '
            'how="left")`',
        )
    keys = [(_key(left, a), _key(right, b)) for a, b in on]
    mine, theirs = _with_owners(left._rows, right._rows, keys)
    joined: Callable[[Expr], Expr]
    if at_most_one(right._rows, theirs):
        found: Expr = Lookup(mine, right._rows, theirs, TRUE)
        rows = keep(left._rows, found) if how == "inner" else left._rows
        joined, mine_there = partial(Lookup, mine, right._rows, theirs), left._exprs
    else:
        rows = pairs = _pairs(left._rows, mine, right._rows, theirs, how)
        found, joined = Paired(pairs, TRUE), partial(Paired, pairs)
        mine_there = {n: e if e.base is None else Carried(pairs, e) for n, e in left._exprs.items()}
    same = {b for a, b in on if a == b} | _owner_names(left, right)
    taken = {n: e for n, e in right._exprs.items() if n not in same}
    columns: dict[Any, Expr] = {}
    for name, column in mine_there.items():
        columns[f"{name}{suffixes[0]}" if name in taken else name] = column
    for name, column in taken.items():
        columns[f"{name}{suffixes[1]}" if name in left._exprs else name] = joined(column)
    if indicator:
        only = Constant(Lit.of("left_only"))
        columns["_merge"] = Where(IsNull(found), only, Constant(Lit.of("both")))
    return rows, columns


def _pairs(left: Rows, mine: tuple[Expr, ...], right: Rows, theirs: tuple[Expr, ...], how: str) -> Pairs:
    """The join of rows with all rows of the same person; in the other table there must be a bound on them."""
    if most_partners(right, theirs) is None:
        person = person_of(right)
        raise PlanError(
            "a row would meet any number of rows of the other table, and a person could have any number of rows then",
            plan=str(right),
            do=f'bound the rows of each person first: other.groupby("{person}").head(k); or make it one row per '
            f'person: other.groupby("{person}").agg(…); or join the other way round',
        )
    return Pairs(left, mine, right, theirs, how)


def found_in(column: PrivSeries, other: PrivSeries) -> Expr:
    """Whether the key of each row occurs in a column of another table of the same population."""
    mine, theirs = _with_owners(column._rows, other._rows, [(column._expr, other._expr)])
    rows = other._rows
    if len(mine) == 1 and (rows.base.edits is None or rows.base.edits > 1):
        persons = PerPerson(rows, theirs[0])
        rows, theirs = persons, (persons.owner(),)  # type: ignore[assignment]
    return FillNull(Lookup(mine, rows, theirs, TRUE), FALSE)


def looked_up(column: PrivSeries, other: PrivSeries) -> Expr:
    """The value that another table of the population has for each key: of its person, or of the row it points to."""
    index = getattr(other, "_key", None)
    key: Any = other._rows.base.owner() if index is None else other._frame._expr(index)  # type: ignore[attr-defined]
    if key is None:
        raise RefusedError(ONLY_PERSONS, do=_DO)
    mine, theirs = _with_owners(column._rows, other._rows, [(column._expr, key)])
    if not at_most_one(other._rows, theirs):
        raise PlanError(
            "map needs one row for each person in the other table",
            do='take one: `other.groupby("person")["cost"].sum()`, or join the tables: `df.merge(other, on="person")`',
        )
    return Lookup(mine, other._rows, theirs, other._expr)


def _key(frame: PrivDataFrame, name: Any) -> Expr:
    """A key by the name of its column; the person is known by name even where it is no column."""
    if name not in frame._exprs and name == person_of(frame._rows):
        owner: Any = frame._rows.base.owner()
        found: Expr = owner
        return found
    return frame._expr(name)


def _owner_names(left: PrivDataFrame, right: PrivDataFrame) -> set[Any]:
    """Columns of both tables with the same name that say whose row it is: one of them is enough."""
    owners = left._rows.base.owner(), right._rows.base.owner()
    return {n for n, e in right._exprs.items() if e is owners[1] and left._exprs.get(n) is owners[0]}


def _with_owners(left: Rows, right: Rows, keys: list[tuple[Expr, Expr]]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The keys of both sides, owners first. A join on a link compares owners, too, which are the same by the link."""
    owners: Any = left.base.owner(), right.base.owner()
    if None in owners or not keys:
        raise RefusedError(ONLY_PERSONS, do=_DO)
    others = [pair for pair in keys if pair != owners]
    if len(others) == len(keys):  # the person is not among them
        for a, b in keys:
            if _points_to(a) is None or _points_to(a) != _points_to(b):
                raise RefusedError(f"{ONLY_PERSONS}; {a} is neither", do=_DO)
    mine, theirs = zip(*[owners, *others], strict=True)
    return tuple(mine), tuple(theirs)


def _points_to(key: Expr) -> tuple[str, str, str] | None:
    """Which rows a key names: a population, a table of it, and a column there."""
    while isinstance(key, Carried):
        key = key.inner
    if not isinstance(key, Column) or key.source.dataset.population is None:
        return None
    dataset = key.source.dataset
    assert dataset.population is not None
    if key.column in dataset.keys:
        return dataset.population.identity, dataset.name, key.column
    for link in dataset.links:
        if link.column == key.column:
            return dataset.population.identity, link.table, link.key
    return None
