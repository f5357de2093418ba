"""Plans for every operation of the registry, over one data set of awkward values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from privjail.engines.reference import ReferenceEngine
from privjail.errors import DPError
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
from privjail.ops.numbers import combine
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Unit
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import Lit, micros
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from tests.engines.random_plans import TEXT_CALLS
from tests.tables import Table, World

DAYS = (
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2000, 2, 29, 12, 30),
    datetime(9999, 12, 31),
)
WORLD = World(
    (
        ("u", CategoryDomain(False, ("ann", "bob", "cho"))),
        ("i", IntDomain(True)),
        ("s", IntDomain(True, -2, 3)),
        ("f", FloatDomain(True)),
        ("r", FloatDomain(True, -1.5, 2.5)),
        ("b", BoolDomain(True)),
        ("t", TextDomain(True)),
        ("m", TimeDomain(True, micros(DAYS[0]), micros(DAYS[-1]))),
        ("c", CategoryDomain(True, ("a", "b", "1"))),
    ),
    (),
    Unit("u", None),
)
#: Ties, nulls, both zeros, the ends of 64 bits and of floats, text that looks like numbers, old and late days.
EDGES: Table = (
    ("ann", INT_MAX, 3, -0.0, 0.5, True, "1.5", DAYS[0], "a"),
    ("bob", INT_MIN, -2, 0.0, -0.0, False, "", DAYS[1], "b"),
    ("ann", INT_MAX, 3, 0.0, 0.5, True, "1.5", DAYS[0], "a"),
    ("ann", None, None, None, None, None, None, None, None),
    ("cho", 0, 0, 2.0**63, 2.5, None, " Ab ß ", DAYS[2], "1"),
    ("bob", -1, 1, -(2.0**63), -1.5, True, "9223372036854775808", DAYS[3], "b"),
    ("cho", 2**53 + 1, 1, 5e-324, 1 / 3, False, "a漢字 00 2.e4a", DAYS[2], None),
    ("ann", 2**53, -2, 1.7976931348623157e308, None, True, "nan", None, "a"),
    ("bob", INT_MIN, -2, -1e300, -0.0, None, "y" * 251, DAYS[1], "b"),
)
TABLES: dict[str, Table] = {"edges": EDGES, "nulls": (EDGES[3],) * 3, "one row": EDGES[:1], "empty": ()}

SOURCE = WORLD.source
U, N, S, F, R, B, T, M, C = (WORLD.column(name) for name, _ in WORLD.columns)
ALL = (U, N, S, F, R, B, T, M, C)
NUMBERS = (N, S, F, R)
CONSTANTS = tuple(map(Lit.of, (0, -0.0, 1, 0.5, INT_MAX, INT_MIN, 2.0**53, "a", "1.5", True, None)))
COLUMNS = tuple(Constant(each) for each in CONSTANTS if each.value is not None)
HALF = Fraction(1, 2)


class Shown(NamedTuple):
    """Rows, and the columns of them that are compared."""

    rows: Rows
    columns: tuple[Any, ...]


Plan = Shown | Value


def allowed(make: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The node for each choice of arguments that its rules allow."""
    found = []
    for each in product(*arguments):
        try:
            found.append(make(*each))
        except DPError:
            continue
    return found


def of_source(*columns: list[Any]) -> list[Plan]:
    return [Shown(SOURCE, tuple(each for some in columns for each in some))]


def carried(rows: Rows) -> Shown:
    return Shown(rows, tuple(Carried(rows, each) for each in ALL))


def functions() -> list[Plan]:
    exact = allowed(Function, ("abs", "round", "floor", "ceil", "sqrt"), NUMBERS, (0, 2))
    ends = Lit.of(-100.0), Lit.of(100.0)
    inexact = [Tally(SOURCE, (), Clip(Function(f, R, 0), *ends)) for f in ("exp", "log")]  # compared on the grid
    return [*of_source(exact), *inexact]


def texts() -> list[Plan]:
    """One plan for each function, as an engine may lack some."""
    import random

    found: list[Plan] = []
    for f in ("lower", "upper", *TEXT_CALLS):
        pick = random.Random(f)
        calls = [()] if f not in TEXT_CALLS else [TEXT_CALLS[f](pick) for _ in range(4)]
        made = [Text(f, T, tuple(map(Lit.of, call))) for call in dict.fromkeys(calls)]
        found.append(Shown(SOURCE, tuple(made)))
    return found


def filters() -> list[Plan]:
    conditions = [B, Not(B), IsNull(F), Compare(">", N, Lit.of(0)), Compare("==", F, Lit.of(0)), IsIn(S, (Lit.of(1),))]
    return [Shown(Filter(SOURCE, each), ALL) for each in conditions]


def sorts() -> list[Plan]:
    return [Shown(Sort(SOURCE, (by,), (way,)), ALL) for by in ALL for way in (0, 1)] + [
        Shown(Sort(SOURCE, (S, F), (1, 0)), ALL)
    ]


def slices() -> list[Plan]:
    """Every combination of ends; the rows themselves, and what is counted of them, which no order of the result helps."""
    ends = (
        (None, 2),
        (-2, None),
        (1, -1),
        (-3, 4),
        (2, None),
        (None, -1),
        (1, 3),
        (-3, -1),
        (2, 2**31),
        (-(2**31), -2),
    )
    found: list[Plan] = []
    for rows, each in product((SOURCE, Sort(SOURCE, (S,), (1,))), ends):
        cut = Slice(rows, *each)
        found += [carried(cut), Tally(cut, (Carried(cut, U),), None)]
    return found


def windows() -> list[Plan]:
    return [carried(Window(rows, 1, 1)) for rows in (SOURCE, Sort(SOURCE, (S,), (0,)))]


def lags() -> list[Plan]:
    window = Window(SOURCE, 1, 1)
    return [Shown(window, tuple(Lag(window, each, k) for each in ALL for k in (-1, 0, 1)))]


def persons() -> PerPerson:
    return PerPerson(SOURCE, U)


def aggregates() -> list[Plan]:
    found: list[Plan] = []
    for rows in (SOURCE, Sort(SOURCE, (R,), (1,))):
        one_each = PerPerson(rows, U)
        made = allowed(lambda how, each, p=one_each: Aggregate(p, how, each), AGGREGATES[1:], ALL)
        found.append(Shown(one_each, (Aggregate(one_each, "size", None), *made)))
    return found


def lookups() -> list[Plan]:
    one_each = persons()
    theirs = one_each.owner()
    assert theirs is not None
    inner = (Aggregate(one_each, "sum", S), Aggregate(one_each, "size", None), Constant(Lit.of(True)))
    few = Filter(one_each, Compare(">", inner[1], Lit.of(2)))
    return [Shown(SOURCE, tuple(Lookup((U,), rows, (theirs,), each) for rows in (one_each, few) for each in inner))]


def pairs(show: Callable[[Pairs, Any], Any]) -> list[Plan]:
    heads = GroupHead(SOURCE, U, 2)
    theirs = heads.owner()
    assert theirs is not None
    made = [Pairs(SOURCE, (U,), heads, (theirs,), how) for how in ("inner", "left")]
    return [Shown(each, tuple(show(each, column) for column in ALL)) for each in made]


def appended() -> list[Plan]:
    rows = Append(Filter(SOURCE, B), Sort(SOURCE, (S,), (1,)))
    columns = [*allowed(Appended, (rows,), (*ALL, None), (*ALL, None))]
    return [Shown(rows, tuple(columns))]


def samples() -> list[Plan]:
    drawn = Sample(SOURCE, Fraction(2, 3), "some")
    return [Shown(drawn, ALL), Tally(drawn, (C,), None)]


def tallies() -> list[Plan]:
    keys = [(), (U,), (C,), (S, B), (U, C)]
    return allowed(Tally, (SOURCE, Filter(SOURCE, B)), keys, (None, *NUMBERS, B))


def ranks() -> list[Plan]:
    points = tuple(map(Lit.of, (-(2.0**63), -1, 0, 0.5, 2**53, 2**53 + 1, 1e300)))
    return allowed(QuantileScores, (SOURCE, Filter(SOURCE, B)), NUMBERS, (points,), (HALF,), (Fraction(1),), (HALF,))


def keyed() -> list[Plan]:
    kept = Filter(Sort(SOURCE, (R,), (1,)), Not(IsNull(S)))
    return allowed(KeyCounts, (SOURCE, kept), (T, N, S), (U,), (1, 2), (9,))


def by_u() -> Tally:
    return Tally(SOURCE, (U,), S)


def total() -> Tally:
    return Tally(SOURCE, (), S)


THIRD = Fraction(-1, 3)
#: kind of operation → plans that need it
PLANS: dict[str, Callable[[], list[Any]]] = {
    "absolute": lambda: [combine.Absolute(total()), combine.Absolute(by_u())],
    "add": lambda: [combine.Add(by_u(), by_u()), combine.Add(total(), Tally(SOURCE, (), R))],
    "aggregate": aggregates,
    "append": appended,
    "appended": appended,
    "arithmetic": lambda: of_source(allowed(Arithmetic, ("+", "-", "*", "/", "//", "%"), NUMBERS, NUMBERS)),
    "carried": slices,
    "cast": lambda: of_source(allowed(Cast, ALL, TYPES)),
    "categorise": lambda: of_source(allowed(Categorise, ALL, ((c,) for c in CONSTANTS), (0, 1))),
    "clip": lambda: of_source(allowed(Clip, (*NUMBERS, M), CONSTANTS, CONSTANTS)),
    "column": lambda: of_source(list(ALL)),
    "column_stack": lambda: [combine.ColumnStack((by_u(), Tally(SOURCE, (U,), None)), ("x", "y"))],
    "compare": lambda: of_source(allowed(Compare, ("==", "<", ">"), ALL, (*ALL, *CONSTANTS))),
    "concat": lambda: of_source([Concat(T, T), Concat(T, Text("strip", T, (Lit.of(None),)))]),
    "constant": lambda: of_source(list(COLUMNS)),
    "cut": lambda: of_source(
        allowed(Cut, NUMBERS, (tuple(map(Lit.of, (-1e300, -1.5, 0, 0.5, 2.0**53, 1e300))),), (None,), (0, 1), (0, 1))
    ),
    "distinct": lambda: allowed(Distinct, (SOURCE, Filter(SOURCE, B)), (U, S, B, C)),
    "dot": lambda: of_source([Dot(each, (Lit.of(0.1), Lit.of(-3.0))) for each in ((S, R), (F, N), (R, R))]),
    "element": lambda: [combine.Element(by_u(), k) for k in (0, 2)],
    "extreme": lambda: [combine.Extreme(which, by_u()) for which in ("max", "min")],
    "fillnull": lambda: of_source(allowed(FillNull, ALL, (*ALL, *COLUMNS))),
    "filter": filters,
    "function": functions,
    "group_head": lambda: [carried(GroupHead(rows, by, k)) for rows in (SOURCE, Sort(SOURCE, (R,), (1,)))
                           for by in (U, S, F, C) for k in (1, 2)],
    "isin": lambda: of_source(allowed(IsIn, ALL, ((), *product(CONSTANTS, CONSTANTS[:3])))),
    "isnull": lambda: of_source([IsNull(each) for each in ALL]),
    "key_counts": keyed,
    "lag": lags,
    "logic": lambda: of_source([Logic(op, B, other) for op in "&|^" for other in (B, IsNull(F), Not(B))]),
    "lookup": lookups,
    "not": lambda: of_source([Not(B), Not(IsNull(F))]),
    "nullwhere": lambda: of_source(allowed(NullWhere, (B, IsNull(S)), ALL)),
    "offset": lambda: [combine.Offset(total(), THIRD), combine.Offset(by_u(), THIRD)],
    "paired": lambda: pairs(lambda made, each: Paired(made, Carried(made.other, each))),
    "pairs": lambda: pairs(Carried),
    "part": lambda: of_source([Part(each, M) for each in PARTS]),
    "per_person": aggregates,
    "public_number": lambda: [combine.Add(total(), combine.PublicNumber(THIRD))],
    "quantile_scores": ranks,
    "recode": lambda: of_source(
        allowed(Recode, ALL, (((a, b), (Lit.of(1), Lit.of(None))) for a in CONSTANTS for b in CONSTANTS[:3]), (0, 1))
    ),
    "row_scale": lambda: of_source(allowed(RowScale, ((S, R), (F, N)), map(Lit.of, (0.5, 1e10)), ("1", "2", "inf"))),
    "sample": samples,
    "scale": lambda: [combine.Scale(total(), THIRD), combine.Scale(by_u(), THIRD)],
    "slice": slices,
    "sort": sorts,
    "source": lambda: [Shown(SOURCE, ALL), Tally(SOURCE, (), None)],
    "stack": lambda: [combine.Stack((total(), Tally(SOURCE, (), None)), ("x", "y"))],
    "tally": tallies,
    "text": texts,
    "total": lambda: [combine.Total(by_u())],
    "truncate": lambda: of_source(allowed(Truncate, (F, R, Arithmetic("*", R, RowScale((R, S), Lit.of(0.5), "2"))))),
    "vector_sum": lambda: allowed(VectorSum, (SOURCE, Filter(SOURCE, B)), ((S, R), (S, S), (R,), (F, R))),
    "where": lambda: of_source(allowed(Where, (B, IsNull(S)), ALL, (*ALL, *COLUMNS))),
    "window": windows,
}  # fmt: skip


def reference(table: Table, coins: Any) -> ReferenceEngine:
    """The definition, with the same coins of samples."""
    from tests.ops.checking import frame

    found = ReferenceEngine()
    found.hold(SOURCE, frame(SOURCE, table))
    found.coins = coins
    return found
