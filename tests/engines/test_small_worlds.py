"""Small worlds on SQL engines: programs over tables of the same persons give the reference engine's rows and numbers.

tests/laws holds the claims against the reference engine on all pairs of neighbours. What is equal to it on every
database keeps them, too. The fast tests take some programs and some databases.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from privjail.engines.engine import Engine
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from tests.engines.conftest import made_engine
from tests.laws import test_people, test_small_worlds
from tests.ops.checking import frame
from tests.ops.people import MANY, THREE, TWO, Database, People, Remembering

WORLDS = pytest.mark.parametrize("world", [TWO, MANY], ids=["one row each", "several rows each"])
SLOW_ONES = ["duckdb", "sail", "spark"]
Program = tuple[Rows, tuple[Expr, ...], list[Any]]


def programs(world: People) -> list[Program]:
    found = test_small_worlds.programs(*world.parts)
    return [(rows, tuple(c.values()), list(test_small_worlds.values(rows, c))) for rows, c in found]


def held(engine: Engine, world: People, database: Database) -> Engine:
    for part, table in zip(world.parts, database, strict=True):
        engine.hold(part.source, frame(part.source, table))
    return engine


def check(ours: Engine, world: People, database: Database, some: Iterable[Program]) -> int:
    """Compare rows and numbers of some programs on one database; gives the number of programs."""
    held(ours, world, database)
    reference, n = held(Remembering(), world, database), 0
    for rows, columns, values in some:
        shown = {str(i): each for i, each in enumerate(columns)}
        assert repr(ours.table(rows, shown)) == repr(reference.table(rows, shown)), (str(rows), database)
        assert ours.evaluate_all(values) == [reference.evaluate(v) for v in values], (str(rows), database)
        n += 1
    return n


def sampled(world: People, most: int, databases: int, every: int) -> Iterator[tuple[Database, list[Program]]]:
    """Some databases of at most so many rows, each with every n-th program, another part of them each time."""
    made, pick = programs(world), random.Random(17)
    for i, database in enumerate(pick.sample(list(world.databases(most)), databases)):
        yield database, made[i % every :: every]


@WORLDS
def test_some_programs_on_duckdb(world: People, request: Any) -> None:
    ours = made_engine("duckdb", request)()

    assert sum(check(ours, world, *each) for each in sampled(world, 4, databases=8, every=8)) > 80


@pytest.mark.slow
@WORLDS
def test_every_program_on_all_databases_with_two_rows_on_duckdb(world: People, request: Any) -> None:
    ours, made = made_engine("duckdb", request)(), programs(world)
    databases = list(world.databases(2))

    assert sum(check(ours, world, each, made) for each in databases) == len(databases) * len(made)


@pytest.mark.slow
@WORLDS
@pytest.mark.parametrize("name", ["sail", "spark"])
def test_some_programs_on_spark(world: People, name: str, request: Any) -> None:
    ours = made_engine(name, request)()

    assert sum(check(ours, world, *each) for each in sampled(world, 4, databases=5, every=50)) > 5


def check_people(ours: Engine, seeds: Iterable[int]) -> int:
    """Random programs over three linked tables, two databases each."""
    n = 0
    for seed in seeds:
        program = test_people.Program(seed)
        one: Program = (program.rows, tuple(program.columns.values()), [])
        for _, database in test_people.databases(random.Random(seed), 2):
            n += check(ours, THREE, database, [one])
    return n


def test_random_programs_of_three_tables_on_duckdb(request: Any) -> None:
    assert check_people(made_engine("duckdb", request)(), range(60)) == 120


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_ONES)
def test_more_random_programs_of_three_tables(name: str, request: Any) -> None:
    seeds = range(1_000, 2_000 if name == "duckdb" else 1_050)
    assert check_people(made_engine(name, request)(), seeds) == 2 * len(seeds)
