"""Plans as SQL: DuckDB, Sail and Spark give the reference engine's rows and numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis import given as every

from privjail.engines.engine import Engine
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.text import Text
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.source import Source
from privjail.ops.rows.sort import Sort
from privjail.plan.node import Lit
from tests.engines.test_reference import CONSTANTS, KINDS, _numbers, expressions, made, same
from tests.laws.test_programs import Program, some_table
from tests.ops.checking import engine, frame
from tests.ops.gaps import lacks_text
from tests.ops.worlds import SQUARE, columns
from tests.tables import Table, World

MakeEngine = Callable[..., Engine]


def given(*strategies: Any, examples: int) -> Callable[[Any], Any]:
    allowed = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    return lambda test: allowed(every(*strategies)(test))


def holding(make: MakeEngine, source: Source, table: Table) -> Engine:
    found = make()
    found.hold(source, frame(source, table))
    return found


def lacking(node: Any) -> bool:
    """Whether no SQL engine has this operation: gaps, which are refused before a charge."""
    return isinstance(node, Text) and lacks_text("duckdb", node.f)


def plans_of(world: World, table: Table, c: Any) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Columns, rows and values over one table."""
    x, y, source = world.column("x"), world.column("y"), world.source
    found = [e for e in expressions(x, y, c) if not lacking(e)]
    rows = [Sort(source, (x, y), (0, 1)), Sort(source, (x,), (1,)), GroupHead(source, x, 1)]
    points = tuple(Lit.of(p) for p in (-(2.0**63), -1, 0, 0.5, 2**53, 2**53 + 1, 1e300))
    values = [
        *made(Tally, source, (), x), *made(Tally, source, (y,), x), *made(Tally, source, (x, y), None),
        *made(Tally, rows[2], (), None),
        *made(QuantileScores, source, x, points, Fraction(1, 2), Fraction(1), Fraction(1, 2)),
    ]  # fmt: skip
    return {str(i): e for i, e in enumerate(found)}, rows, values


def check_columns(make: MakeEngine, world: World, table: Table, c: Any) -> int:
    """Compare everything; gives the number of plans."""
    wanted, rows, values = plans_of(world, table, c)
    ours, reference = holding(make, world.source, table), engine(world.source, table, name="reference")
    found, truth = (each.table(world.source, wanted) for each in (ours, reference))
    for name, expression in wanted.items():
        pairs = list(zip(found[name], truth[name], strict=True))
        assert all(same(a, b) for a, b in pairs), f"{expression} of {world.source.dataset.columns}: {pairs}"
    both = {"x": world.column("x"), "y": world.column("y")}
    for each in rows:
        if not isinstance(each, GroupHead):
            assert ours.table(each, both) == reference.table(each, both), str(each)
    assert ours.evaluate_all(values) == [reference.evaluate(v) for v in values]
    return len(wanted) + len(rows) + len(values)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_sums_and_ranks_are_those_of_the_reference_engine(kind: str, make_engine: MakeEngine) -> None:
    """V-7, V-8, V-10, V-16: ends of ranges, overflow, -0.0, subnormal numbers, words that look like numbers."""

    @given(st.data(), CONSTANTS, examples=8)
    def run(data: Any, c: Any) -> None:
        world, (_, table) = data.draw(columns(kind, data.draw(st.sampled_from(KINDS))))
        check_columns(make_engine, world, table, c)

    run()


def check_program(make: MakeEngine, seed: int, most: int = 6) -> int:
    program, data = Program(seed), some_table(seed + 1, most)
    ours, reference = holding(make, SQUARE.source, data), engine(SQUARE.source, data, name="reference")
    reference.coins = ours.coins  # the same samples
    rows, both = program.rows, {"x": program.x, "y": program.y}
    assert ours.table(rows, both) == reference.table(rows, both), str(rows)
    values = program.values()
    assert ours.evaluate_all(values) == [reference.evaluate(v) for v in values], str(rows)
    return 1 + len(values)


def test_random_programs_give_the_reference_engines_rows_and_numbers(make_engine: MakeEngine) -> None:
    for seed in range(40):
        check_program(make_engine, seed)


def test_rows_are_sorted_by_a_column_that_is_the_same_in_all_of_them(make_engine: MakeEngine) -> None:
    world, table = _numbers()
    x = world.column("x")
    rows = Sort(world.source, (IsIn(x, ()), Constant(Lit.of(0.5)), x), (0, 1, 1))
    reference = engine(world.source, table, name="reference")

    assert holding(make_engine, world.source, table).table(rows, {"x": x}) == reference.table(rows, {"x": x})


@pytest.mark.parametrize("ends", [(2, None), (None, -1), (2, 2**31)], ids=str)
def test_rows_are_skipped_in_the_order_of_a_sort(ends: tuple[int | None, int | None], make_engine: MakeEngine) -> None:
    """Sail drops ORDER BY before an OFFSET without LIMIT, and then skips other rows."""
    table: Table = tuple(reversed(SQUARE.rows))
    rows = Slice(Sort(SQUARE.source, (SQUARE.column("x"),), (1,)), *ends)
    x, y = (Carried(rows, SQUARE.column(name)) for name in "xy")
    ours, reference = holding(make_engine, SQUARE.source, table), engine(SQUARE.source, table, name="reference")
    counts = Tally(rows, (x, y), None)

    assert ours.evaluate(counts) == reference.evaluate(counts)
    assert ours.table(rows, {"x": x, "y": y}) == reference.table(rows, {"x": x, "y": y})


def test_exp_and_log_agree_on_the_grid(make_engine: MakeEngine) -> None:
    """Libraries may differ in the last bit of exp and log; the sums, on their grid, do not here."""
    world, table = _numbers()
    values = [
        Tally(world.source, (), Clip(Function(f, world.column("x"), 0), Lit.of(-100.0), Lit.of(100.0)))
        for f in ("exp", "log")
    ]
    reference = engine(world.source, table, name="reference")
    assert holding(make_engine, world.source, table).evaluate_all(values) == [reference.evaluate(v) for v in values]
