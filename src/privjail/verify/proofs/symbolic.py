"""Theorems of differential privacy as obligations that an SMT solver (z3) discharges, each beside a mutant.

An obligation is a formula without quantifiers, so z3 decides it for *all* values of its variables: all probabilities,
all counts, every α in (0, 1). What runs over an unbounded number of outcomes, counts or mechanisms is proved as an
induction: start and step are obligations. docs/proofs.md says each in mathematical words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Formula = Any  # z3.BoolRef
TIMEOUT = 60_000  # milliseconds


@dataclass(frozen=True)
class Obligation:
    """``claim`` must hold for all values; ``mutant``, a slightly stronger claim, must not."""

    name: str
    theorem: str
    words: str
    claim: Formula
    mutant: Formula
    mutation: str


def start(
    theorem: str, of: str, words: str, given: Formula, so_far: Formula,
    values: list[tuple[Any, Any]], wrong: list[tuple[Any, Any]], mutation: str,
) -> Obligation:  # fmt: skip
    """The start of an induction: what its step takes for granted, ``so_far``, holds for the first values."""
    import z3

    claim, mutant = (z3.Implies(given, z3.substitute(so_far, *chosen)) for chosen in (values, wrong))
    return Obligation(f"{of}: the start", theorem, words, claim, mutant, mutation)


def proved(claim: Formula) -> bool:
    """Whether no values refute it. An answer of "unknown" is no proof."""
    return _solve(claim) == "unsat"


def refuted(claim: Formula) -> bool:
    """Whether some values refute it."""
    return _solve(claim) == "sat"


def vacuous(claim: Formula, given: tuple[Formula, ...] = ()) -> bool:
    """Whether a part of it says nothing: an implication whose hypotheses, and those around it, contradict each other.

    Implications inside of a hypothesis are no claims: one that says nothing there only makes the claim stronger.
    """
    import z3

    if z3.is_implies(claim):
        given = (*given, claim.arg(0))
        return _solve(z3.Not(z3.And(*given))) != "sat" or vacuous(claim.arg(1), given)
    if z3.is_app_of(claim, z3.Z3_OP_ITE):
        test, then, other = claim.children()
        return vacuous(then, (*given, test)) or vacuous(other, (*given, z3.Not(test)))
    parts = claim.children() if z3.is_and(claim) or z3.is_or(claim) or z3.is_quantifier(claim) else []
    return any(vacuous(part, given) for part in parts)


def _solve(claim: Formula) -> str:
    import z3

    solver = z3.Solver()
    solver.set("timeout", TIMEOUT)
    solver.add(z3.Not(claim))
    return str(solver.check())


def obligations() -> list[Obligation]:
    from privjail.verify.proofs import theorems_basic, theorems_coupling

    parts: list[Callable[[], list[Obligation]]] = [*theorems_basic.ALL, *theorems_coupling.ALL]
    return [each for part in parts for each in part()]


THEOREMS = {
    "definition": "ε-indistinguishability, and (ε, δ), from single outcomes to sets",
    "post-processing": "Post-processing",
    "sequential": "Sequential composition",
    "parallel": "Parallel composition",
    "laplace": "Laplace noise, on whole numbers and on reals",
    "response": "Randomised response",
    "exponential": "The exponential mechanism (noisy max with Gumbel noise)",
    "noisy max": "Report noisy max by the shift coupling",
    "above-threshold": "Above-threshold by two shifts",
    "histogram": "Thresholded histogram",
}
