"""Random plans over every operation and mechanism: what the library claims about them goes to the checker."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from fractions import Fraction
from typing import Any

from privjail.budget.notions import ZCDP, ApproxDP, Notion, PureDP, RenyiDP
from privjail.errors import DPError, RowsError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.mechanisms.private_keys import PrivateKeys
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.cast import Cast, Categorise
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter, keep
from privjail.ops.columns.function import Function
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.columns.datetime_part import PARTS, Part
from privjail.ops.numbers.combine import (
    Absolute,
    Add,
    ColumnStack,
    Element,
    Extreme,
    PublicNumber,
    Offset,
    Scale,
    Stack,
    Total,
)
from privjail.ops.columns.norms import Dot, RowScale, Truncate
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.columns.recode import Recode
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Population, Source, Unit
from privjail.ops.numbers.tally import Tally
from privjail.ops.columns.text import Concat, Text
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.rows.window import Lag, Window
from privjail.plan import domain as d
from privjail.plan.expr import column_steps
from privjail.plan.node import Lit, Node, children, micros
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.verify import certificate

COLUMNS = (
    ("who", d.CategoryDomain(False, ("ann", "bob", "cho"))),
    ("i", d.IntDomain(True, -3, 5)),
    ("n", d.IntDomain(False, 0, 2)),
    ("big", d.IntDomain(True, -(2**62), 2**61)),
    ("open", d.IntDomain(True, 1, None)),
    ("x", d.FloatDomain(True, -1.5, 2.75)),
    ("wide", d.FloatDomain(False, 0.1, 1e300)),
    ("free", d.FloatDomain(True)),
    ("c", d.CategoryDomain(True, ("a", "b", "c"))),
    ("o", d.CategoryDomain(False, ("1", "2.5", "True"), True)),
    ("k", d.CategoryDomain(True, (1, 2, 3), True)),
    ("b", d.BoolDomain(True)),
    ("s", d.TextDomain(True)),
    ("t", d.TimeDomain(True, micros(datetime(1950, 5, 6)), micros(datetime(2024, 2, 29)))),
)
UNITS = (Unit(), Unit(), Unit("who", 1), Unit("who", 3), Unit("who", None))
PERSONS = (COLUMNS[0], *(each for each in COLUMNS if each[0] in "ncxb"))
NUMBERS = (0, 1, -1, 2, 3, -7, 10, 0.5, -1.5, 0.1, 1e10, 2**40, -(2**61), 1e-9, 1e200)


class Plans:
    """A random analyst: the same seed gives the same plan."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.unit = self.pick.choice(UNITS)
        people = Population("p", "people") if self.unit.column is not None and self.pick.random() < 0.7 else None
        self.source = Source(Dataset("d", "d", COLUMNS, self.unit, people, ("n",) if people else ()))
        self.persons = Source(Dataset("e", "e", PERSONS, Unit("who", 1), people))
        self.notions: dict[Any, Notion] = {self.source.cells[0]: self.notion()}
        self.tables: list[tuple[Rows, dict[str, Any]]] = [
            (self.source, {name: Column(self.source, name) for name, _ in COLUMNS})
        ]
        for _ in range(self.pick.randint(1, 5)):
            self.tried(self.step)

    def notion(self) -> Notion:
        return self.pick.choice([PureDP(), PureDP(), ApproxDP(), ZCDP(), RenyiDP(3, 1e-6)])

    def tried(self, act: Any, times: int = 6) -> Any:
        for _ in range(times):
            try:
                return act()
            except DPError:
                continue
        return None

    # -- rows

    def step(self) -> None:
        pick = self.pick
        rows, columns = pick.choice(self.tables[-3:])
        kind = pick.randrange(19 if self.source.dataset.population else 12)
        if kind == 11:
            rows, columns = self.append(rows, columns)
        elif kind > 14:
            rows, columns = self.pair(rows, columns)
        elif kind > 11:
            rows, columns = self.persons_step(kind - 2, rows, columns)
        elif kind == 10:
            if any(
                each.kind == "lookup" for step in steps_above(rows) for e in step.inputs for each in column_steps(e)
            ):
                raise DPError("the checker has no place for a sample of rows that another table chose")
            rows = Sample(rows, Fraction(1, pick.randint(1, 9)), pick.choice("ab"))
        elif kind < 4:
            condition = self.condition(columns)
            rows = keep(rows, condition) if pick.random() < 0.7 else Filter(rows, condition)
        elif kind == 4:
            by = pick.sample([c for n, c in columns.items() if n in "incx"], 2)
            rows = Sort(rows, tuple(by), (pick.randint(0, 1), 0))
        elif kind < 7:
            ends = [pick.choice((None, 0, 1, 2, 5, 40, -1, -2, -3, -50)) for _ in range(2)]
            rows, columns = self.into(Slice(rows, *ends), columns)
        elif kind == 7:
            key = columns[pick.choice(("who", "who", "c", "n"))]
            rows, columns = self.into(GroupHead(rows, key, pick.randint(1, 3)), columns)
        elif kind == 8:
            before, after = pick.randint(0, 2), pick.randint(0, 1)
            if (before, after) == (2, 0):
                before, after = pick.choice(((2, 0), (1, -1), (2, -1)))
            window = Window(rows, before, after)
            lagged = Lag(window, columns["i"], pick.randint(-window.after, window.before))
            rows, columns = self.seen(window, columns)
            columns["i"] = Clip(lagged, Lit.of(-3), Lit.of(5)) if pick.random() < 0.5 else lagged
        else:
            name = pick.choice(("i", "x", "c", "b", "s", "free"))
            columns = {**columns, name: self.column(columns, name)}
        self.tables.append((rows, columns))

    def persons_step(self, kind: int, rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
        """One row per person, or columns of another table of the same persons."""
        pick, owner = self.pick, rows.base.owner()
        if owner is None:
            raise DPError("these rows have no owner")
        if kind == 10:
            persons = PerPerson(rows, owner)
            some = {name: self.tried(lambda n=name: Aggregate(persons, pick.choice(AGGREGATES[1:]), columns[n]), 9)
                    for name in columns}  # fmt: skip
            kept = {n: c if c is not None and type(c.domain) is type(columns[n].domain) else Aggregate(persons, "last", columns[n])
                    for n, c in some.items()}  # fmt: skip
            return persons, {
                **kept,
                "who": persons.owner(),
                "n": Clip(Aggregate(persons, "size", None), Lit.of(0), Lit.of(2)),
            }
        other, theirs = self.persons, {name: Column(self.persons, name) for name, _ in PERSONS}
        if kind == 11 and pick.random() < 0.5:
            other = Filter(other, self.known(theirs))
        found = {name: Lookup((owner,), other, (theirs["who"],), theirs[name]) for name in theirs if name != "who"}
        if kind == 12:
            keys, mine = (Column(self.source, "who"), Column(self.source, "n")), (owner, columns["n"])
            found = {"i": Lookup(mine, self.source, keys, Column(self.source, "i"))}
        name = pick.choice(list(found))
        if kind == 11 and pick.random() < 0.6:
            rows = keep(rows, self.known(found))
        return rows, {**columns, name: found[name]}

    def append(self, rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
        """Another table of the plan below this one; what one of them lacks, or has in another type, is missing there."""
        other, theirs = self.pick.choice(self.tables)
        made = Append(rows, other)

        def column(name: str) -> Any:
            try:
                return Appended(made, columns[name], theirs[name])
            except DPError:
                return Appended(made, columns[name], None)

        return made, {name: column(name) for name in columns}

    def pair(self, rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
        """Each row with all rows of the same person in another table of the plan."""
        pick, owner = self.pick, rows.base.owner()
        other, theirs = pick.choice(self.tables)
        if pick.random() < 0.3:
            other, theirs = self.persons, {name: Column(self.persons, name) for name, _ in PERSONS}
        there = other.base.owner()
        if owner is None or there is None:
            raise DPError("these rows have no owner")
        if other.base.edits is None or pick.random() < 0.3:
            other, theirs = self.into(GroupHead(other, there, pick.randint(1, 2)), theirs)
            there = other.base.owner()
        keys = ((owner, columns["n"]), (there, theirs["n"])) if pick.random() < 0.3 else ((owner,), (there,))
        pairs = Pairs(rows, keys[0], other, keys[1], pick.choice(("inner", "left")))
        names = [name for name in theirs if name not in ("who", "n")]
        found = {name: Paired(pairs, theirs[name]) for name in pick.sample(names, 3)}
        return pairs, {**self.into(pairs, columns)[1], **found}

    def known(self, columns: dict[str, Any]) -> Any:
        """A condition on columns that a table of persons has."""
        pick = self.pick
        return pick.choice((Compare("==", columns["c"], Lit.of(pick.choice("abc"))), Compare(">", columns["n"], Lit.of(0)),
                            IsIn(columns["c"], (Lit.of("a"), Lit.of("b"))), IsNull(columns["x"]),
                            Compare("<", Arithmetic("*", columns["n"], Constant(Lit.of(2))), Lit.of(3))))  # fmt: skip

    def into(self, rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
        return rows, {n: c if c.base is None else Carried(rows, c) for n, c in columns.items()}

    def seen(self, window: Window, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
        """Columns come along into a window; where a row does not see itself, those of the row above do."""
        try:
            return self.into(window, columns)
        except RowsError:
            return window, {n: c if c.base is None else Lag(window, c, window.before) for n, c in columns.items()}

    # -- columns

    def number(self, columns: dict[str, Any], depth: int = 2) -> Any:
        pick = self.pick
        if not depth or pick.random() < 0.25:
            return columns[pick.choice(("i", "n", "big", "open", "x", "wide", "free"))]
        a, b = self.number(columns, depth - 1), self.number(columns, depth - 1)
        some = Constant(Lit.of(pick.choice(NUMBERS)))
        match pick.randrange(13):
            case 0 | 1 | 2:
                return Arithmetic(pick.choice("+-*/%") if pick.random() < 0.8 else "//", a, pick.choice((b, some)))
            case 3 | 4:
                low, high = sorted(pick.sample((-7, -1, 0, 1, 3, 100, 2**40), 2))
                ends = [Lit.of(pick.choice((low, None))), Lit.of(pick.choice((high, high, None)))]
                return Clip(a, *ends)
            case 5 | 6:
                names = ("abs", "round", "floor", "ceil", "sqrt", "exp", "log")
                return Function(pick.choice(names), a, pick.randint(0, 3))
            case 7:
                if pick.random() < 0.3:
                    return pick.choice((Cast(columns["t"], "Int64"), Cast(Cast(columns["n"], "period[M]"), "Int64"),
                                        Cast(columns["i"], "timedelta64[us]"),
                                        Part("year", Cast(columns["big"], "datetime64[us]"))))  # fmt: skip
                return Cast(pick.choice((a, columns["o"], columns["k"], columns["b"], columns["s"])),
                            pick.choice(("Int64", "Float64")))  # fmt: skip
            case 8:
                return Where(self.condition(columns), a, pick.choice((b, some)))
            case 9:
                return FillNull(a, pick.choice((b, some)))
            case 10:
                return NullWhere(self.condition(columns), a)
            case 11:
                images = pick.choice((((1, 2), (2, None)), ((-1, 7), (3, 0.5)), ((0, 0),)))
                return Recode(a, tuple((Lit.of(k), Lit.of(v)) for k, v in images), pick.randint(0, 1))
        return pick.choice((Part(pick.choice(list(PARTS)), columns["t"]), Text("len", columns["s"], ()),
                            Recode(columns["c"], ((Lit.of("a"), Lit.of(4)), (Lit.of("b"), Lit.of(-2))), 0)))  # fmt: skip

    def condition(self, columns: dict[str, Any], depth: int = 2) -> Any:
        pick = self.pick
        match pick.randrange(12 if depth else 8):
            case 0:
                return Compare("==", columns["c"], Lit.of(pick.choice(("a", "b", "c", "other"))))
            case 1:
                return IsIn(columns["c"], tuple(map(Lit.of, pick.sample(("a", "b", "c", "z"), pick.randint(0, 3)))))
            case 2:
                return Compare(pick.choice("<>") if pick.random() < 0.5 else "==", columns[pick.choice("in")],
                               Lit.of(pick.choice((-1, 0, 0.5, 1, 2))))  # fmt: skip
            case 3:
                return IsNull(columns[pick.choice("icxb")])
            case 4:
                return pick.choice((columns["b"], Compare(pick.choice("<>"), columns["k"], Lit.of(2)),
                                    IsIn(columns["k"], (Lit.of(1), Lit.of(3.0)))))  # fmt: skip
            case 5:
                return IsIn(columns["n"], tuple(map(Lit.of, pick.sample((0, 1, 2, 9), 2))))
            case 6:
                return pick.choice((Compare("==", columns["b"], Lit.of(True)), Cast(columns["n"], "boolean"),
                                    Text("contains", Concat(columns["s"], columns["s"]), (Lit.of("q"),)), Constant(Lit.of(True))))  # fmt: skip
            case 7:
                return Compare(pick.choice(("==", "<", ">")), columns["i"], columns["n"])
            case 8 | 9:
                return Not(self.condition(columns, depth - 1))
        one = self.condition(columns, depth - 1)
        return Logic(pick.choice("&||^"), one, self.condition(columns, depth - 1))

    def label(self, columns: dict[str, Any]) -> Any:
        pick = self.pick
        edges = tuple(Lit.of(e) for e in sorted(pick.sample((-4, -1, 0, 0.5, 2, 6), 3)))
        match pick.randrange(9):
            case 0:
                return Cut(columns[pick.choice("inx")], edges, None, pick.randint(0, 1), pick.randint(0, 1))
            case 1:
                return Cut(columns["i"], edges, (Lit.of("low"), Lit.of("high")), pick.randint(0, 1), pick.randint(0, 1))
            case 2:
                return Categorise(pick.choice((columns["s"], columns["c"])), (Lit.of("b"), Lit.of("q")), 0)
            case 3:
                return Recode(columns["c"], ((Lit.of("a"), Lit.of("z")),), pick.randint(0, 1))
            case 4:
                return Where(self.condition(columns), columns["c"], Constant(Lit.of(pick.choice(("a", "new")))))
            case 5:
                return self.condition(columns)
        return columns[pick.choice(("c", "k", "n", "i", "o"))]

    def column(self, columns: dict[str, Any], name: str) -> Any:
        match name:
            case "c":
                made = self.label(columns)
                return made if isinstance(made.domain, d.CategoryDomain) else columns["c"]
            case "b":
                return self.condition(columns)
            case "s":
                f = self.pick.choice(("lower", "upper", "strip"))
                if self.pick.random() < 0.4:
                    return self.pick.choice((Concat(columns["s"], columns["s"]),
                                             Text("extract", columns["s"], (Lit.of("(a)"), Lit.of(1))),
                                             Text("zfill", columns["s"], (Lit.of(3),))))  # fmt: skip
                return self.pick.choice((Cast(columns["c"], "string"), Text(f, columns["s"], (Lit.of(None),) if f == "strip" else ()),
                                         FillNull(columns["s"], columns["c"])))  # fmt: skip
        made = self.number(columns)
        if name == "i" and not isinstance(made.domain, d.IntDomain):
            return columns["i"]
        return made if name != "x" else Clip(Cast(made, "Float64"), Lit.of(-4.0), Lit.of(2.5))

    # -- values

    def simple(self) -> Any:
        pick = self.pick
        rows, columns = pick.choice(self.tables)
        kind = pick.randrange(8)
        if kind == 0:
            return Distinct(rows, self.label(columns))
        if kind == 1:
            points = tuple(Lit.of(p) for p in sorted(pick.sample((-2, 0, 0.5, 1, 7), pick.randint(1, 4))))
            return QuantileScores(
                rows, self.number(columns, 1), points, Fraction(pick.randint(0, 2), 2), Fraction(1, 3), Fraction(2)
            )
        if kind == 2:
            return VectorSum(rows, tuple(self.row(columns)))
        keys = tuple(self.label(columns) for _ in range(pick.choice((0, 0, 1, 1, 2))))
        if any(key.inputs and each.kind == "lookup" for key in keys for each in column_steps(key)):
            raise DPError("the checker refutes elements of groups by what is computed from a looked-up column")
        value = None
        if kind > 4:
            value = self.number(columns)
            if pick.random() < 0.8:
                value = Clip(value, Lit.of(pick.choice((-3, 0))), Lit.of(pick.choice((1, 10))))
        return Tally(rows, keys, value)

    def row(self, columns: dict[str, Any]) -> list[Any]:
        """Columns of one vector sum: clipped rows, one-hot columns, products of these, and columns of any range."""
        pick = self.pick
        plain = [Clip(self.number(columns, 1), Lit.of(-3), Lit.of(10)) for _ in range(pick.randint(1, 3))]
        plain.append(Dot(tuple(plain), tuple(Lit.of(pick.choice((0.5, -2.0, 0.0))) for _ in plain)))
        bound = pick.choice((1.0, 0.1, 40.0))
        scale = RowScale(tuple(plain), Lit.of(bound), pick.choice(("1", "2", "inf")))
        between = [Clip(Arithmetic("*", x, scale), Lit.of(-bound), Lit.of(bound)) for x in plain]  # two steps of a grid
        short = [Truncate(x) for x in between]
        hot = [Compare("==", columns["c"], Lit.of(key)) for key in pick.sample("abc", 2)]
        match pick.randrange(6):
            case 0:
                return plain[:-1]
            case 1:
                return [*short, *hot]
            case 2:
                return [Truncate(Arithmetic("*", u, v)) for u in short for v in short]
            case 3:
                return [Truncate(Arithmetic("*", u, Cast(h, "Float64"))) for u in short for h in hot]
            case 4:
                return [pick.choice(short) for _ in range(3)]
        return pick.choice((short, between))

    def scalar(self) -> Any:
        value = self.tried(self.simple)
        if value is None or not value.index:
            return value
        match self.pick.randrange(4):
            case 0:
                return Element(value, self.pick.randrange(value.joint.size))
            case 1:
                return Total(value)
        return Extreme(self.pick.choice(("max", "min")), value)

    def value(self, depth: int = 3) -> Any:
        pick = self.pick
        if not depth or pick.random() < 0.35:
            return self.simple()
        some = Fraction(pick.randint(-6, 6), pick.choice((1, 2, 3, 7)))
        match pick.randrange(10):
            case 0:
                return Scale(self.value(depth - 1), some)
            case 1:
                return Offset(self.value(depth - 1), some)
            case 2:
                return Absolute(self.value(depth - 1))
            case 3 | 4:
                parts = [p for p in (self.scalar() for _ in range(pick.randint(1, 4))) if p is not None]
                parts += [PublicNumber(some)] * pick.randint(0, 1)
                return Stack(tuple(parts), tuple(range(len(parts))))
            case 5:
                return Add(self.scalar(), self.scalar())
            case 6:
                a = self.value(depth - 1)
                return Add(a, pick.choice((a, Scale(a, some), Absolute(a))))
            case 7:
                rows, columns = pick.choice(self.tables)
                key = columns[pick.choice("cn")]
                others = [r for r, c in self.tables if r.base is rows.base]
                vectors = tuple(Tally(r, (key,), None) for r in pick.sample(others, min(len(others), 2)))
                return pick.choice((ColumnStack(vectors, tuple(range(len(vectors)))), Add(vectors[0], vectors[-1])))
            case 8:
                return Extreme("max", self.value(depth - 1))
        return Total(self.value(depth - 1))

    def mechanism(self, value: Any, notion: Notion) -> Any:
        pick = self.pick
        eps = Fraction(pick.choice((1, 2, 5, 30)), pick.choice((1, 10, 3)))
        if pick.random() < 0.01:
            eps = Fraction(1, 10**8)
        if not isinstance(notion, PureDP) and pick.random() < 0.5:
            if isinstance(notion, ApproxDP):
                return Gaussian(eps, Fraction(1, 10 ** pick.randint(3, 8)))
            return Gaussian(rho=eps)
        if not value.index or pick.random() < 0.4:
            return Laplace(eps)
        size = value.joint.size
        return pick.choice((NoisyMax(eps), NoisyMax(eps, True, pick.randint(1, max(1, min(3, size)))), Exponential(eps),
                            AboveThreshold(eps, Fraction(7, 2))))  # fmt: skip

    def keys(self) -> Query:
        """Keys by threshold: free text or open whole numbers, of persons or of rows."""
        pick, (rows, columns) = self.pick, self.pick.choice(self.tables)
        owner = rows.base.owner()
        per_person = pick.randint(1, 3) if owner is not None else 1
        value = KeyCounts(rows, columns[pick.choice(("s", "open", "big"))], owner, per_person, pick.choice((5, 40)))
        eps, delta = Fraction(pick.choice((1, 3)), 2), Fraction(1, 10 ** pick.randint(2, 9))
        return Query(value, PrivateKeys(eps, delta, pick.choice((1, 50))))

    def ask(self) -> Query | None:
        def attempt() -> Query:
            if isinstance(next(iter(self.notions.values())), ApproxDP) and self.pick.random() < 0.2:
                return self.keys()
            value = self.value()
            if value is None or value.joint.size > 400:
                raise DPError("too large for this corpus")
            mechanism = self.mechanism(value, next(iter(self.notions.values())))
            mechanism.check(value)
            return Query(value, mechanism)

        def safe() -> Query:
            try:
                return attempt()
            except AttributeError:  # a scalar that could not be made
                raise DPError("again") from None

        return self.tried(safe, 20)


def steps_above(rows: Rows) -> list[Rows]:
    """The filters and sorts of a base that made these rows."""
    found = []
    while rows.parent is not None and not rows.starts_base:
        found.append(rows)
        rows = rows.parent
    return found


def certified(seed: int) -> dict[str, Any] | None:
    """The certificate of a random ask; None if this seed gave nothing that can be released."""
    plans = Plans(seed)
    ask = plans.ask()
    if ask is None:
        return None
    try:
        return certificate.of(ask, plans.notions)
    except DPError:
        return None


def kinds(made: dict[str, Any]) -> Counter[str]:
    return Counter(node["kind"] for node in made["nodes"])


def below(node: Node) -> set[Node]:
    found: set[Node] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(children(each))
    return found
