"""groupby(person).agg(…): one row per person."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from privjail.errors import DPError, PlanError, RefusedError, RowsError
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Unit
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain, TextDomain, TimeDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import about, check_value, covers, given, table
from .worlds import ANY_EACH, DAYS, REAL, TWO_EACH, micros

WIDE = World(
    (
        ("u", CategoryDomain(False, ("ann", "bob", "cho"))),
        ("i", IntDomain(True, -3, 5)),
        ("f", FloatDomain(True, -1.5, 0.75)),
        ("b", BoolDomain(True)),
        ("t", TextDomain(True)),
        ("o", CategoryDomain(True, ("low", "high"), True)),
        ("d", TimeDomain(True, micros(DAYS[0]), micros(DAYS[1]))),
    ),
    (
        ("ann", -3, 0.1, None, "", "low", DAYS[0]),
        ("ann", None, -0.0, True, None, None, None),
        ("bob", 5, 0.75, False, "B", "high", DAYS[1]),
        ("bob", 5, 0.0, False, "b", "low", DAYS[1]),
        ("cho", None, None, None, None, None, None),
    ),
    Unit("u", None),
)


def every_aggregate(rows, world):
    """All aggregates of all columns that they are defined for."""
    persons = PerPerson(rows, rows.base.owner())
    found = [Aggregate(persons, "size", None)]
    for name, _ in world.columns:
        for how in AGGREGATES[1:]:
            try:
                found.append(Aggregate(persons, how, world.column(name)))
            except PlanError:
                continue
    return persons, found


def check_persons(rows, world, pairs):
    """Each person's row comes and goes alone, whatever it shows, and everything it shows lies in its domain."""
    persons, columns = every_aggregate(rows, world)
    shown = {data: table(persons, columns, data) for pair in pairs for data in pair}
    about(persons, *columns)
    from ..tables import edits

    worst = 0
    for left, right in pairs:
        moved = edits(shown[left], shown[right])
        assert moved <= persons.distance.value == 1
        assert len(shown[left]) <= len(shown[right])
        worst = max(worst, moved)
    return worst


def check_persons_by(world, name):
    """One row for each value of a column, held against the distance of one row per person."""
    persons = PerPerson(world.source, world.column(name))
    check_value(Tally(persons, (), None), world.pairs(3), world.source)


def check_persons_of_nobody():
    """The same by a column that names no person; where it is missing, the engine has no number for the row."""
    try:
        check_persons_by(ANY_EACH, "x")
    except ValueError as error:
        raise AssertionError("a row without an owner") from error


@covers("property", "per_person", "aggregate")
@given(WIDE.neighbours())
def test_a_person_is_one_row_however_many_rows_she_has(pair):
    check_persons(WIDE.source, WIDE, [pair])
    check_persons(Sort(WIDE.source, (WIDE.column("i"),), (1,)), WIDE, [pair])
    check_persons(Filter(WIDE.source, Compare(">", WIDE.column("i"), Lit.of(0))), WIDE, [pair])


@covers("witness", "per_person", "aggregate")
def test_the_distance_is_reached_by_a_person_with_many_rows():
    rows = (WIDE.rows[0],) * 5 + (WIDE.rows[2],)

    assert check_persons(WIDE.source, WIDE, [(rows[5:], rows)]) == 1


@covers("small world", "per_person", "aggregate")
def test_all_small_tables():
    assert check_persons(WIDE.source, WIDE, list(WIDE.pairs(3))) == 1
    for world in (ANY_EACH, TWO_EACH):
        x = world.column("x")
        part = Filter(world.source, Compare("==", x, Lit.of(1)))
        for rows in (world.source, part, GroupHead(world.source, world.column("u"), 1)):
            persons = PerPerson(rows, rows.base.owner())
            n = Aggregate(persons, "size", None)
            check_value(Tally(persons, (), None), world.pairs(4), world.source)
            many = Filter(persons, Compare(">", n, Lit.of(1)))
            check_value(Tally(many, (), None), world.pairs(4), world.source)


@given(WIDE.tables_at_random())
def test_values_are_those_of_the_person_alone(data):
    """What a person's row shows does not change when everybody else leaves."""
    persons, columns = every_aggregate(WIDE.source, WIDE)
    alone = [table(persons, columns, mine) for mine in _each(data)]

    assert table(persons, columns, data) == tuple(row for found in alone for row in found)


def _each(data):
    return [tuple(row for row in data if row[0] == who) for who in dict.fromkeys(row[0] for row in data)]


def test_the_numbers_are_those_of_pandas():
    import pandas as pd

    data = (*WIDE.rows, *WIDE.rows[:3])
    persons, columns = every_aggregate(WIDE.source, WIDE)
    frame = pd.DataFrame(data, columns=[name for name, _ in WIDE.columns])
    frame["i"], frame["b"] = frame["i"].astype("Int64"), frame["b"].astype("boolean")
    found = table(persons, columns, data)
    for column, values in zip(columns, zip(*found, strict=True), strict=True):
        if column.inner is None or column.how in ("min", "max") and str(column.inner) in ("o", "d", "t"):
            continue
        expected = frame.groupby("u", sort=False)[str(column.inner)].agg(column.how)
        for mine, theirs in zip(values, expected, strict=True):
            if mine is None or theirs is pd.NaT:
                assert pd.isna(theirs) and mine is None
            elif isinstance(mine, float):
                assert math.isclose(mine, theirs, abs_tol=1e-9)
            else:
                assert mine == theirs, (column, mine, theirs)


def test_the_smallest_and_largest_zero_is_the_plain_one():
    """Of 0.0 and -0.0 neither is smaller, so which of them comes out must not depend on the engine."""
    persons = PerPerson(WIDE.source, WIDE.column("u"))
    both = [Aggregate(persons, how, WIDE.column("f")) for how in ("min", "max")]
    data = tuple(("ann", None, x, None, None, None, None) for x in (-0.0, None))

    assert repr(table(persons, both, data)) == "((0.0, 0.0),)"
    assert repr(table(persons, both, (*data, WIDE.rows[2]))[0]) == "(0.0, 0.0)"


def test_a_person_in_several_groups_pays_in_the_whole():
    """Her row is one of the filtered table if one of her rows is there: it may be in each of two groups."""
    x = ANY_EACH.column("x")
    parts = [Filter(ANY_EACH.source, Compare("==", x, Lit.of(v))) for v in (0, 1)]
    both = [PerPerson(part, ANY_EACH.column("u")) for part in parts]

    assert all(each.cells == ANY_EACH.source.cells and each.edits == 1 for each in both)
    check_forms_of(both)


def check_forms_of(both):
    from ..tables import edits

    columns = [(Aggregate(each, "size", None),) for each in both]
    left, right = (), (("ann", None), ("ann", 1), ("bob", 1), ("bob", 0), ("ann", 1))
    moved = [edits(table(each, c, left), table(each, c, right[:2])) for each, c in zip(both, columns, strict=True)]
    assert sum(moved) <= (both[0].distance + both[1].distance).value == 2


def test_groups_of_persons_exclude_each_other():
    n = Aggregate(PerPerson(TWO_EACH.source, TWO_EACH.column("u")), "size", None)
    parts = [Filter(n.persons, Compare("==", n, Lit.of(v))) for v in (1, 2)]

    assert (parts[0].distance + parts[1].distance).value == 1
    assert all(not cell.partition.splits for part in parts for cell in part.cells)


def test_only_by_the_owner():
    with pytest.raises(RefusedError, match="whose rows"):
        PerPerson(ANY_EACH.source, ANY_EACH.column("x"))
    with pytest.raises(RefusedError):
        head = Slice(TWO_EACH.source, None, 3)
        PerPerson(head, Carried(head, TWO_EACH.column("u")))


def test_rows_that_were_combined_are_not_carried():
    persons = PerPerson(ANY_EACH.source, ANY_EACH.column("u"))
    with pytest.raises(RowsError, match="do not see themselves"):
        Carried(persons, ANY_EACH.column("x"))
    with pytest.raises(RowsError):
        Aggregate(persons, "sum", Aggregate(persons, "size", None))


def test_unknown_aggregates_and_open_columns_are_refused():
    open_ = World(
        (("u", IntDomain(False)), ("x", IntDomain(True)), ("y", IntDomain(True, 0, 2**40))), (), Unit("u", None)
    )
    persons = PerPerson(open_.source, open_.column("u"))
    for how, name in (("median", "x"), ("size", "x"), ("sum", "x"), ("mean", "x"), ("sum", "y")):
        with pytest.raises(DPError):
            Aggregate(persons, how, open_.column(name))
    assert Aggregate(persons, "max", open_.column("x")).domain == IntDomain(True)


def test_domains_follow_from_the_bounds():
    persons = PerPerson(TWO_EACH.source, TWO_EACH.column("u"))
    x = TWO_EACH.column("x")

    assert Aggregate(persons, "size", None).domain == IntDomain(False, 1, 2)
    assert Aggregate(persons, "sum", x).domain == IntDomain(False, 0, 2)
    assert Aggregate(persons, "mean", x).domain == FloatDomain(True, 0.0, 1.0)
    anyone = PerPerson(ANY_EACH.source, ANY_EACH.column("u"))
    assert Aggregate(anyone, "size", None).domain == IntDomain(False, 1, None)
    assert Aggregate(anyone, "sum", ANY_EACH.column("x")).domain == IntDomain(False, 0, None)


@given(st.lists(st.sampled_from([x for x in REAL if abs(x) <= 709.5]), min_size=1, max_size=6))
def test_sums_do_not_depend_on_the_order(values):
    world = World((("u", IntDomain(False, 0, 3)), ("x", FloatDomain(True, -710.0, 710.0))), (), Unit("u", None))
    persons = PerPerson(world.source, world.column("u"))
    columns = [Aggregate(persons, how, world.column("x")) for how in ("sum", "mean", "min", "max", "nunique")]
    data = tuple((1, x) for x in values)

    assert repr(table(persons, columns, data)) == repr(table(persons, columns, data[::-1]))


def test_size_is_of_rows_and_every_other_aggregate_of_a_column():
    persons = PerPerson(WIDE.source, WIDE.source.owner())
    for how, inner in (("size", WIDE.column("i")), ("sum", None), ("median", WIDE.column("i"))):
        with pytest.raises(PlanError, match="no aggregate"):
            Aggregate(persons, how, inner)


@pytest.mark.parametrize("how", ["min", "max"])
def test_of_labels_without_an_order_none_is_the_least(how):
    for ordered in (False, True):
        world = World((WIDE.columns[0], ("x", CategoryDomain(True, ("low", "high"), ordered))), (), Unit("u", None))
        persons = PerPerson(world.source, world.column("u"))
        if ordered:
            assert Aggregate(persons, how, world.column("x")).domain == world.columns[1][1]
        else:
            with pytest.raises(PlanError, match="not defined for"):
                Aggregate(persons, how, world.column("x"))
