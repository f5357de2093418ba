"""Hold an operation's claim against what the engine does on real neighbouring tables.

Each check raises AssertionError where a claim is too small, and returns the largest change that it saw, so
that a test can also say that the claim is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, wraps
from typing import Any
from zlib import crc32

import hypothesis
import polars as pl

from privjail.engines.coins import Coins
from privjail.engines.engine import Engine
from privjail.engines.polars.engine import PolarsEngine
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.cast import CALENDAR
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.source import Column, Source
from privjail.ops.rows.window import Lag, Window
from privjail.plan.distance import Distance
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, FloatDomain, IntDomain, TextDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Node, moment
from privjail.engines.sql.duckdb import DuckDBEngine, DuckDBStore, open_database
from privjail.ops.polars_types import dtype_of
from privjail.engines.reference import ReferenceEngine
from privjail.plan.rows import Rows
from privjail.plan.value import Value

from ..tables import Table, edits

Pairs = Iterable[tuple[Table, Table]]
WHAT = ("property", "witness", "small world")
_checked: set[str] = set()


def covers(what: str, *kinds: str) -> Callable[[Any], Any]:
    """Say which operations a test is about. It fails if it does not check them; tests/laws counts them."""
    assert what in WHAT

    def mark(test: Any) -> Any:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            _checked.clear()
            found = test(*args, **kwargs)
            assert set(kinds) <= _checked, f"the test never checked {set(kinds) - _checked}"
            return found

        run.covers = {(kind, what) for kind in kinds}  # type: ignore[attr-defined]
        return run

    return mark


def given(*strategies: Any, examples: int = 40) -> Callable[[Any], Any]:
    """Hypothesis, with as many examples as a suite of many tests can afford, and no clock."""
    return lambda test: hypothesis.settings(max_examples=examples, deadline=None)(hypothesis.given(*strategies)(test))


def about(*nodes: Node) -> None:
    """Note that these operations are being checked."""
    _checked.update(type(node).kind for node in nodes)


# -- running a plan on a table


def frame(source: Source, table: Table) -> pl.DataFrame:
    """A table as the engine holds it: categories as positions."""
    columns = {}
    for i, (name, domain) in enumerate(source.dataset.columns):
        values = [row[i] for row in table]
        if isinstance(domain, CategoryDomain):
            values = [None if v is None else domain.code(v) for v in values]
        columns[name] = pl.Series(values, dtype=dtype_of(domain))
    return pl.DataFrame(columns)


ENGINES: dict[str, Callable[[int], Engine]] = {
    "polars": PolarsEngine,
    "reference": ReferenceEngine,
    "duckdb": lambda cache_bytes: DuckDBEngine(cache_bytes, DuckDBStore(_database())),
}


SLOW = ("duckdb",)  # the fast tests of SQL engines are in tests/engines/test_sql.py


@cache
def _database() -> Any:
    """One DuckDB database for all tests: opening one takes longer than most of what they ask."""
    return open_database(threads=1)


_chosen = "polars"


def choose(name: str) -> str:
    """Run plans on this engine from now on. Gives the one that it was before."""
    global _chosen
    before, _chosen = _chosen, name
    return before


def engine(source: Source, table: Table, cache_bytes: int = 2**30, name: str | None = None) -> Engine:
    """An engine that holds a table: the one that was chosen, or another."""
    found = ENGINES[name or _chosen](cache_bytes)
    found.hold(source, frame(source, table))
    found.coins = RowCoins(source, table)  # type: ignore[attr-defined]
    return found


class RowCoins(Coins):
    """Coins of samples that go with the rows: rows that neighbours share have the same, as their law allows.

    A column "drawn" says which rows are drawn, by any sample; without one it is a function of the row and the tag.
    """

    def __init__(self, source: Source, table: Table) -> None:
        super().__init__()
        names = [name for name, _ in source.dataset.columns]
        self.at = names.index("drawn") if "drawn" in names else None
        self.table = table

    def drawn(self, sample: Sample) -> list[bool]:
        if self.at is not None:
            return [bool(row[self.at]) for row in self.table]
        return [crc32(repr((row, sample.tag)).encode()) % 3 > 0 for row in self.table]

    def numbers(self, sample: Sample, size: int) -> bytes:
        return b"".join([bytes(4) if each else b"\xff" * 4 for each in self.drawn(sample)])

    def number(self, sample: Sample, position: int) -> int:
        return 0 if self.drawn(sample)[position] else 2**32 - 1

    def term(self, sql: Any, sample: Sample, position: Any) -> Any:
        kept = [sql.whole(i) for i, each in enumerate(self.drawn(sample)) if each]
        return sql.among(position, kept) if kept else sql.truth(False)


def carried(rows: Rows, column: Expr) -> Expr:
    """A column of the data set, taken along into the base of some rows."""
    base = rows.base
    if isinstance(base, Source) or column.base is None:
        return column
    assert base.parent is not None
    return Carried(base, carried(base.parent, column))


def seen(rows: Rows) -> tuple[Expr, ...]:
    """Everything that a row of these rows shows: all columns, and in a window those of the rows around it."""
    base = rows.base
    if isinstance(base, Source):
        return tuple(Column(base, name) for name, _ in base.dataset.columns)
    assert base.parent is not None
    inner = seen(base.parent)
    if isinstance(base, Append):
        return (*(Appended(base, c, None) for c in inner), *(Appended(base, None, c) for c in seen(base.other)))
    if isinstance(base, Window):
        return tuple(Lag(base, c, k) for c in inner for k in range(-base.after, base.before + 1))
    return tuple(Carried(base, c) for c in inner)


def table(rows: Rows, columns: Iterable[Expr], data: Table) -> Table:
    """The rows that a plan gives for a table of its data set."""
    source = rows.source
    assert isinstance(source, Source)
    columns = tuple(columns)
    found = engine(source, data).table(rows, {str(i): e for i, e in enumerate(columns)})
    return tuple(zip(*(decoded(found[str(i)], e.domain) for i, e in enumerate(columns)), strict=True))


def decoded(column: list[Any], domain: Domain) -> list[Any]:
    """Held values as people know them. Each has the domain's type (V-10) and lies in the domain (V-16)."""
    return [checked(v, domain) for v in column]


def checked(value: Any, domain: Domain) -> Any:
    """The value itself, if the domain holds it."""
    if value is None:
        assert domain.nullable, f"V-16: a null in {domain}"
        return None
    held: Any = value
    match domain:
        case CategoryDomain():
            assert type(value) is int, f"V-10: {type(value)} where {domain} was claimed"
            assert 0 <= value < len(domain.categories), "a position that is no category"
            return domain.categories[value]
        case TimeDomain():
            assert type(value) is int, f"V-10: {type(value)} where {domain} was claimed"
            held, value = value, moment(value) if CALENDAR[0] <= value <= CALENDAR[1] else value
        case IntDomain():
            assert type(value) is int, f"V-10: {type(value)} where {domain} was claimed"
        case FloatDomain():
            assert type(value) is float and math.isfinite(value), f"V-16: {value} in {domain}"
        case BoolDomain():
            assert type(value) is bool
            return value
        case TextDomain():
            assert type(value) is str
            return value
    assert domain.lower is None or domain.lower <= held, f"{held} below {domain}"
    assert domain.upper is None or held <= domain.upper, f"{held} above {domain}"
    return value


def numbers(value: Value, data: Table, source: Source, cache_bytes: int = 2**30) -> list[Fraction]:
    """The exact numbers of a value, as a flat list."""
    found = engine(source, data, cache_bytes).evaluate(value)
    assert isinstance(found, list) == bool(value.index)
    flat = found if isinstance(found, list) else [found]
    assert all(type(x) is int for x in flat) and len(flat) == value.joint.size
    return [x * value.grid for x in flat]


# -- the checks


def memo(f: Callable[[Table], Any]) -> Callable[[Table], Any]:
    known: dict[Table, Any] = {}

    def run(data: Table) -> Any:
        if data not in known:
            known[data] = f(data)
        return known[data]

    return run


def _runner(rows: Rows) -> Callable[[Table], Any]:
    columns = seen(rows)
    return memo(lambda data: table(rows, columns, data))


def check_rows(rows: Rows, pairs: Pairs) -> int:
    """The ordered rows move no further than claimed. Gives the largest true distance."""
    about(rows)
    claim = rows.distance.value
    in_claim, out_claim = (apart_value(rows, each) for each in rows.moved)
    run = _runner(rows)
    worst = 0
    for left, right in pairs:
        moved = edits(run(left), run(right))
        assert claim is None or moved <= claim, f"{rows}: {left} and {right} are {moved} apart, claimed {claim}"
        came = (moved + len(run(right)) - len(run(left))) // 2  # a shortest script has the fewest of both kinds
        assert in_claim is None or came <= in_claim, f"{rows}: {left} to {right} inserts {came}, claimed {in_claim}"
        went = moved - came
        assert out_claim is None or went <= out_claim, f"{rows}: {left} to {right} deletes {went}, claimed {out_claim}"
        if rows.most is not None:
            assert max(len(run(left)), len(run(right))) <= rows.most
        worst = max(worst, moved)
    return worst


def apart_value(rows: Rows, each: Any) -> Any:
    """A bound on insertions or deletions as a number."""
    return each if rows.cap is not None or each is None else Distance(0, dict.fromkeys(rows.cells, each)).value


def check_row_wise(expr: Expr, pairs: Pairs) -> set[Any]:
    """Each value lies in the domain and depends on its row only (V-17), so that the distance is kept.

    Gives the values that came out.
    """
    about(expr)
    rows = expr.base
    assert rows is not None
    claim = rows.distance.value
    run = memo(lambda data: table(rows, (*seen(rows), expr), data))
    values: dict[Any, Any] = {}
    for left, right in pairs:
        moved = edits(run(left), run(right))
        assert claim is None or moved <= claim, f"{expr}: {left} and {right} are {moved} apart, claimed {claim}"
        for *row, value in (*run(left), *run(right)):
            known = values.setdefault(repr(row), value)  # by spelling: 0.0 and -0.0 are two rows
            assert known == value and type(known) is type(value), f"V-17: {expr} is no function of its row"
    return set(values.values())


def growing(data: Iterable[Any]) -> list[tuple[Table, Table]]:
    """Neighbours: a table, row by row."""
    data = tuple(data)
    return [(data[:i], data[: i + 1]) for i in range(len(data))]


def check_value(value: Value, pairs: Pairs, source: Source) -> dict[str, Any]:
    """Each element, and all of them in every norm, move no further than claimed. Gives the largest changes."""
    about(value)
    joint = value.joint
    claims = {"l1": joint.l1, "l2": joint.l2, "linf": joint.linf}
    elements = [joint.at(i).value for i in range(joint.size)]
    run = memo(lambda data: numbers(value, data, source))
    worst: dict[str, Any] = {"l1": 0, "l2": 0, "linf": 0, "elements": [Fraction(0)] * joint.size}
    for left, right in pairs:
        change = [b - a for a, b in zip(run(left), run(right), strict=True)]
        moved = [abs(x) for x in change]
        for i, (x, most) in enumerate(zip(moved, elements, strict=True)):
            assert most is None or x <= most, f"{value}[{i}]: {left} and {right} differ by {x}, claimed {most}"
            worst["elements"][i] = max(worst["elements"][i], x)
        square = sum(x * x for x in moved)
        norms = {"l1": sum(moved), "l2": square, "linf": max(moved, default=0)}
        for norm, x in norms.items():
            most = claims[norm] if norm != "l2" or claims["l2"] is None else claims["l2"] ** 2
            assert most is None or x <= most, f"{value}: {left} and {right} differ by {x} in {norm}, claimed {most}"
            worst[norm] = max(worst[norm], x)
        if value.monotone:
            assert min(change) >= 0 or max(change) <= 0, f"{value} does not move in one direction: {change}"
    return worst


def check_forms(parts: list[Rows], pairs: Pairs, weights: Iterable[tuple[int, ...]]) -> None:
    """Distances of several tables hold together: one choice of η explains all of them.

    Such an η exists exactly if every weighted sum of the true distances is at most the largest value of
    the same sum of forms (the η form a convex set).
    """
    about(*parts)
    runs = [_runner(rows) for rows in parts]
    forms = []
    for each in weights:
        form = Distance()
        for w, rows in zip(each, parts, strict=True):
            form = form + rows.distance * w
        forms.append((each, form.value))
    for left, right in pairs:
        moved = [edits(run(left), run(right)) for run in runs]
        for each, most in forms:
            total = sum(w * m for w, m in zip(each, moved, strict=True))
            assert most is None or total <= most, f"{left} and {right}: {moved} weighed {each} is above {most}"


def all_weights(n: int, seed: int = 0) -> Iterator[tuple[int, ...]]:
    """Each part alone, each two of them, all parts, and some mixtures."""
    for i in range(n):
        for k in range(i, n):
            yield tuple(int(j in (i, k)) for j in range(n))
    yield (1,) * n
    state = seed + 1
    for _ in range(8):
        mix = []
        for _ in range(n):
            state = (state * 1103515245 + 12345) % 2**31
            mix.append(state // 2**16 % 4)
        yield tuple(mix)
