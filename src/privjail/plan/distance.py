"""Distances as functions of the cells' η: linear forms, sums of them, and maxima of them.

A distance is const + Σ c·η(cell) + Σ max(…), all coefficients ≥ 0. Its *value* is its largest value
over all η that the cell tree allows: η(whole) ≤ 1, Σₖ η(p/g=k) ≤ η(p), η ≥ 0.

Linear forms. Each cell is worth V(p) = c(p) + Σ_g maxₖ V(p/g=k) per unit of η(p): by induction from the
leaves, the best use of η(p) = t is to give all of it, for each partition g separately, to the child
with the largest V, which yields t·V(p). So the value is const + Σ V(whole data sets), in linear time.

Maxima. A sum of maxima of linear forms is convex, so its largest value over the polytope is at a
vertex. Coefficients are ≥ 0, so only vertices matter where every partition has chosen one child: cells
on the chosen branches have η = 1, all others 0. These are tried one by one when they are few (where one
chain of partitions is involved they are just the leaves). When they are many, max(Σ aᵢηᵢ, Σ bᵢηᵢ) is
replaced by Σ max(aᵢ, bᵢ)ηᵢ, which is never smaller because η ≥ 0.

Euclidean norms. (Σⱼ dⱼ(η)²)^½ is convex too, and at a vertex η² = η. If each dⱼ is c·η(one cell), the
squared norm at a vertex is the linear form Σ c²·η(cell): the same V gives its largest value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import isqrt

from privjail.plan.cells import Cell

VERTICES = 4096  # at most so many vertices are tried one by one
ENTRIES = 2**22  # with at most so many cells in all of them together
Number = int | Fraction


@dataclass(frozen=True, eq=False)
class Distance:
    """How far a number, or a table, can move when one privacy unit is added or removed."""

    const: Number | None = 0  # None: unbounded
    terms: dict[Cell, Number] = field(default_factory=dict)
    maxima: tuple[tuple[Distance, ...], ...] = ()

    def __add__(self, other: Distance) -> Distance:
        if self.const is None or other.const is None:
            return UNBOUNDED
        terms = dict(self.terms)
        for cell, c in other.terms.items():
            terms[cell] = terms.get(cell, 0) + c
        return Distance(self.const + other.const, terms, self.maxima + other.maxima)

    def __mul__(self, factor: Number) -> Distance:
        if factor == 1:
            return self
        if factor < 0:
            raise ValueError("a distance is scaled by a factor ≥ 0")
        return self._times(factor, {})

    __rmul__ = __mul__

    def _times(self, factor: Number, done: dict[int, Distance]) -> Distance:
        """Multiply. A form that occurs in several maxima is multiplied once and stays one object."""
        known = done.get(id(self))
        if known is None:
            if self.const is None:
                known = UNBOUNDED if factor else Distance()
            else:
                terms = {cell: c * factor for cell, c in self.terms.items()}
                maxima = tuple([tuple([d._times(factor, done) for d in peak]) for peak in self.maxima])
                known = Distance(self.const * factor, terms, maxima)
            done[id(self)] = known
        return known

    @property
    def parts(self) -> int:
        """How many forms and terms it has, with all its maxima written out."""
        return 1 + len(self.terms) + (self._in_peaks if self.maxima else 0)

    @cached_property
    def _in_peaks(self) -> int:
        return sum([d.parts for peak in self.maxima for d in peak])

    @cached_property
    def value(self) -> Number | None:
        """The largest value that one privacy unit can cause; None if there is no bound."""
        if self.const is None:
            return None
        if not self.maxima:
            return self.const + _linear_value(self.terms)
        if any(d.value is None for peak in self.maxima for d in peak):
            return None
        vertices = few_vertices(self.cells())
        if vertices is None:
            return self.flattened().value
        return max(self.at(on) for on in vertices)

    def at(self, on: frozenset[Cell] | set[Cell]) -> Number:
        """The value at a vertex: η = 1 on these cells, 0 elsewhere."""
        total = self.const or 0
        for cell, c in self.terms.items():
            if cell in on:
                total += c
        for peak in self.maxima:
            total += max(d.at(on) for d in peak)
        return total

    def flattened(self) -> Distance:
        """A linear form that is never smaller."""
        flat = Distance(self.const, self.terms)
        for peak in self.maxima:
            forms = [d.flattened() for d in peak]
            cells = {cell for d in forms for cell in d.terms}
            flat = flat + Distance(
                max(d.const or 0 for d in forms),
                {cell: max(d.terms.get(cell, 0) for d in forms) for cell in cells},
            )
        return flat

    def cells(self) -> set[Cell]:
        found = set(self.terms)
        for peak in self.maxima:
            for d in peak:
                found |= d.cells()
        return found

    def __str__(self) -> str:
        return "∞" if self.value is None else show(self.value)


UNBOUNDED = Distance(None)


def greatest(distances: Sequence[Distance]) -> Distance:
    """The distance of a maximum or minimum of numbers: max(x, y) moves no further than x or y does."""
    distinct = list({id(d): d for d in distances}.values())
    if not distinct:
        return Distance()
    if any(d.const is None for d in distinct):
        return UNBOUNDED
    return distinct[0] if len(distinct) == 1 else Distance(0, {}, (tuple(distinct),))


def added(distances: Sequence[Distance]) -> Distance:
    """The sum of many distances, in one go."""
    total: dict[Cell, Number] = {}
    const: Number = 0
    maxima: list[tuple[Distance, ...]] = []
    for d in distances:
        if d.const is None:
            return UNBOUNDED
        const += d.const
        maxima.extend(d.maxima)
        for cell, c in d.terms.items():
            total[cell] = total.get(cell, 0) + c
    return Distance(const, total, tuple(maxima))


def l1(distances: Sequence[Distance]) -> Number | None:
    """The largest joint change of a vector, in the sum of absolute values."""
    return added(distances).value


def l2_squared(distances: Sequence[Distance]) -> Number | None:
    """The largest joint change of a vector, in the sum of squares."""
    if any(d.value is None for d in distances):
        return None
    if all(not d.maxima and not d.const and len(d.terms) <= 1 for d in distances):
        squares: dict[Cell, Number] = {}
        for d in distances:
            for cell, c in d.terms.items():
                squares[cell] = squares.get(cell, 0) + c * c
        return _linear_value(squares)
    vertices = few_vertices({cell for d in distances for cell in d.cells()})
    if vertices is None:  # ‖x‖₂ ≤ ‖x‖₁
        bound = l1(distances)
        return None if bound is None else bound * bound
    return max(sum((d.at(on) ** 2 for d in distances), Fraction(0)) for on in vertices)


def sqrt_up(x: Number) -> Fraction:
    """A fraction that is at least √x: √x itself where that is rational, else less than a part in 2**62 above it."""
    x = Fraction(x)
    top, bottom = isqrt(x.numerator), isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    scale = 1 << 64 + max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 1
    return Fraction(isqrt(x.numerator * scale * scale // x.denominator) + 1, scale)


def show(x: Number) -> str:
    """A number for people: whole if it is whole, else a short decimal."""
    size = abs(Fraction(x))
    try:
        return str(x.numerator) if x.denominator == 1 and size < 10**30 else f"{float(x):.6g}"
    except OverflowError:
        return f"{'-' if x < 0 else ''}2**{int(size).bit_length()}"


def _linear_value(terms: dict[Cell, Number]) -> Number:
    first = next(iter(terms), None)
    if first is None:
        return 0
    if first.parent is not None and all([c.parent is first.parent and c.partition is first.partition for c in terms]):
        return max(terms.values())  # siblings share the η of their parent: all of it goes to the largest
    worth: dict[Cell, Number] = {}
    best: dict[Cell, dict[object, Number]] = {}
    for cell in sorted(_closed(terms), key=lambda c: c.depth, reverse=True):
        worth[cell] = terms.get(cell, 0) + sum(best.get(cell, {}).values())
        if cell.parent is not None:
            siblings = best.setdefault(cell.parent, {})
            siblings[cell.partition] = max(siblings.get(cell.partition, 0), worth[cell])
    return sum((v for cell, v in worth.items() if cell.parent is None), 0)


def _closed(cells: Iterable[Cell]) -> set[Cell]:
    """The cells and all their ancestors."""
    found: set[Cell] = set()
    for cell in cells:
        step: Cell | None = cell
        while step is not None and step not in found:
            found.add(step)
            step = step.parent
    return found


def few_vertices(cells: set[Cell]) -> list[frozenset[Cell]] | None:
    """The vertices that matter, each as the set of cells with η = 1; None if they are too many."""
    below: dict[Cell, dict[object, list[Cell]]] = {}
    closed = _closed(cells)
    for cell in closed:
        if cell.parent is not None:
            below.setdefault(cell.parent, {}).setdefault(cell.partition, []).append(cell)

    count: dict[Cell, int] = {}
    for cell in sorted(closed, key=lambda c: c.depth, reverse=True):
        ways = 1
        for children in below.get(cell, {}).values():
            ways *= sum(count[child] for child in children)
        count[cell] = ways
    roots = [cell for cell in closed if cell.parent is None]
    total = 1
    for root in roots:
        total *= count[root]
    if total > VERTICES or total * len(closed) > ENTRIES:
        return None

    def branches(cell: Cell) -> Iterator[frozenset[Cell]]:
        options = [[b for child in children for b in branches(child)] for children in below.get(cell, {}).values()]
        for chosen in product(*options):
            yield frozenset({cell}).union(*chosen)

    return [frozenset().union(*chosen) for chosen in product(*(list(branches(root)) for root in roots))]
