"""Made-up rows that fit a schema: what a rehearsal computes on. Nothing of any data goes into them.

They are the same every time, and skewed: of each column the first values are the most frequent, so that a program which
looks closer only where many rows are finds such a place. Tables of a population have the same persons: keys differ in
each row, and a link leads to a row of the same person.
"""

from __future__ import annotations

import math
from typing import Any

from privjail.ops.rows.source import Dataset
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
    UntypedDomain,
)

MISSING = 50  # every so many rows a value is missing, where it can be
SKEW = 6
MOST_EACH = 3  # rows of one person in a table
WIDE = 10**6  # the length of a range that the schema leaves open
YEARS = 10 * 365 * 86_400 * 10**6  # in microseconds: the same for moments


def made_up(dataset: Dataset, rows: int) -> dict[str, list[Any]]:
    """Columns in the held form, as Python values."""
    found = {}
    each, links = _rows_each(dataset), {link.column for link in dataset.links}
    for j, (name, domain) in enumerate(dataset.columns):
        if name == dataset.unit.column:
            found[name] = [_owner(domain, i // each) for i in range(rows)]
        elif name in links:  # to the first row of the same person, which every table has that has any of her rows
            found[name] = [_owner(domain, i // each * MOST_EACH) for i in range(rows)]
        elif name in dataset.keys:
            found[name] = [_owner(domain, i // each * MOST_EACH + i % each) for i in range(rows)]
        else:
            found[name] = [_value(domain, i, j, rows) for i in range(rows)]
    return found


def _rows_each(dataset: Dataset) -> int:
    """How many rows one owner has."""
    return min(dataset.unit.most_rows or MOST_EACH, MOST_EACH)


def _owner(domain: Domain, number: int) -> Any:
    if isinstance(domain, (IntDomain, TimeDomain)):
        low = domain.lower if domain.lower is not None else 0
        return low + number if domain.upper is None else min(low + number, domain.upper)
    if isinstance(domain, CategoryDomain):
        return number % len(domain.categories)
    if isinstance(domain, BoolDomain):
        return bool(number % 2)
    return str(number)


def _value(domain: Domain, i: int, j: int, rows: int) -> Any:
    if domain.nullable and i % MISSING == (7 * j) % MISSING and rows >= MISSING:
        return None
    u = _spread(i, j)
    match domain:
        case CategoryDomain(categories=categories):
            return int(len(categories) * u**SKEW)
        case BoolDomain():
            return u > 0.6
        case UntypedDomain():
            return str(int(100 * u**SKEW))
        case TextDomain():
            return f"text {int(100 * u**SKEW)}"
        case IntDomain() | FloatDomain() | TimeDomain():
            return _number(domain, u)
    raise TypeError(f"no made-up values for {type(domain).__name__}")


def _number(domain: IntDomain | FloatDomain | TimeDomain, u: float) -> Any:
    wide = YEARS if isinstance(domain, TimeDomain) else WIDE
    low, high = domain.lower, domain.upper
    if low is None:
        low = 0 if high is None else high - wide
    if high is None:
        high = low + wide
    if isinstance(domain, FloatDomain):
        x = low + (high - low) * u**SKEW
        return min(max(float(x if math.isfinite(x) else low), low), high)
    return min(low + int((high - low) * u**SKEW), high)


def _spread(i: int, j: int) -> float:
    """A number in [0, 1) for row i and column j: for each column a sequence of its own, evenly spread."""
    return (i * math.sqrt(_PRIMES[j % len(_PRIMES)]) * (1 + j // len(_PRIMES)) + 0.37 * j) % 1.0


_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
