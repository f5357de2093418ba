"""Rows and private numbers: how far they can move, in which cells, on which grid; from the claims of their inputs.

Distances are the largest of linear forms over cells. A cell is a path of steps: ((data set,), (base, by, key), …). η of
a data set is at most 1, and the parts of one partition share the η of their cell: a form is largest where η is 0 or 1.
"""

from collections import namedtuple
from fractions import Fraction
from functools import reduce
from itertools import product
from math import gcd, inf, isqrt, lcm, prod
from typing import Any

from privjail.verify.checker.columns import Col, Wrong, whole

Cell = tuple[tuple[Any, ...], ...]
Form = list[dict[Any, Any]]  # the largest of these sums; at None: the constant
# Rows: what they are made of, their base, how far they can move (factor·Σ η(cells), or a constant), how many they are.
Table = namedtuple("Table", "id kind fields base cells form edits most")
ONE, MOST_FORMS, MOST_WAYS, MOST_NUMBERS, LONG = Fraction(1), 512, 4096, 10**6, 10**8000


def either(forms: Any) -> Form:
    """The largest of several forms."""
    out: Form = []
    for each in (each for form in forms for each in form if each not in out):
        out.append(each)
        if len(out) > MOST_FORMS or any(c.numerator * c.denominator > LONG for c in each.values() if c != inf):
            raise NotImplementedError("a maximum of too many numbers, or numbers too long")
    return out or [{}]


def plus(a: Form, b: Form) -> Form:
    return either([{cell: x.get(cell, 0) + y.get(cell, 0) for cell in {*x, *y}}] for x, y in product(a, b))


def times(a: Form, factor: Any) -> Form:
    return either([{cell: c * factor for cell, c in each.items() if c and factor}] for each in a)


def partitions(form: Form) -> dict[tuple[Cell, Any], list[Cell]]:
    """The parts that matter of each partition, by the cell it divides; those above come first."""
    found: dict[tuple[Cell, Any], list[Cell]] = {}
    for cell in sorted({full[:n] for full in set().union(*form) - {None} for n in range(1, len(full) + 1)}, key=len):
        found.setdefault((cell[:-1], cell[-1][:2]), []).append(cell)
    return found


def largest(form: Form) -> Any:
    """The largest value over all that one privacy unit can do: it is in one part of each partition, the largest."""
    values = [{None: Fraction(0), **each} for each in form]
    for value in values:
        for (above, _), parts in reversed(partitions([value]).items()):
            value[above or None] = value.get(above or None, 0) + max(value[part] for part in parts)
    return max(value[None] for value in values)


def largest_root(forms: list[Form]) -> Any:
    """The root of the largest sum of squares, over all ways to be in one part of each partition; 2**-100 too small."""
    ways: list[frozenset[Any]] = [frozenset([None, ()])]  # where η is 1
    for (above, _), parts in partitions([each for form in forms for each in form]).items():
        ways = [on | {cell} for on in ways for cell in (parts if above in on else [()])]
        if len(ways) > MOST_WAYS:
            raise NotImplementedError("too many combinations of groups")
    at = ([max(sum(c for cell, c in x.items() if cell in on) for x in form) for form in forms] for on in ways)
    square = max(sum((x * x for x in each), Fraction(0)) for each in at)
    shift = 1 << 128 + square.denominator.bit_length()
    return Fraction(isqrt(square.numerator * shift * shift // square.denominator), shift)


def window(chain: list[list[int | None]]) -> tuple[int, Any]:
    """How far a chain of slices moves when one row is inserted, and its most rows: tried at all sizes that matter."""
    ends = [abs(x) for bounds in chain for x in bounds if x]
    if len(ends) > 6:
        raise NotImplementedError("more than three slices, one of another")
    far, moved, widths = 10 * (sum(ends) + 9), 0, {}
    sums = {abs(sum(s * x for s, x in zip(each, ends, strict=True))) for each in product((-1, 0, 1), repeat=len(ends))}
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
    return moved, inf if widths[far + 1] > widths[far] else max(widths.values())


def rows_of(kind: str, f: list[Any], me: int, claimed: list[Cell], known: Any) -> Table:
    """The facts of rows, from those of the rows below; the cells are the claimed ones, if they hold all rows."""
    rows: Table = f[0]
    out, by = rows._replace(id=me, kind=kind, fields=f, base=me), 1
    match kind, f:
        case "sort" | "filter", [_, condition, *_]:
            cells = kept(rows, condition, claimed) if kind == "filter" else rows.cells
            form = rows.form if None in rows.form[0] else [dict.fromkeys(cells, max(rows.form[0].values(), default=0))]
            return out._replace(base=rows.base, cells=cells, form=form)
        case "window", [_, before, after]:
            by = 2 * (whole(before, 0) + 1 + whole(after, 0)) - 1
        case "group_head", [_, key, most]:
            source, by, most = known(rows.base), 2, Fraction(whole(most, 1))
            if (source.kind, key.kind) == ("source", "column") and key.fields[1] == source.fields[1] is not None:
                by, few = 1, largest(rows.form) <= most  # all rows of a unit are in one group
                out = out if few else out._replace(cells=source.cells, form=[dict.fromkeys(source.cells, most)])
        case "slice", [first, *bounds]:
            chain = [bounds]
            while first.kind == "slice":
                first, *bounds = first.fields
                chain.insert(0, bounds)
            by, width = window(chain)
            out = out._replace(form=first.form, cells=first.cells, most=min(rows.most, width))
        case _:
            raise NotImplementedError(f"operation {kind!r}")
    form = times(out.form, by)
    return out._replace(form=form, edits=min(largest(form), 2 * out.most if kind == "slice" else inf))


def kept(rows: Table, condition: Col, claimed: list[Cell]) -> list[Cell]:
    """The claimed cells, if they hold all rows that a filter keeps: for one column, its keys are in, or not kept."""
    held = set(claimed)
    for cell in {*rows.cells} - held:
        for by in (*condition.parts.values(), condition):
            keys = by.dom.keys()
            left = [k for k in [*keys, *[None] * by.dom.null] if (*cell, (rows.base, by.id, k)) not in held]
            if keys and not any(condition.true_where(by, key) for key in left):
                break
        else:
            raise Wrong("rows that the filter keeps lie outside of the claimed cells")
    return claimed if condition.dom.type == "boolean" else rows.cells


class Vec(namedtuple("Vec", "size at whole grid cells capped monotone")):
    """Private numbers: the distance ``at`` each; and of the ``whole``, if only one of them moves, by at most that."""

    def each(self) -> list[Form]:
        return [*map(self.at, range(self.size))]

    def joint(self, name: str) -> Form:
        return self.whole or (either(self.each()) if name == "linf" else reduce(plus, self.each(), [{}]))

    def norm(self, name: str) -> Any:
        return largest_root(self.each()) if name == "l2" and not self.whole else largest(self.joint(name))

    def one(self, form: Form) -> "Vec":
        return self._replace(size=1, at=lambda _: form, whole=form)


def common(*grids: Fraction) -> Fraction:
    bottom = lcm(*(g.denominator for g in grids))
    return Fraction(gcd(*(int(g * bottom) for g in grids)), bottom) or ONE


def tally(rows: Table, keys: list[Col], col: Col | None) -> Vec:
    reach, grid, one_way = ONE, ONE, True
    if col is not None and col.dom.type != "boolean":  # without bounds, or of other than numbers: malformed
        reach, one_way = Fraction(max(-col.dom.lo, col.dom.hi)), col.dom.lo >= 0 or col.dom.hi <= 0
        if reach and (col.dom.type == "Float64" or reach >= 2**30):
            bits = int(reach).bit_length() if reach >= 1 else 1 - int(1 / reach).bit_length()
            grid = Fraction(2) ** (max(bits, -990) - 30)
    labels, form = [key.dom.keys() for key in keys], times(rows.form, reach)
    if not all(labels):
        raise Wrong("a column that has no finite list of values")

    def at(i: int) -> Form:
        steps: list[Any] = []
        for key, each in zip(reversed(keys), reversed(labels), strict=True):
            steps.insert(0, (rows.base, key.id, each[i % len(each)]))
            i //= len(each)
        return [{cell and (*cell, *steps): c for cell, c in form[0].items()}]

    return Vec(prod(map(len, labels)), at, form, grid, rows.cells, None in rows.form[0], one_way and rows.edits <= 1)


def vector(kind: str, f: list[Any]) -> Vec:
    """The facts of private numbers, from those of their inputs."""
    match kind, f:
        case "tally", [rows, keys, col]:
            return tally(rows, keys, col)
        case "distinct", [rows, key]:
            return tally(rows, [key], None).one(rows.form)
        case "ranks", [rows, col, points, below, above, target]:
            each, grid = times(rows.form, max(abs(below), abs(above))), common(below, above, abs(target))
            return Vec(len(points), lambda _: each, None, grid, rows.cells, None in rows.form[0], False)
        case "known", [c]:
            return Vec(1, lambda _: [{}], [{}], abs(c) or ONE, [], False, True)
        case "scale", [Vec() as a, c]:
            c, whole = abs(c), a.whole and times(a.whole, abs(c))
            return a._replace(at=lambda i: times(a.at(i), c), whole=whole, grid=a.grid * c or ONE)
        case "offset", [Vec() as a, c]:
            return a._replace(grid=common(a.grid, c))
        case "absolute", [Vec() as a]:
            return a._replace(monotone=False)
        case "element", [Vec() as a, i] if 0 <= i < a.size:
            cells = [cell for each in a.at(i) for cell, c in each.items() if cell and c < inf]  # or never released
            return a.one(a.at(i))._replace(cells=a.cells if a.capped else cells)
        case ("total", [Vec() as a]) | ("extreme", [_, Vec() as a]):
            return a.one(a.joint("l1" if kind == "total" else "linf"))
        case "add", [Vec() as a, Vec() as b]:
            alike = a.whole and b.whole and (a.size == 1 or set().union(*a.whole) == set().union(*b.whole))
            parts, whole = [a, b], plus(a.whole, b.whole) if alike else None
            size, at = a.size, lambda i: plus(a.at(i), b.at(i))
        case "stack" | "beside", [[Vec() as a, *_] as parts, labels] if len(parts) == len(labels):
            size, at, whole = len(parts) * a.size, lambda i: parts[i % len(parts)].at(i // len(parts)), None
        case _:
            raise NotImplementedError(f"operation {kind!r}")
    if len({v.size for v in parts}) != 1 or size > MOST_NUMBERS:
        raise Wrong("vectors of different size, or too long")
    cells = list(dict.fromkeys(cell for v in parts for cell in v.cells))
    return Vec(size, at, whole, common(*(v.grid for v in parts)), cells, any(v.capped for v in parts), False)
