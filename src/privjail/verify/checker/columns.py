"""What columns may hold: operations are made of monotone pieces, so each is tried at all critical values."""

import re
from bisect import bisect_left, bisect_right
from collections import namedtuple
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from math import ceil, exp, floor, inf, isfinite, log, nextafter, prod, sqrt
from operator import add, gt, lt, mod, mul, not_, sub, truediv
from typing import Any

LOW, HIGH, FAR, TRIED = -(2**63), 2**63 - 1, 1.7976931348623157e308, 20_000
TYPES = {"Float64": (int, float), "boolean": (bool,), "string": (str,)}
NEAR: dict[str, list[Any]] = {"Int64": [LOW, HIGH, 0, 1, -1], "datetime64[us]": [-(10**16), 10**17]}
NEAR["Float64"] = [-FAR, FAR, 0.0, 1.0, -1.0, 0.5, -0.5, 5e-324, -5e-324]
NEAR["string"] = ["", "a", "True", " B ", str(LOW), str(HIGH), str(-FAR), str(FAR)]
PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
PARTS |= {"dayofweek": (0, 6), "dayofyear": (1, 366)}
OPERATORS: dict[str, Any] = {"+": add, "-": sub, "*": mul, "/": truediv, "%": mod}
OPERATORS["//"] = lambda a, b: a // b if type(a) is int else float(floor(a / b))
KEPT: dict[str, Any] = {"abs": abs, "round": round, "floor": floor, "ceil": ceil}  # whole stays whole
SMOOTH: dict[str, Any] = {"sqrt": sqrt, "exp": exp, "log": log}
TEXT: dict[str, Any] = {name: getattr(str, name) for name in ("lower", "upper", "strip", "startswith", "endswith")}
TEXT |= {"len": len, "contains": lambda s, part: part in s, "slice": lambda s, a, b: s[a:b]}
CASTS: dict[str, Any] = {"string": str, "Int64": int, "Float64": float, "boolean": bool}
VALUES: dict[str, Any] = {"bool": "True".__eq__, "int": int, "time": int, "text": str, "float": float.fromhex}
CONDITIONS = ("constant", "compare", "isin", "isnull", "not", "logic")


class Wrong(Exception):
    """A claim that does not follow."""


def number(x: Any) -> Fraction:
    """A number as certificates spell it; one that is too long to compute with is not even read."""
    if not re.fullmatch("-?[0-9]{1,2000}(/[0-9]{1,2000})?", str(x)):
        raise NotImplementedError("a number is no fraction, or has more than 2000 digits")
    return Fraction(x)


def whole(x: Any, least: int) -> int:
    """A whole number of at least this size: anything else could turn a distance around."""
    if type(x) is not int or x < least:
        raise Wrong(f"a whole number from {least} on is needed")
    return x


def value(lit: Any) -> Any:
    """A typed constant as Python has it; moments as whole microseconds."""
    return None if lit[0] == "none" else VALUES[lit[0]](lit[1])


def alike(a: Any, b: Any) -> bool:
    """Equality of constants: 1 is 1.0, but not True."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


class Dom(namedtuple("Dom", "type null lo hi labels", defaults=(-inf, inf, ()))):
    """A type, whether values may be missing, a range, and labels."""

    def keys(self) -> list[Any]:
        """All values, if they are finitely many; else none."""
        if self.type == "Int64" and self.hi - self.lo < 100_000:
            return [*range(self.lo, self.hi + 1)]
        return [False, True] if self.type == "boolean" else [*self.labels]

    def points(self, constants: list[Any]) -> list[Any]:
        """The values at which something can happen: the ends, zero and one, constants, and beside them."""
        if self.type not in NEAR:
            return self.keys() + [None] * self.null
        found, kind = [self.lo, self.hi, *constants], float if self.type == "Float64" else int
        for x in [x for x in found if type(x) in (int, float) and isfinite(x)]:
            found += [float(x), nextafter(x, FAR), nextafter(x, -FAR), *(kind(floor(x) + n) for n in (-1, 0, 1, 2))]
        held = [x for x in [*found, *NEAR[self.type]] if x not in (None, inf, -inf) and self.holds(x)]
        return [*dict.fromkeys(held)] + [None] * self.null

    def holds(self, x: Any) -> bool:
        if x is None or self.type == "category":
            return self.null if x is None else any(alike(x, label) for label in self.labels)
        return type(x) in TYPES.get(self.type, (int,)) and (type(x) is str or self.lo <= x <= self.hi)


def read(given: dict[str, Any]) -> Dom:
    kind = {"untyped": "string"}.get(given["type"], given["type"])
    held, (low, high) = float if kind == "Float64" else int, given.get("range", (None, None))
    lo, hi = -inf if low is None else held(number(low)), inf if high is None else held(number(high))
    if lo > hi:
        raise Wrong("a range that holds nothing")
    return Dom(kind, given["null"], lo, hi, tuple(map(value, given["labels"])) if kind == "category" else ())


LENIENT: dict[str, Any] = {
    "constant": lambda a: a,
    "isnull": lambda a: a is None,
    "isin": lambda a, values: any(alike(a, v) for v in values),
    "fillnull": lambda a, b: b if a is None else a,
    "where": lambda c, a, b: a if c is True else b,
    "nullwhere": lambda c, a: None if c is True else a,
}
STRICT: dict[str, Any] = {  # where something is missing, so is the result
    "not": not_,
    "arithmetic": lambda op, *ab: OPERATORS[op](*(ab if op != "/" and {*map(type, ab)} == {int} else map(float, ab))),
    "part": lambda part, a: (datetime(1970, 1, 1) + timedelta(0, 0, a)).year if part == "year" else PARTS[part][0],
    "logic": lambda op, a, b: {"^": a is not b}[op],
    "function": lambda f, a, digits: type(a)(KEPT[f](a, *[digits] * (f == "round"))) if f in KEPT else SMOOTH[f](a),
    "clip": lambda a, low, high: type(a)(min(x for x in (max(a, a if low is None else low), high) if x is not None)),
    "text": lambda name, a, arguments: TEXT[name](a, *arguments),
    "categorise": lambda a, labels, _: next((label for label in labels if alike(a, label)), None),
}
LIMITS: dict[str, Any] = {  # what comes out between the critical values, where an operation is not monotone
    "part": lambda f, dom: PARTS.get(f[0]) or [y for y, end in ((-200_000, dom.lo), (200_000, -dom.hi)) if end == -inf],
    "text": lambda f, _: [HIGH] if f[0] == "len" else [],
    "arithmetic": lambda f, _, dom: [0, *(b - (b > 0) + (b < 0) for b in dom.points([]) if b)] if f[0] == "%" else [],
}


class Col(namedtuple("Col", "id kind fields inputs parts dom base")):
    """A column: what it is made of, directly and in all, its domain, and the rows that it belongs to (None: any)."""

    def checked(self) -> bool:
        """Refuse a claimed domain that does not hold what comes out. Whether the claim is reached."""
        claim, doms = self.dom, [x.dom for x in self.inputs]
        flat = [y for x in self.fields for y in (x if isinstance(x, list) else [x])]
        constants = [y for x in flat for y in (x if isinstance(x, list) else [x])]
        tried = [dom.points(constants) for dom in doms]
        if not 0 < prod(map(len, tried)) <= TRIED:
            raise NotImplementedError("no values to try, or too many")
        seen = [*LIMITS[self.kind](self.fields, *doms)] if self.kind in LIMITS else []
        least, most = (LOW, HIGH) if claim.type == "Int64" else (-FAR, FAR)
        for inputs in product(*tried):
            try:
                found = self.at(inputs)
            except (ValueError, ArithmeticError) as e:  # what cannot be computed is missing
                found = inf if isinstance(e, OverflowError) else None
            over = type(found) in (int, float) and not least <= found <= most  # missing; but just before it is not
            seen += [max(least, min(most, found)), None] if over else [found]
        if not all(map(claim.holds, seen)):
            raise Wrong("the claimed domain does not hold all that can come out")
        return {claim.lo, claim.hi} - {-inf, inf} <= {*seen} and (not claim.null or None in seen)

    def true_where(self, by: "Col", key: Any) -> bool:
        """Whether a condition can be true in rows where ``by`` is this key: it can if it depends on more than that."""
        found = {by.id: key}
        for col in (*self.parts.values(), self):
            if col.kind in CONDITIONS and col.id not in found and all(x.id in found for x in col.inputs):
                found[col.id] = col.at([found[x.id] for x in col.inputs])
        return found.get(self.id, True) is True

    def at(self, given: Any) -> Any:
        """One value, from one value of each input (None: missing)."""
        values, labels = iter(given), self.inputs[0].dom.labels if self.inputs else ()
        match self.kind, [next(values) if isinstance(x, Col) else x for x in self.fields]:
            case kind, f if kind in LENIENT:
                return LENIENT[kind](*f)
            case "logic", ["&" | "|" as op, *ab]:
                return (min if op == "&" else max)(ab, key=lambda x: 0.5 if x is None else x)
            case _ if None in given:
                return None
            case kind, f if kind in STRICT:
                return STRICT[kind](*f)
            case "recode", [a, pairs, keep]:
                hits = [image for key, image in pairs if alike(a, key)]
                return hits[-1 if labels else 0] if hits else a if keep else None
            case "compare", [op, a, b]:
                a, b = (labels.index(x) if labels and op != "==" and x is not None else x for x in (a, b))
                return None if b is None else {"==": alike, "<": lt, ">": gt}[op](a, b)
            case "cut", [a, edges, names, right, lowest]:
                # what intervals are called does not matter
                ends, names = [*map(float, edges)], names or self.dom.labels
                if len({*names}) != len(ends) - 1 or sorted(ends) != ends:
                    raise Wrong("cut needs edges that rise, and a label for each interval")
                i = (bisect_left if right else bisect_right)(ends, a) - 1 + bool(lowest and right and a == ends[0])
                return names[i] if 0 <= i < len(names) else None
            case "cast", [a, to]:
                return {"True": True, "False": False}.get(str(a)) if labels and to == "boolean" else CASTS[to](a)
        raise NotImplementedError(f"operation {self.kind!r}")
