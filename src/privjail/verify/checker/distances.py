"""Distances: how far rows or a number can move between neighbouring tables.

A distance is the maximum of some *linear forms* over the shares η of cells (see cells.py):

    constant + Σ coefficient(cell)·η(cell),      all coefficients ≥ 0.

The sensitivity is the largest value of a distance over all possible shares. The possible shares form a polytope:
η ≤ 1 for a data set, η ≥ 0, and Σ η(part) ≤ η(p) for each partition of a cell p. It is a tree, so no linear program
is needed:

- *Largest value of a form.* For one partition, Σ V(part)·η(part) with Σ η(part) ≤ η(p) is largest if the part with
  the largest V gets all of η(p). From the leaves up, V(p) = coefficient(p) + Σ over partitions of p of max V(part).
- *Largest value of a maximum of forms*: the largest of their largest values.
- *Largest sum of squares* (for the Euclidean norm). A sum of squares of maxima of forms with coefficients ≥ 0 is convex
  in η, so it is largest at a vertex of the polytope. At a vertex each partition of a cell with η = 1 gives 1 to one
  part (or none, which is never larger) and 0 to the others. All vertices are tried.

Several data sets are assumed to change at the same time. That is never less than what one privacy unit can change.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, isqrt

from privjail.verify.checker.cells import Cell, partitions
from privjail.verify.checker.verdict import CannotCheck, Number

ZERO = Fraction(0)
MOST_FORMS = 512  # in one maximum
MOST_VERTICES = 4096
LONGEST = 10**8000  # numerator times denominator: products along a plan must not grow for ever


@dataclass(frozen=True)
class LinearForm:
    """constant + Σ coefficients[cell]·η(cell); coefficients of 0 are left out."""

    constant: Number
    coefficients: dict[Cell, Number]

    def numbers(self) -> list[Number]:
        return [self.constant, *self.coefficients.values()]

    def largest(self) -> Number:
        """The largest value: V(p) from the leaves up, as above."""
        value: dict[Cell, Number] = defaultdict(lambda: ZERO, self.coefficients)
        for divided, parts in reversed(partitions(self.coefficients)):
            value[divided] += max(value[part] for part in parts)
        return self.constant + sum(v for cell, v in value.items() if not cell.steps)

    def at(self, chosen: frozenset[Cell]) -> Number:
        """The value where η is 1 for the chosen cells and 0 for the others."""
        return self.constant + sum(c for cell, c in self.coefficients.items() if cell in chosen)


Distance = tuple[LinearForm, ...]  # the maximum of these

NO_DISTANCE: Distance = (LinearForm(ZERO, {}),)


def maximum(distances: Iterable[Distance]) -> Distance:
    """The largest of several distances; 0 if there are none."""
    forms: list[LinearForm] = []
    for form in (form for distance in distances for form in distance):
        if form not in forms:
            forms.append(form)
        if len(forms) > MOST_FORMS:
            raise CannotCheck(f"a maximum of more than {MOST_FORMS} linear forms")
        if any(isinstance(x, Fraction) and abs(x.numerator * x.denominator) > LONGEST for x in form.numbers()):
            raise CannotCheck("a number is too long to compute with")
    return tuple(forms) or NO_DISTANCE


def plus(a: Distance, b: Distance) -> Distance:
    """max(x) + max(y) = max(x + y), over all pairs of forms."""
    sums = []
    for x, y in product(a, b):
        cells = [*x.coefficients, *(cell for cell in y.coefficients if cell not in x.coefficients)]
        both = {cell: x.coefficients.get(cell, ZERO) + y.coefficients.get(cell, ZERO) for cell in cells}
        sums.append((LinearForm(x.constant + y.constant, both),))
    return maximum(sums)


def times(distance: Distance, factor: Number) -> Distance:
    """A distance times a number ≥ 0. Zero times infinity is zero: a column that is always 0 adds nothing to a sum."""
    if not factor:
        return NO_DISTANCE
    return maximum(
        (LinearForm(x.constant and x.constant * factor, {cell: c * factor for cell, c in x.coefficients.items() if c}),)
        for x in distance
    )


def largest(distance: Distance) -> Number:
    """The sensitivity of a number with this distance."""
    return max(form.largest() for form in distance)


def vertices(distances: Iterable[Distance]) -> list[frozenset[Cell]]:
    """All ways to choose one part in each partition of each chosen cell, as the sets of cells where η is 1."""
    cells = {cell for distance in distances for form in distance for cell in form.coefficients}
    found = [frozenset(Cell(cell.data_set) for cell in cells)]
    for divided, parts in partitions(cells):
        outside = [chosen for chosen in found if divided not in chosen]  # nothing to choose below a cell with η = 0
        found = outside + [chosen | {part} for chosen in found if divided in chosen for part in parts]
        if len(found) > MOST_VERTICES:
            raise CannotCheck(f"more than {MOST_VERTICES} combinations of groups")
    return found


def largest_euclidean(distances: list[Distance]) -> Number:
    """The largest Euclidean norm of a vector whose elements have these distances.

    The square root is rounded down, by less than 2**-100: that much the certificate may be below it. If each distance
    is a multiple c·η of one cell, the sum of squares at a vertex is Σ c²·η, since η is 0 or 1 there: a linear form.
    """
    largest_square: Number = ZERO
    if all(len(d) == 1 and not d[0].constant and len(d[0].coefficients) <= 1 for d in distances):
        squares: dict[Cell, Number] = defaultdict(lambda: ZERO)
        for form in (form for distance in distances for form in distance):
            for cell, c in form.coefficients.items():
                squares[cell] += c * c
        largest_square = LinearForm(ZERO, dict(squares)).largest()
    else:
        for chosen in vertices(distances):
            moves = [max(form.at(chosen) for form in distance) for distance in distances]
            largest_square = max(largest_square, sum((x * x for x in moves), ZERO))
    if not isinstance(largest_square, Fraction):
        return inf
    scale = 1 << 128 + largest_square.denominator.bit_length()
    return Fraction(isqrt(largest_square.numerator * scale * scale // largest_square.denominator), scale)
