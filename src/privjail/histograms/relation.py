"""Which two data sets count as neighbours, and what that makes of ε."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail.budget.amounts import amount
from privjail.errors import PlanError

#: Changes between neighbours, in added and removed records: one, or one removed and another added.
RELATIONS = {"add-remove": 1, "replace": 2}


def per_record(epsilon: Any, neighbours: str) -> Fraction:
    """The ε that may be spent on one added or removed record.

    A replaced record is one removed and one added, and ε adds up along such a chain: algorithms here are all built
    for one record at a time, so ``"replace"`` gives each half.
    """
    if neighbours not in RELATIONS:
        raise PlanError(f"neighbours are {' or '.join(RELATIONS)}, not {neighbours!r}")
    return amount(epsilon) / RELATIONS[neighbours]


def halves(epsilon: Fraction, first: Fraction | float) -> tuple[Fraction, Fraction]:
    """ε in two parts, the first being this share."""
    share = Fraction(first).limit_denominator(10**6)
    if not 0 < share < 1:
        raise PlanError(f"a share of epsilon lies between 0 and 1, not {first}")
    return epsilon * share, epsilon * (1 - share)
