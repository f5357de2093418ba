"""Rows of several columns: what weighted sums and scales can give, and how long a row can be.

A *row norm* bounds the vector that one row adds to a vector sum, in L1, L2 and L∞. It is found from how the columns
were made. A column that is always a multiple of its summation grid, and never larger in absolute value than an inner
column, can be replaced by that inner column. Inner columns are then sorted into *blocks*:

- x·s for columns x of one ``row_scale`` s with bound c: the row (x₁·s, x₂·s, …) has a norm of at most c, by what
  ``row_scale`` means in a plan. Columns that are left out only shorten it; one that is repeated would not.
- tests y == k of one column for different k: at most one is true.
- products u·v of different pairs: Σ|u·v|ᵖ ≤ Σ|u|ᵖ·Σ|v|ᵖ; rounding the product to a float adds a factor of 1 + 2⁻⁵².
- any other column by itself: its largest absolute value.

Norms of blocks add up: the sum in L1, the root of the sum of squares in L2, the largest in L∞.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from math import isfinite, isqrt
from typing import Any

from privjail.verify.checker.reading import LARGEST_FLOAT
from privjail.verify.checker.verdict import CannotCheck, Refuted

OF_ROWS = {"dot", "row_scale", "truncate"}
MOST_COLUMNS = 4096
ROUNDED = 1 + Fraction(1, 2**52)
Norm = dict[str, Fraction]  # "l1", "l2", "linf"; L2 is not squared


# -- domains


def row_results(kind: str, fields: list[Any]) -> list[Any]:
    """The extreme results of an operation on one row."""
    match kind, fields:
        case "dot", [[*columns], [*weights]]:
            return dot_results(columns, weights)
        case "row_scale", [[*columns], bound, "1" | "2" | "inf"]:
            numbers(columns)
            if type(bound) is not float or not 2.0**-100 <= bound <= 2.0**100 or len(columns) > MOST_COLUMNS:
                raise Refuted("a row is scaled to a bound between 2**-100 and 2**100, for at most 4,096 columns")
            return [0.0, 1.0, *nulls(columns)]
        case "truncate", [column]:
            numbers([column])
            if column.domain.type != "Float64" or not isfinite(column.domain.low) or not isfinite(column.domain.high):
                raise Refuted("only floats with two bounds have a grid")
            grid = grid_of(column)
            ends = [int(Fraction(end) / grid) * grid for end in (column.domain.low, column.domain.high)]
            return [*(float(end) for end in ends), *nulls([column])]
    raise CannotCheck(f"{kind} with these fields")


def dot_results(columns: list[Any], weights: list[Any]) -> list[Any]:
    """Sums of products from left to right, at the lowest and the highest product of each column."""
    numbers(columns)
    if len(columns) != len(weights) or not all(type(w) is float and isfinite(w) for w in weights):
        raise Refuted("a weighted sum needs a finite weight for each column")
    low = high = 0.0
    for column, weight in zip(columns, weights, strict=True):
        if not (isfinite(column.domain.low) and isfinite(column.domain.high)):
            return [-LARGEST_FLOAT, LARGEST_FLOAT, None]
        products = sorted([weight * float(column.domain.low), weight * float(column.domain.high)])
        low, high = low + products[0], high + products[1]
    if not (isfinite(low) and isfinite(high)):
        return [-LARGEST_FLOAT, LARGEST_FLOAT, None]
    return [low, high, *nulls(columns)]


def numbers(columns: list[Any]) -> None:
    if not columns or any(column.domain.type not in ("Int64", "Float64") for column in columns):
        raise Refuted("rows are made of columns of numbers")


def nulls(columns: list[Any]) -> list[Any]:
    return [None] if any(column.domain.nullable for column in columns) else []


def grid_of(column: Any) -> Fraction:
    from privjail.verify.checker.numbers import sum_grid

    domain = column.domain
    return sum_grid(Fraction(max(-domain.low, domain.high)), domain.type)


# -- norms


def row_norm(columns: list[Any]) -> Norm:
    """How long the vector of one row can be, as it is added up."""
    carried = {column.fields[0].node if column.kind == "carried" else None for column in columns}
    while len(carried) == 1 and None not in carried:  # the same row, in the rows that a slice was taken of
        columns = [column.inputs[0] for column in columns]
        carried = {column.fields[0].node if column.kind == "carried" else None for column in columns}
    blocks = defaultdict(list)
    for i, column in enumerate(columns):
        name = block_name(inside(column)) if added_as_it_is(column) else None
        blocks[("one", i) if name is None else name].append(column)
    found = [block_norm(name, block) for name, block in blocks.items()]
    squares = sum((norm["l2"] ** 2 for norm in found), Fraction(0))
    return {
        "l1": sum((norm["l1"] for norm in found), Fraction(0)),
        "l2": root_below(squares),
        "linf": max(norm["linf"] for norm in found),
    }


def root_below(x: Fraction) -> Fraction:
    """√x, rounded down by less than a part in 2**100: that much a certificate may be below what is true."""
    scale = 1 << 128 + x.denominator.bit_length()
    return Fraction(isqrt(x.numerator * scale * scale // x.denominator), scale)


def added_as_it_is(column: Any) -> bool:
    """A sum rounds neither whole numbers on the grid of 1, nor truth values, nor what was truncated to its grid."""
    if column.domain.type == "Int64":
        return isfinite(column.domain.low) and isfinite(column.domain.high) and grid_of(column) == 1
    return bool(column.kind == "truncate" or column.domain.type == "boolean")


def inside(column: Any) -> Any:
    """The innermost column that is at least as large in absolute value."""
    while True:
        match column.kind, column.fields:
            case "truncate", [inner]:
                column = inner
            case "clip", [inner, low, high] if (low is None or low <= 0) and (high is None or high >= 0):
                column = inner
            case "cast", [inner, "Int64" | "Float64"] if inner.domain.type == "boolean":
                column = inner
            case _:
                return column


def scaled_by(column: Any) -> Any:
    """The scale s of a column x·s, if x is one of the columns of s."""
    match column.kind, column.fields:
        case "arithmetic", ["*", x, s] if s.kind == "row_scale" and x.node in [each.node for each in s.fields[0]]:
            return s
    return None


def tested(column: Any) -> Any:
    """The column y of a test y == k with a constant k."""
    match column.kind, column.fields:
        case "compare", ["==", y, key] if key is not None and not hasattr(key, "node"):
            return y
    return None


def block_name(column: Any) -> Any:
    if scaled_by(column) is not None:
        return "scale", scaled_by(column).node
    if tested(column) is not None:
        return "tests", tested(column).node
    match column.kind, column.fields:
        case "arithmetic", ["*", u, v]:
            return "products", factor_name(u), factor_name(v)
    return None


def factor_name(factor: Any) -> Any:
    """A factor that is scaled must be truncated: a product that underflows could be larger than it should be."""
    inner = inside(factor)
    if scaled_by(inner) is not None and factor.kind == "truncate":
        return "scale", scaled_by(inner).node
    if tested(inner) is not None:
        return "tests", tested(inner).node
    return "one", factor.node


def block_norm(name: Any, block: list[Any]) -> Norm:
    sizes = [size_of(column) for column in block]
    norm = {
        "l1": sum(sizes, Fraction(0)),
        "l2": root_below(sum((x * x for x in sizes), Fraction(0))),
        "linf": max(sizes),
    }
    inner = [inside(column) for column in block]
    match name[0]:
        case "scale":
            scale = scaled_by(inner[0])
            used = Counter(column.fields[1].node for column in inner)
            if not used - Counter(column.node for column in scale.fields[0]):
                return shorter(norm, of_order(Fraction(scale.fields[1]), scale.fields[2], len(block)))
        case "tests":
            keys = [column.fields[2] for column in inner]
            if len(set(keys)) == len(keys):
                return shorter(norm, {"l1": Fraction(1), "l2": Fraction(1), "linf": Fraction(1)})
        case "products":
            pairs = [(column.fields[1], column.fields[2]) for column in inner]
            bounded = all(isfinite(x.domain.low) and isfinite(x.domain.high) for pair in pairs for x in pair)
            if bounded and len({(u.node, v.node) for u, v in pairs}) == len(pairs):
                left, right = ({x.node: x for x in side} for side in zip(*pairs, strict=True))
                first, second = (block_norm(factor_name(x[0]), x) for x in (list(left.values()), list(right.values())))
                return shorter(norm, {p: first[p] * second[p] * ROUNDED for p in norm})
    return norm


def of_order(bound: Fraction, order: str, count: int) -> Norm:
    """‖x‖∞ ≤ ‖x‖₂ ≤ ‖x‖₁ ≤ √count·‖x‖₂ ≤ count·‖x‖∞."""
    match order:
        case "1":
            return {"l1": bound, "l2": bound, "linf": bound}
        case "2":
            return {"l1": bound * root_below(Fraction(count)), "l2": bound, "linf": bound}
    return {"l1": bound * count, "l2": bound * root_below(Fraction(count)), "linf": bound}


def shorter(a: Norm, b: Norm) -> Norm:
    return {p: min(a[p], b[p]) for p in a}


def size_of(column: Any) -> Fraction:
    if column.domain.type == "boolean":
        return Fraction(1)
    if not (isfinite(column.domain.low) and isfinite(column.domain.high)):
        raise CannotCheck("a sum needs numbers with two bounds")
    return Fraction(max(-column.domain.low, column.domain.high))
