"""The ledger's running totals against the definition, and against linear programming."""

from __future__ import annotations

import copy
import random
import threading
import time
from fractions import Fraction

import pytest

from privjail.budget.ledger import Charge, Ledger
from privjail.budget.notions import ZCDP, ApproxDP, Cost, Notion, PureDP, RenyiDP
from privjail.errors import BudgetError, BudgetExceeded
from privjail.plan.cells import Cell, charged

from ..plan.trees import lp, random_tree


def _defined(cell: Cell, cells: list[Cell], own: dict[Cell, Fraction]) -> Fraction:
    """cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), word for word."""
    best: dict[object, Fraction] = {}
    for child in cells:
        if child.parent is cell:
            best[child.partition] = max(best.get(child.partition, Fraction(0)), _defined(child, cells, own))
    return own.get(cell, Fraction(0)) + sum(best.values(), Fraction(0))


def _random_charges(rng: random.Random, cells: list[Cell], width: int) -> list[Charge]:
    return [
        (rng.choice(cells), tuple(Fraction(rng.randrange(6), rng.choice([1, 2, 3, 10])) for _ in range(width)))
        for _ in range(rng.randrange(1, 14))
    ]


def _open(cells: list[Cell], notion: Notion) -> Ledger:
    ledger = Ledger()
    ledger.open(cells[0], "data", notion)
    return ledger


def _totals(ledger: Ledger) -> Cost:
    return ledger.accounts()[0].total()


@pytest.mark.parametrize("notion", [PureDP(), ApproxDP()])
def test_the_running_total_is_the_one_defined(notion: Notion) -> None:
    rng = random.Random(5)
    width = len(notion.zero())
    for _ in range(400):
        cells = random_tree(rng)
        charges = _random_charges(rng, cells, width)
        ledger = _open(cells, notion)
        for charge in charges:
            ledger.charge([charge])
        for i in range(width):
            own: dict[Cell, Fraction] = {}
            for cell, cost in charges:
                own[cell] = own.get(cell, Fraction(0)) + cost[i]
            assert _totals(ledger)[i] == _defined(cells[0], cells, own)
            assert float(_totals(ledger)[i]) == pytest.approx(lp(own, cells), abs=1e-9)


def test_the_order_of_charges_does_not_matter_nor_whether_they_come_at_once() -> None:
    rng = random.Random(6)
    for _ in range(200):
        cells = random_tree(rng)
        charges = _random_charges(rng, cells, 1)
        totals = set()
        for shuffled in (charges, charges[::-1], rng.sample(charges, len(charges))):
            ledger = _open(cells, PureDP())
            for charge in shuffled:
                ledger.charge([charge])
            totals.add(_totals(ledger))
        at_once = _open(cells, PureDP())
        at_once.charge(charges)
        assert totals == {_totals(at_once)}


def test_a_refusal_leaves_the_ledger_as_it_was() -> None:
    rng = random.Random(7)
    refused = 0
    for _ in range(300):
        cells = random_tree(rng)
        ledger = _open(cells, PureDP(6))
        account = ledger.accounts()[0]
        for _ in range(8):
            before = copy.deepcopy(account.tree)
            try:
                ledger.charge(_random_charges(rng, cells, 1))
            except BudgetExceeded:
                refused += 1
                assert account.tree == before
            assert account.total()[0] <= 6
    assert refused > 100


def test_one_refusal_undoes_the_charges_of_all_data_sets() -> None:
    rng = random.Random(8)
    left, right = random_tree(rng), random_tree(rng)
    ledger = Ledger()
    rich, poor = ledger.open(left[0], "rich", PureDP(100)), ledger.open(right[0], "poor", PureDP(1))
    with pytest.raises(BudgetExceeded, match="poor"):
        ledger.charge([(left[0], (Fraction(2),)), (right[0], (Fraction(2),))])
    assert rich.total() == poor.total() == (0,) and rich.tree.empty and poor.tree.empty


def test_either_part_of_an_approximate_budget_can_refuse() -> None:
    cells = random_tree(random.Random(1))
    for cost in ((Fraction(2), Fraction(0)), (Fraction(0), Fraction(1, 10))):
        ledger = _open(cells, ApproxDP(1, 0.01))
        with pytest.raises(BudgetExceeded):
            ledger.charge([(cells[0], cost)])
        ledger.charge([(cells[0], (Fraction(1), Fraction(1, 100)))])


def test_a_limit_on_nothing_is_refused() -> None:
    ledger = _open(random_tree(random.Random(1)), PureDP())
    with pytest.raises(BudgetError), ledger.limited(Fraction(1), "dta"):
        pass
    assert not ledger._limits


def test_a_budget_is_set_once() -> None:
    cells = random_tree(random.Random(1))
    ledger = _open(cells, PureDP(1))
    assert ledger.open(cells[0], "data", PureDP(1)) is ledger.accounts()[0]
    for other in (PureDP(2), PureDP(), ZCDP(1), ApproxDP(1, 0.1)):
        with pytest.raises(BudgetError):
            ledger.open(cells[0], "data", other)


def test_blocks_of_code_are_limited_inside_each_other() -> None:
    cells = random_tree(random.Random(1))
    root = cells[0]
    ledger = _open(cells, PureDP())
    ledger.charge([(root, (Fraction(5),))])
    with ledger.limited(Fraction(2), None):
        ledger.charge([(root, (Fraction(1),))])
        with ledger.limited(Fraction(3), "data"), pytest.raises(BudgetExceeded):
            ledger.charge([(root, (Fraction(3, 2),))])  # within the inner limit, not within the outer
        with ledger.limited(Fraction(1, 2), "data"):
            with pytest.raises(BudgetExceeded):
                ledger.charge([(root, (Fraction(3, 4),))])  # within the outer limit, not within the inner
            ledger.charge([(root, (Fraction(1, 2),))])
        with pytest.raises(BudgetExceeded):
            ledger.charge([(root, (Fraction(3, 4),))])
    ledger.charge([(root, (Fraction(9),))])
    assert _totals(ledger) == (Fraction(31, 2),)


class Hesitating(PureDP):
    """Lets other threads run between the writing of a charge and its check."""

    def exceeds(self, total: Cost) -> bool:
        time.sleep(1e-5)
        return super().exceeds(total)


def test_a_hundred_threads_spend_exactly_what_there_is_v36() -> None:
    """V-36: each tries 20 times 1/100 of a budget of 1; exactly 100 of 2000 tries may succeed."""
    cells = random_tree(random.Random(1))
    ledger = _open(cells, Hesitating(1))
    won, lost = [], []
    start = threading.Barrier(100)

    def spend() -> None:
        start.wait()
        for _ in range(20):
            try:
                ledger.charge([(cells[0], (Fraction(1, 100),))])
                won.append(1)
            except BudgetExceeded:
                lost.append(1)

    threads = [threading.Thread(target=spend) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 100 and len(lost) == 1900 and _totals(ledger) == (1,)


def test_where_a_release_is_charged() -> None:
    """Each touched cell lies below exactly one charged cell; charged cells exclude each other; none could be lower."""
    rng = random.Random(11)
    for _ in range(500):
        cells = random_tree(rng)
        touched = [rng.choice(cells) for _ in range(rng.randrange(1, 6))]
        places = charged(touched)
        for cell in touched:
            assert sum(place in cell.path() for place in places) == 1
        for i, a in enumerate(places):
            for b in places[:i]:
                parted = next((x, y) for x, y in zip(a.path(), b.path(), strict=False) if x is not y)
                assert parted[0].partition is parted[1].partition
        for place in places:
            below = [c for c in touched if place in c.path() and c is not place]
            steps = {c.path()[place.depth + 1].partition for c in below}
            assert place in touched or len(steps) > 1


TIGHT = Fraction(1, 8)
LIMITED = [(PureDP(TIGHT), 0), (ApproxDP(TIGHT, Fraction(1, 2)), 0), (ApproxDP(100, TIGHT), 1), (ZCDP(TIGHT), 0),
           (RenyiDP(5, Fraction(1, 10**6)), 0)]  # fmt: skip


def _only(notion: Notion, component: int, much: Fraction) -> Cost:
    return tuple(much if i == component else Fraction(0) for i in range(len(notion.zero())))


@pytest.mark.parametrize("notion, component", LIMITED, ids=str)
def test_each_component_of_each_notion_refuses_by_itself_v56(notion: Notion, component: int) -> None:
    """V-56: just the limit is allowed, the least more is not."""
    assert notion.limit is not None and notion.zero() == _only(notion, 0, Fraction(0))
    most, root = notion.limit[component], random_tree(random.Random(1))[0]
    ledger = _open([root], notion)
    for over in (most + Fraction(1, 2**80), 50 * most):
        with pytest.raises(BudgetExceeded, match="nothing was charged"):
            ledger.charge([(root, _only(notion, component, over))])
        assert _totals(ledger) == notion.zero()
    ledger.charge([(root, _only(notion, component, most))])
    with pytest.raises(BudgetExceeded):
        ledger.charge([(root, _only(notion, component, Fraction(1, 2**80)))])
    assert _totals(ledger) == _only(notion, component, most)


@pytest.mark.parametrize("notion", [PureDP(), ApproxDP(), ZCDP(), RenyiDP(90, Fraction(1, 10**6))], ids=str)
def test_a_block_refuses_in_every_notion_v56(notion: Notion) -> None:
    """V-56: a limit of a block is about the first number, ε or ρ."""
    root = random_tree(random.Random(1))[0]
    ledger = _open([root], notion)
    ledger.charge([(root, _only(notion, 0, Fraction(1)))])
    with ledger.limited(TIGHT, None):
        with pytest.raises(BudgetExceeded, match="this block"):
            ledger.charge([(root, _only(notion, 0, TIGHT + Fraction(1, 2**80)))])
        ledger.charge([(root, _only(notion, 0, TIGHT))])
        with pytest.raises(BudgetExceeded, match="this block"):
            ledger.charge([(root, _only(notion, 0, Fraction(1, 2**80)))])
    assert _totals(ledger) == _only(notion, 0, 1 + TIGHT)
