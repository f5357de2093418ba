"""Rows and private numbers: cells, distances, grids, from the claims of their inputs; mechanisms: noise and cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from math import gcd, lcm, prod
from typing import Any

from privjail.verify.checker import forms
from privjail.verify.checker.columns import Col, truth, value
from privjail.verify.checker.forms import CannotCheck, Cell, Form, Wrong, cells_of, either, largest, plus, times, whole

ONE, EMPTY = Fraction(1), either([])
DIGITS = Context(60)
OWN = dict.fromkeys(("laplace", "exponential", "noisy_max", "above_threshold"), [["epsilon"]])
OWN["gaussian"] = [["epsilon", "delta"], ["rho"]]


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

    def over(self, n: int) -> Table:
        return replace(self, factor=self.factor and self.factor * n, cap=self.cap and self.cap * n)


def need(rows: Table, *columns: Any) -> None:
    if any(isinstance(c, Col) and c.base not in (None, rows.base) for c in columns):
        raise Wrong("a column belongs to other rows")


def window(chain: list[tuple[int | None, int | None]]) -> tuple[int, int | None]:
    """How far a chain of slices moves when one row is inserted, and its most rows: tried at all sizes that matter."""
    ends = [abs(x) for bounds in chain for x in bounds if x]
    if len(ends) > 6:
        raise CannotCheck("more than three slices, one of another")
    signs, far, moved, widths = product((-1, 0, 1), repeat=len(ends)), 10 * (sum(ends) + 9), 0, {}
    sums = {abs(sum(s * x for s, x in zip(each, ends, strict=True))) for each in signs}
    for n in {max(0, s + more) for s in sums for more in (-2, -1, 0, 1, 2)} | {far}:
        old, new = range(n), range(n + 1)
        for start, stop in chain:
            old, new = old[start:stop], new[start:stop]
        widths[n], widths[n + 1] = len(old), len(new)
        spots = (x + more for x in (0, old.start, old.stop, new.start, new.stop) for more in (-1, 0, 1))
        for at in {min(max(x, 0), n) for x in spots}:  # where the row is inserted
            first, last = new.start - (new.start > at), new.stop - (new.stop > at)  # the old rows that are still seen
            common = max(0, min(old.stop, last) - max(old.start, first)) if len(old) and len(new) else 0
            moved = max(moved, len(old) + len(new) - 2 * common)
    return moved, None if widths[far + 1] > widths[far] else max(widths.values())


def rows_of(kind: str, f: list[Any], me: int, claimed: list[Cell], known: Callable[[int], Any]) -> Table:
    """The facts of rows, from those of the rows below; the cells are the claimed ones, if they hold all rows."""
    rows: Table = f[0]
    need(rows, *(f[1] if kind == "sort" else f[1:2]))
    if kind in ("filter", "sort"):
        held = kind == "filter" and _holds(rows, f[1], claimed, known)
        return replace(rows, id=me, kind=kind, fields=f, cells=claimed if held else rows.cells)
    if kind == "window":
        out = rows.over(2 * (whole(f[1], 0) + 1 + whole(f[2], 0)) - 1)
    elif kind == "group_head":
        source, out, most = known(rows.base), rows.over(2), whole(f[2], 1)
        if (source.kind, f[1].kind) == ("source", "column") and f[1].fields[1] == source.fields[1] is not None:
            few = (reach := largest(rows.form)) is not None and reach <= most
            out = rows if few else replace(rows, factor=Fraction(most), cap=None, cells=source.cells)
    elif kind == "slice":
        chain, first = [(f[1], f[2])], rows
        while first.kind == "slice":
            chain.insert(0, (first.fields[1], first.fields[2]))
            first = first.fields[0]
        moved, width = window(chain)
        out = replace(first.over(moved), most=min((x for x in (rows.most, width) if x is not None), default=None))
        if out.most is not None and ((reach := largest(out.form)) is None or 2 * out.most < reach):
            out = replace(out, cap=Fraction(2 * out.most))
    else:
        raise CannotCheck(f"operation {kind!r}")
    return replace(out, id=me, kind=kind, fields=f, base=me, edits=largest(out.form))


def _holds(rows: Table, condition: Col, claimed: list[Cell], known: Callable[[int], Any]) -> bool:
    """Whether all rows that a filter keeps lie in the claimed cells: the condition is tried for each key."""
    for cell in rows.cells:
        below = [c[-1] for c in claimed if c[:-1] == cell and c[-1][0] == rows.base]
        tried = [known(by) for by in {by for _, by, _ in below}] + _parts(condition)
        kept = [(by, {key for _, at, key in below if at == by.id}) for by in tried]
        if cell not in claimed and not any(_covered(condition, by, keys) for by, keys in kept):
            raise Wrong("rows that the filter keeps lie outside of the claimed cells")
    return condition.dom.type == "boolean"


def _parts(col: Col) -> list[Col]:
    """The columns that a condition looks at."""
    return [y for x in col.fields if isinstance(x, Col) for y in (x, *_parts(x))]


def _covered(condition: Col, by: Col, kept: set[Any]) -> bool:
    try:
        keys = [*by.dom.keys(), *([("none", "")] if by.dom.null else [])]
        return all(key in kept or truth(condition, by, value(key)) is not True for key in keys)
    except (CannotCheck, Wrong):  # it depends on more than this column, or on one without labels
        return False


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
        return reduce(plus, map(self.at, range(self.size)), EMPTY)

    def peak(self) -> Form:
        return self.whole if self.way != "listed" else either(self.at(i) for i in range(self.size))


def common(*grids: Fraction) -> Fraction:
    bottom = lcm(*(g.denominator for g in grids))
    return Fraction(gcd(*(int(g * bottom) for g in grids)), bottom) or ONE


def tally(rows: Table, keys: list[Col], col: Col | None) -> Vec:
    need(rows, *keys, col)
    reach, grid, one_way = ONE, ONE, True
    if col is not None and col.dom.type != "boolean":  # without bounds, or of other than numbers: malformed
        reach, one_way = Fraction(max(-col.dom.lo, col.dom.hi)), col.dom.lo >= 0 or col.dom.hi <= 0
        if reach and (col.dom.type == "Float64" or reach >= 2**30):
            bits = int(reach).bit_length() if reach >= 1 else 1 - int(1 / reach).bit_length()
            grid = Fraction(2) ** (max(bits, -990) - 30)
    labels, whole = [key.dom.keys() for key in keys], times(rows.form, reach)

    def at(i: int) -> Form:
        steps: list[Any] = []
        for key, each in zip(reversed(keys), reversed(labels), strict=True):
            steps.insert(0, (rows.base, key.id, each[i % len(each)]))
            i //= len(each)
        if rows.cap is not None or rows.factor is None:
            return whole
        return [{(*cell, *steps): rows.factor * reach for cell in rows.cells}]

    one_way, way = one_way and rows.edits is not None and rows.edits <= 1, "shared" if keys else "listed"
    return Vec(prod(map(len, labels)), at, way, whole, grid, rows.cells, rows.cap is not None, one_way)


def vector(kind: str, f: list[Any]) -> Vec:
    """The facts of private numbers, from those of their inputs."""
    match kind, f:
        case "tally", [rows, keys, col]:
            return tally(rows, keys, col)
        case "distinct", [rows, key]:
            return _one(tally(rows, [key], None), rows.form)
        case "ranks", [rows, col, points, below, above, target]:
            need(rows, col)
            each, grid = times(rows.form, max(abs(below), abs(above))), common(below, above, abs(target))
            return Vec(len(points), lambda _: each, "together", each, grid, rows.cells, rows.cap is not None, False)
        case "known", [c]:
            return Vec(1, lambda _: [{}], "listed", None, abs(c) or ONE, [], False, True)
        case "scale", [Vec() as a, c]:
            c = abs(c)
            return replace(a, at=lambda i: times(a.at(i), c), whole=times(a.whole, c), grid=a.grid * c or ONE)
        case "offset", [Vec() as a, c]:
            return replace(a, grid=common(a.grid, c))
        case "absolute", [Vec() as a]:
            return replace(a, monotone=False)
        case "element", [Vec() as a, i] if 0 <= i < a.size:
            return replace(_one(a, a.at(i)), cells=a.cells if a.capped else list(cells_of(a.at(i))))
        case ("total", [Vec() as a]) | ("extreme", [_, Vec() as a]):
            return _one(a, a.total() if kind == "total" else a.peak())
        case "add", [Vec() as a, Vec() as b]:
            alike = a.way == b.way != "listed" and (a.way == "together" or cells_of(a.whole) == cells_of(b.whole))
            whole = plus(a.whole, b.whole) if alike else None
            return _many([a, b], a.size, lambda i: plus(a.at(i), b.at(i)), a.way if alike else "listed", whole)
        case (("stack" | "beside"), [[Vec() as a, *_] as parts, labels]) if len(parts) == len(labels):
            n = len(parts)
            return _many(parts, n * a.size, lambda i: parts[i % n].at(i // n), "listed", None)
    raise CannotCheck(f"operation {kind!r}")


def _one(a: Vec, form: Form) -> Vec:
    return replace(a, size=1, at=lambda _: form, way="listed", whole=None)


def _many(parts: list[Vec], size: int, at: Callable[[int], Form], way: str, whole: Form) -> Vec:
    if len({v.size for v in parts}) != 1:
        raise Wrong("vectors of different size")
    cells = list(dict.fromkeys(cell for v in parts for cell in v.cells))
    return Vec(size, at, way, whole, common(*(v.grid for v in parts)), cells, any(v.capped for v in parts), False)


# -- mechanisms: the noise that a sensitivity needs, what it costs, and where that is charged


def norm(v: Vec, name: str) -> Fraction | None:
    """How far a vector can move, in this norm."""
    if name != "l2":
        return largest(v.total() if name == "l1" else v.peak())
    if v.way == "listed":
        square = forms.largest_square([v.at(i) for i in range(v.size)])
        return None if square is None else forms.root_below(square)
    reach = largest(v.whole)
    return reach if v.way == "shared" or reach is None else reach * forms.root_below(Fraction(v.size))


def asked(m: dict[str, Any]) -> list[Any]:
    """ε, δ and ρ of a mechanism: those that it has and no others, or one could be noised for and another be paid."""
    if m["kind"] not in OWN:
        raise CannotCheck(f"mechanism {m['kind']!r}")
    given = {k: Fraction(m[k]) for k in ("epsilon", "delta", "rho") if m.get(k) is not None}
    if list(given) not in OWN[m["kind"]] or min(given.values()) <= 0:
        raise Wrong("the parameters are not those of the mechanism, or not positive")
    return [given.get(k) for k in ("epsilon", "delta", "rho")]


def noise_fits(m: dict[str, Any], noise: dict[str, Any], v: Vec, reach: Fraction) -> bool:
    """Refuse noise that is too small for its sensitivity. Whether a share of the edits costs that share of the loss."""
    (eps, delta, rho), finer = asked(m), ONE
    if m["kind"] == "gaussian" and eps is not None and delta is not None:
        spare = v.size * (1 + math.exp(eps)) / (12 * 2.0**80)
        enough = not reach or gaussian_delta(abs(Fraction(noise["sigma"])) / reach, eps) + spare <= float(delta)
    elif m["kind"] == "gaussian" and rho is not None:
        enough = Fraction(noise["sigma"]) ** 2 * 2 * rho >= reach * reach
    elif m["kind"] == "exponential":
        enough = not reach or abs(Fraction(noise["rate"])) * 2 * reach <= eps
    else:
        finer = Fraction(noise["grid"]) / v.grid
        steps = math.floor(reach / Fraction(noise["grid"])) + (finer != 1) * (v.size if m["kind"] == "laplace" else 1)
        share = {"laplace": 1, "above_threshold": 4, "noisy_max": whole(m.get("k", 1), 1) * (2 - bool(v.monotone))}
        least = share[m["kind"]] * steps / eps
        enough = finer >= 1 == finer.denominator and Fraction(noise["scale"]) >= least
        enough &= m["kind"] != "above_threshold" or Fraction(noise["outer"]) >= least / 2
    if not enough:
        raise Wrong("the noise is too small for the sensitivity")
    return finer == 1


def gaussian_delta(sigma: Any, eps: Any) -> float:
    """δ at ε of Gaussian noise at distance 1: Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ), by logarithms."""
    from scipy.special import log_ndtr

    sigma, eps = float(sigma), float(eps)
    near, far = log_ndtr(1 / (2 * sigma) - eps * sigma), log_ndtr(-1 / (2 * sigma) - eps * sigma)
    return float(math.exp(near) - math.exp(eps + far)) * (1 - 1e-9)


def least_cost(m: dict[str, Any], notion: dict[str, Any]) -> list[Fraction]:
    """What a release must at least be charged, in a notion of privacy."""
    eps, delta, rho = asked(m)
    if m["kind"] == "exponential" and eps is not None:
        rho = eps * eps / 8
    match notion["kind"], m["kind"] != "gaussian":
        case "pure", True if eps is not None:
            return [eps]
        case "approx", pure if eps is not None:
            return [eps, Fraction(0) if pure or delta is None else delta]
        case "zcdp", pure if rho is not None or (pure and eps is not None):
            return [rho if rho is not None else eps * eps / 2]
        case "renyi", pure if rho is not None or (pure and eps is not None):
            if (order := Fraction(notion["order"])) <= 1:
                raise Wrong("the order of a Rényi budget is above 1")
            known = [order * x for x in (rho,) if x is not None]
            return [min(known + [y for x in (eps,) if x is not None for y in (x, _response(x, order))])]
    raise CannotCheck(f"{m['kind']} paid under {notion['kind']}")


def _response(eps: Fraction, order: Fraction) -> Fraction:
    """The Rényi divergence of randomised response, the largest that ε-DP allows; a little less, to 60 digits."""
    e, a = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (eps, order))

    def log_cosh(x: Decimal) -> Decimal:
        return x + DIGITS.ln((1 + DIGITS.exp(-2 * x)) / 2)

    return Fraction((log_cosh((a - Decimal("0.5")) * e) - log_cosh(e / 2)) / (a - 1)) * (1 - Fraction(1, 10**12))


def charged(cells: list[Cell]) -> set[Cell]:
    """Cells that all exclude each other inside one partition: two that do not become their lowest common ancestor."""
    left = set(cells)
    for a, b in combinations(left, 2):
        n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        if n == min(len(a), len(b)) or a[n][:2] != b[n][:2]:
            return charged([*(left - {a, b}), a[:n]])
    return left
