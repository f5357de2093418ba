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
MOST_FORMS = 512
MOST_VERTICES = 4096


class CannotCheck(Exception):
    """Something that this checker does not know, or cannot do in reasonable time."""


class Wrong(Exception):
    """A claim that does not follow."""


def plus(a: Form, b: Form) -> Form:
    if a is None or b is None:
        return None
    if len(a) * len(b) > MOST_FORMS:
        raise CannotCheck("a sum of too many maxima")
    out: list[Linear] = []
    for x, y in product(a, b):
        both = {cell: x.get(cell, Fraction(0)) + y.get(cell, Fraction(0)) for cell in {*x, *y}}
        if both not in out:
            out.append(both)
    return out


def times(a: Form, factor: Fraction) -> Form:
    if not factor:
        return [{}]
    return None if a is None else [{cell: c * factor for cell, c in each.items()} for each in a]


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


def cells_of(form: Form) -> set[Cell]:
    return {cell for each in form or [] for cell, c in each.items() if cell is not None and c}


def largest(form: Form) -> Fraction | None:
    """The largest value over everything that one privacy unit can do."""
    return None if form is None else max(_solved(each) for each in form)


def _solved(linear: Linear) -> Fraction:
    constant = linear.get(None, Fraction(0))
    terms = {cell: c for cell, c in linear.items() if cell is not None and c}
    if len(terms) <= 1:
        return constant + sum(terms.values())
    most = max(terms.values())
    if min(terms.values()) * 10**6 < most:  # the solver's tolerance would swallow the small ones
        return constant + max(sum((c for cell, c in terms.items() if cell in on), Fraction(0)) for on in vertices(terms))
    import numpy as np
    from scipy.optimize import linprog

    places = {cell: i for i, cell in enumerate(_closed(terms))}
    rows: dict[Any, Any] = {}
    limits: dict[Any, float] = {}
    for cell, i in places.items():
        key = cell if len(cell) == 1 else (cell[:-1], cell[-1][:2])
        row = rows.setdefault(key, np.zeros(len(places)))
        row[i] = 1.0
        limits[key] = 1.0 if len(cell) == 1 else 0.0
        if len(cell) > 1:
            row[places[cell[:-1]]] = -1.0
    gain = [-float(terms.get(cell, 0) / most) for cell in places]
    found = linprog(gain, np.array(list(rows.values())), list(limits.values()), bounds=(0, 1))
    if found.status != 0:
        raise CannotCheck("the linear programme was not solved")
    on = np.round(found.x)
    value = sum((c for cell, c in terms.items() if on[places[cell]]), Fraction(0))
    feasible = all(row @ on <= limits[key] + 1e-9 for key, row in rows.items())
    if not feasible or abs(float(value / most) + found.fun) > 1e-6 * (1 + abs(found.fun)):
        raise CannotCheck("the linear programme has no whole solution")
    return constant + value


def _closed(cells: Iterable[Cell | None]) -> list[Cell]:
    """The cells and all above them."""
    return sorted({cell[:n] for cell in cells if cell is not None for n in range(1, len(cell) + 1)}, key=len)


def vertices(cells: Iterable[Cell | None]) -> list[frozenset[Cell]]:
    """All ways in which a unit falls into one part of each partition: the cells where η is 1."""
    closed = _closed(cells)
    parts: dict[Cell, dict[Any, list[Cell]]] = {cell: {} for cell in closed}
    for cell in closed:
        if len(cell) > 1:
            parts[cell[:-1]].setdefault(cell[-1][:2], []).append(cell)

    def below(cell: Cell) -> Iterator[frozenset[Cell]]:
        options = [[way for child in children for way in below(child)] for children in parts[cell].values()]
        for chosen in product(*options):
            yield frozenset({cell}).union(*chosen)

    ways: list[frozenset[Cell]] = []
    for chosen in product(*([*below(cell)] for cell in closed if len(cell) == 1)):
        ways.append(frozenset().union(*chosen))
        if len(ways) > MOST_VERTICES:
            raise CannotCheck("too many combinations of groups")
    return ways


def largest_square(forms: list[Form]) -> Fraction | None:
    """The largest sum of squares of several forms; at its largest η is 0 or 1 everywhere."""
    if any(form is None for form in forms):
        return None
    best = Fraction(0)
    for on in vertices({cell for form in forms for cell in cells_of(form)}):
        each = (
            max(sum((c for cell, c in linear.items() if cell is None or cell in on), Fraction(0)) for linear in form)
            for form in forms
            if form
        )
        best = max(best, sum((x * x for x in each), Fraction(0)))
    return best


def root_below(x: Fraction) -> Fraction:
    """√x, less than a part in 2**100 too small: what a claim must at least be."""
    shift = 1 << 128 + x.denominator.bit_length()
    return Fraction(isqrt(x.numerator * shift * shift // x.denominator), shift)
