"""Row-wise operations: the result for one row, from one value of each input.

This says what the plan means, not how the library computes it. Values are None (null), bool, int, float or str; a
moment is a number of microseconds since 1970. What cannot be computed (a logarithm of 0, a text that is no number)
raises ValueError or ArithmeticError, and is null in the column.

Each function has the operation's fields as its arguments, with the value of the row in place of each input column.
``in_labels`` are the labels of the first input if it is a category, ``out_labels`` those of the claimed result.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, sqrt
from typing import Any

from privjail.verify.checker.domains import Domain
from privjail.verify.checker.reading import HIGHEST_INT, LOWEST_INT, same_value
from privjail.verify.checker.texts_and_dates import DATE_PARTS, concat, date_part, text
from privjail.verify.checker.verdict import CannotCheck, Refuted


@dataclass(frozen=True)
class Labels:
    """The public labels of the categories around an operation; empty where there is no category."""

    in_labels: tuple[Any, ...] = ()
    out_labels: tuple[Any, ...] = ()


# -- operations that see nulls


def literal(_: Labels, value: Any) -> Any:
    """The same public value in every row."""
    return value


def is_null(_: Labels, a: Any) -> bool:
    return a is None


def is_in(_: Labels, a: Any, values: list[Any]) -> bool:
    """Never null. Null is in the list only if the list contains it."""
    return any(same_value(a, value) for value in values)


def fill_null(_: Labels, a: Any, other: Any) -> Any:
    return other if a is None else a


def where(_: Labels, condition: Any, a: Any, other: Any) -> Any:
    """``a`` where the condition is true, else (also where it is null) ``other``."""
    return a if condition is True else other


def null_where(_: Labels, condition: Any, a: Any) -> Any:
    return None if condition is True else a


def require_truth(a: Any) -> None:
    """Logic has true, false and null. What it would be for 0, 1 or a text is not defined in a plan."""
    if a is not None and type(a) is not bool:
        raise CannotCheck("logic of values that are neither true nor false")


def logic(_: Labels, operator: str, a: Any, b: Any) -> Any:
    """Three-valued logic: false & null is false, true | null is true; otherwise null with anything is null."""
    for x in (a, b):
        require_truth(x)
    match operator:
        case "&":
            return False if False in (a, b) else None if None in (a, b) else True
        case "|":
            return True if True in (a, b) else None if None in (a, b) else False
        case "^":
            return None if None in (a, b) else a is not b
    raise CannotCheck(f"the logical operator {operator!s:.40}")


# -- operations that are null where an input is null


def negate(_: Labels, a: Any) -> bool:
    require_truth(a)
    return not a


def compare(labels: Labels, operator: str, a: Any, b: Any) -> bool | None:
    """Categories are ordered as their labels are listed. Compared with the constant null, everything is null."""
    if b is None:
        return None
    if operator == "==":
        return same_value(a, b)
    if labels.in_labels:
        a, b = labels.in_labels.index(a), labels.in_labels.index(b)
    match operator:
        case "<":
            return bool(a < b)
        case ">":
            return bool(a > b)
    raise CannotCheck(f"the comparison {operator!s:.40}")


def arithmetic(_: Labels, operator: str, a: Any, b: Any) -> Any:
    """Two whole numbers are computed exactly (except /), all others as floats."""
    exact = type(a) is int and type(b) is int
    if operator == "/" or not exact:
        a, b = float(a), float(b)
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "//":
            return a // b if exact else float(floor(a / b))
        case "%":
            return a % b
    raise CannotCheck(f"the arithmetic operator {operator!s:.40} for these types")


SMOOTH: dict[str, Callable[[Any], Any]] = {"sqrt": sqrt, "exp": exp, "log": log}
ROUNDING: dict[str, Callable[[Any], Any]] = {"abs": abs, "floor": floor, "ceil": ceil}


def function(_: Labels, name: str, a: Any, digits: int) -> Any:
    """Functions of one number. abs, floor, ceil and round keep the type of the column."""
    if name in SMOOTH:
        return SMOOTH[name](a)
    return type(a)(round(a, digits) if name == "round" else ROUNDING[name](a))


def clip(_: Labels, a: Any, low: Any, high: Any) -> Any:
    """Move values to the nearest bound; null means no bound."""
    kind = type(a)
    if low is not None:
        a = max(a, low)
    if high is not None:
        a = min(a, high)
    return kind(a)


def cut(labels: Labels, a: Any, edges: list[Any], names: list[Any] | None, right: int, lowest: int) -> Any:
    """The name of the interval that a number is in; null outside of all. Edges are compared as floats.

    ``right``: intervals include their right edge, otherwise their left one. ``lowest``: if they include the right
    one, the first interval includes its left edge as well. Without names, the claimed labels are the names, in order.
    """
    ends, given = [float(edge) for edge in edges], names or labels.out_labels
    if len(set(given)) != len(ends) - 1 or sorted(ends) != ends:
        raise Refuted("cut needs rising edges and a label for each interval")
    i = (bisect_left if right else bisect_right)(ends, a) - 1
    if right and lowest and a == ends[0]:
        i = 0
    return given[i] if 0 <= i < len(given) else None


def recode(labels: Labels, a: Any, pairs: list[list[Any]], keep: int) -> Any:
    """The image of a value. Others stay as they are (``keep``) or become null.

    If a key is listed twice, the last one counts for a category, the first one for other columns.
    """
    images = [image for key, image in pairs if same_value(a, key)]
    if images:
        return images[-1] if labels.in_labels else images[0]
    return a if keep else None


def categorise(_: Labels, a: Any, categories: list[Any], ordered: int) -> Any:
    """The category that equals the value; null for all other values."""
    return next((label for label in categories if same_value(a, label)), None)


def cast(labels: Labels, a: Any, to: str) -> Any:
    """Python's conversion. Of texts, only the labels "True" and "False" of a category can become boolean.

    A moment is its number of microseconds. A unit in brackets says what whole numbers count; they stay what they are.
    """
    match to:
        case "string":
            return str(a)
        case "Int64":
            return int(a)
        case "Float64":
            return float(a)
        case "boolean" if labels.in_labels:
            return {"True": True, "False": False}.get(str(a))
        case "boolean" if type(a) is not str:
            return bool(a)
    if to.endswith("]") and type(a) is int:
        return a
    raise CannotCheck(f"a cast to {to!s:.40} from this type")


SEES_NULLS: dict[str, Callable[..., Any]] = {
    "constant": literal, "isnull": is_null, "isin": is_in, "fillnull": fill_null, "where": where,
    "nullwhere": null_where, "logic": logic,
}  # fmt: skip
NULL_IF_AN_INPUT_IS: dict[str, Callable[..., Any]] = {
    "not": negate, "compare": compare, "arithmetic": arithmetic, "function": function, "clip": clip, "cut": cut,
    "recode": recode, "categorise": categorise, "cast": cast, "text": text, "concat": concat,
    "part": date_part,
}  # fmt: skip
ROW_WISE = {*SEES_NULLS, *NULL_IF_AN_INPUT_IS}
CONDITIONS = {"constant", "compare", "isin", "isnull", "not", "logic"}  # what a filter's condition is evaluated through


# -- what comes out between critical values


def results_in_between(kind: str, fields: list[Any], inputs: list[Domain]) -> list[Any]:
    """The extreme results of operations that are not monotone between critical values (see domains.py).

    Remainder by b of whole numbers: from 0 to b - 1 (b + 1 if b is negative); of others (labels of a category may be
    floats), from 0 to b. Length of a text, number of matches: unbounded. A match may be there or not; a text that is
    not there, or would be too long, is null. Parts of a date other than the year repeat: the whole range of the part is
    assumed to occur. Moments without a bound go beyond every calendar: the parts can be null there, and ±300,000 stands
    for any year (64 bits of microseconds hold fewer); as whole numbers they fill 64 bits.
    """
    if kind == "text" and fields[0] in ("len", "count"):
        return [HIGHEST_INT]
    if kind == "text" and fields[0] == "matches":
        return [False, True]
    if kind == "concat" or kind == "text" and fields[0] in ("replace", "part", "extract", "substitute"):
        return [None]
    if kind == "arithmetic" and fields[0] == "%":
        divisors = [b for b in inputs[1].critical_values([]) if b]
        if (inputs[0].type, inputs[1].type) != ("Int64", "Int64"):
            return [0.0, *map(float, divisors)]
        return [0, *(b - 1 if b > 0 else b + 1 for b in divisors)]
    if kind == "cast" and inputs[0].type == "datetime64[us]":
        ends = ((inputs[0].low == -inf, LOWEST_INT), (inputs[0].high == inf, HIGHEST_INT))
        return [end for unbounded, end in ends if unbounded]
    if kind == "part":
        low, high = inputs[0].low == -inf, inputs[0].high == inf
        nulls = [None] if low or high else []
        if fields[0] != "year":
            return [*DATE_PARTS[fields[0]], *nulls]
        return ([-300_000] if low else []) + ([300_000] if high else []) + nulls
    return []
