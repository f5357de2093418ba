"""Conformance: claims of published packages and of this library, each tried by running the package's own code.

Packages run in environments of their own, which are made once and kept (checks/published.py). The mechanisms of this
library go through the sequential auditor, which stops as soon as a claim is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privjail.errors import PlanError
from privjail.verify.checks.published import CASES, judged
from privjail.verify.checks.sequential import refute
from privjail.verify.checks.sound import cases

OURS = "privjail (this one)"


@dataclass(frozen=True)
class Outcome:
    """One claim, and what became of it: ``refuted``, ``not refuted`` or ``not run``."""

    package: str
    claim: str
    known: str  # where the violation is described; or that it is a control
    verdict: str
    found: str
    expected: bool  # whether this is what is known of it


def packages() -> list[str]:
    return list(dict.fromkeys([case.package.split()[0].split("[")[0] for case in CASES] + ["ours"]))


def outcomes(only: str | None = None, *, rounds: int = 4_000, told: Callable[[str], None] = print) -> Iterator[Outcome]:
    """Try every claim; ``only``: those of one package."""
    if only is not None and only not in packages():
        raise PlanError(f"there is no adapter for {only!r}", do=f"use one of {', '.join(packages())}")
    for case in CASES:
        if only in (None, case.package.split()[0].split("[")[0]):
            told(f"{case.package}: {case.draws}")
            found = judged(case)
            verdict = "not run" if found.judged is None else ("refuted" if found.judged.refuted else "not refuted")
            text = found.reason if found.judged is None else found.judged.found
            yield Outcome(case.package, case.what, case.known, verdict, text, found.good and verdict != "not run")
    if only in (None, "ours"):
        yield from _ours(rounds, told)


def _ours(rounds: int, told: Callable[[str], None]) -> Iterator[Outcome]:
    for case in cases():
        told(f"{OURS}: {case.name}")
        audit = refute(case.release, *case.pair, epsilon=case.epsilon, delta=case.delta, rounds=rounds)
        found = f"sequential auditor: {audit.rounds} rounds, {audit.wealth:.3g} of 40,000 won ({audit.event})"
        verdict = "refuted" if audit.refuted else "not refuted"
        yield Outcome(OURS, f"{case.name}: {case.claim}", "control", verdict, found, not audit.refuted)
