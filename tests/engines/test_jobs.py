"""How many statements a release takes on a SQL engine: two for each 64 tables, however little is kept."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from privjail.engines.chosen import ChosenEngine
from privjail.engines.polars.engine import PolarsEngine
from privjail.engines.sql import engine as sql_engine
from privjail.engines.sql.spark import SparkEngine, SparkStore
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.combine import Add, Total
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.node import Lit
from tests.engines.test_kept_tables import TABLE, Asked, tables
from tests.ops.checking import engine, frame
from tests.ops.worlds import SQUARE

ROOM = 2**20


def counts(n: int, grouped: bool) -> list[Tally]:
    """Different counts, of which none can be read off another."""
    x, y, source = SQUARE.column("x"), SQUARE.column("y"), SQUARE.source
    rows = [Filter(source, Compare("<", y, Lit.of(i / n))) for i in range(n)]
    return [Tally(each, (x,) if grouped else (), None) for each in rows]


def jobs(ask: Asked, values: list[Any]) -> int:
    before = len(ask.statements)
    reference = engine(SQUARE.source, TABLE, name="reference")
    assert ask.engine.evaluate_all(values) == [reference.evaluate(value) for value in values]
    return len(ask.statements) - before


@pytest.mark.parametrize("limit", [0, ROOM])
def test_a_release_of_every_kind_of_value_is_two_jobs(
    limit: int, make_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    half, (a, b, c) = Fraction(1, 2), tables()
    scores = QuantileScores(SQUARE.source, SQUARE.column("y"), (Lit.of(0), Lit.of(1)), half, Fraction(1), half)
    ask = Asked(make_engine, limit, monkeypatch)

    assert jobs(ask, [a, b, c, Add(a, c), Total(b), scores, *counts(5, grouped=False)]) == 2


@pytest.mark.parametrize("n", [64, 65, 129])
def test_there_are_at_most_two_jobs_for_each_64_tables(
    n: int, make_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Asked(make_engine, ROOM, monkeypatch)
    mixed = [counts(n, grouped=i % 2 == 1)[i] for i in range(n)]

    assert jobs(ask, mixed) == 2 * (n // 64) + (n % 64 > 0)  # the rest is one count


def test_tables_of_many_numbers_are_asked_apart(make_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_engine, "ELEMENTS", 8)
    ask = Asked(make_engine, ROOM, monkeypatch)

    assert jobs(ask, list(counts(10, grouped=True))) == math.ceil(20 / 8)


def test_a_release_about_two_engines_is_two_jobs_of_the_one_in_sql(
    make_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Source(Dataset("other", "other", SQUARE.columns, Unit()))
    ask, polars = Asked(make_engine, 0, monkeypatch), PolarsEngine(ROOM)
    polars.hold(other, frame(other, TABLE))
    both = ChosenEngine(
        0, {"polars": lambda most: polars, "sql": lambda most: ask.engine}, {SQUARE.source: "sql", other: "polars"}
    )
    a, b, c = tables()
    there = Tally(other, (Column(other, "x"),), None)

    first, *_, last = both.evaluate_all([there, a, b, c, *counts(3, grouped=False), Add(a, there)])

    assert len(ask.statements) == 2
    assert last == [2 * n for n in first]  # the same rows in both


def test_several_tables_read_the_rows_once_on_spark(sail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As parts of a UNION, Spark plans and reads the rows again for each table."""
    store = SparkStore(sail, seconds=60)
    ask = Asked(lambda limit: SparkEngine(store, limit), ROOM, monkeypatch)
    half, y = Fraction(1, 2), SQUARE.column("y")
    scores = QuantileScores(SQUARE.source, y, (Lit.of(0), Lit.of(1)), half, Fraction(1), half)
    sums = [Tally(each.rows, each.keys, y) for each in counts(3, grouped=True)]

    assert jobs(ask, [*counts(9, grouped=True), *sums, scores]) == 1
    assert ask.statements[0].count("FROM held") == 1
