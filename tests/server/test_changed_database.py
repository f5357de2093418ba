"""Rows of a database that change under a data set: noticed at the next start, and paid by the same account (V-43)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privjail.catalogue.origins import ChangedRows, fetch, fingerprint, origin_of
from privjail.curator.folder import JailFolder
from privjail.curator.updates import Given, update
from privjail.errors import DPError, PlanError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column
from privjail.plan.node import Lit
from privjail.release import Query

from .jails import SCHEMA, Served, free_port

QUERY = "SELECT age, sex FROM people ORDER BY id"


def execute(kind: str, place: Path, *statements: str) -> None:
    opened: Any = sqlite3.connect(place) if kind == "sqlite" else duckdb.connect(str(place))
    with contextlib.closing(opened) as db:
        for each in statements:
            db.execute(each)
        db.commit()


def database(where: Path, kind: str) -> Path:
    """A table of 40 women and 10 men."""
    place = where / f"people.{kind}"
    rows = ", ".join(f"({i}, {20 + i}, '{'F' if i < 40 else 'M'}')" for i in range(50))
    execute(kind, place, "CREATE TABLE people (id INTEGER, age INTEGER, sex TEXT)", f"INSERT INTO people VALUES {rows}")
    return place


def furnished(where: Path, kind: str) -> tuple[JailFolder, Path]:
    place = database(where, kind)
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    folder.add_dataset("census", str(place), SCHEMA, [10_000], "pure", (None, 1), kind=kind, query=QUERY)
    file = folder.add_user("ann", 30) | {"insecure_loopback": True}
    (where / "ann.privjail").write_text(json.dumps(file), encoding="utf-8")
    folder.grant("ann", "census", [10_000], False, None)
    return folder, place


def sex_is(connection: Any, key: str) -> Query:
    source = connection.source("census")
    rows = Filter(source, Compare("==", Column(source, "sex"), Lit.of(key)))
    return Query(Tally(rows, (), None), Laplace(1000))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_changed_rows_are_not_served_as_the_old_ones_and_get_no_new_budget(kind: str, tmp_path: Path) -> None:
    """Without this, a person who moved to another group between two starts would be charged for one of them only."""
    folder, place = furnished(tmp_path, kind)
    jail = Served(tmp_path).start()
    try:
        assert round(jail.connect().release([sex_is(jail.connect(), "F")])[0]) == 40
        execute(kind, place, "UPDATE people SET sex = 'M' WHERE id < 5")
        ann = jail.connect()
        assert round(ann.release([sex_is(ann, "F")], request=b"1" * 16)[0]) == 40, "what was loaded stays"
        jail.stop()
        jail.start()
        ann = jail.connect()
        with pytest.raises(DPError, match="the data of 'census' has changed since it was added"):
            ann.source("census")
        given = Given("census", str(place), kind=kind, query=QUERY)
        assert update(folder, [given]).epochs == {"census": 2}
        with pytest.raises(PlanError, match="nothing has changed"):
            update(folder, [given])
        ann = jail.connect()
        assert round(ann.release([sex_is(ann, "M")])[0]) == 15
        assert ann.consumed() == {"census": 3000.0}, "groups of two states add up"
    finally:
        jail.kill()


def test_the_rows_that_are_loaded_are_those_that_are_compared(tmp_path: Path) -> None:
    """A database may change between the fingerprint and the reading."""
    place = database(tmp_path, "sqlite")
    origin = origin_of(str(place), "sqlite", QUERY)
    known = fingerprint(origin)
    assert fetch(origin, tmp_path, known).height == 50
    execute("sqlite", place, "INSERT INTO people VALUES (50, 30, NULL)")

    with pytest.raises(ChangedRows, match="other rows than before, or gives them in another order"):
        fetch(origin, tmp_path, known)


@pytest.mark.parametrize(
    "change",
    ["UPDATE people SET sex = NULL WHERE id = 3", "UPDATE people SET age = 1, sex = '2F' WHERE id = 0",
     "UPDATE people SET id = 50 - id", "ALTER TABLE people RENAME COLUMN sex TO gender"],
    ids=["missing", "moved between columns", "order", "names"],
)  # fmt: skip
def test_every_change_of_rows_names_or_order_changes_the_fingerprint(change: str, tmp_path: Path) -> None:
    place = database(tmp_path, "sqlite")
    origin = origin_of(str(place), "sqlite", "SELECT * FROM people ORDER BY id")
    before = fingerprint(origin)
    assert fingerprint(origin) == before
    execute("sqlite", place, change)

    assert fingerprint(origin) != before


def test_the_same_rows_behind_another_query_are_the_same_people(tmp_path: Path) -> None:
    folder, place = furnished(tmp_path, "sqlite")
    other = "SELECT age, sex FROM people WHERE 1 = 1 ORDER BY id"

    with pytest.raises(PlanError, match="the same data is already in 'census'"):
        folder.add_dataset("again", str(place), SCHEMA, [1], "pure", (None, 1), kind="sqlite", query=other)
