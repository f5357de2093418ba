"""Reading numbers and constants from a certificate.

A certificate comes from others, so nothing in it is trusted. What does not have exactly the expected type is refused:
in Python ``True == 1 == 1.0``, and a "truth value" of -1 is neither false nor 1.
"""

import re
from fractions import Fraction
from math import inf, isnan
from typing import Any

from privjail.verify.checker.verdict import CannotCheck, Number, Refuted

# What Python raises when a certificate lacks a key, has a list for a number, and so on.
MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)

LOWEST_INT, HIGHEST_INT = -(2**63), 2**63 - 1  # of a 64-bit column
LARGEST_FLOAT = 1.7976931348623157e308


def number(given: Any) -> Fraction:
    """A fraction such as "3" or "-1/2".

    Exponents and numbers of more than 2,000 digits are not even read: "1e999999999" would never be computed.
    """
    if not re.fullmatch("-?[0-9]{1,2000}(/[0-9]{1,2000})?", str(given)):
        raise CannotCheck("a number is no fraction, or has more than 2000 digits")
    return Fraction(given)


def bound(given: Any) -> Number:
    """A fraction, or infinity where the certificate gives no bound (null)."""
    return inf if given is None else number(given)


def whole_number(given: Any, least: int) -> int:
    """A whole number of at least this size: a negative window, say, would make a distance smaller."""
    if type(given) is not int or given < least:
        raise Refuted(f"a whole number of at least {least} is needed")
    return given


def truth(given: Any) -> bool:
    """Exactly true or false."""
    if type(given) is not bool:
        raise CannotCheck("neither true nor false")
    return given


def place_in(table: list[Any], given: Any) -> int:
    """An index into a table of the certificate. Python would take -1 for the last entry."""
    if type(given) is not int or not 0 <= given < len(table):
        raise CannotCheck("a reference to an entry that is not there, or not yet")
    return given


def constant(given: Any) -> Any:
    """A constant [type, spelling] as a Python value: None, bool, int, float or str; a moment is a number of µs."""
    match given:
        case ["none", _]:
            return None
        case ["bool", "True" | "False" as spelling]:
            return spelling == "True"
        case ["int" | "time", str(spelling)]:
            return int(spelling)
        case ["text", str(spelling)]:
            return spelling
        case ["float", str(spelling)] if not isnan(made := float.fromhex(spelling)):
            return made
    raise CannotCheck("a constant of an unknown type, or not spelled as one")


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal in a column: 1 is 1.0, but True is not 1."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
