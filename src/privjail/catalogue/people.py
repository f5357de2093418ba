"""Tables of a population: what loading enforces so that every row has one person, and every key names one row.

A table names the person of each row in a column, or by a link to a key of another table; then it gets the person's
column from there. Nothing here looks at the rows of one person to decide about another's:

- rows without a person, and rows whose link points nowhere or to a row of somebody else, are dropped;
- of a person's rows with the same key the first is kept;
- at most k rows of each person are kept, the first ones, where a bound is declared;
- a key that rows of two persons have is refused: it could not say whose row a link means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from privjail.catalogue.load import enforce, owned
from privjail.catalogue.schema import UNDECLARED, Schema
from privjail.errors import SchemaError
from privjail.ops.polars_types import named
from privjail.ops.rows.lookup import comparable
from privjail.ops.rows.source import Link, Unit
from privjail.plan.domain import Domain, FloatDomain


@dataclass(frozen=True)
class Keys:
    """Whose rows the keys of a table name: the columns of its keys, and of the person."""

    person: str
    frame: pl.DataFrame
    domains: dict[str, Domain]


@dataclass(frozen=True)
class Membership:
    """How a table belongs to a population."""

    person: str | None
    most_rows: int | None = None
    keys: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


def enforce_membership(
    frame: Any, schema: Schema, membership: Membership, known: dict[str, Keys]
) -> tuple[pl.DataFrame, dict[str, Domain], Unit, Keys]:
    """The rows of a table that have a person, in their order; and whose rows its keys name."""
    person = membership.person
    if person is None:
        if not membership.links:
            raise SchemaError("a table of a population names its persons", do="give person= a column, or a link")
        person = _target(membership.links[0], known).person
    types = dict(frame.lazy().collect_schema())
    linked = membership.person is None
    if linked and person in types:
        raise SchemaError(f"the table has a column {person!r} already", do=f"give person={person!r} beside the link")
    unit = Unit() if linked else Unit(person, None)
    exact = {*membership.keys, *(link.column for link in membership.links)}
    declared = {**{name: UNDECLARED for name in exact if name in types}, **schema}
    held, domains = enforce(frame, {n: _exact(n, c) if n in exact else c for n, c in declared.items()}, unit)
    rows = held if isinstance(held, pl.DataFrame) else held.select([pl.all()])
    for name in exact - set(types):
        raise SchemaError(f"the key or link {name!r} is not in the data")
    for link in membership.links:
        rows, domains = _linked(rows, domains, link, _target(link, known), person)
    rows = _with_unique_keys(rows, person, membership.keys)
    unit = Unit(person, membership.most_rows)
    rows = owned(rows, unit)
    kept = list(dict.fromkeys([person, *membership.keys]))  # a key may be the person itself, or be named twice
    return rows, domains, unit, Keys(person, rows.select(map(named, kept)), {n: domains[n] for n in kept})


def _exact(name: str, column: Any) -> Any:
    """A key must not become another one's: outside of its range it is missing, and it is no float."""
    if isinstance(column.domain, FloatDomain) or column.fill is not None:
        raise SchemaError(f"column {name!r} is a key or a link: it is no Float64, and has no fill", do="use Int64")
    return replace(column, outside="null", names=True)


def _target(link: Link, known: dict[str, Keys]) -> Keys:
    found = known.get(link.table)
    if found is None or link.key not in found.domains:
        raise SchemaError(
            f"the link {link} points to no key of a table of the population",
            do=f"add the table first, with key={link.key!r}; known tables are {sorted(known)}",
        )
    return found


def _linked(
    rows: pl.DataFrame, domains: dict[str, Domain], link: Link, target: Keys, person: str
) -> tuple[pl.DataFrame, dict[str, Domain]]:
    """The rows whose link points to a row of the same person; with the person's column from there, if they lack it."""
    if not comparable(domains[link.column], target.domains[link.key]):
        raise SchemaError(f"the link {link} compares different types", do="declare both columns alike")
    there = target.frame.select(named(link.key).alias("key"), named(target.person).alias("owner")).drop_nulls()
    mine = rows.with_columns(named(link.column).alias("__key__"))
    if person in domains:
        if not comparable(domains[person], target.domains[target.person]):
            raise SchemaError(f"{person!r} and {target.person!r} have different types", do="declare both alike")
        mine = mine.with_columns(named(person).alias("__owner__"))
        met = mine.join(
            there, left_on=["__key__", "__owner__"], right_on=["key", "owner"], how="inner", maintain_order="left"
        )
        return met.drop("__key__", "__owner__"), domains
    met = mine.join(there, left_on="__key__", right_on="key", how="inner", maintain_order="left").drop("__key__")
    return met.rename({"owner": person}), {**domains, person: target.domains[target.person]}


def _with_unique_keys(rows: pl.DataFrame, person: str, keys: Sequence[str]) -> pl.DataFrame:
    for key in keys:
        first = pl.int_range(pl.len()).over(named(person), named(key)) == 0
        rows = rows.filter(first | named(key).is_null())
        if rows.select(named(key).drop_nulls().is_duplicated().any()).item():
            raise SchemaError(
                f"rows of more than one person have the same {key!r}: it is no key",
                do="correct the data, or leave it out of the keys",
            )
    return rows
