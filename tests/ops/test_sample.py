"""Random samples: rows and their coins, given the coins of all rows; the laws over coins are in tests/budget."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from privjail.engines.coins import PER_DIGEST, Coins
from privjail.errors import PlanError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.plan.cells import Draw, charged
from privjail.plan.domain import BoolDomain, CategoryDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import ENGINES, all_weights, carried, check_forms, check_rows, covers, engine, given, seen, table
from .people import PATIENTS, Part
from .worlds import ANY_EACH, NUMBERS, SQUARE, TWO_EACH

TENTH = Fraction(1, 10)
#: Each row brings its coin along.
COINS = World(
    (("x", CategoryDomain(True, ("a", "b"))), ("drawn", BoolDomain(False))),
    ((None, True), ("a", True), ("a", False), ("b", True)),
)


def only(world, key):
    return Filter(world.source, Compare("==", world.column("x"), Lit.of(key)))


def samples(world):
    x = world.column("x")
    first = Sample(world.source, TENTH, "one")
    return [
        first,
        Sample(first, TENTH, "two"),
        Sample(only(world, "a"), TENTH, "one"),
        Filter(first, Compare("==", x, Lit.of("a"))),
        Sample(Sort(world.source, (x,), (1,)), TENTH, "one"),
        Slice(first, None, 2),
    ]


@covers("property", "sample")
@given(COINS.neighbours(6))
def test_a_sample_keeps_the_distance_given_the_coins(pair):
    for rows in samples(COINS):
        check_rows(rows, [pair])


@covers("property", "sample")
@given(SQUARE.neighbours(5), st.sampled_from("abc"))
def test_samples_groups_and_slices_of_them_share_their_edits(pair, tag):
    one = Sample(SQUARE.source, TENTH, tag)
    x = SQUARE.column("x")
    parts = [one, *(Filter(one, Compare("==", x, Lit.of(v))) for v in "ab"), Slice(one, None, 2)]

    check_forms(parts, [pair], all_weights(len(parts)))


@covers("property", "sample")
@given(TWO_EACH.neighbours(6))
def test_rows_of_users_are_drawn_one_by_one(pair):
    check_rows(Sample(TWO_EACH.source, TENTH, "one"), [pair])


@covers("witness", "sample")
def test_the_claim_is_reached_by_a_row_that_is_drawn():
    rows = Sample(COINS.source, TENTH, "one")

    assert check_rows(rows, [((), (("a", True),))]) == rows.distance.value == 1
    assert check_rows(rows, [((), (("a", False),))]) == 0


@covers("small world", "sample")
def test_samples_in_the_small_world():
    parts = samples(COINS)
    for rows in parts:
        check_rows(rows, COINS.pairs(3))
    check_forms(parts, COINS.pairs(3), all_weights(len(parts)))


def test_a_sample_has_the_rows_that_were_drawn_in_their_order():
    rows = Sample(COINS.source, TENTH, "one")
    data = (("b", True), ("a", False), (None, True), ("a", True))

    assert table(rows, seen(rows), data) == (("b", True), (None, True), ("a", True))


# -- cells


def test_a_sample_is_a_cell_of_its_own_where_a_unit_has_one_row():
    rows = Sample(only(SQUARE, "a"), TENTH, "one")

    assert isinstance(rows.cells[0].partition, Draw) and rows.cells[0].parent in rows.rows.cells
    assert rows.cells[0].address[-1][0].startswith("sample 1/10 ")


@pytest.mark.parametrize("world", [TWO_EACH, ANY_EACH])
def test_a_sample_stays_in_the_cells_of_its_rows_where_a_unit_can_have_several(world):
    """V-47: the chance that a user with k rows is in the sample is not q."""
    rows = Sample(world.source, TENTH, "one")

    assert rows.cells == world.source.cells


def test_samples_of_one_table_do_not_exclude_each_other():
    """Whoever reads two samples, or a sample and its table, is charged above both."""
    one, two = (Sample(SQUARE.source, TENTH, tag) for tag in ("one", "two"))
    x = SQUARE.column("x")

    assert charged([*one.cells, *two.cells]) == list(SQUARE.source.cells)
    assert charged([*one.cells, *SQUARE.source.cells]) == list(SQUARE.source.cells)
    assert charged([*one.cells, *only(SQUARE, "a").cells]) == list(SQUARE.source.cells)
    parts = [Filter(one, Compare("==", x, Lit.of(v))).cells[0] for v in "ab"]
    assert set(charged(parts)) == set(parts)


def test_a_sample_belongs_to_one_place():
    """One set of coins at two places of the tree of costs would be counted as two."""
    outer = Sample(only(SQUARE, "a"), TENTH, "one")
    inner = Filter(Sample(SQUARE.source, TENTH, "one"), Compare("==", SQUARE.column("x"), Lit.of("a")))

    assert outer is not inner
    draws = {cell.partition for rows in (outer, inner) for cell in rows.cells[0].path() if type(cell.partition) is Draw}
    assert len(draws) == 2
    coins = Coins()
    assert coins.numbers(outer, 100) != coins.numbers(inner.rows, 100)


def test_what_is_refused():
    for rate in (Fraction(0), Fraction(-1, 2), Fraction(3, 2), 0.5, Fraction(1, 2**64)):
        with pytest.raises(PlanError):
            Sample(NUMBERS.source, rate, "one")
    with pytest.raises(PlanError, match="slices"):
        Sample(Slice(NUMBERS.source, None, 2), TENTH, "one")
    with pytest.raises(PlanError):
        Sample(NUMBERS.source, TENTH, "x" * 65)


# -- coins

LONG = World((("x", IntDomain(False, 0, 1)),), ((0,), (1,)))
MANY = 4001


def held(name, coins=None, data=None):
    found = engine(LONG.source, data or tuple((i % 2,) for i in range(MANY)), name=name)
    found.coins = coins or Coins()
    return found


def test_every_engine_draws_the_same_rows():
    coins = Coins()
    rows = Sample(LONG.source, Fraction(1, 3), "one")
    inner = Sample(only(LONG, 1), Fraction(1, 2), "two")
    for each in (rows, inner):
        value = Tally(each, (carried(each, LONG.column("x")),), None)
        found = {name: held(name, coins).evaluate(value) for name in ENGINES}
        assert len({tuple(x) for x in found.values()}) == 1, found


def test_numbers_are_those_of_the_definition():
    coins, rows = Coins(), Sample(LONG.source, TENTH, "one")
    size = 3 * PER_DIGEST + 1
    found = coins.numbers(rows, size)

    assert [int.from_bytes(found[4 * i : 4 * i + 4]) for i in range(size)] == [
        coins.number(rows, i) for i in range(size)
    ]


def test_coins_are_fair_and_independent():
    """χ² over 20,000 rows: the rate, pairs of neighbouring rows, and pairs of samples (5 standard deviations)."""
    coins, n, q = Coins(), 20_000, 0.25
    drawn = []
    for tag in ("one", "two"):
        sample = Sample(LONG.source, Fraction(1, 4), tag)
        numbers = coins.numbers(sample, n)
        drawn.append([int.from_bytes(numbers[4 * i : 4 * i + 4]) < sample.below for i in range(n)])
    for pairs in (zip(*drawn, strict=True), zip(drawn[0], drawn[0][1:], strict=False)):
        counts = Counter(pairs)
        total = counts.total()
        chances = {(a, b): (q if a else 1 - q) * (q if b else 1 - q) for a in (True, False) for b in (True, False)}
        chi2 = sum((counts[k] - total * p) ** 2 / (total * p) for k, p in chances.items())
        assert chi2 < 35, (chi2, counts)


def test_coins_stay_while_the_data_is_held_and_change_with_it():
    rows = Tally(Sample(LONG.source, Fraction(1, 2), "one"), (), None)
    one = held("polars")
    first = one.evaluate(rows)
    one.cache.clear()
    assert one.evaluate(rows) == first

    changed = set()
    for _ in range(6):
        one.coins.renew(LONG.source)
        one.cache.clear()
        changed.add(one.evaluate(rows))
    assert changed != {first}


def test_another_engine_has_other_coins():
    """Made-up rows of a rehearsal may be asked without end: they must not show the coins of real ones."""
    sample = Sample(LONG.source, Fraction(1, 2), "one")
    assert Coins().numbers(sample, 400) != Coins().numbers(sample, 400)


def test_the_chance_is_never_above_the_rate():
    for rate in (Fraction(1, 3), Fraction(1), Fraction(2, 7), Fraction(1, 2**40)):
        sample = Sample(LONG.source, rate, "one")
        assert Fraction(sample.below, 2**32) <= rate < Fraction(sample.below + 1, 2**32)
    everything = Sample(LONG.source, Fraction(1), "one")
    for name in ENGINES:
        assert held(name).evaluate(Tally(everything, (), None)) == MANY


def test_groups_of_what_was_made_from_a_sample_do_not_exclude_each_other():
    """Coins are drawn anew when data is held again: a person may be in one group before, and in another one after."""
    x = SQUARE.column("x")
    drawn = Sample(SQUARE.source, TENTH, "one")
    head = Slice(drawn, None, 2)
    groups = [Filter(head, Compare("==", carried(head, x), Lit.of(v))) for v in "ab"]
    counts = Tally(head, (carried(head, x),), None)

    assert head.redrawn and not drawn.redrawn and not Slice(SQUARE.source, None, 2).redrawn
    assert all(group.cells == head.cells for group in groups)
    assert counts.joint.at(0).cells() <= set(head.cells)
    assert len(Filter(drawn, Compare("==", x, Lit.of("a"))).cells[0].path()) == len(drawn.cells[0].path()) + 1


def test_how_long_a_name_and_how_fine_a_rate_may_be():
    Sample(NUMBERS.source, Fraction(1, 2**64 - 1), "n" * 64)
    for rate, name in ((Fraction(1, 2**64), "n"), (TENTH, "n" * 65)):
        with pytest.raises(PlanError):
            Sample(NUMBERS.source, rate, name)


def test_the_address_of_a_sample_stays_what_it_is():
    """A ledger holds it: whoever changes it forgets what was charged to samples."""
    drawn = Sample(NUMBERS.source, TENTH, "one")
    (_, key), partition = drawn.cells[0].address[0], drawn.cells[0].partition

    assert key == "bool:True" and partition == Draw(NUMBERS.source, TENTH, "one") and len(drawn.cells[0].address) == 1


def test_below_cells_of_different_depths_no_sample_lies_deeper_than_64():
    """Persons who are in one of two tables put below each other: in a cell of the first, or deeper in the second."""
    sex, age = PATIENTS.column("sex"), PATIENTS.column("age")
    women = Filter(PATIENTS.source, Compare("==", sex, Lit.of("F")))
    men = Filter(Filter(PATIENTS.source, Compare("==", sex, Lit.of("M"))), Compare(">", age, Lit.of(1)))
    either = Append(women, men)
    who = Appended(either, PATIENTS.column("who"), PATIENTS.column("who"))
    mine = Part("mine", PATIENTS.columns, PATIENTS.rows, most=1)
    found = Filter(mine.source, Lookup((mine.column("who"),), either, (who,), Constant(Lit.of(True))))
    assert [cell.depth for cell in found.cells] == [1, 2] and found.edits == 1

    for filters in (61, 62):
        rows = found
        for i in range(filters):
            rows = Filter(rows, Compare(">", mine.column("age"), Lit.of(i)))
        assert [cell.depth for cell in Sample(rows, TENTH, "one").cells] == [63, 64]
