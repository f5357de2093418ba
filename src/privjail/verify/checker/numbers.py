"""Private numbers and vectors: how far each element can move, and all of them together.

The *sensitivity* in a norm (L1, L2, L∞) is the largest change of the vector, in that norm, between neighbouring
tables. It is bounded in one of two ways. In general each element has a distance of its own, and all elements may move
at once. If each edit of the rows moves one element only (counts by group), a bound on the *sum* of all changes is
known. That is the L1 norm, and no other norm is larger.

A vector also has a *grid*: a public number of which every element is a multiple, whatever the data. Noise is drawn in
steps of a grid; if the value did not lie on it, the answer would show its position between two steps. And a vector is
*monotone* if adding a privacy unit never moves one element up and another one down.
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
from privjail.verify.checker.norms import row_norm
from privjail.verify.checker.reading import bound, number, truth
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import CannotCheck, Number, Refuted, Report

ONE = Fraction(1)
MOST_ELEMENTS = 10**6  # of vectors whose elements are looked at one by one
SUM_BITS = 30  # the largest summand is below 2**30 steps of the grid
LEAST_EXPONENT = -990  # a finer grid would be below the smallest floats


@dataclass(frozen=True)
class Numbers:
    """A private vector; a single number is a vector of one element."""

    size: int
    element_distance: Callable[[int], Distance]  # how far one element can move, whatever the others do
    sum_of_changes: Distance | None  # a bound on the sum of the absolute changes of all elements, if one is known
    grid: Fraction
    cells: tuple[Cell, ...]  # the parts of the data that it depends on
    has_constant_bound: bool  # some part of its distance is a constant, not a multiple of η
    monotone: bool
    net: Distance | None = None  # a bound on the change of any element and of the sum of all, if a better one is known
    one_moves: bool = False  # at most one element moves, whatever one privacy unit does
    norms: Callable[[str], Distance] | None = None  # a bound on the whole vector in each norm, if rows have one
    keyed: bool = False  # which elements there are is private: nothing is computed from it

    def element_distances(self) -> list[Distance]:
        return [self.element_distance(i) for i in range(self.size)]

    def joint(self, norm: str) -> Distance:
        """The distance of the whole vector in L1 (the sum over elements) or L∞ (the largest element)."""
        if norm == "linf" and self.net is not None:
            return self.net
        if self.sum_of_changes is not None:
            return self.sum_of_changes
        if self.norms is not None:
            return self.norms(norm)
        each = self.element_distances()
        return maximum(each) if norm == "linf" else reduce(plus, each, NO_DISTANCE)

    def sensitivity(self, norm: str) -> Number:
        if norm == "l2" and self.norms is not None:
            return largest(self.norms(norm))
        if norm == "l2" and self.sum_of_changes is None:
            return largest_euclidean(self.element_distances())
        return largest(self.joint(norm))

    def one_number(self, distance: Distance) -> "Numbers":
        """A single number that depends on the same data."""
        return replace(self, size=1, element_distance=lambda _: distance, sum_of_changes=distance, net=None, norms=None)


def common_grid(*grids: Fraction) -> Fraction:
    """The coarsest grid that holds all multiples of each: the greatest common divisor of fractions."""
    denominator = lcm(*(grid.denominator for grid in grids))
    return Fraction(gcd(*(int(grid * denominator) for grid in grids)), denominator) or ONE


# -- numbers from rows


def tally(rows: Rows, keys: list[Column], column: Column | None) -> Numbers:
    """Counts of rows, or sums of a column, for each combination of the keys' values.

    One edited row is in at most one group, and moves it by 1 or by at most max(|low|, |high|). So the sum of all
    changes is at most that times the distance of the rows. One group is moved by the edits in its own cell only, and
    by what comes in less what goes out; so is a single number, and the sum of all groups. The vector is monotone if
    at most one row is edited, or if rows only come in and all values have the same sign.
    """
    low, high, grid = summand(column)
    most_per_row, net = max(-low, high), rows.sum_distance(low, high)
    values = [key.domain.keys() for key in keys]
    if not all(values):
        raise Refuted("a key has no finite list of values")
    whole = times(rows.distance, most_per_row)

    def distance_of_group(i: int) -> Distance:
        """The values of the keys for element i; those of the last key change fastest."""
        if rows.cap is not None or rows.redrawn:
            return net
        steps: list[Step] = []
        for key, its_values in zip(reversed(keys), reversed(values), strict=True):
            i, position = divmod(i, len(its_values))
            steps.insert(0, Step(*divided(rows.base, key), its_values[position]))
        return tuple(LinearForm(x.constant, {c.extended(*steps): v for c, v in x.coefficients.items()}) for x in whole)

    size, one_moves = prod(map(len, values)), rows.edits <= 1
    monotone = one_moves or (not rows.deleted and (low >= 0 or high <= 0))
    found = Numbers(size, distance_of_group, whole, grid, rows.cells, rows.cap is not None, monotone, net, one_moves)
    return found if keys else found.one_number(net)


def divided(base: int, key: Column) -> tuple[int, int]:
    """The partition by a key: of the rows, or of the persons if it is looked up where each has at most one row.

    The key is not null in a group, so the row's person has a row there with the same value: see people.py.
    """
    while key.kind == "lookup" and key.fields[1].edits <= 1:
        base, key = key.fields[1].base, key.fields[3]
    return base, key.node


def summand(column: Column | None) -> tuple[Fraction, Fraction, Fraction]:
    """The least and the most that one row adds to a count or sum, and the grid."""
    if column is None or column.domain.type == "boolean":
        return (ONE if column is None else Fraction(0)), ONE, ONE
    domain = column.domain
    if domain.type not in ("Int64", "Float64") or inf in (-domain.low, domain.high):
        raise CannotCheck("a sum needs numbers with two bounds")
    largest_value = Fraction(max(-domain.low, domain.high))
    return Fraction(domain.low), Fraction(domain.high), sum_grid(largest_value, domain.type)


def sum_grid(largest_value: Fraction, type_: str) -> Fraction:
    """The grid that summands are rounded to, which is part of what a sum means in a plan.

    Whole numbers below 2**30 are added as they are. Others are rounded, toward zero, to 30 bits of the largest value.
    """
    if not largest_value or (type_ == "Int64" and largest_value < 2**SUM_BITS):
        return ONE
    exponent = frexp(float(largest_value))[1]  # the least one with float(largest_value) < 2**exponent
    return Fraction(2) ** (max(exponent, LEAST_EXPONENT) - SUM_BITS)


def vector_sum(rows: Rows, columns: list[Column]) -> Numbers:
    """Sums of several columns. One edited row adds or removes one vector, whose norm norms.py bounds."""
    parts = [tally(rows, [], column) for column in columns]
    row = row_norm(columns)
    made = combined(parts, len(parts), lambda i: parts[i].element_distance(0), None)
    return replace(made, norms=lambda norm: times(rows.distance, row[norm]))


def distinct(rows: Rows, key: Column) -> Numbers:
    """How many values of a key occur: an inserted row makes at most one appear, a deleted row one disappear."""
    return tally(rows, [key], None).one_number(rows.sum_distance(ONE, ONE))


def quantile_scores(rows: Rows, points: list[Any], below: Fraction, above: Fraction, target: Fraction) -> Numbers:
    """How good each candidate is as a quantile: -max(0, too_high, too_low), where both are sums of ±``below`` for
    rows on one side of the candidate, ±``above`` for rows on the other, and ±``target``.

    So each score moves like a sum to which a row adds between -``above`` and ``below``. Some rise and some fall.
    """
    each = rows.sum_distance(min(below, -above), max(below, -above))
    grid = common_grid(below, above, abs(target))
    return Numbers(len(points), lambda _: each, None, grid, rows.cells, rows.cap is not None, monotone=False)


def public_number(value: Fraction) -> Numbers:
    """A constant does not move."""
    return Numbers(1, lambda _: NO_DISTANCE, NO_DISTANCE, abs(value) or ONE, (), False, monotone=True)


# -- numbers from numbers


def scale(a: Numbers, factor: Fraction) -> Numbers:
    """a·c moves |c| times as far; all in one direction if a did."""
    size, whole, net, norms = abs(factor), a.sum_of_changes, a.net, a.norms
    return replace(
        a,
        norms=None if norms is None else lambda norm: times(norms(norm), size),
        element_distance=lambda i: times(a.element_distance(i), size),
        sum_of_changes=None if whole is None else times(whole, size),
        net=None if net is None else times(net, size),
        grid=a.grid * size or ONE,
    )


def offset(a: Numbers, constant: Fraction) -> Numbers:
    """a + c moves as far as a does."""
    return replace(a, grid=common_grid(a.grid, constant))


def absolute(a: Numbers) -> Numbers:
    """| |x| - |y| | ≤ |x - y|. A number below 0 that grows has a shrinking absolute value: so monotone only if at most
    one element moves. Nothing is known of their sum: one element may fall while another rises."""
    return replace(a, monotone=a.one_moves, net=None)


def element(a: Numbers, i: int) -> Numbers:
    """One element depends on its own cells only; but a constant bound does not say which cells are its own.

    Cells with an infinite coefficient are left out: the sensitivity is infinite, so the number cannot be released.
    """
    if type(i) is not int or not 0 <= i < a.size:
        raise CannotCheck("no such element")
    alone = a.element_distance(i)
    own = (cell for form in alone for cell, coefficient in form.coefficients.items() if coefficient < inf)
    return replace(a.one_number(alone), cells=a.cells if a.has_constant_bound else tuple(dict.fromkeys(own)))


def total(a: Numbers) -> Numbers:
    """The sum of all elements moves by at most their L1 distance, or by what is known of the sum itself."""
    return a.one_number(a.joint("l1") if a.net is None else a.net)


def extreme(a: Numbers) -> Numbers:
    """The largest (or smallest) element moves by at most the L∞ distance."""
    return a.one_number(a.joint("linf"))


def add(a: Numbers, b: Numbers) -> Numbers:
    """a + b, element by element: distances add up, and so do bounds on the sum of all changes.

    The bound on the sum is used if both vectors depend on the same cells, or one of them does not move. Otherwise the
    distances of the elements are used, which take into account that edits in one cell are not in another.
    """
    both, net, x, y = None, None, a.sum_of_changes, b.sum_of_changes
    if x is not None and y is not None and (a.size == 1 or terms(x) == terms(y) or NO_DISTANCE in (x, y)):
        both = plus(x, y)
        net = plus(x if a.net is None else a.net, y if b.net is None else b.net)
    made = combined([a, b], a.size, lambda i: plus(a.element_distance(i), b.element_distance(i)), both)
    return replace(made, net=net)


def terms(distance: Distance) -> tuple[set[Cell], bool]:
    """The cells that a distance depends on, and whether it has a constant term."""
    return {cell for form in distance for cell in form.coefficients}, any(form.constant for form in distance)


def stack(parts: list[Numbers], labels: list[Any]) -> Numbers:
    """Vectors of one length side by side: element i of each, then element i + 1 of each. All may move at once."""
    if not parts or len(parts) != len(labels):
        raise CannotCheck("a vector needs at least one part, and a label for each")
    count = len(parts)
    return combined(parts, count * parts[0].size, lambda i: parts[i % count].element_distance(i // count), None)


def combined(
    parts: list[Numbers], size: int, element_distance: Callable[[int], Distance], sum_of_changes: Distance | None
) -> Numbers:
    """Several vectors of one length together: their common grid, and the cells of all of them."""
    if len({part.size for part in parts}) != 1 or size > MOST_ELEMENTS:
        raise Refuted("vectors of different size, or too long")
    cells = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
    grid, constant = common_grid(*(part.grid for part in parts)), any(part.has_constant_bound for part in parts)
    return Numbers(size, element_distance, sum_of_changes, grid, cells, constant, monotone=False)


def check_claims(derived: Numbers, claims: dict[str, Any], cells: tuple[Cell, ...], report: Report) -> Numbers:
    """Compare the claimed facts with the derived ones. Later nodes use the claimed ones."""
    grid, constant, monotone = number(claims["grid"]), truth(claims["capped"]), truth(claims["monotone"])
    wrong = {
        "size": derived.size != claims["size"],
        "cells": not set(derived.cells) <= set(cells),
        "grid": grid <= 0 or (derived.grid / grid).denominator != 1,  # all multiples of the derived grid lie on it
        "constant bound": derived.has_constant_bound and not constant,
        "direction": monotone and not derived.monotone,
    }
    if any(wrong.values()):
        raise Refuted(f"not as claimed: {', '.join(name for name in wrong if wrong[name])}")
    report.require("the distance", bound(claims["distance"]), derived.sensitivity("linf"))
    return replace(derived, grid=grid, cells=cells, has_constant_bound=constant, monotone=monotone)
