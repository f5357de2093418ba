"""Memory of a real jail when rows meet many rows: joins of many to many, chains of them, and tables below each other (V-53)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from privjail import pandas as pd
from privjail import session
from privjail.curator.folder import JailFolder
from privjail.errors import DPError

from .jails import free_port
from .test_memory import ROOM, address_space, serving

PERSONS, EACH = 200, 250  # joined with themselves: 12,500,000 pairs of 50,000 rows
SCHEMA = {"who": {"type": "Int64"}, "x": {"type": "Int64", "range": [0, 9]}}


def make(where: Path) -> dict[str, Any]:
    """A jail with a population of one table, and the connection file of its user."""
    rng = np.random.default_rng(1)
    who = rng.permutation(np.repeat(np.arange(PERSONS), EACH))
    pl.DataFrame({"who": who, "x": rng.integers(0, 10, len(who))}).write_parquet(where / "visits.parquet")
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    folder.add_population("people", [10**6], "pure")
    folder.add_table("visits", str(where / "visits.parquet"), SCHEMA, "people", ("who", None), [], [])
    file = folder.add_user("ann", 30) | {"insecure_loopback": True}
    (where / "ann.privjail").write_text(json.dumps(file), encoding="utf-8")
    folder.grant("ann", "people", [10**6], False, None)
    folder.ledger.close()
    return file


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], int]:
    """A jail's folder, the file of its user, and the address space that it needs for a question without a join."""
    where = tmp_path_factory.mktemp("joined")
    file = make(where)
    with serving(where, file, 0) as (_, pid):
        session.connect(where / "ann.privjail")
        try:
            honest()
            return where, file, address_space(pid)
        finally:
            session.disconnect()


def visits() -> Any:
    return pd.read_csv("visits")


def honest() -> float:
    return float(visits().groupby("who").head(300)["x"].sum().reveal(eps=1000))


def meeting(left: Any, most: int) -> Any:
    """Rows that meet up to so many visits of the same person."""
    return left.merge(visits().groupby("who").head(most), on="who", suffixes=("", f"_{most}"))


def pairs() -> Any:
    """The number of pairs."""
    return meeting(visits().groupby("who").head(300), 256).shape[0]


def chain() -> Any:
    """The sum of a column of the rows that two joins make: the bounds multiply."""
    return meeting(meeting(visits().groupby("who").head(300), 16), 16)["x_16"].sum()


def of_persons() -> Any:
    """A number of each person's pairs, where a person may have any number of rows."""
    each = meeting(visits(), 256).groupby("who").agg(n=("x", "size"), total=("x_256", "sum"))
    return each["n"].clip(0, 100_000).sum()


def appended() -> Any:
    """Twice the pairs, below each other."""
    some = meeting(visits().groupby("who").head(300), 128)
    return pd.concat([some, some[some["x"] > 4]])["x_128"].sum()


def looked_up() -> Any:
    """Pairs that are behind a column of another table."""
    each = meeting(visits(), 256).groupby("who").agg(n=("x", "size"))
    found = visits().groupby("who").head(2).merge(each, on="who")
    return found["n"].clip(0, 100_000).sum()


FITS: dict[str, tuple[Callable[[], Any], float]] = {
    "pairs": (pairs, PERSONS * EACH * EACH),
    "chain": (chain, 0),
    "of persons": (of_persons, PERSONS * EACH * EACH),
    "appended": (appended, 0),
    "looked up": (looked_up, 2 * PERSONS * EACH * EACH),
}


SLOW = ("pairs", "appended", "looked up")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in FITS])
def test_rows_that_meet_many_rows_are_counted_in_the_memory_of_the_jail_v53(
    jail: tuple[Path, dict[str, Any], int], name: str
) -> None:
    where, file, needed = jail
    ask, expected = FITS[name]
    with serving(where, file, needed + ROOM * 2**20) as (_, pid):
        session.connect(where / "ann.privjail")
        try:
            found = float(ask().reveal(eps=1000))
            assert found == pytest.approx(expected, rel=0.01) or not expected and found > 10**7
            assert honest() > 0
            print(f"{name}: {(address_space(pid) - needed) >> 20} MiB more than a question without a join")
        finally:
            session.disconnect()


def test_rows_that_must_be_held_as_a_whole_are_refused_before_the_charge_v53(
    jail: tuple[Path, dict[str, Any], int],
) -> None:
    """A slice of joined rows looks at rows of several persons: they cannot be computed for some persons at a time."""
    where, file, needed = jail
    with serving(where, file, needed + ROOM * 2**20):
        session.connect(where / "ann.privjail")
        try:
            few = visits().groupby("who").head(300)
            before = session.consumed_privacy_budget()
            with pytest.raises(DPError, match="rows that are made of one row .* 17 is over this jail's limit of 16"):
                meeting(few, 17).head(10_000)["x"].sum().reveal(eps=1)
            assert session.consumed_privacy_budget() == before
            assert 0 < float(meeting(few, 16).head(10_000)["x"].sum().reveal(eps=1000)) < 90_000
        finally:
            session.disconnect()
