"""All two-table databases with few rows and three persons: every operation, join and aggregate on all neighbours.

In plain Python (the reference engine): the other engines are compared with it elsewhere. Every program is held against
all pairs of neighbouring databases: how far its rows move, rows that come and go apart, that nobody else's row changes
where rows have an owner, and how far counts, sums and scores of them move.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from privjail.errors import DPError
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.columns.where import FillNull, Where
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.registry import load_all
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit, registry
from privjail.plan.rows import Rows
from tests.ops.checking import choose
from tests.ops.people import MANY, TWO, Part, People

TRUE = Constant(Lit.of(True))
Program = tuple[Rows, dict[str, Any]]  # rows, and the columns that they show


@pytest.fixture(scope="module", autouse=True)
def plain_python() -> Iterator[None]:
    before = choose("reference")
    yield
    choose(before)


def whole(part: Part) -> Program:
    return part.source, {name: part.column(name) for name, _ in part.columns}


def into(rows: Rows, columns: dict[str, Any]) -> Program:
    return rows, {name: Carried(rows, each) for name, each in columns.items()}


def some_of(program: Program) -> Iterator[Program]:
    """Each kind of filter and sort of one table."""
    rows, columns = program
    last = list(columns)[-1]
    x, key = columns[last], Lit.of(3 if isinstance(columns[last].domain, IntDomain) else "a")
    if columns[last].domain.labels is not None and key.value not in columns[last].domain.labels:
        key = Lit.of(9)
    for condition in (Compare("==", x, key), Not(Compare("==", x, key)), IsNull(x), IsIn(x, (key,))):
        yield Filter(rows, condition), columns
    yield Sort(rows, (x,), (1,)), columns


def cut(program: Program) -> Iterator[Program]:
    """Each kind of slice, window and head of groups."""
    rows, columns = program
    for ends in ((None, 1), (-1, None), (1, None), (1, -1), (-2, 2)):
        yield into(Slice(rows, *ends), columns)
    window = Window(rows, 1, 0)
    yield window, {name: Lag(window, each, k) for name, each in columns.items() for k in (1,)}
    yield into(Window(rows, 1, 1), columns)
    for name in columns:
        yield into(GroupHead(rows, columns[name], 1), columns)
    owner = rows.base.owner()
    yield into(GroupHead(rows, owner, 2), columns)  # type: ignore[arg-type]


def per_person(program: Program) -> Program:
    """One row per person, with every aggregate of every column."""
    rows, columns = program
    persons = PerPerson(rows, rows.base.owner())  # type: ignore[arg-type]
    made: dict[str, Any] = {"n": Aggregate(persons, "size", None)}
    for name, column in columns.items():
        for how in AGGREGATES[1:]:
            try:
                made[f"{how} of {name}"] = Aggregate(persons, how, column)
            except DPError:  # not defined for this type
                continue
    return persons, made


def looked_up(left: Program, right: Program) -> Iterator[Program]:
    """Columns of a table with one row per person, in all rows, in some, and as a condition."""
    rows, columns = left
    persons, theirs = right
    keys = (rows.base.owner(),), (persons.base.owner(),)
    found = {f"their {n}": Lookup(keys[0], persons, keys[1], each) for n, each in theirs.items()}  # type: ignore[arg-type]
    there = Lookup(keys[0], persons, keys[1], TRUE)  # type: ignore[arg-type]
    yield rows, {**columns, **found}
    yield Filter(rows, there), {**columns, **found}
    yield Filter(rows, IsNull(there)), columns
    last = list(found.values())[-1]
    yield Filter(rows, IsNull(last)), columns
    yield Sort(rows, (last,), (0,)), {**columns, **found}


def joined(left: Program, right: Program) -> Iterator[Program]:
    """Many-to-many, on the person and on a further key; and one row per person of the pairs."""
    for how in ("inner", "left"):
        for further in ((), ("stay",)):
            if all(each in program[1] for program in (left, right) for each in further):
                mine, theirs = ((p[0].base.owner(), *(p[1][n] for n in further)) for p in (left, right))
                pairs = Pairs(left[0], mine, right[0], theirs, how)  # type: ignore[arg-type]
                both = {n: Carried(pairs, e) for n, e in left[1].items()}
                program = pairs, {**both, **{f"their {n}": Paired(pairs, e) for n, e in right[1].items()}}
                yield program
                yield per_person(program)


def below(first: Program, second: Program) -> Iterator[Program]:
    rows = Append(first[0], second[0])
    names = dict.fromkeys([*first[1], *second[1]])
    columns: dict[str, Any] = {}
    for name in names:
        try:
            columns[name] = Appended(rows, first[1].get(name), second[1].get(name))
        except DPError:
            columns[f"first {name}"] = Appended(rows, first[1][name], None)
    yield rows, columns
    if rows.owner() is not None:
        yield per_person((rows, columns))
        yield into(GroupHead(rows, rows.owner(), 1), columns)  # type: ignore[arg-type]


def programs(left: Part, right: Part) -> Iterator[Program]:
    """Every operation on the rows of two tables, one or two of them in a row."""
    both = [whole(left), whole(right)]
    for program in both:
        yield program
        yield from some_of(program)
        yield from cut(program)
        for each in (program, *some_of(program)):
            yield per_person(each)
    tables = [program if program[0].edits is not None else head(program, 2) for program in both]
    for a, b in ((0, 1), (1, 0)):
        yield from looked_up(both[a], per_person(both[b]))
        yield from joined(both[a], tables[b])
        yield from joined(next(some_of(both[a])), head(tables[b], 1))
        yield from below(both[a], next(some_of(both[b])))
        yield from below(next(cut(both[a])), both[b])
    yield from joined(tables[0], tables[0])
    yield from below(both[0], both[0])
    for key in ("their " + list(both[0][1])[-1],):
        for rows, columns in joined(tables[1], tables[0]):
            if key in columns:
                yield from some_of((rows, {key: columns[key]}))


def head(program: Program, k: int) -> Program:
    return into(GroupHead(program[0], program[0].base.owner(), k), program[1])  # type: ignore[arg-type]


def values(rows: Rows, columns: dict[str, Any]) -> Iterator[Any]:
    """Counts, sums, scores and distinct values of the last columns; what is refused is left out."""
    last = list(columns.values())[-1] if columns else TRUE
    half = Fraction(1, 2)
    makers = (
        lambda: Tally(rows, (), None),
        lambda: Tally(rows, (last,), None),
        lambda: Tally(rows, (), last),
        lambda: Distinct(rows, last),
        lambda: VectorSum(rows, (FillNull(last, Constant(Lit.of(0))), Where(IsNull(last), TRUE, Not(TRUE)))),
        lambda: QuantileScores(rows, last, (Lit.of(0), Lit.of(2)), half, Fraction(1), half),
        lambda: Tally(Filter(rows, Logic("|", IsNull(last), IsNull(last))), (), None),
    )
    for make in makers:
        try:
            value = make()
            value.joint  # noqa: B018  refused where it has no distance
        except DPError:
            continue
        yield value


@cache
def neighbours(world: People, most: int) -> list[Any]:
    return list(world.pairs(most))


def check_world(world: People, most: int, every: int = 1) -> tuple[int, int, int]:
    """Every program on all neighbours. How many programs there are, how many pairs, and how many bounds are reached."""
    pairs = neighbours(world, most)
    programs_seen = reached = 0
    for i, (rows, columns) in enumerate(programs(*world.parts)):
        if i % every:
            continue
        programs_seen += 1
        moved = world.check_rows(rows, tuple(columns.values()), pairs)
        reached += moved == rows.distance.value
        for value in values(rows, columns):
            world.check_value(value, pairs)
    return programs_seen, len(pairs), reached


def test_every_operation_on_rows_and_persons_is_among_the_programs() -> None:
    load_all()
    seen = {"source", "column"}
    for rows, columns in (*programs(*TWO.parts), *programs(*MANY.parts)):
        step: Rows | None = rows
        while step is not None:
            seen.add(step.kind)
            step = step.parent
        seen |= {each.kind for each in columns.values()}
    made = {kind for kind, cls in registry.items() if issubclass(cls, Rows)}

    assert made - seen == {"sample"}  # coins are no function of the database: tests/ops/test_sample.py
    assert {"aggregate", "lookup", "paired", "appended", "carried", "lag"} <= seen


@pytest.mark.parametrize("world", [TWO, MANY], ids=["one row each", "several rows each"])
def test_all_databases_with_two_rows(world: People) -> None:
    seen, pairs, reached = check_world(world, 2, every=3)

    assert seen > 30 and pairs > 50 and reached > 10


@pytest.mark.slow
@pytest.mark.parametrize("world", [TWO, MANY], ids=["one row each", "several rows each"])
def test_all_databases_with_four_rows(world: People) -> None:
    seen, pairs, reached = check_world(world, 4)

    print(f"{seen} programs on {pairs} pairs of neighbours; {reached} bounds reached")
    assert seen > 50 and pairs > 2_000
