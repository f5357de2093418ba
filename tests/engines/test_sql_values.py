"""Single answers of SQL engines where a line of SQL is easily off by one, compared with what the operation means."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.datetime_part import Part
from privjail.ops.columns.logic import Not
from privjail.ops.columns.norms import RowScale, Truncate
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Text
from privjail.ops.numbers.key_counts import LONGEST, KeyCounts
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, TextDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, micros
from tests.ops.checking import ENGINES, engine
from tests.ops.worlds import TWO_EACH
from tests.tables import World

ALL = pytest.mark.parametrize("name", ENGINES)


def column(expr: Expr, world: World, name: str, *rows: Any) -> list[Any]:
    """A computed column, in the engine's held form: categories as positions."""
    return list(engine(world.source, tuple(rows), name=name).table(world.source, {"z": expr})["z"])


@ALL
def test_every_number_but_zero_is_true(name: str) -> None:
    world = World((("x", IntDomain(True, -1, 2)),), ())
    found = column(Cast(world.column("x"), "boolean"), world, name, (0,), (1,), (2,), (-1,), (None,))

    assert found == [False, True, True, True, None]


@ALL
def test_a_label_that_the_other_column_lacks_is_another_label(name: str) -> None:
    """It is not a missing one: its rows are among those where both differ."""
    both = ("x", CategoryDomain(True, ("a", "b"))), ("y", CategoryDomain(True, ("b", "c")))
    world = World(both, ())
    equal = Compare("==", world.column("x"), world.column("y"))
    rows = (("a", "b"), ("b", "b"), ("a", "c"), (None, "c"), ("b", None))

    assert column(equal, world, name, *rows) == [False, True, False, None, None]
    assert column(Not(equal), world, name, *rows) == [True, False, True, None, None]


@ALL
@pytest.mark.parametrize("f, found", [("strip", "a b"), ("lstrip", "a b \t\u2003"), ("rstrip", "\u2003\n a b")])
def test_white_space_is_stripped_if_nothing_is_said(name: str, f: str, found: str) -> None:
    world = World((("x", TextDomain(True)),), ())
    expr = Text(f, world.column("x"), (Lit.of(None),))

    assert column(expr, world, name, ("\u2003\n a b \t\u2003",), (None,), ("",)) == [found, None, ""]


@ALL
@pytest.mark.parametrize(
    "part, found", [("hour", 23), ("minute", 59), ("second", 58), ("dayofweek", 6), ("day", 31), ("year", 1967)]
)
def test_a_moment_has_its_parts_also_before_1970(name: str, part: str, found: int) -> None:
    moment = datetime(1967, 12, 31, 23, 59, 58, 999999)
    world = World((("x", TimeDomain(True, micros(moment), 0)),), ())

    assert column(Part(part, world.column("x")), world, name, (moment,), (None,)) == [found, None]


@ALL
@pytest.mark.parametrize("keep, found", [(0, [7, None, None]), (1, [7, 2, None])])
def test_a_value_without_an_image_is_kept_or_missing(name: str, keep: int, found: list[Any]) -> None:
    world = World((("x", IntDomain(True, 0, 9)),), ())
    expr = Recode(world.column("x"), ((Lit.of(1), Lit.of(7)),), keep)

    assert column(expr, world, name, (1,), (2,), (None,)) == found


@ALL
@pytest.mark.parametrize("order, long", [("1", 1 / 7), ("2", 0.2), ("inf", 0.25)])
def test_long_rows_are_made_short_and_short_ones_stay(name: str, order: str, long: float) -> None:
    world = World((("x", FloatDomain(True, -9.0, 9.0)), ("y", FloatDomain(True, -9.0, 9.0))), ())
    scale = RowScale((world.column("x"), world.column("y")), Lit.of(1.0), order)
    found = column(scale, world, name, (3.0, -4.0), (0.25, 0.5), (None, 1.0))

    assert found == [pytest.approx(long, rel=1e-12), 1.0, None] and found[0] <= long


@ALL
def test_floats_are_clipped_to_whole_numbers_of_any_size(name: str) -> None:
    world = World((("x", FloatDomain(True)),), ())
    expr = Clip(world.column("x"), Lit.of(-(10**30)), Lit.of(10**300))

    assert column(expr, world, name, (1e301,), (-1e300,), (0.5,), (None,)) == [1e300, -1e30, 0.5, None]


@ALL
def test_floats_are_moved_toward_zero_to_their_grid(name: str) -> None:
    world = World((("x", FloatDomain(True, -1.0, 1.0)),), ())
    step = 2.0**-29
    found = column(Truncate(world.column("x")), world, name, (1.9 * step,), (-1.9 * step,), (0.5,), (None,))

    assert found == [step, -step, 0.5, None]


@ALL
@pytest.mark.parametrize("how, ann, bob", [("sum", 3.25, 0.0), ("mean", 1.625, None), ("count", 2, 0), ("size", 3, 1)])
def test_the_numbers_of_one_person_are_summed(name: str, how: str, ann: float, bob: float | None) -> None:
    world = World((TWO_EACH.columns[0], ("x", FloatDomain(True, -8.0, 8.0))), (), Unit("u", 3))
    persons = PerPerson(world.source, world.column("u"))
    each = Aggregate(persons, how, None if how == "size" else world.column("x"))
    rows = (("ann", 1.0), ("ann", 2.25), ("ann", None), ("bob", None))
    found = engine(world.source, rows, name=name).table(persons, {"z": each})["z"]

    assert list(found) == [ann, bob]


@ALL
def test_the_longest_key_counts_and_a_longer_one_does_not(name: str) -> None:
    source = Source(Dataset("rows", "rows", (("x", TextDomain(True)),), Unit()))
    found = engine(source, (("y" * LONGEST,), ("y" * (LONGEST + 1),), ("",), (None,)), name=name)

    assert dict(found.evaluate(KeyCounts(source, Column(source, "x"), None, 1, 9))) == {"y" * LONGEST: 1, "": 1}
