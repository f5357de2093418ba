"""Row-wise operations on texts and moments (see operations.py for what an operation is)."""

from datetime import datetime, timedelta
from typing import Any

from privjail.verify.checker.reading import HIGHEST_INT, LOWEST_INT
from privjail.verify.checker.verdict import CannotCheck


def text(_: object, name: str, a: str, arguments: list[Any]) -> Any:
    """Functions of a text."""
    match name:
        case "len":
            return len(a)
        case "contains":
            return arguments[0] in a
        case "slice":
            return a[arguments[0] : arguments[1]]
        case "lower" | "upper" | "strip" | "lstrip" | "rstrip" | "startswith" | "endswith" | "zfill":
            return getattr(a, name)(*arguments)
        case "pad":
            return (
                a.rjust(arguments[0], arguments[2]) if arguments[1] == "left" else a.ljust(arguments[0], arguments[2])
            )
        case "matches":
            return True  # what a pattern matches is not read here: see results_in_between
        case "replace" | "part" | "extract" | "substitute":
            return a
        case "count":
            return 0
    raise CannotCheck(f"the text function {name!s:.40}")


def concat(_: object, a: str, b: str) -> str:
    return a + b


DATE_PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59),
              "second": (0, 59), "dayofweek": (0, 6), "dayofyear": (1, 366)}  # fmt: skip


def date_part(_: object, name: str, moment: int) -> int | None:
    """The year of a moment. Other parts are covered by ``results_in_between``; here one value of their range stands.

    At an end of 64 bits, which stands for moments without a bound, it is null; the years before are covered there, too.
    """
    if moment in (LOWEST_INT, HIGHEST_INT):
        return None
    try:
        year = (datetime(1970, 1, 1) + timedelta(microseconds=moment)).year
    except OverflowError:
        raise CannotCheck("a moment outside of the years 1 to 9999") from None
    return year if name == "year" else DATE_PARTS[name][0]
