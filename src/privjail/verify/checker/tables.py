"""Rows and private numbers: cells, distances, grids, from the claims of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Any

from privjail.verify.checker.columns import Col, truth, value
from privjail.verify.checker.forms import CannotCheck, Cell, Form, Wrong, cells_of, either, largest, plus, times

ONE, ZERO = Fraction(1), Fraction(0)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows: their base, and how far they can move: factor·Σ η(cells), or cap where that is known."""

    id: int
    kind: str
    fields: list[Any]
    base: int
    cells: list[Cell]
    factor: Fraction | None
    cap: Fraction | None
    edits: Fraction | None
    most: int | None

    @property
    def form(self) -> Form:
        if self.cap is not None:
            return [{None: self.cap}]
        return None if self.factor is None else [dict.fromkeys(self.cells, self.factor)]

    def over(self, factor: int) -> tuple[Fraction | None, Fraction | None]:
        return tuple(None if x is None else x * factor for x in (self.factor, self.cap))  # type: ignore[return-value]


def need(rows: Table, *columns: Any) -> None:
    if any(isinstance(c, Col) and c.base not in (None, rows.base) for c in columns):
        raise Wrong("a column belongs to other rows")


def window(chain: list[tuple[int | None, int | None]]) -> tuple[int, int | None]:
    """How far a chain of slices moves when one row is inserted, and its most rows: tried at all sizes that matter."""
    ends = [abs(x) for bounds in chain for x in bounds if x]
    if len(ends) > 6:
        raise CannotCheck("more than three slices, one of another")
    sums = {abs(sum(s * x for s, x in zip(signs, ends, strict=True))) for signs in product((-1, 0, 1), repeat=len(ends))}
    moved, most = 0, 0
    for n in {max(0, s + more) for s in sums for more in (-2, -1, 0, 1, 2)}:
        old, new = range(n), range(n + 1)
        for start, stop in chain:
            old, new = old[start:stop], new[start:stop]
        most = max(most, len(old))
        for at in {min(max(x + more, 0), n) for x in (0, old.start, old.stop, new.start, new.stop) for more in (-1, 0, 1)}:
            first = new.start - (new.start > at)  # the old rows that are still seen: from first to last
            last = new.stop - (new.stop > at)
            common = max(0, min(old.stop, last) - max(old.start, first)) if len(old) and len(new) else 0
            moved = max(moved, len(old) + len(new) - 2 * common)
    far = [len(_cut(range(10 * (sum(ends) + 9) + more), chain)) for more in (0, 1)]
    return moved, None if far[1] > far[0] else max(most, far[0])


def _cut(rows: range, chain: list[tuple[int | None, int | None]]) -> range:
    for start, stop in chain:
        rows = rows[start:stop]
    return rows


def rows_of(kind: str, f: list[Any], me: int, claimed: list[Cell], known: Callable[[int], Any]) -> Table:
    """The facts of rows, from those of the rows below; the cells are the claimed ones, if they hold all rows."""
    rows = f[0]
    if not isinstance(rows, Table):
        raise Wrong("rows are made of rows")
    if kind in ("filter", "sort"):
        need(rows, *(f[1] if kind == "sort" else f[1:]))
        cells = claimed if kind == "filter" and _holds(rows, f[1], claimed, known) else rows.cells
        return Table(me, kind, f, rows.base, cells, rows.factor, rows.cap, rows.edits, rows.most)
    most, cells = rows.most, rows.cells
    if kind == "window":
        factor, cap = rows.over(2 * (f[1] + 1 + f[2]) - 1)
    elif kind == "group_head":
        need(rows, f[1])
        factor, cap = rows.over(2)
        source = known(rows.base)
        if source.kind == "source" and f[1].kind == "column" and f[1].fields[1] == source.fields[1]:
            factor, cap = rows.factor, rows.cap
            reach = largest(rows.form)
            if reach is None or f[2] < reach:
                factor, cap, cells = Fraction(f[2]), None, source.cells
    elif kind == "slice":
        chain, first = [(f[1], f[2])], rows
        while first.kind == "slice":
            chain.insert(0, (first.fields[1], first.fields[2]))
            first = first.fields[0]
        moved, width = window(chain)
        (factor, cap), cells = first.over(moved), first.cells
        most = min((x for x in (rows.most, width) if x is not None), default=None)
        reach = largest(Table(me, kind, f, me, cells, factor, cap, None, most).form)
        if most is not None and (reach is None or 2 * most < reach):
            cap = Fraction(2 * most)
    else:
        raise CannotCheck(f"operation {kind!r}")
    return Table(me, kind, f, me, cells, factor, cap, largest(Table(me, "", f, me, cells, factor, cap, None, most).form), most)


def _holds(rows: Table, condition: Col, claimed: list[Cell], known: Callable[[int], Any]) -> bool:
    """Whether all rows that a filter keeps lie in the claimed cells: the condition is tried for each key."""
    if condition.dom.type != "boolean":
        raise Wrong("a filter needs a true/false column")
    for cell in rows.cells:
        below = [c[-1] for c in claimed if c[:-1] == cell and c[-1][0] == rows.base]
        tried = {by: known(by) for _, by, _ in below} | {c.id: c for c in _parts(condition)}
        kept = {by: {key for _, at, key in below if at == by} for by in tried}
        if cell not in claimed and not any(_covered(condition, tried[by], kept[by]) for by in tried):
            raise Wrong("rows that the filter keeps lie outside of the claimed cells")
    return True


def _parts(col: Col) -> list[Col]:
    """The columns of finitely many values that a condition looks at."""
    inputs = [x for x in col.fields if isinstance(x, Col)]
    finite = [x for x in inputs if x.dom.type in ("category", "boolean", "Int64")]
    return finite + [y for x in inputs if col.kind in ("not", "logic") for y in _parts(x)]


def _covered(condition: Col, by: Col, kept: set[Any]) -> bool:
    if by.dom.type == "Int64" and (by.dom.lo is None or by.dom.hi is None or by.dom.hi - by.dom.lo >= 100_000):
        return False
    keys = [*by.dom.keys(), *([("none", "")] if by.dom.null else [])]
    return all(key in kept or not _may(condition, by, key) for key in keys)


def _may(condition: Col, by: Col, key: Any) -> bool:
    try:
        return truth(condition, by, value(key)) is True
    except CannotCheck:
        return True


@dataclass(frozen=True, eq=False)
class Vec:
    """Private numbers: the distance of each, and of all together. ``way``: one edit moves one ("shared") or all."""

    size: int
    at: Callable[[int], Form]
    way: str  # "listed", "shared" or "together"
    whole: Form  # shared: of all; together: of each
    grid: Fraction
    cells: list[Cell]
    capped: bool
    monotone: bool

    def total(self) -> Form:
        if self.way != "listed":
            return self.whole if self.way == "shared" else times(self.whole, Fraction(self.size))
        out: Form = [{}]
        for i in range(self.size):
            out = plus(out, self.at(i))
        return out

    def peak(self) -> Form:
        return self.whole if self.way != "listed" else either(self.at(i) for i in range(self.size))


def common(*grids: Fraction) -> Fraction:
    bottom = lcm(*(g.denominator for g in grids))
    return Fraction(gcd(*(int(g * bottom) for g in grids)), bottom)


def tally(rows: Table, keys: list[Col], col: Col | None) -> Vec:
    need(rows, *keys, col)
    reach, grid, one_way = ONE, ONE, True
    if col is not None and col.dom.type != "boolean":
        if col.dom.type not in ("Int64", "Float64") or col.dom.lo is None or col.dom.hi is None:
            raise Wrong("a sum needs bounds")
        reach = max(abs(Fraction(col.dom.lo)), abs(Fraction(col.dom.hi)))
        one_way = col.dom.lo >= 0 or col.dom.hi <= 0
        if reach and (col.dom.type == "Float64" or reach >= 2**30):
            bits = int(reach).bit_length() if reach >= 1 else 1 - int(1 / reach).bit_length()
            grid = Fraction(2) ** (max(bits, -990) - 30)
    labels = [key.dom.keys() for key in keys]
    sizes = [len(each) for each in labels]
    size, whole = 1, times(rows.form, reach)
    for n in sizes:
        size *= n

    def at(i: int) -> Form:
        if rows.cap is not None or rows.factor is None:
            return whole
        steps: list[Any] = []
        for key, each in zip(reversed(keys), reversed(labels), strict=True):
            steps.insert(0, (rows.base, key.id, each[i % len(each)]))
            i //= len(each)
        return [{(*cell, *steps): rows.factor * reach for cell in rows.cells}]

    one = rows.edits is not None and rows.edits <= 1
    return Vec(size, at, "shared" if keys else "listed", whole, grid, rows.cells, rows.cap is not None, one and one_way)


def vector(kind: str, f: list[Any]) -> Vec:
    """The facts of private numbers, from those of their inputs."""
    match kind, f:
        case "tally", [rows, keys, col]:
            return tally(rows, keys, col)
        case "distinct", [rows, key]:
            counts = tally(rows, [key], None)
            return Vec(1, lambda _: rows.form, "listed", None, ONE, rows.cells, counts.capped, counts.monotone)
        case "ranks", [rows, col, points, below, above, target]:
            need(rows, col)
            each = times(rows.form, max(below, above))
            grid = common(*([g for g in (below, above, abs(target)) if g] or [ONE]))
            return Vec(len(points), lambda _: each, "together", each, grid, rows.cells, rows.cap is not None, False)
        case "known", [c]:
            return Vec(1, lambda _: [{}], "listed", None, abs(c) or ONE, [], False, True)
        case "scale", [Vec() as a, c]:
            grid = a.grid * abs(c) or ONE
            return _like(a, lambda i: times(a.at(i), abs(c)), times(a.whole, abs(c)), grid, a.monotone)
        case "offset", [Vec() as a, c]:
            return _like(a, a.at, a.whole, common(a.grid, c) if c else a.grid, a.monotone)
        case "absolute", [Vec() as a]:
            return _like(a, a.at, a.whole, a.grid, False)
        case "element", [Vec() as a, i]:
            if not 0 <= i < a.size:
                raise Wrong("no such element")
            alone = a.at(i)
            cells = a.cells if a.capped else list(cells_of(alone))
            return Vec(1, lambda _: alone, "listed", None, a.grid, cells, a.capped, a.monotone)
        case ("total", [Vec() as a]) | ("extreme", [_, Vec() as a]):
            one = a.total() if kind == "total" else a.peak()
            return Vec(1, lambda _: one, "listed", None, a.grid, a.cells, a.capped, a.monotone)
        case "add", [Vec() as a, Vec() as b]:
            way = a.way if a.way == b.way != "shared" or cells_of(a.whole) == cells_of(b.whole) else "listed"
            both = plus(a.whole, b.whole) if a.way == b.way == way != "listed" else None
            return _many([a, b], a.size, lambda i: plus(a.at(i), b.at(i)), way if both else "listed", both)
        case ("stack" | "beside"), [list(parts), labels] if parts and len(parts) == len(labels):
            n = len(parts)
            return _many(parts, n * parts[0].size, lambda i: parts[i % n].at(i // n), "listed", None)
    raise CannotCheck(f"operation {kind!r}")


def _like(a: Vec, at: Callable[[int], Form], whole: Form, grid: Fraction, monotone: bool) -> Vec:
    return Vec(a.size, at, a.way, whole, grid, a.cells, a.capped, monotone)


def _many(parts: list[Vec], size: int, at: Callable[[int], Form], way: str, whole: Form) -> Vec:
    if len({v.size for v in parts}) != 1:
        raise Wrong("vectors of different size")
    cells = list(dict.fromkeys(cell for v in parts for cell in v.cells))
    return Vec(size, at, way, whole, common(*(v.grid for v in parts)), cells, any(v.capped for v in parts), False)
