"""What columns may hold: each operation is carried out at all critical values, and the claim must hold the results.

All operations are monotone, or made of a few monotone pieces: what they give is largest and smallest at the ends of
the inputs' ranges, and beside zero.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

from privjail.verify.checker.forms import CannotCheck, Wrong

LOW, HIGH, FAR = -(2**63), 2**63 - 1, 1.7976931348623157e308
EPOCH, DAY = datetime.datetime(1970, 1, 1), 86_400 * 10**6
TRIED = 4000  # combinations of critical values
TEXT = {
    "lower": str.lower, "upper": str.upper, "strip": str.strip, "len": len, "startswith": str.startswith,
    "endswith": str.endswith, "contains": lambda s, part: part in s, "slice": lambda s, a, b: s[a:b],
}  # fmt: skip


@dataclass(frozen=True)
class Dom:
    """A type, whether values may be missing, a range (None: open), and labels as typed constants."""

    type: str
    null: bool
    lo: Any = None
    hi: Any = None
    labels: tuple[tuple[str, str], ...] = ()

    def keys(self) -> list[tuple[str, str]]:
        """All values, if they are finitely many."""
        if self.type == "Int64" and self.lo is not None and self.hi is not None and self.hi - self.lo < 100_000:
            return [("int", str(x)) for x in range(self.lo, self.hi + 1)]
        if self.type in ("category", "boolean"):
            return list(self.labels) or [("bool", "False"), ("bool", "True")]
        raise Wrong(f"a {self.type} column has no finite list of values")

    def points(self) -> list[Any]:
        """The values at which something can happen."""
        if self.type in ("category", "boolean"):
            found = [value(key) for key in self.keys()]
        elif self.type == "string":
            found = ["", "a", "7", "-2.5", "True", " B "]
        else:
            ends = {"Int64": (LOW, HIGH), "Float64": (-FAR, FAR)}.get(self.type, (-(10**16), 10**17))
            low, high = (end if x is None else x for x, end in zip((self.lo, self.hi), ends, strict=True))
            near = (low, high, low + 1, high - 1, 0, 1, -1, 0.5, -0.5)
            if self.type not in ("Int64", "Float64"):
                near = (low, high, *(DAY * (365 * y + y // 4) - 1 - d * DAY * 31 for y in range(0, 50, 7) for d in range(12)))
            found = [float(x) if self.type == "Float64" else x for x in near if low <= x <= high]
            found = [x for x in found if self.type != "Int64" or type(x) is int]
        return list(dict.fromkeys(found)) + [None] * self.null

    def holds(self, x: Any) -> bool:
        if x is None:
            return self.null
        kinds = {"Int64": int, "Float64": float, "boolean": bool, "string": str, "datetime64[us]": int}
        if self.type == "category":
            return any(alike(x, value(label)) for label in self.labels)
        fits = type(x) is kinds[self.type]
        return fits and (self.lo is None or self.lo <= x) and (self.hi is None or x <= self.hi)


@dataclass(frozen=True, eq=False)
class Col:
    """A column: what it is made of, its domain, and the rows that it belongs to (None: any)."""

    id: int
    kind: str
    fields: list[Any]
    dom: Dom
    base: int | None


def read(given: dict[str, Any]) -> Dom:
    kind = {"untyped": "string"}.get(given["type"], given["type"])
    lo, hi = (None if b is None else Fraction(b) for b in given.get("range", (None, None)))
    lo, hi = (x if x is None else float(x) if kind == "Float64" else int(x) for x in (lo, hi))
    return Dom(kind, given["null"], lo, hi, tuple((t, s) for t, s in given.get("labels", ())))


def value(lit: Any) -> Any:
    """A typed constant as Python has it; moments as whole microseconds."""
    kind, text = lit
    if kind in ("none", "bool"):
        return None if kind == "none" else text == "True"
    return {"int": int, "time": int, "float": float.fromhex, "text": str}[kind](text)


def alike(a: Any, b: Any) -> bool:
    """Equality of constants: 1 is 1.0, but not True."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def checked(kind: str, f: list[Any], claim: Dom) -> bool:
    """Refuse a claimed domain that does not hold what comes out. Whether the claim is reached."""
    places = [i for i, x in enumerate(f) if isinstance(x, Col)]
    seen: list[Any] = []
    for inputs in islice(product(*(f[i].dom.points() for i in places)), TRIED):
        given = list(f)
        for i, x in zip(places, inputs, strict=True):
            given[i] = x
        found = result(kind, given, [f[i].dom for i in places], claim)
        if not claim.holds(found):
            raise Wrong(f"the claimed domain does not hold {found!r}, which comes of {inputs!r}")
        seen.append(found)
    ends = [x for x in (claim.lo, claim.hi) if x is not None]
    return all(x in seen for x in ends) and (not claim.null or None in seen)


def result(kind: str, f: list[Any], doms: list[Dom], claim: Dom) -> Any:
    """One value of an operation, from one value of each input (None: missing)."""
    match kind, f:
        case "constant", [lit]:
            return value(lit)
        case ("where", [c, a, b]) | ("nullwhere", [c, a, *b]):
            return _as(a if (c is True) == (kind == "where") else (b or None), claim)
        case "fillnull", [a, b]:
            return _as(b if a is None else a, claim)
        case "isnull", [a]:
            return a is None
        case "isin", [a, values]:
            return any(alike(a, value(v)) for v in values)
        case "recode", [a, pairs, keep]:
            hits = [value(image) for key, image in pairs if a is not None and alike(a, value(key))]
            return _as(hits[-1 if doms[0].type == "category" else 0] if hits else a if keep else None, claim)
        case "logic", [op, a, b]:
            if op in "&|" and (a is (op == "|") or b is (op == "|")):
                return op == "|"
            return None if a is None or b is None else {"&": True, "|": False, "^": a is not b}[op]
        case "compare", [op, a, b]:
            b = value(b) if isinstance(b, tuple) else b
            if a is None or b is None:
                return None
            if doms[0].type == "category" and op != "==":
                places = [value(label) for label in doms[0].labels]
                a, b = places.index(a), places.index(b)
            return alike(a, b) if op == "==" else a < b if op == "<" else a > b
    if None in f[:3] and kind not in ("clip", "cut", "text") or f[0] is None or (kind in ("text", "part") and f[1] is None):
        return None
    match kind, f:
        case "not", [a]:
            return not a
        case "arithmetic", [op, a, b]:
            return _arithmetic(op, a, b)
        case "function", [name, a, digits]:
            return _function(name, a, digits)
        case "clip", [a, low, high]:
            low, high = (None if value(x) is None else type(a)(value(x)) for x in (low, high))
            a = a if low is None else max(a, low)
            return a if high is None else min(a, high)
        case "categorise", [a, labels, _]:
            return next((value(label) for label in labels if alike(a, value(label))), None)
        case "cut", [a, edges, labels, right, lowest]:
            ends = [float(value(e)) for e in edges]
            named = claim.labels if labels is None else labels  # what intervals are called does not matter
            if len({*named}) != len(ends) - 1 or sorted(ends) != ends:
                raise Wrong("cut needs edges that rise, and a label for each interval")
            for low, high, label in zip(ends, ends[1:], named, strict=False):
                if (low < a <= high if right else low <= a < high) or (lowest and right and a == low == ends[0]):
                    return value(label)
            return None
        case "part", [part, a]:
            return _part(part, a)
        case "text", [name, a, arguments] if name in TEXT:
            return TEXT[name](a, *map(value, arguments))
        case "cast", [a, to]:
            return _cast(a, to, doms[0])
    raise CannotCheck(f"operation {kind!r}")


def _as(x: Any, claim: Dom) -> Any:
    """A value in a column that also holds others: whole numbers among floats are floats."""
    return float(x) if claim.type == "Float64" and type(x) is int else x


def _fits(x: Any) -> Any:
    return x if (LOW <= x <= HIGH if isinstance(x, int) else math.isfinite(x)) else None


def _arithmetic(op: str, a: Any, b: Any) -> Any:
    if type(a) is not type(b) or op == "/":
        a, b = float(a), float(b)
    try:
        if op == "//" and isinstance(a, float):
            return _fits(float(math.floor(a / b)))
        return _fits({"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__, "//": a.__floordiv__, "%": a.__mod__}[op](b))
    except (ZeroDivisionError, OverflowError):
        return None


def _function(name: str, a: Any, digits: int) -> Any:
    if name == "abs" or (isinstance(a, int) and name in ("round", "floor", "ceil")):
        return _fits(abs(a)) if name == "abs" else a
    try:
        return _fits(float(round(a, digits) if name == "round" else getattr(math, name)(a)))
    except (ValueError, OverflowError):
        return None


def _part(part: str, a: int) -> int:
    try:
        at = EPOCH + datetime.timedelta(microseconds=a)
    except OverflowError:
        raise CannotCheck("a moment outside of the calendar") from None
    named = {"quarter": (at.month + 2) // 3, "dayofweek": at.weekday(), "dayofyear": at.timetuple().tm_yday}
    return int(named[part] if part in named else getattr(at, part))


def _cast(a: Any, to: str, dom: Dom) -> Any:
    if to == "string":
        return str(a)
    if to == "boolean":
        return {"True": True, "False": False}.get(str(a)) if dom.type == "category" else bool(a)
    try:
        return _fits((int if to == "Int64" else float)(a))
    except (ValueError, OverflowError):
        return None


def truth(col: Col, by: Col, key: Any) -> Any:
    """The value of a condition in rows where ``by`` is this key; CannotCheck if it depends on more than that."""
    if col.id == by.id:
        return key
    if col.kind not in ("constant", "compare", "isin", "isnull", "not", "logic"):
        raise CannotCheck("a condition on something else")
    doms = [x.dom for x in col.fields if isinstance(x, Col)]
    return result(col.kind, [truth(x, by, key) if isinstance(x, Col) else x for x in col.fields], doms, col.dom)


def widened(dom: Dom, nulls: bool) -> Dom:
    return replace(dom, null=dom.null or nulls)
