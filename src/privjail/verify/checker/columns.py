"""What columns may hold: each operation's domain, from the claimed domains of its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from privjail.verify.checker.forms import CannotCheck, Wrong

LOW, HIGH = Fraction(-(2**63)), Fraction(2**63 - 1)
NUMBERS, DIGITS = ("Int64", "Float64"), Context(60, Emax=10**6, Emin=-(10**6))
TINY = Fraction(1, 2**50)  # what libraries may disagree by in exp and log
NEVER = 10**4  # exp of less is 0 in floats


@dataclass(frozen=True)
class Dom:
    """A type, whether values may be missing, a range (None: open), and labels as typed constants."""

    type: str
    null: bool = False
    lo: Fraction | None = None
    hi: Fraction | None = None
    labels: tuple[tuple[str, str], ...] = ()

    def keys(self) -> list[tuple[str, str]]:
        """All values, if they are finitely many."""
        if self.type == "category":
            return list(self.labels)
        if self.type == "boolean":
            return [("bool", "False"), ("bool", "True")]
        if self.type == "Int64" and self.lo is not None and self.hi is not None and self.hi - self.lo < 100_000:
            return [("int", str(x)) for x in range(int(self.lo), int(self.hi) + 1)]
        raise Wrong(f"a {self.type} column has no finite list of values")

    def ends(self) -> tuple[Any, Any]:
        low, high = (LOW, HIGH) if self.type == "Int64" else (-math.inf, math.inf)  # 64 bits have two ends
        return low if self.lo is None else self.lo, high if self.hi is None else self.hi

    def within(self, claim: Dom) -> bool:
        (lo, hi), (low, high) = self.ends(), claim.ends()
        same = self.type == claim.type and self.labels == claim.labels
        return same and low <= lo and hi <= high and (claim.null or not self.null)


def read(given: dict[str, Any]) -> Dom:
    lo, hi = (None if b is None else Fraction(b) for b in given.get("range", (None, None)))
    kind = {"untyped": "string"}.get(given["type"], given["type"])
    return Dom(kind, given["null"], lo, hi, tuple((t, s) for t, s in given.get("labels", ())))


def value(lit: tuple[str, str]) -> Any:
    """A typed constant as Python has it; moments as whole microseconds."""
    kind, text = lit
    makers: dict[str, Callable[[str], Any]] = {"int": int, "time": int, "float": float.fromhex, "text": str}
    return {"none": None, "bool": text == "True"}[kind] if kind in ("none", "bool") else makers[kind](text)


def alike(a: Any, b: Any) -> bool:
    """Equality of constants: 1 is 1.0, but not True."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def single(lit: tuple[str, str]) -> Dom:
    """The domain of one constant."""
    kind = {"bool": "boolean", "int": "Int64", "float": "Float64", "text": "category", "time": "datetime64[us]"}
    if lit[0] == "text":
        return Dom("category", False, labels=(lit,))
    if lit[0] not in kind or (lit[0] == "float" and not math.isfinite(value(lit))):
        raise Wrong("a column cannot hold this constant")
    exact = None if lit[0] == "bool" else Fraction(value(lit))
    return Dom(kind[lit[0]], False, exact, exact)


def outward(x: Fraction | None, up: bool) -> Fraction | None:
    """The nearest float that is not inside of a bound."""
    near = nearest(x)
    if x is None or near is None:
        return None
    if near != x and (near < x) == up:
        near = Fraction(math.nextafter(float(near), math.inf if up else -math.inf))
    return near


def nearest(x: Fraction | None) -> Fraction | None:
    """A bound rounded to the nearest float, as one float operation rounds; None beyond the largest."""
    try:
        return None if x is None else Fraction(float(x))
    except OverflowError:
        return None


def joined(a: Dom, b: Dom) -> Dom:
    """What holds the values of both."""
    null = a.null or b.null
    if {a.type, b.type} == {"category"}:
        extra = [y for y in b.labels if not any(alike(value(x), value(y)) for x in a.labels)]
        return Dom("category", null, labels=a.labels + tuple(extra))
    if {a.type, b.type} == {"category", "string"}:
        return Dom("string", null)
    lo = None if a.lo is None or b.lo is None else min(a.lo, b.lo)
    hi = None if a.hi is None or b.hi is None else max(a.hi, b.hi)
    if a.type == b.type:
        return Dom(a.type, null, lo, hi)
    if {a.type, b.type} == set(NUMBERS):
        return Dom("Float64", null, outward(lo, False), outward(hi, True))
    raise Wrong(f"a column cannot hold {a.type} and {b.type}")


def arithmetic(op: str, a: Dom, b: Dom) -> Dom:
    if a.type not in NUMBERS or b.type not in NUMBERS:
        raise Wrong("arithmetic needs numbers")
    zero = op in ("/", "//", "%") and (b.lo is None or b.lo <= 0) and (b.hi is None or b.hi >= 0)
    null = a.null or b.null or zero
    if a.type == b.type == "Int64" and op != "/":
        ends = [f for x in a.ends() for y in _divisors(b.ends(), op) for f in _whole(op, x, y)] or [Fraction(0)]
        lo, hi = min(ends), max(ends)
        fits = lo >= LOW and hi <= HIGH
        return Dom("Int64", null or not fits, lo if lo >= LOW else None, hi if hi <= HIGH else None)
    if op == "%":
        raise Wrong("a remainder needs whole numbers")
    if zero or None in (a.lo, a.hi, b.lo, b.hi):
        return Dom("Float64", True)
    exact = [_real(op, nearest(x), nearest(y)) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    floats = [math.inf * (1 if x > 0 else -1) if nearest(x) is None else float(x) for x in exact]
    if op == "//":
        floats = [float(math.floor(x)) if math.isfinite(x) else x for x in floats]
    bounds = [Fraction(x) if math.isfinite(x) else None for x in (min(floats), max(floats))]
    return Dom("Float64", null or None in bounds, *bounds)


def _divisors(ys: tuple[Fraction, ...], op: str) -> list[Fraction]:
    """The ends of a range; of divisors also those next to zero, and never zero."""
    if op not in ("//", "%"):
        return list(ys)
    return [y for y in (*ys, Fraction(1), Fraction(-1)) if y and ys[0] <= y <= ys[1]]


def _whole(op: str, x: Fraction, y: Fraction) -> list[Fraction]:
    if op == "%":  # between 0 and the divisor, without it
        return [Fraction(0), y - 1 if y > 0 else y + 1]
    return [{"+": x + y, "-": x - y, "*": x * y}[op] if op != "//" else Fraction(math.floor(x / y))]


def _real(op: str, x: Fraction | None, y: Fraction | None) -> Fraction:
    if x is None or y is None:
        raise CannotCheck("a bound beyond the largest float")
    return x / y if op in ("/", "//") else {"+": x + y, "-": x - y, "*": x * y}[op]


def _decimal(f: Callable[[Decimal], Decimal], x: Any) -> Fraction:
    """A function of an exact bound, to 60 digits."""
    x = Fraction(x)
    return Fraction(f(DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))))


def function(f: str, a: Dom, digits: int) -> Dom:
    if a.type not in NUMBERS:
        raise Wrong(f"{f} needs numbers")
    lo, hi = a.lo, a.hi
    if f == "abs":
        far = None if lo is None or hi is None else max(abs(lo), abs(hi))
        near = max(lo or 0, -(hi or 0), 0) if lo is not None and hi is not None else 0
        lost = a.type == "Int64" and (lo is None or lo <= LOW)
        return Dom(a.type, a.null or lost, Fraction(near), None if a.type == "Int64" and (far or 0) > HIGH else far)
    if a.type == "Int64" and f in ("round", "floor", "ceil"):
        return a
    if f in ("floor", "ceil"):
        whole = [None if x is None else Fraction(math.floor(x) if f == "floor" else math.ceil(x)) for x in (lo, hi)]
        return Dom("Float64", a.null, *map(nearest, whole))
    if f == "round":  # to one of the two neighbouring steps; half may go either way
        step = Fraction(1, 10**digits)
        bounds = [None if x is None else round(x / step) * step for x in (lo, hi)]
        return Dom("Float64", a.null, *map(nearest, bounds))
    if f == "sqrt":
        ends = [None if x is None else nearest(_decimal(DIGITS.sqrt, max(x, Fraction(0)))) for x in (lo, hi)]
        return Dom("Float64", a.null or lo is None or lo < 0, ends[0] or Fraction(0), ends[1])
    if f == "exp":
        over = hi is None or hi > 709
        least, most = (None if x is None else _decimal(DIGITS.exp, min(max(x, -NEVER), 709)) for x in (lo, hi))
        least = None if lo is None or least is None else least * (1 - TINY)
        return Dom("Float64", a.null or over, least or Fraction(0), None if over or not most else most * (1 + TINY))
    if f != "log":
        raise CannotCheck(f"function {f!r}")
    first, last = (None if x is None or x <= 0 else _decimal(DIGITS.ln, x) for x in (lo, hi))
    least = None if first is None else first - abs(first) * TINY
    return Dom("Float64", a.null or first is None, least, None if last is None else last + abs(last) * TINY)
