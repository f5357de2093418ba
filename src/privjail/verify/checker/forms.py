"""Distances as the largest of several linear forms over cells, maximised by linear programming.

A cell is a path of steps: ((data set,), (base, by, key), …). η of a data set is at most 1, and the cells that one
partition makes of a cell share its η. The solution of such a programme is 0 or 1 everywhere (the constraints are a
tree), so the solver's answer is rounded and evaluated exactly; the solver only has to find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

Cell = tuple[tuple[Any, ...], ...]
Linear = dict[Cell | None, Fraction]  # None: the constant
Form = list[Linear] | None  # the largest of these; None: no bound
MOST_FORMS, MOST_VERTICES = 512, 4096
ZERO = Fraction(0)


class CannotCheck(Exception):
    """Something that this checker does not know, or cannot do in reasonable time."""


class Wrong(Exception):
    """A claim that does not follow."""


def either(forms: Iterable[Form]) -> Form:
    """The largest of several forms."""
    out: list[Linear] = []
    for form in forms:
        if form is None:
            return None
        out += [each for each in form if each not in out]
        if len(out) > MOST_FORMS:
            raise CannotCheck("a maximum of too many numbers")
    return out or [{}]


def plus(a: Form, b: Form) -> Form:
    if a is None or b is None:
        return None
    sums = ({cell: x.get(cell, ZERO) + y.get(cell, ZERO) for cell in {*x, *y}} for x, y in product(a, b))
    return either([each] for each in sums)


def times(a: Form, factor: Fraction) -> Form:
    if a is None or not factor:
        return [{}] if not factor else None
    return [{cell: c * factor for cell, c in each.items()} for each in a]


def cells_of(form: Form) -> set[Cell]:
    return {cell for each in form or [] for cell, c in each.items() if cell is not None and c}


def largest(form: Form) -> Fraction | None:
    """The largest value over everything that one privacy unit can do."""
    return None if form is None else max(map(_solved, form))


def at_vertex(linear: Linear, on: frozenset[Cell]) -> Fraction:
    return sum((c for cell, c in linear.items() if cell is None or cell in on), ZERO)


def _solved(linear: Linear) -> Fraction:
    terms: Linear = {cell: c for cell, c in linear.items() if cell is not None and c}
    most = max(terms.values(), default=ZERO)
    if len(terms) <= 1 or min(terms.values()) * 10**6 < most:  # or the solver's tolerance would swallow some
        return linear.get(None, ZERO) + max(at_vertex(terms, on) for on in vertices(terms))
    import numpy as np
    from scipy.optimize import linprog

    places = {cell: i for i, cell in enumerate(_closed(terms))}
    parts: dict[Any, list[Cell]] = {}
    for cell in places:
        parts.setdefault((cell[:-1], cell[-1][:2]), []).append(cell)
    matrix, limits = np.zeros((len(parts), len(places))), [float(not above) for above, _ in parts]
    for row, ((above, _), cells) in zip(matrix, parts.items(), strict=True):
        row[[places[cell] for cell in cells]] = 1.0
        if above:
            row[places[above]] = -1.0
    found = linprog([-float(terms.get(cell, ZERO) / most) for cell in places], matrix, limits, bounds=(0, 1))
    value = at_vertex(terms, frozenset(cell for cell, i in places.items() if found.x[i] > 0.5))
    allowed = found.status == 0 and not (matrix @ (found.x > 0.5) > limits).any()
    if not allowed or abs(float(value / most) + found.fun) > 1e-6 * (1 - found.fun):
        raise CannotCheck("the linear programme was not solved in whole numbers")
    return linear.get(None, ZERO) + value


def _closed(cells: Iterable[Cell | None]) -> list[Cell]:
    """The cells and all above them."""
    return sorted({cell[:n] for cell in cells if cell is not None for n in range(1, len(cell) + 1)}, key=len)


def vertices(cells: Iterable[Cell | None]) -> list[frozenset[Cell]]:
    """All ways in which a unit falls into one part of each partition: the cells where η is 1."""
    parts: dict[Cell, dict[Any, list[Cell]]] = {(): {}}
    for cell in _closed(cells):
        parts[cell] = {}
        parts[cell[:-1]].setdefault(cell[-1][:2], []).append(cell)
    left = MOST_VERTICES

    def below(cell: Cell) -> Iterator[frozenset[Cell]]:
        nonlocal left
        for chosen in product(*([w for c in children for w in below(c)] for children in parts[cell].values())):
            left -= 1
            if left < 0:
                raise CannotCheck("too many combinations of groups")
            yield frozenset({cell}).union(*chosen)

    return list(below(()))


def largest_square(forms: list[Form]) -> Fraction | None:
    """The largest sum of squares of several forms; at its largest η is 0 or 1 everywhere."""
    if any(form is None for form in forms):
        return None
    known = [form for form in forms if form]
    ways = vertices(cell for form in known for cell in cells_of(form))
    return max(sum((max(at_vertex(x, on) for x in form) ** 2 for form in known), ZERO) for on in ways)


def root_below(x: Fraction) -> Fraction:
    """√x, less than a part in 2**100 too small: what a claim must at least be."""
    shift = 1 << 128 + x.denominator.bit_length()
    return Fraction(isqrt(x.numerator * shift * shift // x.denominator), shift)
