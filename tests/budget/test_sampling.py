"""What samples cost: the exact law of all answers, over all coins, on all small neighbours (V-47)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import pytest
from hypothesis import strategies as st

from privjail.budget.ledger import CostTree, Ledger
from privjail.budget.notions import ZCDP, ApproxDP, PureDP, RenyiDP
from privjail.budget.sampling import amplified, rate_of
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.combine import Add
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.plan.cells import Cell
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query, where_charged
from tests.ops.checking import Coins, engine, given
from tests.ops.worlds import TWO_EACH
from tests.tables import Table, World

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
WORLD = World((("x", CategoryDomain(False, ("a", "b"))), ("y", IntDomain(False, 0, 1))), (("a", 1), ("b", 1)))
EPS = Fraction(7, 10)
REACH = 3  # answers are counts with noise, cut at so many beyond the counts of these tables


def count(rows: Rows) -> Tally:
    return Tally(rows, (), None)


def group(rows: Rows, key: str, name: str = "x") -> Filter:
    column = (TWO_EACH if name == "u" else WORLD).column(name)
    return Filter(rows, Compare("==", column, Lit.of(key)))


# -- programs: a list of values, each released with Laplace noise; the next may depend on the answers so far

ALL = WORLD.source
ONE, TWO = Sample(ALL, HALF, "one"), Sample(ALL, THIRD, "two")
Program = Callable[[tuple[int, ...]], Any]  # answers so far → the next value, or None


def fixed(*values: Any) -> Program:
    return lambda seen: values[len(seen)] if len(seen) < len(values) else None


def adaptive(seen: tuple[int, ...]) -> Any:
    """Asks the sample, then the sample again or its table, as the answers say."""
    if len(seen) == 2:
        return None
    return count(ONE) if not seen else count(ONE) if seen[0] > 1 else count(ALL)


PROGRAMS: dict[str, Program] = {
    "one sample": fixed(count(ONE)),
    "one sample twice": fixed(count(ONE), count(ONE)),
    "a sample and its table": fixed(count(ONE), count(ALL)),
    "two samples": fixed(count(ONE), count(TWO)),
    "a sample of a sample": fixed(count(Sample(ONE, THIRD, "inner")), count(ONE)),
    "groups of a sample": fixed(count(group(ONE, "a")), count(group(ONE, "b"))),
    "a sample of a group": fixed(count(Sample(group(ALL, "a"), HALF, "one")), count(group(ALL, "b")), count(ONE)),
    "a head of a sample": fixed(count(Slice(ONE, None, 1))),
    "a sample plus its table": fixed(Add(count(ONE), count(ALL))),
    "chosen by the answers": adaptive,
}


class GivenCoins(Coins):
    """Coins that are listed: the next of them for each sample."""

    def __init__(self, drawn: dict[Sample, tuple[bool, ...]]) -> None:
        super().__init__()
        self.listed = drawn

    def number(self, sample: Sample, position: int) -> int:
        return 0 if self.listed[sample][position] else 2**32 - 1


def drawn_from(rows: Rows) -> set[Sample]:
    found = {rows} if isinstance(rows, Sample) else set()
    return found if rows.parent is None else found | drawn_from(rows.parent)


def samples_of(program: Program) -> list[Sample]:
    found: dict[Sample, None] = {}
    for seen in ((), (0,), (9,), (0, 0), (9, 9)):
        try:
            value = program(seen)
        except IndexError:
            continue
        for tally in () if value is None else (value.inputs or (value,)):
            found.update(dict.fromkeys(sorted(drawn_from(tally.rows), key=lambda s: s.name)))
    return list(found)


def noise(value: Any) -> list[tuple[int, float]]:
    """The law of Laplace noise on whole numbers, for this value and EPS; cut off where answers are not compared."""
    a = math.exp(-float(EPS / value.joint.l1))
    return [(k, (1 - a) / (1 + a) * a ** abs(k)) for k in range(-REACH - 3, REACH + 4)]


def law(program: Program, table: Table, source: Any = ALL) -> dict[tuple[int, ...], float]:
    """The chance of each list of answers, by enumeration of all coins."""
    found: dict[tuple[int, ...], float] = {}
    samples = samples_of(program)
    for coins in product((True, False), repeat=len(samples) * len(table)):
        listed = {s: coins[i * len(table) : (i + 1) * len(table)] for i, s in enumerate(samples)}
        chance = math.prod(
            float(s.rate if c else 1 - s.rate) for s, drawn in listed.items() for c in drawn
        )  # the chance of these coins
        held = engine(source, table, name="reference")
        held.coins = GivenCoins(listed)  # type: ignore[attr-defined]
        for seen, p in answers(program, held, ()):
            found[seen] = found.get(seen, 0.0) + chance * p
    return found


def answers(program: Program, held: Any, seen: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
    value = program(seen)
    if value is None:
        yield seen, 1.0
        return
    true = held.evaluate(value)
    for k, p in noise(value):
        if -1 <= true + k <= REACH:
            for rest, q in answers(program, held, (*seen, true + k)):
                yield rest, p * q


def costs(program: Program, seen: tuple[int, ...], notion: Any = None) -> Fraction:
    """What the ledger says that these answers cost."""
    ledger = Ledger()
    for i in range(len(seen)):
        value = program(seen[:i])
        charges = where_charged(Query(value, Laplace(EPS)), lambda root: notion or PureDP())
        for cell, _ in charges:
            ledger.open(cell.root, "world", notion or PureDP())
        ledger.charge(charges)
    return ledger.accounts()[0].total()[0]


def worst(program: Program, pairs: Any, source: Any = ALL) -> float:
    """The largest loss over all answers and neighbours, less what the ledger says of these answers."""
    most = -math.inf
    for left, right in pairs:
        p, q = law(program, left, source), law(program, right, source)
        for seen in p.keys() & q.keys():
            over = abs(math.log(p[seen] / q[seen])) - float(costs(program, seen))
            most = max(most, over)
    return most


def check_law(name: str) -> None:
    assert worst(PROGRAMS[name], WORLD.pairs(2)) <= 1e-9, name


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_answers_lose_more_than_they_cost(name):
    check_law(name)


def test_the_cost_of_one_sample_is_reached():
    """Neither too small nor too large: one more row in a table, and an answer far above."""
    program, far = fixed(count(ONE)), (REACH,)
    p, q = law(program, ()), law(program, (("a", 1),))

    assert math.log(q[far] / p[far]) == pytest.approx(float(costs(program, far)), abs=1e-12)


@pytest.mark.parametrize("cost", [Fraction(1, 3), Fraction(1), Fraction(5)])
def test_a_cost_just_above_a_multiple_is_rounded_up_to_the_next(cost: Fraction) -> None:
    """By however little: a rate at which log(1 + rate·(exp(cost) - 1)) is 10**-45 more than a multiple of 2**-64."""
    with mp.workdps(80):
        multiple = mp.mpf(2**62 + 12345) / 2**64
        grown = mp.expm1(mp.mpf(cost.numerator) / cost.denominator)
        rate = Fraction(int(mp.expm1(multiple + mp.mpf(10) ** -45) / grown * mp.mpf(10) ** 70) + 1, 10**70)
        true = mp.log1p(mp.mpf(rate.numerator) / rate.denominator * grown)
        assert 0 < true - multiple < mp.mpf(10) ** -44

        assert rate < 1 and amplified(cost, rate) == Fraction(2**62 + 12346, 2**64)


def check_users() -> None:
    """A user with two rows has two coins: some row of hers is drawn with a chance of 3/4, not 1/2."""
    program = fixed(count(Slice(Sample(TWO_EACH.source, HALF, "one"), None, 1)))
    assert worst(program, TWO_EACH.pairs(2), TWO_EACH.source) <= 1e-9


def test_a_user_with_several_rows_pays_in_full():
    check_users()
    assert costs(fixed(count(Sample(TWO_EACH.source, HALF, "one"))), (0,)) == EPS


# -- the formula


@given(st.fractions(0, 40, max_denominator=1000), st.fractions(0, 1, max_denominator=1000), examples=200)
def test_amplification_is_rounded_up_and_by_little(cost, rate):
    from mpmath import mp, mpf

    mp.dps = 80
    true = mp.log(1 + mpf(rate.numerator) / rate.denominator * mp.expm1(mpf(cost.numerator) / cost.denominator))
    found = amplified(cost, rate)

    assert mpf(found.numerator) / found.denominator >= true - mpf(10) ** -70  # what mpmath itself rounds
    assert found <= cost
    assert mpf(found.numerator) / found.denominator <= true + mpf(2) ** -63


@given(st.fractions(0, 20), st.fractions(0, 20), st.fractions(0, 1, max_denominator=10**6))
def test_amplification_rises_with_the_cost(a, b, rate):
    assert amplified(min(a, b), rate) <= amplified(max(a, b), rate)


def test_amplification_of_large_and_tiny_costs():
    assert amplified(Fraction(5000), HALF) == 5000
    assert amplified(Fraction(0), HALF) == 0
    tiny = Fraction(1, 10**30)
    assert 0 < amplified(tiny, HALF) <= tiny
    assert amplified(Fraction(1), Fraction(1)) == 1


def test_only_names_of_samples_have_a_rate():
    assert rate_of("sample 1/10 abc") == Fraction(1, 10)
    assert rate_of("f00d") is None and rate_of("sampled") is None


@pytest.mark.parametrize("notion", [ApproxDP(9, 0.1), ZCDP(9), RenyiDP(9, 0.001)])
def test_other_notions_pay_for_a_sample_in_full(notion):
    """Amplification is claimed where it is proved, and nowhere else."""
    program = fixed(count(ONE))

    assert costs(program, (0,), notion) == notion.cost(Laplace(EPS).loss)[0]


def test_a_sample_that_is_asked_twice_is_not_amplified_twice():
    one = amplified(EPS, HALF)

    assert costs(PROGRAMS["one sample twice"], (0, 0)) == amplified(2 * EPS, HALF) > 2 * one


def test_the_tree_takes_back_what_a_refused_release_would_have_cost():
    tree = CostTree((Fraction(0),), amplifies=True)
    address = (("sample 1/2 x", "bool:True"), ("g", "a"))
    tree.add(address, (EPS,))
    before = tree.total
    tree.add(address, (EPS,))()

    assert tree.total == before == (amplified(EPS, HALF),)


def test_cells_show_their_samples():
    cell: Cell = group(ONE, "a").cells[0]

    assert str(cell) == "world / sample(1/2) / x='a'"


def test_why_samples_are_not_amplified_at_a_renyi_order():
    """Decision 0191: a tree of costs that amplified divergences would be exceeded by an analyst who adapts.

    Order 2, in exact fractions. A release on a sample (rate 1/2) has the ratios 3/2 and 1/2, each with chance 1/2. After
    the large one all that is left is spent on the sample, after the small one on the table. ``limit`` is what the tree
    would allow on each path.
    """
    q, limit = Fraction(1, 2), Fraction(4)
    ratios = (Fraction(3, 2), Fraction(1, 2))
    first = sum(s * s for s in ratios) / 2  # the second moment of the first release

    def counted(table, sample):
        return table * (1 - q * q + q * q * sample)  # orders 0 and 1 of a sample are 1

    rest_of_sample = (limit - 1 + q * q) / (q * q * first)
    rest_of_table = limit / counted(1, first)
    assert counted(1, first * rest_of_sample) == counted(rest_of_table, first) == limit  # both paths are within it

    high, low = ratios
    on_sample = (1 - q) ** 2 + 2 * q * (1 - q) * high + q * q * high**2 * rest_of_sample
    on_table = rest_of_table * (1 - q + q * low) ** 2
    assert (on_sample + on_table) / 2 > limit * Fraction(112, 100)
