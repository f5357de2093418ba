"""Random programs over three linked tables of one population: distances, engines, and what the ledger charges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from privjail.budget.ledger import CostTree
from privjail.budget.notions import PureDP
from privjail.errors import DPError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import keep
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.plan.domain import BoolDomain, CategoryDomain, IntDomain
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query, where_charged
from tests.ops.checking import all_weights, choose
from tests.ops.people import NOTES, PATIENTS, STAYS, THREE

PARTS = (PATIENTS, STAYS, NOTES)


@pytest.fixture(scope="module", autouse=True)
def plain_python() -> Iterator[None]:
    """Distances are those of the reference engine, which is fast on few rows; Polars is compared with it."""
    before = choose("reference")
    yield
    choose(before)


class Program:
    """A random program: rows, and the columns that they show. The same number gives the same program."""

    def __init__(self, seed: int, steps: int = 4) -> None:
        self.pick = random.Random(seed)
        part = self.pick.choice(PARTS)
        self.rows: Rows = part.source
        self.columns: dict[str, Any] = {name: part.column(name) for name, _ in part.columns}
        for _ in range(self.pick.randint(1, steps)):
            try:
                self.step()
            except DPError:  # a program that is refused claims nothing
                continue

    def step(self) -> None:
        pick, owner = self.pick, self.rows.base.owner()
        match pick.randrange(10 if owner is not None else 4):
            case 3 if owner is None:
                self.append()
            case 9:
                self.append()
            case 8:
                self.pair(owner)
            case 0 | 1:
                self.rows = keep(self.rows, self.condition())
            case 2:
                self.rows = Sort(self.rows, (pick.choice(list(self.columns.values())),), (pick.randint(0, 1),))
                if pick.random() < 0.2:
                    self.into(Slice(self.rows, None, pick.randint(1, 2)))
            case 3:
                self.into(GroupHead(self.rows, owner, pick.randint(1, 2)))
            case 4:
                persons, before = PerPerson(self.rows, owner), self.columns
                self.rows, self.columns = persons, {"n": Aggregate(persons, "size", None)}
                for name, column in before.items():
                    how = pick.choice(AGGREGATES[1:])
                    with_refusals(lambda n=name, c=column, h=how: self.columns.update({n: Aggregate(persons, h, c)}))
            case 5 | 6:
                self.look_up(owner)
            case 7:
                link = self.columns.get("stay", owner)
                found = Lookup(
                    (owner, link), STAYS.source, (STAYS.column("who"), STAYS.column("stay")), STAYS.column("cost")
                )
                self.columns["linked"] = found

    def look_up(self, owner: Any) -> None:
        """Columns of the patients, of whom some may be left out, or of one row per person of the stays."""
        pick, other = self.pick, PATIENTS.source
        if pick.random() < 0.4:
            other = keep(other, Compare("==", PATIENTS.column("sex"), Lit.of(pick.choice("FM"))))
        inner = pick.choice((PATIENTS.column("sex"), PATIENTS.column("age"), Constant(Lit.of(True))))
        name = {"sex": "sex", "age": "age"}.get(str(inner), "there")
        found = Lookup((owner,), other, (PATIENTS.column("who"),), inner)
        if pick.random() < 0.3:
            persons = PerPerson(STAYS.source, STAYS.column("who"))
            found, name = (
                Lookup((owner,), persons, (persons.owner(),), Aggregate(persons, "sum", STAYS.column("cost"))),
                "total",
            )
        self.columns[name] = found
        if name == "there" and pick.random() < 0.8:
            self.rows = keep(self.rows, found)
        elif pick.random() < 0.5:
            self.rows = keep(self.rows, self.about(found))

    def pair(self, owner: Any) -> None:
        """Each row with all rows of the same person: of the notes, of at most two stays, or of the program itself."""
        pick = self.pick
        other: Rows = NOTES.source
        theirs: dict[str, Any] = {name: NOTES.column(name) for name in ("who", "stay", "code")}
        if pick.random() < 0.4:
            other = GroupHead(Sort(STAYS.source, (STAYS.column("cost"),), (1,)), STAYS.column("who"), 2)
            theirs = {name: Carried(other, STAYS.column(name)) for name in ("who", "stay", "cost")}
        if pick.random() < 0.2:
            other, theirs = self.rows, self.columns
        if pick.random() < 0.3:
            other = keep(other, self.about(pick.choice(list(theirs.values()))))
        keys = [(owner, other.base.owner())]
        if pick.random() < 0.3 and "stay" in self.columns and "stay" in theirs:
            keys.append((self.columns["stay"], theirs["stay"]))
        mine, there = zip(*keys, strict=True)
        pairs = Pairs(self.rows, mine, other, there, pick.choice(("inner", "left")))
        self.into(pairs)
        name = pick.choice(list(theirs))
        self.columns |= {f"{name} there": Paired(pairs, theirs[name]), "met": Paired(pairs, Constant(Lit.of(True)))}

    def append(self) -> None:
        """Another table below: as it is, filtered, cut, or the program itself."""
        pick, part = self.pick, self.pick.choice(PARTS)
        other: Rows = part.source
        theirs: dict[str, Any] = {name: part.column(name) for name, _ in part.columns}
        match pick.randrange(5):
            case 0:
                other, theirs = self.rows, self.columns
            case 1:
                other = keep(other, self.about(pick.choice(list(theirs.values()))))
            case 2:
                other = GroupHead(other, other.base.owner(), 1)
                theirs = {name: Carried(other, each) for name, each in theirs.items()}
            case 3 if pick.random() < 0.5:
                other = Slice(other, None, pick.randint(1, 2))
                theirs = {name: Carried(other, each) for name, each in theirs.items()}
        rows, columns = (self.rows, other), (self.columns, theirs)
        if pick.random() < 0.5:
            rows, columns = rows[::-1], columns[::-1]
        made = Append(*rows)
        self.rows, before, self.columns = made, columns, {}
        for name in dict.fromkeys([*before[0], *before[1]]):
            pair = before[0].get(name), before[1].get(name)
            with_refusals(lambda n=name, p=pair: self.columns.update({n: Appended(made, *p)}))

    def into(self, rows: Rows) -> None:
        self.columns = {n: c if c.base is None else Carried(rows, c) for n, c in self.columns.items()}
        self.rows = rows

    def condition(self) -> Any:
        condition = self.about(self.pick.choice(list(self.columns.values())))
        return Not(condition) if self.pick.random() < 0.2 else condition

    def about(self, column: Any) -> Any:
        pick = self.pick
        match column.domain:
            case CategoryDomain(categories=labels):
                key = Lit.of(pick.choice(labels))
                return pick.choice((Compare("==", column, key), IsIn(column, (key,)), IsNull(column)))
            case BoolDomain():
                return pick.choice((column, IsNull(column)))
            case IntDomain():
                number = Lit.of(pick.randint(-1, 4))
                return pick.choice((Compare(pick.choice(("==", "<", ">")), column, number), IsNull(column),
                                    Compare("==", Clip(column, Lit.of(0), Lit.of(2)), Lit.of(1))))  # fmt: skip
        return IsNull(column)


def with_refusals(act: Any) -> None:
    try:
        act()
    except DPError:
        pass


def databases(pick: random.Random, n: int = 6) -> list[Any]:
    """Random databases, each with one that lacks one person."""
    found = []
    while len(found) < n:
        tables = []
        for part in PARTS:
            rows = tuple(pick.choice(part.rows) for _ in range(pick.randint(0, 5)))
            tables.append(rows if part.valid(rows) else rows[:1])
        smaller = list(THREE.without(tuple(tables)))
        if smaller:
            found.append((pick.choice(smaller), tuple(tables)))
    return found


def check_program(seed: int) -> int:
    """One program: its distance, its owner's promise, and equal rows on both engines. Gives the true distance."""
    program, pairs = Program(seed), databases(random.Random(seed))
    columns = tuple(program.columns.values())
    for _, database in pairs[:2]:
        polars, plain = (THREE.table(program.rows, columns, database, name) for name in ("polars", "reference"))
        assert repr(polars) == repr(plain), (seed, database)
    return THREE.check_rows(program.rows, columns, pairs)


def check_together(seed: int) -> None:
    """Two or three programs: their distances hold together, and the ledger charges what they can lose together."""
    pick = random.Random(seed)
    programs = [Program(pick.randrange(10**9)) for _ in range(pick.randint(2, 3))]
    pairs = databases(pick)
    parts = [(program.rows, tuple(program.columns.values())) for program in programs]
    THREE.check_forms(parts, pairs, list(all_weights(len(parts))))
    counts = [Tally(rows, (), None) for rows, _ in parts if rows.distance.value]
    check_losses(counts, pairs)


def check_losses(counts: list[Tally], pairs: list[Any]) -> None:
    """Laplace noise on each count, ε = 1: the privacy loss of all of them is at most what the tree of costs says."""
    tree = CostTree((Fraction(0),))
    for count in counts:
        for cell, cost in where_charged(Query(count, Laplace(Fraction(1))), lambda root: PureDP()):
            tree.add(cell.address, cost)
    for left, right in pairs:
        loss = Fraction(0)
        for count in counts:
            (before,), (after,) = THREE.numbers(count, left), THREE.numbers(count, right)
            loss += Fraction(abs(after - before)) / Fraction(count.joint.l1 or 1)
        assert loss <= tree.total[0], (list(map(str, counts)), left, right)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs_keep_their_distance(first):
    moved = [check_program(seed) for seed in range(first, first + 20)]

    assert max(moved) >= 1


def test_random_programs_hold_together_and_are_charged_together():
    for seed in range(6):
        check_together(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 6_000, 250))
def test_five_thousand_random_programs(first):
    for seed in range(first, first + 250):
        check_program(seed)
        if seed % 5 == 0:
            check_together(seed)
    print(f"{first + 250 - 1_000} programs, {(first + 250 - 1_000) // 5} times two or three together: no violation")
