"""Small linear programs, solved exactly in fractions.

Claim: ``maximum`` returns a point of {x ≥ 0, A x ≤ b} with the largest c·x, or None if there is no
such point. Bland's rule makes the simplex method end; fractions make its answer exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def maximum(goal: Sequence[Fraction], left: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> Row | None:
    """The best x ≥ 0 with left·x ≤ right. The feasible set must be bounded (ours lie in a unit cube)."""
    n = len(goal)
    table = [[*row, bound] for row, bound in zip(left, right, strict=True)]
    basis = [n + i for i in range(len(table))]  # slack variables, named after their rows
    names = list(range(n))
    top = [*[-c for c in goal], Fraction(0)]
    if not _make_feasible(table, basis, names, top):
        return None
    while (column := _entering(top, names)) is not None:
        row = _leaving(table, basis, column)
        if row is None:
            raise ArithmeticError("unbounded linear program")
        _pivot(table, basis, names, top, row, column)
    x = [Fraction(0)] * n
    for name, line in zip(basis, table, strict=True):
        if name < n:
            x[name] = line[-1]
    return x


def _make_feasible(table: list[Row], basis: list[int], names: list[int], top: Row) -> bool:
    """Pivot until every right-hand side is ≥ 0 (least-index rule), or find a row that forbids it."""
    while True:
        wrong = [i for i, row in enumerate(table) if row[-1] < 0]
        if not wrong:
            return True
        row = min(wrong, key=lambda i: basis[i])
        options = [j for j in range(len(names)) if table[row][j] < 0]
        if not options:
            return False
        _pivot(table, basis, names, top, row, min(options, key=lambda j: names[j]))


def _entering(top: Row, names: list[int]) -> int | None:
    options = [j for j in range(len(names)) if top[j] < 0]
    return min(options, key=lambda j: names[j]) if options else None


def _leaving(table: list[Row], basis: list[int], column: int) -> int | None:
    options = [i for i, row in enumerate(table) if row[column] > 0]
    return min(options, key=lambda i: (table[i][-1] / table[i][column], basis[i])) if options else None


def _pivot(table: list[Row], basis: list[int], names: list[int], top: Row, row: int, column: int) -> None:
    """Exchange a basic and a non-basic variable (condensed tableau: one column a non-basic variable)."""
    line, pivot = table[row], table[row][column]
    fresh = [1 / pivot if j == column else value / pivot for j, value in enumerate(line)]
    table[row] = fresh
    for other in [*(r for i, r in enumerate(table) if i != row), top]:
        factor = other[column]
        if factor == 0:
            continue
        for j, value in enumerate(fresh):
            other[j] = -factor * value if j == column else other[j] - factor * value
    basis[row], names[column] = names[column], basis[row]
