"""Which whole numbers a key can be: of ``age // 10 * 10`` the tens, where its range says every number between.

Groups and counts have one cell for every possible key. The domain of a column is a range; the arithmetic that made the
column often leaves few of its numbers. They are found here from public facts, and the key becomes a category of them.
"""

from __future__ import annotations

from functools import lru_cache

from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cut import Cut
from privjail.ops.columns.recode import Recode
from privjail.plan.domain import IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit

MOST = 10_000  # numbers that are looked at one by one
EXACT = 2**53  # beyond this a float, which the edges of intervals are, is no longer every whole number


def narrowed(key: Expr) -> Expr:
    """The key as a category of the numbers that it can be, if these are at most half of its range."""
    found = reachable(key)
    domain = key.domain
    if found is None or not isinstance(domain, IntDomain) or domain.lower is None or domain.upper is None:
        return key
    if not found or 2 * len(found) > domain.upper - domain.lower + 1 or max(map(abs, found)) >= EXACT:
        return key
    values = sorted(found)
    edges = (*values, values[-1] + 1)
    return Cut(key, tuple(map(Lit.of, edges)), tuple(map(Lit.of, values)), 0, 0)


@lru_cache(maxsize=1024)
def reachable(key: Expr) -> frozenset[int] | None:
    """The numbers that a column of whole numbers can hold; None if they are too many, or not known."""
    domain = key.domain
    if not isinstance(domain, IntDomain) or domain.lower is None or domain.upper is None:
        return None
    if isinstance(key, Arithmetic) and key.op in ("+", "-", "*", "//"):
        made = _computed(key)
        if made is not None:
            return made
    if isinstance(key, Recode) and not key.keep:
        images = [image.value for _, image in key.pairs]
        if all(type(x) is int or x is None for x in images):
            return frozenset(x for x in images if x is not None)
    size = domain.upper - domain.lower + 1
    return frozenset(range(domain.lower, domain.upper + 1)) if size <= MOST else None


def _computed(key: Arithmetic) -> frozenset[int] | None:
    """Of a column and a constant: the result of each number that the column can hold."""
    sides = [_numbers(side) for side in (key.a, key.b)]
    if sides[0] is None or sides[1] is None or min(map(len, sides)) != 1:  # type: ignore[arg-type]
        return None
    pairs = [(a, b) for a in sides[0] for b in sides[1]]
    match key.op:
        case "+":
            return frozenset(a + b for a, b in pairs)
        case "-":
            return frozenset(a - b for a, b in pairs)
        case "*":
            return frozenset(a * b for a, b in pairs)
    return frozenset(a // b for a, b in pairs if b)


def _numbers(side: Expr) -> frozenset[int] | None:
    if isinstance(side, Constant):
        value = side.lit.value
        return frozenset((value,)) if type(value) is int else None
    return reachable(side)
