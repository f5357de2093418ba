"""Counts and sums, over all rows or one for each combination of public keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import frexp, trunc
from typing import Any

from privjail.errors import PlanError, RowsError, unbounded
from privjail.ops.rows.deciding import label_lit
from privjail.plan.cells import Cell
from privjail.plan.distance import Distance, Number
from privjail.plan.domain import BoolDomain, Domain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Node, node, set_frozen
from privjail.plan.rows import Rows, partition_of
from privjail.plan.value import ROWS_BITS, TOTAL_BITS, Facts, OneMoves, PerElement, Sensitivity, Value

MOST_ELEMENTS = 10_000_000
SUM_BITS = 30
ADDED_AT_ONCE = 1 << 22  # amounts that are added as floats
ONE = Fraction(1)


_NAMED = (
    "name the values, .astype(pd.CategoricalDtype([…])); bound whole numbers, .clip(0, 100); or put numbers into "
    "intervals, pd.cut(…, [0, 10, 20])"
)


@node
class Tally(Value):
    """How many rows there are (no value), or the sum of a column, in each group of the given keys.

    Distance: one edit of the rows moves one group, by 1 or by at most max(|lower|, |upper|); so the whole
    vector moves by d times that, in every norm. One number, and the sum of all groups, moves by what comes in less
    what goes out: a count by the larger of insertions and deletions. Rows whose key is missing are in no group.
    Monotone if adding a unit deletes no rows and values have one sign, or if at most one row is edited.
    Sums are exact: each value is rounded to a public grid of 2**-g and added as a whole number of at most
    30 bits, so that neither the order of rows nor an overflow (below 2**32 rows) nor an engine's float
    addition can change the result.
    """

    kind = "tally"
    rows: Rows
    keys: tuple[Expr, ...]
    value: Expr | None

    def __post_init__(self) -> None:
        base = self.rows.base
        for each in self.keys if self.value is None else (*self.keys, self.value):
            if each.base is not base and each.base is not None:
                raise RowsError("the column does not belong to the rows of this table")
        set_frozen(self, "index", tuple([self._axis(key) for key in self.keys]))
        set_frozen(self, "grid", ONE if self.value is None else self._reach()[2])
        if self.keys and self.size > MOST_ELEMENTS:
            raise PlanError(f"{self.size} groups are too many (at most {MOST_ELEMENTS})")

    def derive(self) -> Facts:
        rows, keys = self.rows, self.keys
        _, _, _, cap, edits, _, deleted, _, _, _ = rows.lineage
        lower, upper, _ = self._reach()
        net, reach = rows.sum_distance(lower, upper), max(-lower, upper)
        joint: Sensitivity = PerElement((net,))
        if keys:
            whole = net if rows.only_inserts else rows.distance * reach
            joint = OneMoves(self.size, whole, partial(_element, rows, keys, reach, net), net)
        single = edits is not None and edits <= 1
        monotone = single or (deleted == 0 and (lower >= 0 or upper <= 0))
        return Facts(joint, rows.cells, cap is not None, monotone, single)

    filling_bytes = 48

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return ROWS_BITS if self.value is None else TOTAL_BITS

    def _axis(self, key: Expr) -> tuple[Any, ...]:
        labels = key.domain.labels
        if labels is None:
            raise PlanError(
                f"{key} has no finite list of values, and which values occur is itself private",
                plan=str(self.rows),
                do=_NAMED,
            )
        return tuple(labels)

    def _reach(self) -> tuple[Number, Number, Fraction]:
        """The least and the most that one row can add to its group, and the grid of the values."""
        if self.value is None:
            return 1, 1, ONE
        domain = self.value.domain
        if isinstance(domain, BoolDomain):
            return 0, 1, ONE
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"a sum needs numbers, not {domain.dtype}", plan=f"{self.rows} | sum({self.value})")
        if domain.magnitude is None:
            raise unbounded(f"{self.rows} | sum({self.value})")
        return Fraction(domain.lower), Fraction(domain.upper), sum_grid(domain)

    def polars(self, places: Any, amounts: Any) -> Any:
        """The elements, given each row's place in the flat table (beyond the last one: in no group) and its amount.

        Both are arrays. ``places`` is None without keys, ``amounts`` where rows are counted. Amounts are floats: whole
        numbers of at most 30 bits, of which so many are added at a time that a sum has at most 53 bits.
        """
        import numpy as np

        if amounts is not None and len(amounts) > ADDED_AT_ONCE:
            parts = [slice(start, start + ADDED_AT_ONCE) for start in range(0, len(amounts), ADDED_AT_ONCE)]
            tables = [self.polars(None if places is None else places[p], amounts[p]) for p in parts]
            return np.asarray(np.sum(tables, axis=0, dtype=np.int64))
        if places is None:
            return np.asarray(int(amounts.sum()), dtype=np.int64)
        found = np.bincount(places, weights=amounts, minlength=self.size + 1)[: self.size]
        return found.astype(np.int64, copy=False).reshape([len(axis) for axis in self.index])

    def sql(self, sql: Any, keys: Sequence[Any], value: Any) -> tuple[Any, Any]:
        """Each row's place in the flat table (null: in no group) and amount; None without keys, or where rows count."""
        place = None
        for term, key, axis in zip(keys, self.keys, self.index, strict=True):
            code = sql.as_whole(term)
            if isinstance(key.domain, IntDomain):
                code = code - sql.whole(key.domain.lower)
            code = sql.case((code >= sql.whole(0)) & (code < sql.whole(len(axis))), code)
            place = code if place is None else place * sql.whole(len(axis)) + code
        if self.value is None:
            return place, None
        return place, sql_amount(sql, value, self.value.domain, self.grid)  # a missing one adds nothing

    def python(self, keys: list[list[Any]], values: list[Any]) -> list[int]:
        """The elements in order, given each row's keys and value as held values (no keys: one element)."""
        found = dict.fromkeys(product(*[range(len(axis)) for axis in self.index]), 0)
        for i, x in enumerate(values):
            held = [column[i] for column in keys]
            if None not in held:  # a row whose key is missing is in no group
                place = tuple(map(_position, held, [key.domain for key in self.keys]))
                found[place] += 1 if self.value is None else amount(x, self.value.domain)
        return list(found.values())

    def quotes(self) -> Iterator[Node]:
        yield self.rows
        yield from self.keys
        if self.value is not None:
            yield self.value

    def text(self) -> str:
        what = "count" if self.value is None else f"sum({self.value})"
        by = f" | groupby({', '.join(map(str, self.keys))})" if self.keys else ""
        return f"{self.rows}{by} | {what}"


def sql_amount(sql: Any, x: Any, domain: Domain, grid: Fraction) -> Any:
    """``amount`` of a column: exact, in whole numbers for whole numbers and in floats for floats."""
    if not isinstance(domain, (IntDomain, FloatDomain)) or isinstance(domain, IntDomain) and grid == 1:
        return sql.as_whole(x)
    if isinstance(domain, FloatDomain):
        steps = sql.as_whole(sql.nearest(x * sql.number(float(1 / grid))))  # a power of two: exact
        if bounds_on_grid(domain):
            return steps
    else:
        steps = sql.nearest_multiple(x, int(grid))
    low, high = grid_bounds(domain)
    steps = sql.case(steps > sql.whole(high), sql.whole(high), steps)
    return sql.case(steps < sql.whole(low), sql.whole(low), steps)


def _position(held: Any, domain: Domain) -> int:
    """The position of a held value among its domain's labels."""
    return int(held) - domain.lower if isinstance(domain, IntDomain) else int(held)


def _element(rows: Rows, keys: tuple[Expr, ...], reach: Number, net: Distance, i: int) -> Distance:
    """How far one group's value can move: the edits of its own cells alone."""
    if rows.cap is not None or rows.factor is None or rows.redrawn:
        return net
    picked: list[Any] = []
    for by in reversed(keys):
        labels = by.domain.labels or ()
        picked.append(label_lit(labels[i % len(labels)]))
        i //= len(labels)
    cells = rows.cells
    for by, key in zip(keys, reversed(picked), strict=True):
        partition = partition_of(rows.base, by, (key,))
        cells = tuple(Cell(cell, partition, key) for cell in cells)
    return Distance(0, dict.fromkeys(cells, rows.factor * reach))


def sum_grid(domain: IntDomain | FloatDomain) -> Fraction:
    """The grid on which a bounded column is added: at most 30 bits for the largest value.

    Whole numbers stay whole, unless they need more than 30 bits.
    """
    magnitude = domain.magnitude
    assert magnitude is not None
    if isinstance(domain, IntDomain) and magnitude < 2**SUM_BITS or magnitude == 0:
        return Fraction(1)
    exponent = frexp(float(magnitude))[1]  # magnitude ≤ 2**exponent
    if magnitude > Fraction(2) ** exponent:
        exponent += 1
    return Fraction(2) ** (max(exponent, -990) - SUM_BITS)


def grid_bounds(domain: IntDomain | FloatDomain) -> tuple[int, int]:
    """The grid points that a value may be rounded to: both bounds, moved to the grid toward zero.

    So no amount is larger than the largest value; a range between two grid points keeps one of them.
    """
    grid = sum_grid(domain)
    return trunc(Fraction(domain.lower) / grid), trunc(Fraction(domain.upper) / grid)


def amount(x: Any, domain: Domain) -> int:
    """What one value adds to a sum, in steps of the grid: the nearest grid point (of two, the even one) in the bounds.

    This is the definition; engines compute it for whole columns, with ``rounded``.
    """
    if x is None:
        return 0
    if not isinstance(domain, (IntDomain, FloatDomain)):
        return int(x)
    low, high = grid_bounds(domain)
    return min(max(round(Fraction(x) / sum_grid(domain)), low), high)


def rounded(column: Any, domain: IntDomain | FloatDomain, step: float) -> Any:
    """The same for a column of floats in which one grid step is ``step``, a power of two; in floats, in the same unit.

    The column may be anything with these operators and ``clip``.
    """
    return rounding(domain, step)(column)


def rounding(domain: IntDomain | FloatDomain, step: float) -> Callable[[Any], Any]:
    """The same for many columns: the bounds are looked up once."""
    if bounds_on_grid(domain):
        return partial(nearest, step=step)
    low, high = grid_bounds(domain)  # rounding may pass a bound that is not on the grid
    return lambda column: nearest(column, step).clip(low * step, high * step)


def nearest(column: Any, step: float) -> Any:
    """The nearest grid point of each float.

    By adding and taking away 1.5 · 2**52 steps: between 2**52 and 2**53 steps the floats are the whole multiples of a
    step, and ties go to the even one.
    """
    far = 1.5 * 2.0**52 * step
    return (column + far) - far


def bounds_on_grid(domain: IntDomain | FloatDomain) -> bool:
    """Whether both bounds are grid points: then no value between them is rounded to one outside."""
    grid = sum_grid(domain)
    return all((Fraction(bound) / grid).denominator == 1 for bound in (domain.lower, domain.upper))
