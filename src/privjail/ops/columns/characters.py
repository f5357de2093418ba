"""Sets of characters, as ranges of code points: the same set for every engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

Ranges = tuple[tuple[int, int], ...]  # code points from … to …, rising
SURROGATES = (0xD800, 0xDFFF)


@cache
def named_set(letter: str) -> Ranges:
    """\\d, \\w and \\s as Python's re knows them; \\D, \\W, \\S are the rest."""
    if letter.isupper():
        return rest(named_set(letter.lower()))
    tests: dict[str, Callable[[str], bool]] = {
        "d": str.isdecimal,
        "s": str.isspace,
        "w": lambda c: c.isalnum() or c == "_",
    }
    return merged([(i, i) for i in range(sys.maxunicode + 1) if tests[letter](chr(i))])


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """The same set in as few ranges as possible, without surrogates, which no text holds."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def rest(ranges: Ranges) -> Ranges:
    """All other characters."""
    out, at = [], 0
    for low, high in merged([*ranges, SURROGATES]):
        if low > at:
            out.append((at, low - 1))
        at = high + 1
    return (*out, (at, sys.maxunicode)) if at <= sys.maxunicode else tuple(out)


ANY = rest(((10, 10),))  # a dot: everything but the end of a line
