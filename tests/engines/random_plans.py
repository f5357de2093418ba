"""Random plans from a number: a small table of awkward values, steps on its rows, and values to release.

Expressions are found by trial: an operation is given random columns and constants, and kept if its rules allow them.
The tables hold ties, nulls, no rows at all, -0.0, the ends of 64 bits, old and late dates, and text that looks like
numbers. ``exp`` and ``log`` come last, below a clip: libraries may differ in their last bit, so they are compared
after the grid.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from privjail.errors import DPError, PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.cast import TYPES, Cast, Categorise
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.cut import Cut
from privjail.ops.columns.datetime_part import PARTS, Part
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.columns.norms import Dot, RowScale, Truncate
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Concat, Text
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter, keep
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Unit
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import Lit, micros
from privjail.plan.rows import Rows
from tests.ops.worlds import DAYS, LABELS, REAL, WHOLE, WORDS, within
from tests.tables import Table, World

KINDS = ("int", "small", "float", "bool", "text", "time", "category")
CONSTANTS = (*WHOLE, *REAL, *WORDS, *LABELS, True, False, None)
EDGES = (-1e300, -7.25, 0, 0.5, 3, 2.0**53, 1e300)
MOST_GROUPS = 400
PERSONS = ("ann", "bob", "cho")
PATTERNS = ("a", "(?i)AB", r"^\s*(\w)", "[0-9]+", r"(.)\.?(\d*)$", "ß|e", r"\W(x)")
PATTERN_FUNCTIONS = ("matches", "extract", "substitute", "count")
NEW_TEXTS = ("", "x$1", "<>", "\\\\")
TEXT_CALLS: dict[str, Callable[[random.Random], tuple[Any, ...]]] = {
    "strip": lambda r: (r.choice((None, "a", " 1", "ß漢")),),
    "lstrip": lambda r: (r.choice((None, "a", "-1")),),
    "rstrip": lambda r: (r.choice((None, " ", "字5")),),
    "len": lambda r: (),
    "startswith": lambda r: (r.choice(WORDS),),
    "endswith": lambda r: (r.choice(WORDS),),
    "contains": lambda r: (r.choice(WORDS),),
    "slice": lambda r: (r.choice((None, 0, 1, 3)), r.choice((None, 0, 2, 5))),
    "replace": lambda r: (r.choice(("a", "b ", "ß", "1.", "00")), r.choice(NEW_TEXTS)),
    "pad": lambda r: (r.randint(0, 6), r.choice(("left", "right")), r.choice("0ß漢")),
    "zfill": lambda r: (r.randint(0, 6),),
    "part": lambda r: (r.choice(("a", " ", ".", "e4", "2")), r.randint(-3, 3), r.randint(0, 3)),
    "matches": lambda r: (r.choice(PATTERNS),),
    "extract": lambda r: (r.choice([p for p in PATTERNS if "(" in p and "(?" not in p]), 1),
    "substitute": lambda r: (r.choice(("a", "[0-9]+", r"(\w)(\W)", "ß|e")), r.choice(("", "$0", r"<\g<0>>"))),
    "count": lambda r: (r.choice(("a", "[0-9]", r"\w+", "ß|e")),),
}  # fmt: skip


class Plan(NamedTuple):
    """A value to release, and whether its last bit may differ between libraries."""

    value: Any
    inexact: bool


class Plans:
    """A table, and some plans over it; all choices come from one number."""

    def __init__(self, seed: int, patterns: bool = True, programs: int = 4) -> None:
        self.pick = random.Random(seed)
        self._texts = [f for f in TEXT_CALLS if patterns or f not in PATTERN_FUNCTIONS]
        kinds = [self.pick.choice(KINDS) for _ in range(3)]
        found = [self._domain(kind) for kind in kinds]
        owned = self.pick.random() < 0.4  # rows of persons: what is computed for each of them, and joins
        found += [(CategoryDomain(False, PERSONS), list(PERSONS))] if owned else []
        columns = tuple(zip("xyzu", [domain for domain, _ in found], strict=False))
        self.world = World(columns, (), Unit("u", None) if owned else Unit())
        size = self.pick.choice((0, 1, 3, 6, 12, 40))
        self.table: Table = tuple(tuple(self._value(*each) for each in found) for _ in range(size))
        self.tables: list[tuple[Rows, list[Any]]] = []  # rows, and expressions over them, which are compared one by one
        self.plans: list[Plan] = []
        for _ in range(programs):
            self._program()

    # -- the table

    def _domain(self, kind: str) -> tuple[Domain, list[Any]]:
        """A domain, and a few values of it: few, so that rows tie."""
        pick, nullable = self.pick, self.pick.random() < 0.6
        if kind == "bool":
            return BoolDomain(nullable), [False, True]
        if kind == "text":
            return TextDomain(nullable), pick.sample(WORDS, 4)
        if kind == "category":
            labels = tuple(pick.sample(LABELS, pick.randint(1, 4)))
            return CategoryDomain(nullable, labels, pick.random() < 0.5), list(labels)
        if kind == "small":
            return IntDomain(nullable, -2, 3), [-2, 0, 1, 3]
        if kind == "time":
            return self._range(TimeDomain, nullable, DAYS, micros)
        whole = kind == "int"
        return self._range(IntDomain if whole else FloatDomain, nullable, WHOLE if whole else REAL, lambda x: x)

    def _range(
        self, kind: type[Numeric], nullable: bool, pool: tuple[Any, ...], held: Callable[[Any], Any]
    ) -> tuple[Domain, list[Any]]:
        bounds = sorted(held(each) for each in self.pick.sample(pool, 2))
        low, high = (None if self.pick.random() < 0.25 else each for each in bounds)
        domain = kind(nullable, low, high)
        inside = [each for each in pool if within(domain, held(each))]
        return domain, self.pick.sample(inside, min(4, len(inside)))

    def _value(self, domain: Domain, values: list[Any]) -> Any:
        return None if domain.nullable and self.pick.random() < 0.2 else self.pick.choice(values)

    # -- one program: steps, then values

    def _program(self) -> None:
        self.rows: Rows = self.world.source
        self.pool: list[Any] = [self.world.column(name) for name, _ in self.world.columns]
        self._grow(4)
        for _ in range(self.pick.randint(0, 3)):
            self._step()
            self._grow(3)
        self.tables.append((self.rows, self.pool[-8:]))
        self.plans += [*self._values(), *self._inexact()]

    def _grow(self, n: int) -> None:
        """More expressions, of what is there."""
        for _ in range(6 * n):
            found = self._tried(self._expression)
            if found is not None and found not in self.pool:
                self.pool.append(found)
                n -= 1
            if n == 0:
                return

    def _tried(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except DPError:
            return None

    def _lit(self) -> Lit:
        return Lit.of(self.pick.choice(CONSTANTS))

    def _any(self) -> Any:
        return self.pick.choice(self.pool)

    def _of(self, *kinds: type[Domain]) -> Any:
        """A column of one of these domains; any if there is none."""
        some = [each for each in self.pool if isinstance(each.domain, kinds)]
        return self.pick.choice(some or self.pool)

    def _expression(self) -> Any:
        makers = (self._numeric, self._numeric, self._logical, self._textual, self._chosen, self._typed, self._of_row)
        return self.pick.choice(makers)()

    def _numeric(self) -> Any:
        pick, a, b = self.pick, self._of(IntDomain, FloatDomain), self._of(IntDomain, FloatDomain)
        match pick.randrange(5):
            case 0:
                return Arithmetic(pick.choice(("+", "-", "*", "/", "//", "%")), a, b)
            case 1:
                return Arithmetic(pick.choice(("+", "-", "*", "/", "//", "%")), a, Constant(self._lit()))
            case 2:
                return Function(pick.choice(("abs", "round", "floor", "ceil", "sqrt")), a, pick.randint(0, 3))
            case 3:
                return Clip(a, Lit.of(pick.choice((None, -2, -1.5))), Lit.of(pick.choice((None, 1, 2.5))))
        return Cut(a, tuple(map(Lit.of, EDGES)), None, pick.randint(0, 1), pick.randint(0, 1))

    def _logical(self) -> Any:
        pick, a = self.pick, self._any()
        match pick.randrange(5):
            case 0:
                return Compare(pick.choice(("==", "<", ">")), a, pick.choice((self._any(), self._lit())))
            case 1:
                return Logic(pick.choice("&|^"), self._of(BoolDomain), self._of(BoolDomain))
            case 2:
                return Not(self._of(BoolDomain))
            case 3:
                return IsNull(a)
        return IsIn(a, tuple(self._lit() for _ in range(pick.randint(0, 3))))

    def _textual(self) -> Any:
        if self.pick.random() < 0.3:
            return Concat(self._of(TextDomain), self._of(TextDomain))
        f = self.pick.choice(self._texts)
        return Text(f, self._of(TextDomain), tuple(map(Lit.of, TEXT_CALLS[f](self.pick))))

    def _chosen(self) -> Any:
        pick, a, b = self.pick, self._any(), self._any()
        match pick.randrange(5):
            case 0:
                return Where(self._of(BoolDomain), a, b)
            case 1:
                return NullWhere(self._of(BoolDomain), a)
            case 2:
                return FillNull(a, b)
            case 3:
                return Recode(a, ((self._lit(), self._lit()), (self._lit(), self._lit())), pick.randint(0, 1))
        return Constant(self._lit())

    def _typed(self) -> Any:
        pick = self.pick
        match pick.randrange(4):
            case 0:
                return Part(pick.choice(list(PARTS)), self._of(TimeDomain))
            case 1:
                return Categorise(self._any(), tuple(self._lit() for _ in range(2)), pick.randint(0, 1))
        return Cast(self._any(), pick.choice(list(TYPES)))

    def _of_row(self) -> Any:
        columns = tuple(self._of(IntDomain, FloatDomain) for _ in range(self.pick.randint(1, 3)))
        match self.pick.randrange(3):
            case 0:
                return Dot(columns, tuple(Lit.of(self.pick.choice((0.5, -3.0, 1e300, 0.1))) for _ in columns))
            case 1:
                scale = RowScale(
                    columns, Lit.of(self.pick.choice((0.5, 2.0, 1e10))), self.pick.choice(("1", "2", "inf"))
                )
                return Truncate(Arithmetic("*", columns[0], scale))
        return Truncate(self._of(FloatDomain))

    # -- steps on rows

    def _step(self) -> None:
        pick = self.pick
        made = self._tried(
            [
                self._filter,
                self._filter,
                self._sort,
                self._slice,
                self._head,
                self._window,
                self._persons,
                *[self._two] * 2,
            ][pick.randrange(9)]
        )
        if made is None or made is self.rows:
            return
        if isinstance(made, PerPerson):
            self.pool = self._aggregates(made, 6)
        elif isinstance(made, Append):
            self.pool = self._appended(made)
        elif made.starts_base:
            self.pool = [each if each.base is None else Carried(made, each) for each in self.pool]
        if isinstance(made, Pairs):
            heads = made.other  # at most two rows of each person
            some = [each.inner for each in self.pool if isinstance(each, Carried)]
            self.pool += [Paired(made, Carried(heads, each)) for each in pick.sample(some, min(3, len(some)))]
        if isinstance(made, Window):
            seen = self._any()
            if isinstance(seen, Carried):
                self.pool.append(Lag(made, seen.inner, pick.choice((1, 1, 0))))
        self.rows = made

    def _filter(self) -> Rows:
        condition = self._of(BoolDomain)
        return keep(self.rows, condition) if self.pick.random() < 0.5 else Filter(self.rows, condition)

    def _sort(self) -> Rows:
        by = tuple(dict.fromkeys(self._any() for _ in range(self.pick.randint(1, 2))))
        return Sort(self.rows, by, tuple(self.pick.randint(0, 1) for _ in by))

    def _slice(self) -> Rows:
        return Slice(self.rows, *(self.pick.choice((None, -30, -3, -1, 0, 1, 2, 5)) for _ in range(2)))

    def _head(self) -> Rows:
        return GroupHead(self.rows, self._any(), self.pick.randint(1, 2))

    def _window(self) -> Rows:
        return Window(self.rows, 1, self.pick.randint(0, 1))

    def _persons(self) -> Rows:
        """One row per person; or the same rows, with columns that were computed for each person and looked up."""
        owner = self.rows.base.owner()
        if owner is None:
            raise PlanError("nobody owns these rows")
        persons = PerPerson(self.rows, owner)
        if self.pick.random() < 0.5:
            return persons
        theirs, base = persons.owner(), self.rows.base
        assert theirs is not None
        other = Filter(persons, IsNull(self.pick.choice(self._aggregates(persons, 3))))
        for inner in self._aggregates(persons, 2):
            self.pool.append(Lookup((owner,), self.pick.choice((persons, other)), (theirs,), inner))
        assert all(each.base in (None, base) for each in self.pool)
        return self.rows

    def _two(self) -> Rows:
        """The rows with a part of them below, or with rows of the same persons: both tables have the same columns."""
        part, owner = self._tried(self._filter) or self.rows, self.rows.base.owner()
        if owner is None or self.pick.random() < 0.3:
            return Append(self.rows, Sort(part, (self._any(),), (1,)))
        heads = GroupHead(part, owner, 2)
        there = heads.owner()
        assert there is not None
        return Pairs(self.rows, (owner,), heads, (there,), self.pick.choice(("inner", "left")))

    def _appended(self, made: Append) -> list[Any]:
        """Columns of both, each with itself, with another one, or with nothing."""
        found: list[Any] = []
        for each in self.pool:
            second = self.pick.choice((each, self._any(), None))
            column = self._tried(lambda a=each, b=second: Appended(made, a, b))
            found += [] if column is None else [column]
        return found

    def _aggregates(self, persons: PerPerson, most: int) -> list[Any]:
        found: list[Any] = [Aggregate(persons, "size", None)]
        for _ in range(most):
            made = self._tried(lambda: Aggregate(persons, self.pick.choice(AGGREGATES), self._any()))
            found += [] if made is None else [made]
        return found

    # -- values

    def _values(self) -> list[Plan]:
        numbers = [each for each in self.pool if isinstance(each.domain, (IntDomain, FloatDomain, BoolDomain))]
        keys = [each for each in self.pool if 0 < len(each.domain.labels or ()) <= 20]
        rows, pick = self.rows, self.pick
        makers: list[Callable[[], Any]] = [lambda: Tally(rows, (), None)]
        for _ in range(2):
            some = tuple(pick.sample(keys, min(len(keys), pick.randint(0, 2))))
            value = pick.choice([None, *numbers])
            makers.append(lambda some=some, value=value: self._small(Tally(rows, some, value)))  # type: ignore[misc]
        if keys:
            makers.append(lambda: Distinct(rows, pick.choice(keys)))
        if numbers:
            makers.append(lambda: VectorSum(rows, tuple(pick.sample(numbers, min(3, len(numbers))))))
            makers.append(lambda: self._scores(pick.choice(numbers)))
        return [Plan(found, False) for found in map(self._tried, makers) if found is not None]

    def _small(self, tally: Tally) -> Tally | None:
        return tally if tally.size <= MOST_GROUPS else None

    def _scores(self, a: Any) -> QuantileScores:
        half, points = Fraction(1, 2), (-(2.0**63), -1, 0, 0.5, 2**53, 2**53 + 1, 1e300)
        return QuantileScores(self.rows, a, tuple(map(Lit.of, points)), half, Fraction(1), half)

    def _inexact(self) -> list[Plan]:
        def make() -> Tally:
            found = Function(self.pick.choice(("exp", "log")), self._of(IntDomain, FloatDomain), 0)
            return Tally(self.rows, (), Clip(found, Lit.of(-100.0), Lit.of(100.0)))

        found = self._tried(make)
        return [] if found is None else [Plan(found, True)]
