"""The two ways a check can fail, and the report that a reader gets."""

from dataclasses import dataclass, field
from fractions import Fraction

Number = Fraction | float  # an exact fraction, or math.inf where nothing bounds the number

TOLERATED = 1 + Fraction(1, 2**24)  # a claim this much larger than needed is a rounding, not worth a remark


class Refuted(Exception):
    """A claim is false, or does not follow from the claims that it rests on."""


class CannotCheck(Exception):
    """The checker has no rule for this, or would need too long. It says nothing about whether the claim is true."""


@dataclass
class Report:
    """The verdict on one certificate.

    ``verdict``: "ok", "refuted" or "cannot check". ``problems``: what is wrong, and at which node. ``larger``: claims
    that are larger than they need be. Those cost accuracy or budget, never privacy, and do not change the verdict.
    """

    verdict: str = "ok"
    problems: list[str] = field(default_factory=list)
    larger: list[str] = field(default_factory=list)
    place: str = "certificate"  # what is being checked now

    def require(self, what: str, claimed: Number, needed: Number) -> None:
        """A claimed bound must be at least the bound that is needed."""
        if claimed < needed:
            raise Refuted(f"{what} is claimed to be {claimed!s:.40}, but is {needed!s:.40}")
        if claimed > needed and not (needed > 0 and claimed <= needed * TOLERATED):
            self.note_larger(what)

    def note_larger(self, what: str) -> None:
        self.larger.append(f"{self.place}: {what}")
