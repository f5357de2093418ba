"""Row-wise operations: the domain of each, and what a condition is for one label."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privjail.verify.checker.columns import (
    HIGH,
    LOW,
    NUMBERS,
    Dom,
    alike,
    arithmetic,
    function,
    joined,
    outward,
    single,
    value,
)
from privjail.verify.checker.forms import CannotCheck, Wrong

PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
PARTS |= {"dayofweek": (0, 6), "dayofyear": (1, 366)}


@dataclass(frozen=True, eq=False)
class Col:
    """A column: what it is made of, its domain, and the rows that it belongs to (None: any)."""

    id: int
    kind: str
    fields: list[Any]
    dom: Dom
    base: int | None


def operation(kind: str, f: list[Any], claim: Dom) -> Dom:
    """The domain of an operation, from its fields; an input is a Col, a constant a pair (type, spelling)."""
    match kind, [x.dom if isinstance(x, Col) else x for x in f]:
        case "arithmetic", [op, a, b]:
            return arithmetic(op, a, b)
        case "function", [name, a, digits]:
            return function(name, a, digits)
        case "constant", [lit]:
            return single(lit)
        case "clip", [a, low, high]:
            return _clipped(a, value(low), value(high))
        case "compare", [_, a, b]:
            return Dom("boolean", a.null or (isinstance(b, Dom) and b.null))
        case ("isin", [_, _]) | ("isnull", [_]):
            return Dom("boolean", False)
        case "not", [Dom("boolean", null)]:
            return Dom("boolean", null)
        case "logic", [_, Dom("boolean", null), Dom("boolean", other)]:
            return Dom("boolean", null or other)
        case "where", [Dom("boolean"), a, b]:
            return joined(a, b)
        case "fillnull", [a, b]:
            return replace(joined(a, b), null=a.null and b.null)
        case "nullwhere", [Dom("boolean"), a]:
            return replace(a, null=True)
        case "categorise", [_, labels, _]:
            return Dom("category", True, labels=tuple(labels))
        case "cut", [a, edges, labels, right, lowest]:
            return _cut(a, [float(value(e)) for e in edges], labels, bool(right), bool(lowest), claim)
        case "part", [part, Dom("datetime64[us]") as a]:
            years = [None if x is None else Fraction(_year(int(x))) for x in (a.lo, a.hi)]
            ends = map(Fraction, PARTS[part]) if part in PARTS else years
            return Dom("Int64", a.null or None in (a.lo, a.hi), *ends)
        case "text", [name, Dom("string", null), _]:
            if name == "len":
                return Dom("Int64", null, Fraction(0))
            return Dom("boolean" if name in ("startswith", "endswith", "contains") else "string", null)
        case "cast", [a, to]:
            return _cast(a, to)
        case "recode", [a, pairs, keep]:
            return _recode(a, pairs, bool(keep))
    raise CannotCheck(f"operation {kind!r}")


def _clipped(a: Dom, low: Any, high: Any) -> Dom:
    if a.type not in NUMBERS:
        raise Wrong("clip needs numbers")
    low, high = (None if x is None else Fraction(float(x) if a.type == "Float64" else x) for x in (low, high))
    above = [x for x in (a.lo, low) if x is not None]
    below = [x for x in (a.hi, high) if x is not None]
    lo, hi = (max(above) if above else None), (min(below) if below else None)
    if lo is not None and high is not None and a.lo is not None:
        lo = min(lo, high)
    if hi is not None and low is not None and a.hi is not None:
        hi = max(hi, low)
    return Dom(a.type, a.null, lo, hi)


def _cut(a: Dom, edges: list[float], labels: Any, right: bool, lowest: bool, claim: Dom) -> Dom:
    if a.type not in NUMBERS or any(x >= y for x, y in zip(edges, edges[1:], strict=False)):
        raise Wrong("cut needs numbers, and edges that rise")
    named = claim.labels if labels is None else tuple(labels)  # what intervals are called does not matter
    if len(set(named)) != len(edges) - 1:
        raise Wrong("cut needs a label for each interval")
    ends = [None if x is None else float(x) for x in (a.lo, a.hi)]
    first = [x is not None and (edges[0] < x or (x == edges[0] and (lowest or not right))) for x in ends]
    last = [x is not None and (x < edges[-1] or (x == edges[-1] and right)) for x in ends]
    return Dom("category", a.null or not all(first + last), labels=named)


def _year(micros: int) -> int:
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)).year


def _cast(a: Dom, to: str) -> Dom:
    match a.type, to:
        case ("Int64" | "boolean" | "string" | "category"), "string":
            return Dom("string", a.null)
        case "category", _:
            found = [_number(value(label), to) for label in a.labels]
            known = [x for x in found if x is not None] or [Fraction(0)]
            return Dom(to, a.null or None in found, *((min(known), max(known)) if to != "boolean" else ()))
        case ("Int64" | "boolean"), "boolean":
            return Dom("boolean", a.null)
        case "boolean", _:
            return Dom(to, a.null, Fraction(0), Fraction(1))
        case ("Int64", "Int64") | ("Float64", "Float64"):
            return a
        case "Int64", "Float64":
            return Dom(to, a.null, outward(a.lo, False), outward(a.hi, True))
        case "Float64", "Int64":
            if a.lo is None or a.hi is None or a.lo < LOW or a.hi > HIGH:
                return Dom(to, True)
            return Dom(to, a.null, Fraction(math.trunc(a.lo)), Fraction(math.trunc(a.hi)))
        case "string", ("Int64" | "Float64"):
            return Dom(to, True)
    raise Wrong(f"{a.type} cannot become {to}")


def _number(label: Any, to: str) -> Fraction | None:
    """What a label becomes; None if it is no number (or no truth)."""
    if to == "boolean":
        return Fraction(str(label) == "True") if str(label) in ("True", "False") else None
    try:
        exact = Fraction(int(label) if to == "Int64" else float(label))
    except (ValueError, OverflowError):
        return None
    return exact if to == "Float64" or LOW <= exact <= HIGH else None


def _recode(a: Dom, pairs: list[Any], keep: bool) -> Dom:
    if a.type == "category":
        chosen = {}
        for label in a.labels:
            hits = [image for key, image in pairs if alike(value(key), value(label))]
            chosen[label] = hits[-1] if hits else (label if keep else ("none", ""))
        images = list(chosen.values())
    else:
        images = [image for _, image in pairs] + ([] if keep else [("none", "")])
    some = [image for image in images if image[0] != "none"]
    if not some:
        return replace(a, null=True) if keep else Dom("Int64", True, Fraction(0), Fraction(0))
    out = single(some[0])
    for image in some[1:]:
        out = joined(out, single(image))
    if keep and a.type != "category":
        out = joined(a, out)
    return replace(out, null=a.null or len(some) < len(images))


def truth(col: Col, by: Col, key: Any) -> Any:
    """The value of a condition in rows where ``by`` is this key; CannotCheck if it depends on more than that."""
    if col.id == by.id:
        return key
    match col.kind, col.fields:
        case "constant", [lit]:
            return value(lit)
        case "compare", [op, Col() as a, (str(), str()) as lit]:
            x, y = truth(a, by, key), value(lit)
            if x is None:
                return None
            if op == "==":
                return alike(x, y)
            if a.dom.type == "category":
                places = [value(label) for label in a.dom.labels]
                x, y = places.index(x), places.index(y)
            return x < y if op == "<" else x > y
        case "isin", [Col() as a, values]:
            return any(alike(truth(a, by, key), value(v)) for v in values)
        case "isnull", [Col() as a]:
            return truth(a, by, key) is None
        case "not", [Col() as a]:
            x = truth(a, by, key)
            return None if x is None else not x
        case "logic", [op, Col() as a, Col() as b]:
            x, y = truth(a, by, key), truth(b, by, key)
            if op in "&|" and (x is (op == "|") or y is (op == "|")):
                return op == "|"
            return None if x is None or y is None else {"&": True, "|": False, "^": x is not y}[op]
    raise CannotCheck("a condition on something else")
