"""Columns of every type and range, through every operation: Polars gives the reference engine's values, bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

from privjail.errors import DPError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.cast import TYPES, Cast, Categorise
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.cut import Cut
from privjail.ops.columns.datetime_part import PARTS, Part
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Text
from privjail.ops.columns.where import FillNull, Where
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally, amount
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.sort import Sort
from privjail.plan.domain import FloatDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from tests.ops.checking import engine, given
from tests.ops.worlds import REAL, WHOLE, WORDS, columns

KINDS = ("int", "float", "bool", "text", "time", "category")
CONSTANTS = st.sampled_from([*WHOLE, *REAL, *WORDS, True, False])


def made(build: Any, *args: Any) -> list[Any]:
    """The plan, if its rules allow it."""
    try:
        return [build(*args)]
    except DPError:
        return []


def expressions(x: Expr, y: Expr, c: Any) -> list[Expr]:
    """Many expressions of two columns and a constant."""
    lit = Lit.of(c)
    edges = tuple(Lit.of(e) for e in (-1e300, -7.25, 0, 0.5, 3, 2.0**53, 1e300))
    found = [made(Arithmetic, op, x, y) for op in ("+", "-", "*", "/", "//", "%")]
    found += [made(Cast, x, to) for to in TYPES]
    found += [made(Compare, op, x, other) for op in ("==", "<", ">") for other in (y, lit)]
    found += [made(Clip, x, lit, Lit.of(None)), made(IsIn, x, (lit, Lit.of(1))), made(Categorise, x, (lit,), 0)]
    found += [made(Cut, x, edges, None, right, lowest) for right in (0, 1) for lowest in (0, 1)]
    found += [made(Function, f, x, 2) for f in ("abs", "round", "floor", "ceil", "sqrt")]
    found += [made(Recode, x, ((lit, Lit.of(2)), (Lit.of(1), Lit.of(None))), keep) for keep in (0, 1)]
    found += [made(FillNull, x, y), *[made(Where, c, x, y) for c in made(Compare, "==", x, lit)]]
    found += [made(Part, part, x) for part in PARTS]
    found += [made(Text, f, x, ()) for f in ("lower", "upper", "strip", "len")]
    found += [made(Text, f, x, (lit,)) for f in ("startswith", "endswith", "contains")]
    found.append(made(Text, "slice", x, (Lit.of(1), Lit.of(2))))
    return [each for some in found for each in some]


def same(a: Any, b: Any) -> bool:
    """Equal in type and bits, but that no operation tells -0.0 from 0.0."""
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), CONSTANTS, examples=25)
def test_columns_are_those_of_the_reference_engine(kind: str, data: Any, c: Any) -> None:
    """V-7, V-8, V-10, V-16: ends of ranges, overflow, -0.0, subnormal numbers, words that look like numbers."""
    world, (_, table) = data.draw(columns(kind, data.draw(st.sampled_from(KINDS))))
    wanted = {str(i): e for i, e in enumerate(expressions(world.column("x"), world.column("y"), c))}
    polars, reference = (
        engine(world.source, table, name=name).table(world.source, wanted) for name in ("polars", "reference")
    )
    for name, expression in wanted.items():
        pairs = list(zip(polars[name], reference[name], strict=True))
        assert all(same(a, b) for a, b in pairs), f"{expression}: {pairs}"


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), examples=15)
def test_orders_sums_and_ranks_are_those_of_the_reference_engine(kind: str, data: Any) -> None:
    world, (_, table) = data.draw(columns(kind, data.draw(st.sampled_from(KINDS))))
    x, y, source = world.column("x"), world.column("y"), world.source
    both = [engine(source, table, name=name) for name in ("polars", "reference")]
    rows = [Sort(source, (x, y), (0, 1)), Sort(source, (x,), (1,)), GroupHead(source, x, 1)]
    for each in rows[:2]:
        first, second = (one.table(each, {"x": x, "y": y}) for one in both)
        assert first == second, str(each)
    assert both[0].evaluate(Tally(rows[2], (), None)) == both[1].evaluate(Tally(rows[2], (), None))
    half = Fraction(1, 2)
    points = tuple(Lit.of(c) for c in (-(2.0**63), -1, 0, 0.5, 2**53, 2**53 + 1, 1e300))
    for value in [*made(Tally, source, (), x), *made(Tally, source, (y,), x), *made(Tally, source, (x, y), None),
                  *made(QuantileScores, source, x, points, half, Fraction(1), half)]:  # fmt: skip
        assert both[0].evaluate(value) == both[1].evaluate(value), str(value)


def test_exp_and_log_agree_on_the_grid() -> None:
    """Libraries may differ in the last bit of exp and log; the sums, on their grid, do not here."""
    world, table = _numbers()
    for f in ("exp", "log"):
        value = Tally(world.source, (), Clip(Function(f, world.column("x"), 0), Lit.of(-100.0), Lit.of(100.0)))
        first, second = (engine(world.source, table, name=name).evaluate(value) for name in ("polars", "reference"))
        assert first == second


def _numbers() -> Any:
    from tests.tables import World

    table = tuple((i / 7,) for i in range(1, 30))
    return World((("x", FloatDomain(False, 0.0, 5.0)),), ()), table


@given(st.floats(-1e300, 1e300), st.floats(0.001, 1e300))
def test_an_amount_is_the_nearest_grid_point(x: float, reach: float) -> None:
    from privjail.ops.numbers.tally import sum_grid

    domain = FloatDomain(True, -reach, reach)
    x = max(-reach, min(reach, x))

    assert abs(amount(x, domain) * sum_grid(domain) - Fraction(x)) <= sum_grid(domain)
    assert abs(amount(x, domain)) <= 2**30 and math.isfinite(x)
