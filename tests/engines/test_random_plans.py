"""Random plans give the same whole numbers on every engine: reference, Polars, DuckDB, Sail and Spark.

A complete run has 10,000 plans on each engine and is marked slow. It can be run in parts, by the numbers that plans
are made from: PRIVJAIL_SEEDS=400:450 python -m pytest tests/engines/test_random_plans.py -m slow
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from privjail.engines.engine import Engine
from privjail.engines.polars.engine import PolarsEngine
from privjail.engines.reference import ReferenceEngine
from privjail.engines.sql.duckdb import DuckDBEngine, DuckDBStore, open_database
from privjail.errors import EngineGap
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.text import Text
from privjail.plan.node import Lit
from privjail.plan.domain import TextDomain
from privjail.ops.numbers.tally import Tally
from tests.engines.random_plans import PATTERN_FUNCTIONS, Plans
from tests.engines.test_reference import same
from tests.ops.checking import frame
from tests.ops.gaps import TEXT_FUNCTIONS, lacks_text
from tests.tables import World

SEEDS = range(450)  # more than 10,000 plans
SOME = range(10_000, 10_006)


def check(seed: int, ours: Engine, patterns: bool = True) -> int:
    """Compare one table and all plans over it with the reference engine; gives the number of plans."""
    made = Plans(seed, patterns)
    source, reference = made.world.source, ReferenceEngine()
    held = frame(source, made.table)
    for each in (ours, reference):
        each.hold(source, held)
    for rows, expressions in made.tables:
        wanted = {str(i): e for i, e in enumerate(expressions)}
        found, truth = ours.table(rows, wanted), reference.table(rows, wanted)
        for name, expression in wanted.items():
            pairs = list(zip(found[name], truth[name], strict=True))
            assert all(same(a, b) for a, b in pairs), f"seed {seed}: {expression} of {made.world.columns}: {pairs}"
    values = [plan.value for plan in made.plans]
    for plan, ours_, truth_ in zip(made.plans, ours.evaluate_all(values), map(reference.evaluate, values), strict=True):
        if plan.inexact:  # the last bit of exp or log may move each row by one step of the grid
            assert abs(ours_ - truth_) <= len(made.table), f"seed {seed}: {plan.value}"
        else:
            assert ours_ == truth_, f"seed {seed}: {plan.value} of {made.world.columns}"
    return len(values)


def wanted_seeds(seeds: range = SEEDS) -> range:
    """The seeds of a complete run, or a part of them that is named in the environment."""
    given = os.environ.get("PRIVJAIL_SEEDS")
    return seeds if given is None else range(*map(int, given.split(":")))


def run(seeds: range, engine: Callable[[], Engine], patterns: bool = True) -> int:
    return sum(check(seed, engine(), patterns) for seed in seeds)


def test_some_plans_on_polars() -> None:
    assert run(SOME, PolarsEngine) > 100


def test_some_plans_on_duckdb() -> None:
    database = open_database(threads=1)
    assert run(SOME, lambda: DuckDBEngine(2**30, DuckDBStore(database))) > 100


@pytest.mark.slow
def test_ten_thousand_plans_on_polars() -> None:
    seeds = wanted_seeds()
    assert run(seeds, PolarsEngine) >= (10_000 if seeds == SEEDS else 1)


@pytest.mark.slow
def test_ten_thousand_plans_on_sql_engines(make_engine: Callable[..., Engine], request: Any) -> None:
    seeds = wanted_seeds()
    assert run(seeds, make_engine, "duckdb" in request.node.name) >= (10_000 if seeds == SEEDS else 1)


def value_with(f: str, x: Any) -> Tally:
    """A count or a sum that needs one function of text."""
    given = {"extract": ("(a)", 1), "substitute": ("a", "b")}.get(f, ("a",) if f in PATTERN_FUNCTIONS else ())
    found = Text(f, x, tuple(map(Lit.of, given)))
    return Tally(x.base, (Compare("==", found, Lit.of(1 if f == "count" else True if f == "matches" else "a")),), None)


@pytest.mark.parametrize("f", sorted(TEXT_FUNCTIONS["spark"]))
def test_what_an_engine_never_does_is_refused_before_a_charge(f: str, make_engine: Any, request: Any) -> None:
    """A release asks Engine.check before it charges."""
    world = World((("x", TextDomain(True)),), ())
    ours, value = make_engine(), value_with(f, world.column("x"))
    ours.hold(world.source, frame(world.source, (("a",), ("b",))))
    name = "duckdb" if "duckdb" in request.node.name else "spark"
    if lacks_text(name, f):
        with pytest.raises(EngineGap):
            ours.check([value])
    else:
        ours.check([value])
        # Where nothing matches, the part is missing, and its row is in no group.
        assert sum(ours.evaluate_all([value])[0]) == (1 if f == "extract" else 2)
