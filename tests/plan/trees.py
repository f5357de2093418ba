"""Random partition trees, and the largest value over their polytope by means that know nothing of our formulas."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import count, product

import numpy as np
from scipy.optimize import linprog

from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.cells import Cell, Partition
from privjail.plan.distance import Distance
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit

_fresh = count()


def new_source(columns: int = 3, unit: Unit | None = None) -> Source:
    names = tuple((f"c{i}", IntDomain(False, 0, 9)) for i in range(columns))
    return Source(Dataset(f"tree:{next(_fresh)}", "tree", names, unit or Unit()))


def random_tree(rng: random.Random, source: Source | None = None, most: int = 14) -> list[Cell]:
    """Cells of one data set, the root first, each after its parent."""
    source = source or new_source()
    cells = [source.cells[0]]
    for _ in range(rng.randrange(most)):
        parent = rng.choice(cells)
        partition = Partition(source, Column(source, f"c{rng.randrange(2)}"))
        cell = Cell(parent, partition, Lit.of(rng.randrange(3)))
        if cell not in cells:
            cells.append(cell)
    return cells


def random_form(rng: random.Random, cells: list[Cell], terms: int = 4) -> Distance:
    chosen = [rng.choice(cells) for _ in range(rng.randrange(terms + 1))]
    return Distance(0, {cell: Fraction(rng.randrange(7), rng.choice([1, 1, 2, 3])) for cell in chosen})


def constraints(cells: list[Cell]) -> tuple[np.ndarray, np.ndarray]:
    """A·η ≤ b: η(root) ≤ 1; for each cell and each partition of it, the children's η add up to at most its own."""
    position = {cell: i for i, cell in enumerate(cells)}
    rows, bounds = [], []
    for cell in cells:
        if cell.parent is None:
            row = np.zeros(len(cells))
            row[position[cell]] = 1
            rows.append(row)
            bounds.append(1.0)
    groups: dict[tuple[Cell, object], list[Cell]] = {}
    for cell in cells:
        if cell.parent is not None:
            groups.setdefault((cell.parent, cell.partition), []).append(cell)
    for (parent, _), children in groups.items():
        row = np.zeros(len(cells))
        row[position[parent]] = -1
        for child in children:
            row[position[child]] += 1
        rows.append(row)
        bounds.append(0.0)
    return np.array(rows), np.array(bounds)


def lp(terms: dict[Cell, Fraction], cells: list[Cell]) -> float:
    """The largest value of a linear form, by linear programming."""
    a, b = constraints(cells)
    c = np.array([-float(terms.get(cell, 0)) for cell in cells])
    solved = linprog(c, A_ub=a, b_ub=b, bounds=(0, None), method="highs")
    assert solved.status == 0
    return -float(solved.fun)


def choices(d: Distance) -> list[tuple[Fraction, dict[Cell, Fraction]]]:
    """Every linear form that a sum of maxima can be read as: one form chosen from each maximum."""
    found = []
    for picked in product(*([form for d2 in peak for form in choices(d2)] for peak in d.maxima)):
        const, terms = Fraction(d.const or 0), {cell: Fraction(c) for cell, c in d.terms.items()}
        for more, inner in picked:
            const += more
            for cell, c in inner.items():
                terms[cell] = terms.get(cell, Fraction(0)) + c
        found.append((const, terms))
    return found


def brute(d: Distance, cells: list[Cell]) -> float:
    """The largest value of a sum of maxima: the largest of the linear programmes of all its choices."""
    return max(float(const) + lp(terms, cells) for const, terms in choices(d))


def vertices(cells: list[Cell]) -> list[np.ndarray]:
    """All vertices of the polytope, from its constraints alone: every basis of active constraints."""
    from itertools import combinations

    a, b = constraints(cells)
    n = len(cells)
    a, b = np.vstack([a, -np.eye(n)]), np.concatenate([b, np.zeros(n)])
    found: dict[tuple[float, ...], np.ndarray] = {}
    for rows in combinations(range(len(a)), n):
        basis = a[list(rows)]
        if abs(np.linalg.det(basis)) < 1e-9:
            continue
        point = np.linalg.solve(basis, b[list(rows)])
        if np.all(a @ point <= b + 1e-9):
            found[tuple(np.round(point, 9))] = point
    return list(found.values())


def inside(rng: random.Random, cells: list[Cell]) -> dict[Cell, float]:
    """A random point of the polytope."""
    eta: dict[Cell, float] = {}
    left: dict[tuple[Cell, object], float] = {}
    for cell in cells:
        if cell.parent is None:
            eta[cell] = rng.choice([1.0, rng.random()])
            continue
        slot = (cell.parent, cell.partition)
        room = left.get(slot, eta[cell.parent])
        eta[cell] = room * rng.choice([0.0, 1.0, rng.random()])
        left[slot] = room - eta[cell]
    return eta


def at(d: Distance, eta: dict[Cell, float]) -> float:
    """A distance at a point, straight from its definition."""
    total = float(d.const or 0) + sum(float(c) * eta[cell] for cell, c in d.terms.items())
    return total + sum(max(at(form, eta) for form in peak) for peak in d.maxima)
