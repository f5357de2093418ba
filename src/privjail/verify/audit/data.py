"""Dummy data that fits a schema, and its neighbours: one privacy unit less, or one more.

Rows are made up, so plain pseudo-random numbers do: nothing here protects anybody.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

from privjail.catalogue.schema import Schema
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, FloatDomain, IntDomain, TimeDomain, UntypedDomain
from privjail.plan.node import moment

Row = list[str]
Table = tuple[list[str], list[Row]]  # names of columns, and rows as a CSV file spells them
SPAN = 100  # an open range is tried this far
BASES = ("as it is", "again")
EDITS = (
    "without the first unit", "with a unit at the upper bounds", "without a unit in the middle",
    "with a unit at the lower bounds", "with a unit outside of all bounds", "with a unit of missing values",
    "without the last unit",
)  # fmt: skip


def dummy(schema: Schema, unit: str | None, rows: int) -> Table:
    """A table that fits: bounds, ties and missing values occur in every column."""
    pick = random.Random(7)
    names = list(schema) if unit is None or unit in schema else [unit, *schema]
    users = max(2, rows // 3)
    body = [[_value(schema, name, unit, pick, users) for name in names] for _ in range(rows)]
    return names, body


def _value(schema: Schema, name: str, unit: str | None, pick: random.Random, users: int) -> str:
    if name == unit:
        return owner(schema[name].domain if name in schema else None, pick.randrange(users))
    return ordinary(schema[name].domain, pick)


def ordinary(domain: Domain, pick: random.Random) -> str:
    """A value as it occurs: seldom missing, often at an end of its range."""
    return "" if pick.random() < 0.08 else spelled(domain, pick.choice(("low", "high", "any", "any", "any")), pick)


def owner(domain: Domain | None, i: int) -> str:
    """The i-th unit."""
    if isinstance(domain, CategoryDomain):
        return str(domain.categories[i % len(domain.categories)])
    if isinstance(domain, IntDomain):
        low, high = _ends(domain)
        return str(low + i % (high - low + 1))
    return f"u{i:03d}"


def _ends(domain: Any) -> tuple[Any, Any]:
    low = domain.lower if domain.lower is not None else (-SPAN if domain.upper is None else domain.upper - SPAN)
    return low, domain.upper if domain.upper is not None else low + 2 * SPAN


def spelled(domain: Domain, where: str, pick: random.Random) -> str:
    """A value at an end of its range, or anywhere in it."""
    match domain:
        case CategoryDomain():
            labels = domain.categories
            return str({"low": labels[0], "high": labels[-1]}.get(where) if where != "any" else pick.choice(labels))
        case BoolDomain():
            return {"low": "false", "high": "true"}.get(where) or pick.choice(("true", "false"))
        case IntDomain():
            low, high = _ends(domain)
            return str({"low": low, "high": high}.get(where, pick.randint(low, high)))
        case FloatDomain():
            low, high = map(float, _ends(domain))
            return repr({"low": low, "high": high}.get(where, low + (high - low) * pick.randrange(65) / 64))
        case TimeDomain():
            day = 86_400 * 10**6
            low = domain.lower if domain.lower is not None else 0
            high = domain.upper if domain.upper is not None else low + 20_000 * day
            us = {"low": low, "high": high}.get(where, low + (high - low) // day * pick.randrange(1001) // 1000 * day)
            return datetime.datetime.isoformat(moment(us), sep=" ")
    numbers = ("7", "-2.5") if isinstance(domain, UntypedDomain) else ()  # which it counts as, where it is used as one
    return {"low": "", "high": "zz" * 20}.get(where) or pick.choice(("a", "b", "word", *numbers))


def edited(table: Table, schema: Schema, unit: str | None, most: int | None, edit: str) -> Table:
    """A neighbour of a table; or its first row alone, or none at all."""
    names, rows = table
    if edit in BASES:
        return table
    if edit == "a single row":
        return names, rows[:1]
    if edit == "no row":
        return names, []
    place = names.index(unit) if unit in names else None
    if edit.startswith("without"):
        if not rows:
            return table
        i = place_of(edit, len(rows))
        gone: Callable[[int], bool] = lambda j: j == i if place is None else rows[j][place] == rows[i][place]  # noqa: E731
        return names, [row for j, row in enumerate(rows) if not gone(j)]
    row = odd_row(names, schema, edit)
    if place is None:
        at = {"upper": len(rows) // 2, "lower": 0}.get(edit.split()[-2], len(rows))
        return names, rows[:at] + [row] + rows[at:]
    return names, _with_user(rows, row, place, schema[unit].domain if unit in schema else None, most or 5)


def kept(edit: str, rows: int, owners: list[str] | None) -> list[int]:
    """Which rows of a frame stay on a neighbour; none are added. ``owners``: whose they are, if each is not its own."""
    if not rows or edit == "no row":
        return []
    i = place_of(edit, rows)
    mine = {j for j in range(rows) if (j == i if owners is None else owners[j] == owners[i])}
    if edit == "a single row":
        return sorted(mine)
    return [j for j in range(rows) if j not in mine or not edit.startswith("without")]


def place_of(edit: str, n: int) -> int:
    """Which of n rows an edit is about."""
    return next((i for word, i in (("middle", n // 2), ("last", n - 1)) if word in edit.split()), 0)


def odd_row(names: list[str], schema: Schema, edit: str) -> Row:
    """A row at the ends of all ranges, outside of them, or of missing values."""
    pick = random.Random(1)
    where = {"upper bounds": "high", "lower bounds": "low"}.get(edit.partition("at the ")[2])
    out = []
    for name in names:
        domain = schema[name].domain if name in schema else None
        if "missing" in edit:
            out.append("")
        elif "outside" in edit:
            out.append("9" * 12 if not isinstance(domain, (CategoryDomain, BoolDomain)) else "no such thing")
        elif domain is None:
            out.append("97" if where == "high" else "-3")
        else:
            out.append(spelled(domain, where or "any", pick))
    return out


def _with_user(rows: list[Row], row: Row, place: int, domain: Domain | None, most: int) -> list[Row]:
    """Several rows of a user who was not there, scattered; none if every possible user is there already."""
    taken = {each[place] for each in rows}
    free = next((u for u in (owner(domain, i) for i in range(len(taken) + 10_000)) if u not in taken), None)
    if free is None:
        return rows
    new = [free if i == place else value for i, value in enumerate(row)]
    out = list(rows)
    for k in range(most):
        out.insert(len(out) * k // most, list(new))
    return out
