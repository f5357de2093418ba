"""Distances as the largest of several linear forms over cells.

A cell is a path of steps: ((data set,), (base, by, key), …). η of a data set is at most 1, and the cells that one
partition makes of a cell share its η. A form is largest where η is 0 or 1 everywhere (the constraints are a tree).
"""

from collections.abc import Iterable
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


def whole(x: Any, least: int) -> int:
    """A whole number of at least this size: anything else could turn a distance around."""
    if type(x) is not int or x < least:
        raise Wrong(f"{x!r} is no whole number from {least} on")
    return x


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


def _solved(linear: Linear) -> Fraction:
    """A unit is in one part of each partition: the largest part of each, from the leaves up."""
    parts: dict[Cell, dict[Any, Fraction]] = {(): {}}
    for cell in reversed(_closed(linear)):
        inside = sum(parts.get(cell, {}).values(), linear.get(cell, ZERO))
        siblings, name = parts.setdefault(cell[:-1], {}), cell[-1][:2]
        siblings[name] = max(siblings.get(name, ZERO), inside)
    return sum(parts[()].values(), linear.get(None, ZERO))


def _closed(cells: Iterable[Cell | None]) -> list[Cell]:
    """The cells and all above them."""
    return sorted({cell[:n] for cell in cells if cell is not None for n in range(1, len(cell) + 1)}, key=len)


def vertices(cells: Iterable[Cell | None]) -> list[frozenset[Cell]]:
    """All ways in which a unit falls into one part of each partition: the cells where η is 1."""
    parts: dict[Any, list[Cell]] = {}
    for cell in _closed(cells):
        parts.setdefault((cell[:-1], cell[-1][:2]), []).append(cell)
    ways: list[frozenset[Cell]] = [frozenset([()])]
    for (above, _), below in parts.items():  # those above come first
        ways = [on | {cell} for on in ways for cell in (below if above in on else [above[:0]])]
        if len(ways) > MOST_VERTICES:
            raise CannotCheck("too many combinations of groups")
    return ways


def largest_square(forms: list[Form]) -> Fraction | None:
    """The largest sum of squares of several forms; at its largest η is 0 or 1 everywhere."""
    if any(form is None for form in forms):
        return None
    known = [form for form in forms if form]
    ways = vertices(cell for form in known for cell in cells_of(form))
    return max(sum((max(_at(x, on) for x in form) ** 2 for form in known), ZERO) for on in ways)


def _at(linear: Linear, on: frozenset[Cell]) -> Fraction:
    return sum((c for cell, c in linear.items() if cell is None or cell in on), ZERO)


def root_below(x: Fraction) -> Fraction:
    """√x, less than a part in 2**100 too small: what a claim must at least be."""
    shift = 1 << 128 + x.denominator.bit_length()
    return Fraction(isqrt(x.numerator * shift * shift // x.denominator), shift)
