"""Tables that a SQL engine keeps between releases: asked once, and the least recently used go first beyond the limit."""

from __future__ import annotations

from typing import Any

import pytest

from privjail.engines.engine import OVERHEAD
from privjail.engines.sql.engine import NUMBER_BYTES, SqlEngine
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.plan.node import Lit
from tests.ops.checking import engine, frame
from tests.ops.worlds import SQUARE
from tests.tables import Table

TABLE: Table = tuple(SQUARE.rows) * 3
SIZE = OVERHEAD + 2 * NUMBER_BYTES  # of one kept table of two counts


class Asked:
    """An engine that holds the table, and how many statements its database was given."""

    def __init__(self, make: Any, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine: SqlEngine = make(limit)
        self.engine.hold(SQUARE.source, frame(SQUARE.source, TABLE))
        self.statements: list[str] = []
        run = self.engine.store.run
        monkeypatch.setattr(self.engine.store, "run", lambda text: self.statements.append(text) or run(text))

    def __call__(self, value: Tally) -> int:
        """Ask for a table, and compare it; gives how many statements that took."""
        before = len(self.statements)
        assert self.engine.evaluate(value) == engine(SQUARE.source, TABLE, name="reference").evaluate(value)
        return len(self.statements) - before


def tables() -> list[Tally]:
    """Three tables of two counts, none of which can be read off another."""
    x, y, source = SQUARE.column("x"), SQUARE.column("y"), SQUARE.source
    return [
        Tally(source, (x,), None),
        Tally(source, (x,), y),
        Tally(Filter(source, Compare("<", y, Lit.of(0.5))), (x,), None),
    ]


def test_tables_with_room_are_asked_once(make_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Asked(make_engine, 3 * SIZE, monkeypatch)

    assert [ask(value) for value in tables() * 2] == [1, 1, 1, 0, 0, 0]
    assert ask.engine.cache.used == 3 * SIZE


def test_the_least_recently_used_table_is_asked_again(make_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = tables()
    ask = Asked(make_engine, 2 * SIZE, monkeypatch)

    assert [ask(value) for value in (a, b, a, c)] == [1, 1, 0, 1]  # c takes the place of b
    assert [ask(value) for value in (a, c, b)] == [0, 0, 1]
    assert ask.engine.cache.used == 2 * SIZE


def test_a_limit_that_is_lowered_holds_from_the_next_table_on(
    make_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = tables()
    ask = Asked(make_engine, 3 * SIZE, monkeypatch)
    for value in (a, b):
        ask(value)
    ask.engine.cache.limit = SIZE

    assert ask(c) == 1
    assert ask.engine.cache.used == SIZE
    assert [ask(value) for value in (c, a)] == [0, 1]
