"""Clipping a column once, where its definition says twice: clipping takes more time than all else in a sum.

The amount of a value is the nearest grid point, moved into the bounds (``ops/numbers/tally.py``). Where the value was
clipped before, bounds can be found for *that* clip so that nothing has to be moved afterwards:

Let a value be f(clip(x, a, b)), with f adding or taking away constants, and g(p) the nearest grid point of f(p). Both
are monotone: rounding is, in IEEE arithmetic. The amount is g(p) moved into [L, H]. Take p0 ≤ p1 in [a, b] such that
g(p1) = H, or p1 = b if g(b) ≤ H; and g(p0) = L, or p0 = a if g(a) ≥ L. Then for p in [a, b] the amount is
g(clip(p, p0, p1)): above p1, g(p) ≥ g(p1) = H, so both are H; below p0 likewise; between them L ≤ g(p) ≤ H. And
clip(clip(x, a, b), p0, p1) = clip(x, p0, p1).

Found bounds are checked by computing g, with the same floats as the engine: if they do not fit, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nextafter

from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.numbers.tally import grid_bounds, nearest, sum_grid
from privjail.plan.domain import FloatDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit

TRIES = 4  # floats beside the first guess
Step = Callable[[float], float]


def clipped_once(value: Expr) -> Expr | None:
    """A column whose nearest grid points are the amounts of ``value``; None if none was found."""
    domain = value.domain
    steps: list[tuple[str, float]] = []
    above: list[Expr] = []
    each = value
    while not isinstance(each, Clip):
        above.append(each)
        match each:
            case Arithmetic("+" | "-" as op, Expr() as a, Constant(Lit(value=float() as c))):
                steps.insert(0, (op, c))
                each = a
            case Cast(Expr() as a, "Float64"):
                each = a
            case _:
                return None
        if not isinstance(each.domain, FloatDomain):
            return None
    if not (isinstance(domain, FloatDomain) and isinstance(each.domain, FloatDomain) and each.domain.bounded):
        return None
    low, high = float(each.domain.lower), float(each.domain.upper)
    bounds = _bounds(low, high, steps, domain)
    if bounds is None:
        return None
    found: Expr = Clip(each.a, *map(Lit.of, bounds))
    for step in reversed(above):
        found = Cast(found, "Float64") if isinstance(step, Cast) else Arithmetic(step.op, found, step.b)  # type: ignore[attr-defined]
    return found


def _bounds(low: float, high: float, steps: list[tuple[str, float]], domain: FloatDomain) -> tuple[float, float] | None:
    grid = float(sum_grid(domain))
    least, most = (grid * bound for bound in grid_bounds(domain))

    def point(p: float) -> float:
        for op, c in steps:
            p = p + c if op == "+" else p - c
        return float(nearest(p, grid))

    def before(p: float) -> float:
        for op, c in reversed(steps):
            p = p - c if op == "+" else p + c
        return p

    first = low if point(low) >= least else _with(point, least, before(least))
    last = high if point(high) <= most else _with(point, most, before(most))
    if first is None or last is None or not low <= first <= last <= high:
        return None
    return first, last


def _with(point: Step, wanted: float, guess: float) -> float | None:
    """A float whose grid point is the one that is wanted."""
    for direction in (inf, -inf):
        p = guess
        for _ in range(TRIES):
            if point(p) == wanted:
                return p
            p = nextafter(p, direction)
    return None
