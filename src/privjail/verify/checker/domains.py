"""Domains: which values a column may hold, and the critical values at which an operation on it is tried.

*Why critical values are enough.* Each row-wise operation (operations.py) is monotone in each of its inputs between two
neighbouring critical values. So its smallest and largest results over all inputs are at combinations of critical
values, and so is a null if one can come out (a result beyond 64 bits is an extreme one). Per operation: + and - are
monotone everywhere; * and / change direction at 0; abs turns at 0; round, floor, ceil, sqrt, exp, log, clip and casts
between numbers are monotone; cut, recode, isin and comparisons with a constant are constant between their constants;
where and fillnull give one of their inputs. The critical values are

- both ends of the range (of the 64-bit type, where there is no bound), and every label of a category;
- 0, ±1, ±1/2 and the floats next to 0: signs change there, division and logarithm diverge there;
- every constant of the operation (edges of a cut, bounds of a clip, keys of a recode, …), with the whole numbers and
  floats next to it: comparisons and rounding change there;
- null, if the column is nullable.

Three operations are not monotone in this sense: the remainder, the length of a text and parts of a date. Their extreme
results are stated in operations.py (``results_in_between``).
"""

from dataclasses import dataclass
from math import floor, inf, isfinite, nextafter
from typing import Any

from privjail.verify.checker.reading import (
    HIGHEST_INT,
    LARGEST_FLOAT,
    LOWEST_INT,
    constant,
    number,
    same_value,
    truth,
)
from privjail.verify.checker.verdict import CannotCheck, Refuted

RANGED = ("Int64", "Float64", "datetime64[us]")  # types with a lower and an upper bound
OTHERS = ("boolean", "string", "category")
MOST_KEYS = 100_000  # a wider range of whole numbers is not enumerated

ALWAYS_TRIED: dict[str, list[Any]] = {
    "Int64": [LOWEST_INT, HIGHEST_INT, 0, 1, -1],
    "Float64": [-LARGEST_FLOAT, LARGEST_FLOAT, 0.0, 1.0, -1.0, 0.5, -0.5, 5e-324, -5e-324],
    "datetime64[us]": [LOWEST_INT, HIGHEST_INT],
    "string": ["", "a", "True", " B "] + [str(x) for x in (LOWEST_INT, HIGHEST_INT, -LARGEST_FLOAT, LARGEST_FLOAT)],
}


@dataclass(frozen=True)
class Domain:
    """The values of a column: a type, whether null is one of them, a range (±inf: no bound), labels of a category."""

    type: str
    nullable: bool
    low: float = -inf
    high: float = inf
    labels: tuple[Any, ...] = ()

    def keys(self) -> list[Any]:
        """All values but null, if the type gives a finite list of them; else an empty list."""
        if self.type == "Int64" and self.high - self.low < MOST_KEYS:
            return list(range(int(self.low), int(self.high) + 1))
        if self.type == "boolean":
            return [False, True]
        return list(self.labels)

    def contains(self, x: Any) -> bool:
        """Whether a value may stand in this column. A column of floats takes whole numbers, too."""
        if x is None:
            return self.nullable
        match self.type:
            case "category":
                return any(same_value(x, label) for label in self.labels)
            case "boolean":
                return type(x) is bool
            case "string":
                return type(x) is str
            case "Float64":
                return type(x) in (int, float) and self.low <= x <= self.high
        return type(x) is int and self.low <= x <= self.high

    def critical_values(self, constants: list[Any]) -> list[Any]:
        """The values at which an operation with these constants is tried (see above)."""
        nulls = [None] if self.nullable else []
        if self.type in ("boolean", "category"):
            return self.keys() + nulls
        found = [self.low, self.high, *constants]
        for x in [x for x in found if type(x) in (int, float) and isfinite(x)]:
            found += [x, nextafter(x, LARGEST_FLOAT), nextafter(x, -LARGEST_FLOAT)]
            found += [floor(x) + n for n in (-1, 0, 1, 2)]
        found += ALWAYS_TRIED[self.type]
        if self.type == "Float64":
            found = [float(x) for x in found if type(x) in (int, float)]
        return [x for x in dict.fromkeys(found) if x not in (None, inf, -inf) and self.contains(x)] + nulls

    def same_as(self, other: "Domain") -> bool:
        """Equal, with labels compared by type as well: a label True is not the label 1."""
        return self == other and all(map(same_value, self.labels, other.labels))


def read_domain(given: dict[str, Any]) -> Domain:
    """A domain as certificates spell it. Rounding a bound to the column's type excludes no value of that type."""
    kind, nullable = given["type"], truth(given["null"])
    if kind == "untyped":
        kind = "string"
    if kind in RANGED:
        held = float if kind == "Float64" else int
        low, high = given["range"]
        domain = Domain(
            kind, nullable, -inf if low is None else held(number(low)), inf if high is None else held(number(high))
        )
        if domain.low > domain.high:
            raise Refuted("a range that holds nothing")
        return domain
    if kind not in OTHERS:
        raise CannotCheck(f"a column of type {kind!s:.40}")
    return Domain(kind, nullable, labels=tuple(map(constant, given["labels"])) if kind == "category" else ())
