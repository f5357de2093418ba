"""What columns may hold: each operation is carried out at all critical values, and the claim must hold the results.

All operations are monotone, or made of a few monotone pieces: what they give is largest and smallest at the ends of
the inputs' ranges, and beside zero.
"""

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import add, floordiv, gt, lt, mod, mul, sub, truediv
from typing import Any

from privjail.verify.checker.forms import CannotCheck, Wrong

LOW, HIGH, FAR = -(2**63), 2**63 - 1, 1.7976931348623157e308
TRIED, EPOCH = 20_000, datetime.datetime(1970, 1, 1)  # combinations of critical values
NEAR: dict[str, list[Any]] = {"Int64": [LOW, HIGH, 0, 1, -1], "datetime64[us]": [-(10**16), 10**17]}
NEAR["Float64"] = [-FAR, FAR, 0.0, 1.0, -1.0, 0.5, -0.5, 5e-324, -5e-324]
PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
PARTS |= {"dayofweek": (0, 6), "dayofyear": (1, 366)}
OPERATORS: dict[str, Any] = {"+": add, "-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod}
TEXT: dict[str, Any] = {name: getattr(str, name) for name in ("lower", "upper", "strip", "startswith", "endswith")}
TEXT |= {"len": len, "contains": lambda s, part: part in s, "slice": lambda s, a, b: s[a:b]}
VALUES: dict[str, Any] = {"bool": "True".__eq__, "int": int, "time": int, "text": str, "float": float.fromhex}


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
        found: list[Any] = ["", "a", "True", " B ", str(LOW), str(HIGH), str(-FAR), str(FAR)]
        if self.type in NEAR:
            least, most, *near = NEAR[self.type]
            low, high = least if self.lo is None else self.lo, most if self.hi is None else self.hi
            found = [x for x in (low, high, low + 1, high - 1, *near) if low <= x <= high]
        elif self.type != "string":
            found = [value(key) for key in self.keys()]
        return list(dict.fromkeys(found)) + [None] * self.null

    def holds(self, x: Any) -> bool:
        if x is None or self.type == "category":
            return self.null if x is None else any(alike(x, value(label)) for label in self.labels)
        fits = type(x) in {"Float64": (int, float), "boolean": (bool,), "string": (str,)}.get(self.type, (int,))
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
    held: Any = (lambda x: float(Fraction(x))) if kind == "Float64" else int
    lo, hi = (None if b is None else held(b) for b in given.get("range", (None, None)))
    if lo is not None and hi is not None and lo > hi:
        raise Wrong("a range that holds nothing")
    return Dom(kind, given["null"], lo, hi, tuple((t, s) for t, s in given.get("labels", ())))


def value(lit: Any) -> Any:
    """A typed constant as Python has it; moments as whole microseconds."""
    return None if lit[0] == "none" else VALUES[lit[0]](lit[1])


def alike(a: Any, b: Any) -> bool:
    """Equality of constants: 1 is 1.0, but not True."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


PLAIN: dict[str, Any] = {"constant": value, "isnull": lambda a: a is None}
PLAIN["fillnull"] = lambda a, b: b if a is None else a
PLAIN |= {"where": lambda c, a, b: a if c is True else b, "nullwhere": lambda c, a: None if c is True else a}
PLAIN["isin"] = lambda a, values: any(alike(a, value(v)) for v in values)


def literals(x: Any) -> list[Any]:
    """All constants in the fields of an operation: something may happen at each, and beside it."""
    return [value(x)] if isinstance(x, tuple) else sum(map(literals, x), []) if isinstance(x, list) else []


def critical(dom: Dom, constants: list[Any]) -> list[Any]:
    found = [*constants]
    for x in constants:
        if type(x) in (int, float) and math.isfinite(x):
            found += [math.floor(x) + more for more in (-1, 0, 1, 2)] if dom.type == "Int64" else [float(x)]
            found += [math.nextafter(x, FAR), math.nextafter(x, -FAR)]
    return list(dict.fromkeys([*dom.points(), *(x for x in found if dom.type != "category" and dom.holds(x))]))


def limits(kind: str, f: list[Any], doms: list[Dom]) -> list[Any]:
    """What comes out between the critical values, of operations that are not monotone."""
    match kind, f:
        case "part", [part, _]:
            years = [end for end, known in ((-200_000, doms[0].lo), (200_000, doms[0].hi)) if known is None]
            return [*PARTS.get(part, years)]
        case "text", ["len", *_]:
            return [HIGH]
        case "arithmetic", ["%", *_]:
            return [0, *(b - (b > 0) + (b < 0) for b in doms[1].points() if b)]
    return []


def checked(kind: str, f: list[Any], claim: Dom) -> bool:
    """Refuse a claimed domain that does not hold what comes out. Whether the claim is reached."""
    places = [i for i, x in enumerate(f) if isinstance(x, Col)]
    doms = [f[i].dom for i in places]
    tried = [critical(dom, literals(f)) for dom in doms]
    if not 0 < math.prod(map(len, tried)) <= TRIED:
        raise CannotCheck("no values to try, or too many")
    seen, (least, most) = limits(kind, f, doms), (LOW, HIGH) if claim.type == "Int64" else (-FAR, FAR)
    for inputs in product(*tried):
        try:
            found = result(kind, [inputs[places.index(i)] if i in places else x for i, x in enumerate(f)], doms, claim)
        except (ValueError, ArithmeticError) as e:  # what cannot be computed is missing
            found = math.inf if isinstance(e, OverflowError) else None
        over = type(found) in (int, float) and not least <= found <= most  # missing; but just before that it is not
        seen += [max(least, min(most, found)), None] if over else [found]
    if wrong := [x for x in seen if not claim.holds(x)]:
        raise Wrong(f"the claimed domain does not hold {wrong[0]!r}")
    return {claim.lo, claim.hi} - {None} <= {*seen} and (not claim.null or None in seen)


def result(kind: str, f: list[Any], doms: list[Dom], claim: Dom) -> Any:
    """One value of an operation, from one value of each input (None: missing)."""
    if kind in PLAIN:
        return PLAIN[kind](*f)
    match kind, f:
        case "recode", [a, pairs, keep]:
            hits = [value(image) for key, image in pairs if a is not None and alike(a, value(key))]
            return hits[-1 if doms[0].type == "category" else 0] if hits else a if keep else None
        case "logic", [op, a, b]:
            if op in ("&", "|") and (a is (op == "|") or b is (op == "|")):
                return op == "|"
            return None if a is None or b is None else {"&": True, "|": False, "^": a is not b}[op]
        case "compare", [op, a, b]:
            b = value(b) if isinstance(b, tuple) else b
            if a is None or b is None:
                return None
            if doms[0].type == "category" and op != "==":
                places = [value(label) for label in doms[0].labels]
                a, b = places.index(a), places.index(b)
            return {"==": alike, "<": lt, ">": gt}[op](a, b)
    if f[0] is None or (kind in ("arithmetic", "function", "part", "text") and None in f[1:3]):
        return None
    match kind, f:
        case "not", [a]:
            return not a
        case "arithmetic", [op, a, b]:
            whole = type(a) is type(b) is int and op != "/"
            found = OPERATORS[op](*((a, b) if whole else (float(a), float(b))))
            return float(math.floor(float(a) / float(b))) if op == "//" and not whole else found
        case "function", ["abs" | "round" | "floor" | "ceil" | "sqrt" | "exp" | "log" as name, a, digits]:
            if isinstance(a, int) and name in ("round", "floor", "ceil"):
                return a
            return abs(a) if name == "abs" else float(round(a, digits) if name == "round" else getattr(math, name)(a))
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
            return (EPOCH + datetime.timedelta(microseconds=a)).year if part == "year" else PARTS[part][0]
        case "text", [name, a, arguments] if name in TEXT:
            return TEXT[name](a, *map(value, arguments))
        case "cast", [a, "boolean"]:
            return {"True": True, "False": False}.get(str(a)) if doms[0].type == "category" else bool(a)
        case "cast", [a, to]:
            return {"string": str, "Int64": int, "Float64": float}[to](a)
    raise CannotCheck(f"operation {kind!r}")


def truth(col: Col, by: Col, key: Any) -> Any:
    """The value of a condition in rows where ``by`` is this key; CannotCheck if it depends on more than that."""
    if col.id == by.id:
        return key
    if col.kind not in ("constant", "compare", "isin", "isnull", "not", "logic"):
        raise CannotCheck("a condition on something else")
    doms = [x.dom for x in col.fields if isinstance(x, Col)]
    return result(col.kind, [truth(x, by, key) if isinstance(x, Col) else x for x in col.fields], doms, col.dom)
