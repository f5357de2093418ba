"""Terms of SQL, built from parts that the library wrote; a value of a program enters as an encoded literal only.

There is no way from a string to a term but ``build``, whose strings are constants in this folder, and the dialect's
literals (dialect.py), which spell numbers by their digits and text by the hexadecimal digits of its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Term:
    """One SQL expression. ``level``: how many stages of computed columns must lie below it (compiler.py)."""

    text: str
    level: int = 0

    def __add__(self, other: Term) -> Term:
        return build("(", self, " + ", other, ")")

    def __sub__(self, other: Term) -> Term:
        return build("(", self, " - ", other, ")")

    def __mul__(self, other: Term) -> Term:
        return build("(", self, " * ", other, ")")

    def __truediv__(self, other: Term) -> Term:
        return build("(", self, " / ", other, ")")

    def __lt__(self, other: Term) -> Term:
        return build("(", self, " < ", other, ")")

    def __le__(self, other: Term) -> Term:
        return build("(", self, " <= ", other, ")")

    def __gt__(self, other: Term) -> Term:
        return build("(", self, " > ", other, ")")

    def __ge__(self, other: Term) -> Term:
        return build("(", self, " >= ", other, ")")

    def __and__(self, other: Term) -> Term:
        return build("(", self, " AND ", other, ")")

    def __or__(self, other: Term) -> Term:
        return build("(", self, " OR ", other, ")")

    def __invert__(self) -> Term:
        return build("(NOT ", self, ")")

    def equals(self, other: Term) -> Term:
        return build("(", self, " = ", other, ")")

    def differs(self, other: Term) -> Term:
        return build("(", self, " <> ", other, ")")

    def is_null(self) -> Term:
        return build("(", self, " IS NULL)")

    def is_known(self) -> Term:
        return build("(", self, " IS NOT NULL)")

    def is_true(self) -> Term:
        """True where the term is true; false where it is false or missing."""
        return build("coalesce(", self, ", FALSE)")


def build(*parts: str | Term) -> Term:
    """One term from constants of this library and other terms."""
    texts, level = [], 0
    for part in parts:
        if isinstance(part, Term):
            texts.append(part.text)
            level = max(level, part.level)
        else:
            texts.append(part)
    return Term("".join(texts), level)


def listed(terms: list[Term]) -> list[str | Term]:
    """Terms with commas between them, as parts of another term."""
    parts: list[str | Term] = []
    for term in terms:
        parts += [", ", term] if parts else [term]
    return parts


def all_of(conditions: Sequence[Term]) -> Term:
    """Whether every one of some conditions holds."""
    found = conditions[0]
    for each in conditions[1:]:
        found = found & each
    return found
