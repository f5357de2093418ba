"""pairs: each row with each row of the same person in another table."""

from __future__ import annotations

from fractions import Fraction

import pandas
import pytest

from privjail.errors import DPError, PlanError, RefusedError, RowsError
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsNull
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.node import Lit

from .checking import all_weights, covers, given
from .people import MANY, NOTES, PATIENTS, STAYS, THREE
from .test_lookup import Columns

S, P, N = Columns(STAYS), Columns(PATIENTS), Columns(NOTES)
TRUE = Constant(Lit.of(True))


def joined(how="inner", left=None, right=None):
    """Stays with the notes of the same person, and what the join shows of both."""
    left, right = left or STAYS.source, right or NOTES.source
    pairs = Pairs(left, (S.who,), right, (N.who,), how)
    mine = tuple(Carried(pairs, each) for each in (S.stay, S.cost))
    return pairs, (*mine, *(Paired(pairs, each) for each in (N.stay, N.code, TRUE)))


def two_of_each():
    """At most two stays of each person, in the order of their costs, and their columns."""
    heads = GroupHead(Sort(STAYS.source, (S.cost,), (1,)), S.who, 2)
    return heads, Carried(heads, S.who), Carried(heads, S.cost)


def programs():
    """Joins of many forms: of filtered and sorted tables, on further keys, with itself, and what is made of them."""
    a_notes = Filter(NOTES.source, Compare("==", N.code, Lit.of("a")))
    heads, who, cost = two_of_each()
    for how in ("inner", "left"):
        yield joined(how)
        yield joined(how, Filter(STAYS.source, Compare(">", S.cost, Lit.of(0))), Sort(a_notes, (N.stay,), (0,)))
        pairs = Pairs(NOTES.source, (N.who,), heads, (who,), how)
        yield pairs, (Carried(pairs, N.code), Paired(pairs, cost))
        pairs = Pairs(NOTES.source, (N.who, N.stay), NOTES.source, (N.who, N.stay), how)
        yield pairs, (Carried(pairs, N.code), Paired(pairs, N.code))
    pairs, (stay, cost, there, code, found) = joined("left")
    yield Filter(pairs, IsNull(found)), (stay, cost)
    yield Sort(Filter(pairs, Compare("==", code, Lit.of("a"))), (there,), (1,)), (stay, code)
    persons = PerPerson(pairs, pairs.owner())
    yield persons, (Aggregate(persons, "nunique", code), Aggregate(persons, "count", stay))
    again = Pairs(NOTES.source, (N.who,), persons, (persons.owner(),), "left")
    yield again, (Carried(again, N.code), Paired(again, Aggregate(persons, "size", None)))


@covers("property", "pairs", "paired")
@given(MANY.neighbours(4))
def test_pairs_of_others_stay_as_they_are(pair):
    for rows, columns in programs():
        MANY.check_rows(rows, columns, [pair])


@covers("witness", "pairs", "paired")
@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_product_of_the_bounds_is_reached(how):
    """Two notes with two notes: four pairs go out with one person."""
    pairs = Pairs(NOTES.source, (N.who,), NOTES.source, (N.who,), how)
    both = ((NOTES.rows[0], NOTES.rows[1]), ())

    assert MANY.check_rows(pairs, (Paired(pairs, N.code),), [(((), ()), both)]) == pairs.distance.value == 4


@covers("witness", "pairs")
def test_a_row_without_partner_is_one_row():
    heads = GroupHead(STAYS.source, S.who, 1)
    pairs = Pairs(heads, (heads.owner(),), NOTES.source, (N.who,), "left")

    assert MANY.check_rows(pairs, (Paired(pairs, N.code),), [(((), ()), ((), STAYS.rows[:1]))]) == 1
    assert pairs.distance.value == 2


@covers("small world", "pairs", "paired")
def test_all_small_databases():
    """Those with up to four rows are tried in tests/laws/test_small_worlds.py."""
    pairs = list(MANY.pairs(2))
    for rows, columns in programs():
        MANY.check_rows(rows, columns, pairs)


def test_distances_hold_together_in_the_cells_of_the_left_table():
    """Filters before the join: the pairs of one group of notes lie in its cell, so two groups exclude each other."""
    parts = []
    for key in ("a", "b"):
        left = Filter(NOTES.source, Compare("==", N.code, Lit.of(key)))
        pairs = Pairs(left, (N.who,), NOTES.source, (N.who,), "left")
        parts.append((pairs, (Paired(pairs, N.stay),)))
    assert [rows.cells for rows, _ in parts] == [rows.rows.cells for rows, _ in parts]
    assert (parts[0][0].distance + parts[1][0].distance).value == 4

    assert MANY.check_forms(parts, list(MANY.pairs(2)), list(all_weights(2))) == 4


def test_groups_of_the_pairs_share_their_distance():
    heads, who, _ = two_of_each()
    pairs = Pairs(heads, (who,), NOTES.source, (N.who,), "inner")
    code = Paired(pairs, N.code)
    parts = [(Filter(pairs, Compare("==", code, Lit.of(key))), (code,)) for key in ("a", "b")]

    assert pairs.distance.value == (parts[0][0].distance + parts[1][0].distance).value == 4
    MANY.check_forms([(pairs, (code,)), *parts], list(MANY.pairs(2)), list(all_weights(3)))


def test_values_of_joined_rows():
    heads, who, cost = two_of_each()
    pairs = Pairs(heads, (who,), NOTES.source, (N.who,), "inner")
    keys = (Paired(pairs, N.code),)
    value = Tally(pairs, keys, Carried(pairs, cost))

    assert MANY.check_value(value, list(MANY.pairs(2))) >= 3


@pytest.mark.parametrize("how", ["inner", "left"])
def test_rows_and_their_order_are_those_of_pandas(how):
    data = (NOTES.rows, (*STAYS.rows[::-1], (2, 3, 1)))
    notes, stays = (
        pandas.DataFrame(t, columns=[n for n, _ in p.columns]) for t, p in zip(data, (NOTES, STAYS), strict=True)
    )
    for left, right in (("cost", "stay"), ("stay", "code")):
        mine = stays.sort_values(left, kind="stable").merge(notes.sort_values(right, kind="stable"), on="who", how=how)
        order = Sort(STAYS.source, (S.part.column(left),), (0,)), Sort(NOTES.source, (N.part.column(right),), (0,))
        pairs, columns = joined(how, *order)
        found = MANY.table(pairs, columns[:4], data)
        expected = mine[["stay_x", "cost", "stay_y", "code"]].astype(object).where(lambda d: d.notna(), None)
        assert [tuple(row) for row in expected.itertuples(index=False)] == [tuple(row) for row in found]


def test_missing_keys_meet_nothing():
    pairs = Pairs(NOTES.source, (N.who, N.stay), NOTES.source, (N.who, N.stay), "left")
    data = (((1, None, "a"), (1, None, "b")), ())

    assert MANY.table(pairs, (Carried(pairs, N.code), Paired(pairs, N.code)), data) == (("a", None), ("b", None))


def test_a_fact_of_the_person_is_carried_along():
    sex = Lookup((N.who,), PATIENTS.source, (P.who,), P.sex)
    pairs = Pairs(NOTES.source, (N.who,), NOTES.source, (N.who,), "inner")
    women = Filter(pairs, Compare("==", Carried(pairs, sex), Lit.of("F")))

    assert women.cells == Filter(PATIENTS.source, Compare("==", P.sex, Lit.of("F"))).cells
    THREE.check_rows(women, (Paired(pairs, N.code),), list(THREE.pairs(2)))


# -- refusals


def test_any_number_of_partners_is_refused():
    with pytest.raises(PlanError, match="any number of rows"):
        Pairs(NOTES.source, (N.who,), STAYS.source, (S.who,), "inner")
    assert Pairs(NOTES.source, (N.who, N.stay), STAYS.source, (S.who, S.stay), "inner").distance.value == 2


def test_joins_on_anything_else_are_refused():
    with pytest.raises(RefusedError, match="on the person"):
        Pairs(STAYS.source, (S.stay,), NOTES.source, (N.stay,), "inner")
    head = Slice(NOTES.source, None, 2)
    with pytest.raises(RefusedError, match="filtered and sorted only"):
        Pairs(head, (Carried(head, N.who),), NOTES.source, (N.who,), "inner")
    with pytest.raises(RefusedError, match="filtered and sorted only"):
        Pairs(STAYS.source, (S.who,), head, (Carried(head, N.who),), "inner")
    with pytest.raises(RowsError, match="this table"):
        Pairs(STAYS.source, (N.who,), NOTES.source, (N.who,), "inner")
    with pytest.raises(PlanError, match="inner or left"):
        Pairs(STAYS.source, (S.who,), NOTES.source, (N.who,), "outer")


def test_samples_and_other_populations_are_refused():
    with pytest.raises(RefusedError, match="random sample"):
        Pairs(STAYS.source, (S.who,), Sample(NOTES.source, Fraction(1, 2), "x"), (N.who,), "inner")
    stranger = Source(Dataset("x", "x", NOTES.columns, Unit("who", 2)))
    with pytest.raises(RefusedError, match="different populations"):
        Pairs(STAYS.source, (S.who,), stranger, (Column(stranger, "who"),), "inner")


def test_rows_do_not_multiply_without_end():
    rows, who = NOTES.source, N.who
    with pytest.raises(DPError, match="can be made of one row"):
        for _ in range(9):
            rows = Pairs(rows, (who,), NOTES.source, (N.who,), "inner")
            who = rows.owner()
    assert rows.distance.value == 2**9


def test_columns_of_other_rows_are_refused():
    pairs, _ = joined()
    with pytest.raises(RowsError):
        Paired(pairs, S.cost)
    with pytest.raises(RowsError):
        Carried(pairs, N.code)
