"""Dates written as text, read by a public format: an ordinary program over patterns and whole numbers."""

from __future__ import annotations

import re

from privjail.errors import PlanError
from privjail.ops.columns.cast import MOMENT, Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.datetime_part import Part
from privjail.ops.columns.logic import joined, negation
from privjail.ops.columns.text import Text
from privjail.ops.columns.where import NullWhere, Where
from privjail.pandas.periods import DAY, first_days, plus, times, whole
from privjail.plan.expr import Expr
from privjail.plan.node import Lit

#: What each directive reads: a pattern, and the range of its number.
DIRECTIVES = {"Y": ("[0-9]{4}", 1, 9999), "m": ("[0-9]{1,2}", 1, 12), "d": ("[0-9]{1,2}", 1, 31),
              "H": ("[0-9]{1,2}", 0, 23), "M": ("[0-9]{1,2}", 0, 59), "S": ("[0-9]{1,2}", 0, 59)}  # fmt: skip
LENGTHS = {"H": 3600 * 10**6, "M": 60 * 10**6, "S": 10**6}


def dates_of(expr: Expr, format: str) -> Expr:
    """Text as moments; missing where it does not follow the format, or names a day that no month has.

    "%Y-%m-%d" also takes a time behind it, "2024-01-31 12:30" or "2024-01-31T12:30:00".
    """
    pattern, letters = _pattern(format)
    text = Text("strip", expr, (Lit.of(None),))
    found = {letter: _number(text, pattern, i, letter) for i, letter in enumerate(letters, 1)}
    months = plus(plus(times(found["Y"], 12), found.get("m", whole(1))), -1)
    days = plus(plus(first_days(months), found.get("d", whole(1))), -1)
    us = times(days, DAY)
    for letter, length in LENGTHS.items():
        if letter in found:
            us = plus(us, times(found[letter], length))
    ends = [first * DAY for first in (-719_162, 2_932_897)]  # the years 1 to 9999
    moments = Cast(Clip(us, Lit.of(ends[0]), Lit.of(ends[1] - 1)), MOMENT)
    if "m" not in found or "d" not in found:
        return moments
    # 30 February would be 2 March: another month than the text says.
    moved = negation(Compare("==", Part("month", moments), found["m"]))
    return NullWhere(moved, moments)


def _number(text: Expr, pattern: str, group: int, letter: str) -> Expr:
    """The number that a directive reads; missing outside its range. Of a time that is left out: 0."""
    _, low, high = DIRECTIVES[letter]
    read = Cast(Text("extract", text, (Lit.of(pattern), Lit.of(group))), "Int64")
    outside = joined("|", [Compare("<", read, Lit.of(low)), Compare(">", read, Lit.of(high))])
    found: Expr = Clip(NullWhere(outside, read), Lit.of(low), Lit.of(high))
    if pattern.endswith(")?)?$") and letter in LENGTHS:  # the time may be missing, but not wrong
        absent = Text("matches", text, (Lit.of(_without(pattern, letter)),))
        found = Where(absent, whole(0), found)
    return found


def _without(pattern: str, letter: str) -> str:
    """The pattern of texts in which a part of the time is left out."""
    date = pattern.split("(?:[ T]")[0].replace("(", "(?:")
    return date + ("(?:[ T][0-9]{1,2}:[0-9]{1,2})?$" if letter == "S" else "$")


def _pattern(format: str) -> tuple[str, list[str]]:
    """A format as a pattern with a group for each directive."""
    if format in ("%Y-%m-%d", "ISO8601", "mixed"):
        date = "^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
        return date + "(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?)?$", ["Y", "m", "d", "H", "M", "S"]
    letters: list[str] = []
    out = "^"
    for piece in re.findall(r"%.|[^%]|%", format):
        if piece == "%%" or piece[0] != "%":
            out += re.escape(piece[-1])
            continue
        if len(piece) < 2 or piece[1] not in DIRECTIVES or piece[1] in letters:
            raise PlanError(
                f"a date is read by {', '.join('%' + c for c in DIRECTIVES)}, each once; not by {piece}",
                do='declare the column as "datetime" in the schema, or write format="%Y-%m-%d"',
            )
        letters.append(piece[1])
        out += f"({DIRECTIVES[piece[1]][0]})"
    if "Y" not in letters or "d" in letters and "m" not in letters:
        raise PlanError("a format names at least the year, and the month of a day", do='format="%Y-%m-%d"')
    return out + "$", letters
