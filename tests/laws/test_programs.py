"""Random nested programs: every engine agrees with plain Python, with and without caches, and claims hold."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from privjail.engines.polars import columns
from privjail.errors import DPError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter, keep
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.numbers.combine import ColumnStack, Stack
from privjail.ops.columns.norms import Dot, RowScale, Truncate
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.columns.recode import Recode
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.numbers.tally import Tally
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import IntDomain, OrdinalDomain
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from tests.ops.checking import all_weights, carried, check_forms, check_rows, check_value, engine, given, seen
from tests.ops.conftest import each_engine  # noqa: F401
from tests.ops.worlds import SQUARE, TWO_EACH
from tests.tables import Table, World

LETTER = ("a", "b")


class Program:
    """A random program over SQUARE: rows, and the expressions on them. The choices come from a number."""

    def __init__(self, seed: int, steps: int = 4) -> None:
        self.pick = random.Random(seed)
        self.rows: Rows = SQUARE.source
        self.x: Any = SQUARE.column("x")
        self.y: Any = SQUARE.column("y")
        self.passed: list[tuple[Rows, Any, Any]] = [(self.rows, self.x, self.y)]
        for _ in range(self.pick.randint(0, steps)):
            self.step()
            self.passed.append((self.rows, self.x, self.y))

    def step(self) -> None:
        match self.pick.randrange(11):
            case 10:
                with suppress(DPError):  # a sample, or numbers and spans of time in one column
                    self.append()
            case 0 | 1 | 2:
                self.rows = keep(self.rows, self.condition())
            case 9:
                if self.rows.base is self.rows.source:
                    self.rows = Sample(self.rows, Fraction(1, 3), self.pick.choice(LETTER))
            case 3:
                self.rows = Filter(self.rows, Compare("==", self.x, Lit.of(self.pick.choice(LETTER))))
            case 4:
                by = self.pick.sample([self.x, self.y], self.pick.randint(1, 2))
                self.rows = Sort(self.rows, tuple(by), tuple(self.pick.randint(0, 1) for _ in by))
            case 5:
                ends = [self.pick.choice((None, -3, -2, -1, 0, 1, 2, 3)) for _ in range(2)]
                self.into(Slice(self.rows, *ends))
            case 6:
                self.into(GroupHead(self.rows, self.pick.choice((self.x, self.y)), self.pick.randint(1, 2)))
            case 7:
                inner = self.y
                self.into(window := Window(self.rows, 1, self.pick.randint(0, 1)))
                self.y = Where(self.condition(), Lag(window, inner, 1), self.y)
            case 8:
                self.y = self.number()

    def append(self) -> None:
        """One of the tables before, below this one; or itself."""
        rows, x, y = self.pick.choice(self.passed)
        made = Append(self.rows, rows)
        x, y = Appended(made, self.x, x), Appended(made, self.y, y)
        self.rows, self.x, self.y = made, x, y

    def into(self, rows: Rows) -> None:
        self.x, self.y = (carried_once(rows, e) for e in (self.x, self.y))
        self.rows = rows

    def condition(self, depth: int = 2) -> Any:
        x, y, pick = self.x, self.y, self.pick
        match pick.randrange(9 if depth else 6):
            case 0:
                return Compare("==", x, Lit.of(pick.choice((*LETTER, "other"))))
            case 1:
                return IsIn(x, tuple(Lit.of(v) for v in pick.sample(LETTER, pick.randint(0, 2))))
            case 2:
                return Compare(pick.choice(("==", "<", ">")), y, Lit.of(pick.choice((-1, 0, 0.5, 1))))
            case 3:
                return IsNull(pick.choice((x, y)))
            case 4:
                return IsIn(y, (Lit.of(pick.choice((-1, 1))),))
            case 5:
                return Compare("==", y, Lit.of(1))
            case 6:
                return Not(self.condition(depth - 1))
        return Logic(pick.choice("&|^"), self.condition(depth - 1), self.condition(depth - 1))

    def number(self) -> Any:
        y, pick = self.y, self.pick
        two = Constant(Lit.of(pick.choice((-2, 0, 1, 3))))
        match pick.randrange(8):
            case 6:
                there = Cast(Cast(y, "datetime64[us]"), "Int64") if pick.randint(0, 1) else Cast(y, "timedelta64[us]")
                return Clip(there, Lit.of(-1), Lit.of(1))
            case 0:
                return Clip(Arithmetic(pick.choice(("+", "-", "*", "//", "%")), y, two), Lit.of(-1), Lit.of(1))
            case 1:
                return FillNull(plain(y), two)
            case 2:
                return NullWhere(self.condition(), y)
            case 3:
                return Where(self.condition(), plain(y), two)
            case 4:
                return Recode(plain(y), ((Lit.of(-1), Lit.of(1)), (Lit.of(1), Lit.of(0))), pick.randint(0, 1))
            case 5:
                return Recode(self.x, ((Lit.of("a"), Lit.of(2)), (Lit.of("b"), Lit.of(-1))), 0)
        return Arithmetic("-", Constant(Lit.of(0)), y)

    def clipped(self, y: Any) -> list[Any]:
        """A row of three columns, scaled to a norm."""
        columns = (y, Arithmetic("*", y, y), Dot((y, y), (Lit.of(0.5), Lit.of(-3.0))))
        scale = RowScale(columns, Lit.of(self.pick.choice((0.5, 2.0))), self.pick.choice(("1", "2", "inf")))
        return [Truncate(Arithmetic("*", each, scale)) for each in columns if each.domain.bounded]

    def values(self) -> list[Any]:
        rows, x, y = self.rows, self.x, self.y
        assert isinstance(y.domain, IntDomain)
        bins = Cut(y, tuple(Lit.of(e) for e in (-2, -1, 0, 1)), None, 1, 0)
        half = Fraction(1, 2)
        found = [Tally(rows, keys, value) for keys in ((), (x,), (x, bins)) for value in (None, y)]
        return [
            *found,
            Distinct(rows, x),
            VectorSum(rows, (y, *self.clipped(y))),
            QuantileScores(rows, y, (Lit.of(0), Lit.of(0.5), Lit.of(1)), half, Fraction(1), half),
        ]


def plain(y: Any) -> Any:
    """Whole numbers: a column cannot hold both them and spans of time."""
    return Cast(y, "Int64") if isinstance(y.domain, OrdinalDomain) else y


def carried_once(rows: Rows, expr: Any) -> Any:
    from privjail.ops.columns.carried import Carried

    return expr if expr.base is None else Carried(rows, expr)


def some_table(seed: int, most: int = 6) -> Table:
    pick = random.Random(seed)
    return tuple(pick.choice(SQUARE.rows) for _ in range(pick.randint(0, most)))


def exact(value: Any, data: Table, cache_bytes: int, limit: int) -> Any:
    saved, columns.TABLE_LIMIT = columns.TABLE_LIMIT, limit
    try:
        return engine(SQUARE.source, data, cache_bytes).evaluate(value)
    finally:
        columns.TABLE_LIMIT = saved


def check_parity(seed: int) -> None:
    """One program on one table: the same rows and the same whole numbers as the reference engine's.

    With the engine's shortcuts and without them.
    """
    program, data = Program(seed), some_table(seed + 1)
    reference = engine(SQUARE.source, data, name="reference")
    rows, columns = program.rows, {"x": program.x, "y": program.y}
    assert engine(SQUARE.source, data).table(rows, columns) == reference.table(rows, columns), str(rows)
    for value in program.values():
        truth = reference.evaluate(value)
        for cache_bytes, limit in ((2**30, 1 << 14), (0, 1 << 14), (2**30, 0), (0, 0)):
            assert exact(value, data, cache_bytes, limit) == truth, str(value)


def check_some_programs() -> None:
    for seed in range(150):
        check_parity(seed)


@given(st.integers(0, 2**32), examples=50)
def test_the_engine_agrees_with_the_reference_engine(seed):
    """V-8, V-10, V-17, V-20, V-21, V-22: rows, order, values, counts and sums, whatever the caches do."""
    check_parity(seed)


@given(st.integers(0, 2**32), examples=25)
def test_one_engine_answers_many_programs_as_many_engines_do(seed):
    """What is kept for one question must not change the answer to another."""
    data = some_table(seed)
    shared = engine(SQUARE.source, data)
    for i in range(4):
        for value in Program(seed + i).values():
            assert shared.evaluate(value) == engine(SQUARE.source, data, 0).evaluate(value), str(value)


@given(st.integers(0, 2**32), SQUARE.neighbours(5), examples=50)
def test_claims_of_random_programs_hold(seed, pair):
    """V-11, V-17, V-23, V-41: every table on the way, all of them together, and every value at the end."""
    program = Program(seed)
    for value in program.values():
        check_value(value, [pair], SQUARE.source)
    steps = list(dict.fromkeys(rows for rows, _, _ in program.passed))
    for rows in steps:
        check_rows(rows, [pair])
    check_forms(steps, [pair], all_weights(len(steps), seed % 1000))


@given(st.integers(0, 2**32), SQUARE.neighbours(5), examples=40)
def test_claims_of_several_programs_hold_together(seed, pair):
    """V-41: parts that are claimed to exclude each other do, and numbers of them move no further in any norm."""
    programs = [Program(seed + i, 3) for i in range(3)]
    counts = [p.values()[0] for p in programs]
    vectors = [p.values()[2] for p in programs]

    check_value(Stack(tuple(counts), (0, 1, 2)), [pair], SQUARE.source)
    check_value(ColumnStack(tuple(vectors), (0, 1, 2)), [pair], SQUARE.source)
    parts = list(dict.fromkeys(p.rows for p in programs))
    check_forms(parts, [pair], all_weights(len(parts)))


@given(st.integers(0, 3), st.integers(1, 3), TWO_EACH.neighbours(6), examples=40)
def test_groups_of_groups_share_what_their_parent_has(n, k, pair):
    """V-41: the distances of all groups, and of the groups of each group, add up to at most the parent's."""
    source = TWO_EACH.source
    head = GroupHead(source, TWO_EACH.column("u"), k)
    parents = (source, head, Slice(source, None, 3), Sort(source, (TWO_EACH.column("x"),), (1,)))
    parent = parents[n]
    u, x = (carried(parent, TWO_EACH.column(name)) for name in "ux")
    by_user = [Filter(parent, Compare("==", u, Lit.of(v))) for v in ("ann", "bob")]
    nested = [Filter(group, Compare("==", x, Lit.of(v))) for group in by_user for v in (0, 1)]

    check_forms([parent, *by_user, *nested], [pair], all_weights(7))
    for groups in (by_user, nested):
        assert parent.distance.value is not None
        total = sum((g.distance for g in groups[1:]), groups[0].distance)
        assert total.value <= parent.distance.value * (1 if parent.cap is None else len(groups))


def test_a_deep_chain_of_filters_needs_no_cache():
    """With no memory to keep anything in, a chain of forty steps is still evaluated in reasonable time."""
    world: World = SQUARE
    rows: Rows = world.source
    for i in range(40):
        rows = Filter(rows, Not(Compare("==", world.column("y"), Lit.of(1 if i % 2 else 5))))
    value = Tally(rows, (world.column("x"),), None)

    assert engine(world.source, (("a", 1), ("a", -1)), 0).evaluate(value) == [1, 0]
    assert seen(rows) == (world.column("x"), world.column("y"))
