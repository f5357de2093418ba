"""Private numbers and vectors: how far each element can move, and all of them together.

The *sensitivity* in a norm (L1, L2, L∞) is the largest change of the vector, in that norm, between neighbouring
tables. Two ways to bound it are known here. Either each element has a distance of its own, and all may move at once.
Or ``one_moves`` bounds the sum of all changes: one edit of the rows moves one element only (a count by groups), so
the L1 norm is at most that, and no other norm is larger than L1.

A value also has a *grid*: a public number of which every element is a multiple, whatever the data. Noise is drawn in
steps of a grid, and noise on a grid that the value does not lie on would show where it lies. And it is *monotone* if
adding a privacy unit moves all elements in the same direction.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import frexp, gcd, inf, lcm, prod
from typing import Any

from privjail.verify.checker.cells import Cell, Step
from privjail.verify.checker.columns import Column
from privjail.verify.checker.distances import (
    NO_DISTANCE,
    Distance,
    LinearForm,
    largest,
    largest_euclidean,
    maximum,
    plus,
    times,
)
from privjail.verify.checker.reading import bound, number, truth
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import CannotCheck, Number, Refuted, Report

ONE = Fraction(1)
MOST_ELEMENTS = 10**6  # of vectors whose elements are looked at one by one
SUM_BITS = 30  # the largest summand has at most this many steps of the grid, in bits
LEAST_EXPONENT = -990


@dataclass(frozen=True)
class Numbers:
    """A private vector; a single number is a vector of one element."""

    size: int
    element: Callable[[int], Distance]  # how far one element can move by itself
    one_moves: Distance | None  # if known: a bound on the sum of the changes of all elements
    grid: Fraction
    cells: tuple[Cell, ...]  # the parts of the data that it depends on
    has_constant_bound: bool  # some part of its distance is a constant, not a multiple of η
    monotone: bool

    def elements(self) -> list[Distance]:
        return [self.element(i) for i in range(self.size)]

    def joint(self, norm: str) -> Distance:
        """The distance in L1 (all elements move, by the sum) or L∞ (the largest of them)."""
        if self.one_moves is not None:
            return self.one_moves
        return maximum(self.elements()) if norm == "linf" else reduce(plus, self.elements(), NO_DISTANCE)

    def sensitivity(self, norm: str) -> Number:
        if norm == "l2" and self.one_moves is None:
            return largest_euclidean(self.elements())
        return largest(self.joint(norm))

    def one_number(self, distance: Distance) -> "Numbers":
        """A single number that depends on the same data."""
        return replace(self, size=1, element=lambda _: distance, one_moves=distance)


def common_grid(*grids: Fraction) -> Fraction:
    """The coarsest grid that holds all multiples of each: the greatest common divisor of fractions."""
    denominator = lcm(*(grid.denominator for grid in grids))
    return Fraction(gcd(*(int(grid * denominator) for grid in grids)), denominator) or ONE


# -- numbers from rows


def tally(rows: Rows, keys: list[Column], column: Column | None) -> Numbers:
    """Counts of rows, or sums of a column, for each combination of the keys' values.

    One edited row is in at most one group, and moves it by 1 or by at most max(|low|, |high|): ``one_moves``. A group
    alone is moved by the edits in its own cell. All move in one direction if one row is edited and values have one
    sign.
    """
    reach, grid, one_sign = summand(column)
    values = [key.domain.keys() for key in keys]
    if not all(values):
        raise Refuted("a key has no finite list of values")
    whole = times(rows.distance, reach)

    def element(i: int) -> Distance:
        """Element i, counted with the last key fastest."""
        steps: list[Step] = []
        for key, its_values in zip(reversed(keys), reversed(values), strict=True):
            i, position = divmod(i, len(its_values))
            steps.insert(0, Step(rows.base, key.node, its_values[position]))
        return tuple(LinearForm(x.constant, {c.extended(*steps): v for c, v in x.coefficients.items()}) for x in whole)

    size, monotone = prod(map(len, values)), one_sign and rows.edits <= 1
    return Numbers(size, element, whole, grid, rows.cells, rows.cap is not None, monotone)


def summand(column: Column | None) -> tuple[Fraction, Fraction, bool]:
    """Of one row's part of a count or sum: the largest absolute value, the grid, and whether all have the same sign."""
    if column is None or column.domain.type == "boolean":
        return ONE, ONE, True
    domain = column.domain
    if domain.type not in ("Int64", "Float64") or inf in (-domain.low, domain.high):
        raise CannotCheck("a sum needs numbers with two bounds")
    largest_value = Fraction(max(-domain.low, domain.high))
    return largest_value, sum_grid(largest_value, domain.type), domain.low >= 0 or domain.high <= 0


def sum_grid(largest_value: Fraction, type_: str) -> Fraction:
    """The grid that summands are rounded to, which is part of what a sum means in a plan.

    Whole numbers below 2**30 are added as they are. Others are rounded, toward zero, to 30 bits of the largest value.
    """
    if not largest_value or (type_ == "Int64" and largest_value < 2**SUM_BITS):
        return ONE
    exponent = frexp(float(largest_value))[1]  # the least one with float(largest_value) < 2**exponent
    return Fraction(2) ** (max(exponent, LEAST_EXPONENT) - SUM_BITS)


def distinct(rows: Rows, key: Column) -> Numbers:
    """How many values of a key occur: one edited row makes at most one appear or disappear."""
    return tally(rows, [key], None).one_number(rows.distance)


def quantile_scores(rows: Rows, points: list[Any], below: Fraction, above: Fraction, target: Fraction) -> Numbers:
    """How good each candidate is as a quantile: -max(0, too_high, too_low), where both are sums of ±``below`` for
    rows on one side of the candidate, ±``above`` for rows on the other, and ±``target``.

    One edited row moves every score by at most the larger weight. Some rise and some fall.
    """
    each, grid = times(rows.distance, max(abs(below), abs(above))), common_grid(below, above, abs(target))
    return Numbers(len(points), lambda _: each, None, grid, rows.cells, rows.cap is not None, monotone=False)


def public_number(value: Fraction) -> Numbers:
    """A constant does not move."""
    return Numbers(1, lambda _: NO_DISTANCE, NO_DISTANCE, abs(value) or ONE, (), False, monotone=True)


# -- numbers from numbers


def scale(a: Numbers, factor: Fraction) -> Numbers:
    """a·c moves |c| times as far; all in one direction if a did."""
    size, whole = abs(factor), a.one_moves
    return replace(
        a,
        element=lambda i: times(a.element(i), size),
        one_moves=None if whole is None else times(whole, size),
        grid=a.grid * size or ONE,
    )


def offset(a: Numbers, constant: Fraction) -> Numbers:
    """a + c moves as far as a does."""
    return replace(a, grid=common_grid(a.grid, constant))


def absolute(a: Numbers) -> Numbers:
    """| |x| - |y| | ≤ |x - y|; but what grew may now shrink."""
    return replace(a, monotone=False)


def element(a: Numbers, i: int) -> Numbers:
    """One element depends on its own cells only; a constant bound does not tell in which cells the rows are.

    A cell with an infinite coefficient need not be listed: such a number has no sensitivity and cannot be released.
    """
    if type(i) is not int or not 0 <= i < a.size:
        raise CannotCheck("no such element")
    alone = a.element(i)
    own = (cell for form in alone for cell, coefficient in form.coefficients.items() if coefficient < inf)
    return replace(a.one_number(alone), cells=a.cells if a.has_constant_bound else tuple(dict.fromkeys(own)))


def total(a: Numbers) -> Numbers:
    """The sum of all elements moves by at most their L1 distance."""
    return a.one_number(a.joint("l1"))


def extreme(a: Numbers) -> Numbers:
    """The largest (or smallest) element moves by at most the L∞ distance."""
    return a.one_number(a.joint("linf"))


def add(a: Numbers, b: Numbers) -> Numbers:
    """Element by element. If in both one element moves per edit, the sums of all changes add up as well.

    That bound is used where both depend on the same cells: otherwise the distances of the elements are smaller.
    """
    both, x, y = None, a.one_moves, b.one_moves
    if x is not None and y is not None and (a.size == 1 or terms(x) == terms(y)):
        both = plus(x, y)
    return combined([a, b], a.size, lambda i: plus(a.element(i), b.element(i)), both)


def terms(distance: Distance) -> tuple[set[Cell], bool]:
    """The cells that a distance depends on, and whether it has a constant term."""
    return {cell for form in distance for cell in form.coefficients}, any(form.constant for form in distance)


def stack(parts: list[Numbers], labels: list[Any]) -> Numbers:
    """Vectors of one length side by side: element i of each, then element i + 1 of each. All may move at once."""
    if not parts or len(parts) != len(labels):
        raise CannotCheck("a vector needs at least one part, and a label for each")
    count = len(parts)
    return combined(parts, count * parts[0].size, lambda i: parts[i % count].element(i // count), None)


def combined(
    parts: list[Numbers], size: int, element: Callable[[int], Distance], one_moves: Distance | None
) -> Numbers:
    """What holds for all parts, holds for the whole: the same length, a common grid, all their cells."""
    if len({part.size for part in parts}) != 1 or size > MOST_ELEMENTS:
        raise Refuted("vectors of different size, or too long")
    cells = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
    grid, constant = common_grid(*(part.grid for part in parts)), any(part.has_constant_bound for part in parts)
    return Numbers(size, element, one_moves, grid, cells, constant, monotone=False)


def check_claims(derived: Numbers, claims: dict[str, Any], cells: tuple[Cell, ...], report: Report) -> Numbers:
    """Compare the claimed facts with the derived ones; the claimed ones are what later nodes rest on."""
    grid, constant, monotone = number(claims["grid"]), truth(claims["capped"]), truth(claims["monotone"])
    wrong = {
        "size": derived.size != claims["size"],
        "cells": not set(derived.cells) <= set(cells),
        "grid": grid <= 0 or (derived.grid / grid).denominator != 1,  # every multiple of the derived grid must be on it
        "constant bound": derived.has_constant_bound and not constant,
        "direction": monotone and not derived.monotone,
    }
    if any(wrong.values()):
        raise Refuted(f"not as claimed: {', '.join(name for name in wrong if wrong[name])}")
    report.require("the distance", bound(claims["distance"]), derived.sensitivity("linf"))
    return replace(derived, grid=grid, cells=cells, has_constant_bound=constant, monotone=monotone)
