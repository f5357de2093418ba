"""Conformance: claims of published packages and of this library, each tried by running the package's own code.

Packages run in environments of their own, which are made once and kept (checks/published.py). Claims are judged while
the outputs come, by the sequential auditor, which stops as soon as a claim is refuted, or by an exact law. Everything
that broke another package is tried on programs of this library too (checks/replayed.py).
"""

from __future__ import annotations

import ast
import itertools
import json
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from privjail.errors import PlanError
from privjail.verify.checks.published import CASES, Case, black_box, environment, judged
from privjail.verify.checks.replayed import Replay, replays
from privjail.verify.checks.sequential import Audit, refute, refute_stream
from privjail.verify.checks.sound import Sound, cases

OURS = "privjail (this one)"
CONTROL = "control"


@dataclass(frozen=True)
class Outcome:
    """One claim, and what became of it: ``refuted``, ``not refuted`` or ``not run``."""

    package: str
    about: str
    claim: str
    known: str  # where the violation is described; or that it is a control
    verdict: str
    found: str
    expected: bool  # whether this is what is known of it


Told = Callable[[str], None]


def packages() -> list[str]:
    return list(dict.fromkeys([_name(case) for case in CASES] + ["ours"]))


def _name(case: Case) -> str:
    return case.package.split()[0].split("[")[0]


def outcomes(
    only: str | None = None, *, rounds: int = 2_000, told: Told = print, kept: Path | None = None
) -> Iterator[Outcome]:
    """Try every claim; ``only``: those of one package; ``kept``: a file with what an interrupted run has found."""
    if only is not None and only not in packages():
        raise PlanError(f"there is no adapter for {only!r}", do=f"use one of {', '.join(packages())}")
    lines = kept.read_text(encoding="utf-8").splitlines() if kept is not None and kept.exists() else []
    known = {(each.package, each.claim): each for each in (Outcome(**json.loads(line)) for line in lines)}
    for package, claim, run in _trials(only, rounds):
        found = known.get((package, claim))
        if found is None:
            told(f"{package}: {claim}")
            found = run()
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
        yield found


def _trials(only: str | None, rounds: int) -> Iterator[tuple[str, str, Callable[[], Outcome]]]:
    """Each claim, and how to try it. A package that could not be installed is not asked for again."""
    missing: dict[tuple[str, ...], str] = {}
    for case in CASES:
        if only in (None, _name(case)):
            yield case.package, case.what, partial(_outcome, case, missing)
    if only in (None, "ours"):
        for sound in cases():
            yield OURS, f"{sound.name}: {sound.claim}", partial(_mechanism, sound, rounds)
        for each in replays():
            yield OURS, f"{each.name}: ε-DP", partial(_program, each, rounds)


def adapted(path: Path, samples: int = 6_000, *, told: Told = print) -> Iterator[Outcome]:
    """Claims of another package, from a file of adapters that runs in this environment; see docs/conformance.md."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef) and not each.args.args]
    names = [name for name in names if not name.startswith("_")]
    if not names:
        raise PlanError(f"{path.name} has no adapter", do="write a function without arguments that returns a claim")
    for name in names:
        told(f"{path.name}: {name}")
        case = Case(name, (), "", name, "", samples, black_box, wrong=False, adapters=str(path.resolve()))
        yield _outcome(case, {})


def _outcome(case: Case, missing: dict[tuple[str, ...], str]) -> Outcome:
    reason = missing.get(case.needs)
    found = judged(case) if reason is None else None
    if found is None or found.judged is None:
        reason = reason or (found.reason if found else "")
        if environment(case.needs)[0] is None:
            missing[case.needs] = reason
        return Outcome(case.package, case.about, case.what, case.known, "not run", reason, False)
    verdict = "refuted" if found.judged.refuted else "not refuted"
    return Outcome(case.package, case.about, case.what, case.known, verdict, found.judged.found, found.good)


def _mechanism(case: Sound, rounds: int) -> Outcome:
    audit = refute(case.release, *case.pair, epsilon=case.epsilon, delta=case.delta, rounds=rounds)
    return _of_ours("laws", f"{case.name}: {case.claim}", case.epsilon, audit)


def _program(each: Replay, rounds: int) -> Outcome:
    left, right = each.releases()
    n = min(rounds, each.rounds)
    drawn = ((left(), right()) for _ in itertools.count())
    learned = max(50, min(1_000, n // 3))
    audit = refute_stream(drawn, epsilon=each.epsilon, delta=each.delta, rounds=n, learned=learned)
    return _of_ours(each.about, f"{each.name}: ε-DP", each.epsilon, audit)


def _of_ours(about: str, claim: str, epsilon: float, audit: Audit) -> Outcome:
    seen = f"{audit.hits[0]} times on one input, {audit.hits[1]} on its neighbour ({audit.event})"
    found = f"sequential auditor, claim ε = {epsilon:g}: {audit.rounds} rounds; the best event came {seen}"
    verdict = "refuted" if audit.refuted else "not refuted"
    return Outcome(OURS, about, claim, CONTROL, verdict, found, not audit.refuted)


HEAD = """# Conformance

Written by `privjail conformance --page docs/conformance.md`; do not edit. It tries claims by running the code that
makes them: those of published packages, each in an environment of its own that is made from PyPI once, and those of
this library. Reproduce it with that command, or one package with `privjail conformance --package {example}`; `--json`
prints JSON. It needs `pip install 'privjail-dp[verify]'`, pip and an index, and for Tumult Analytics Java; it needs no
jail.

This run (Python {python}, {system}): **{again} of {wrong} known violations found again, {ours} of {of_ours} claims of
this library refuted**; of {controls} controls of other packages {refuted} were refuted. {missing}

Each claim is judged by the exact law of the mechanism where that is known, and otherwise by a sequential auditor, on
two neighbouring inputs: a gambler bets against the claim, and the run ends as soon as she has won so much that the
claim is refuted with confidence 1 − 10⁻⁴. The rounds that it learns from are not counted. It may be looked at after
every round (`verify/checks/sequential.py` has the argument). *Not refuted* means that nothing was found, not that
nothing is there. *No power*: the event that is told never came, on either input, so such a run says nothing about the
claim ({powerless} of the {judged} that were not refuted). Of Tumult Analytics only counts are tried: two longer cases
(missing values, rows per person) took more than ten minutes each and were left out.

We report this with respect: these packages are open, and most entries were found and described by others, often by
their own developers; of those *found here* we know no earlier description. A violation is one of the stated claim on
valid input, whether or not it matters in practice.
"""
TAIL = """
## Your own package

An adapter is a function without arguments that returns what is claimed and how to draw. Write one or more into a file:

```python
import random


def my_noisy_count():
    def draw(side, n):  # n outputs, on one of two neighbouring inputs
        return [(10, 11)[side] + round(random.gauss(0, 2)) for _ in range(n)]

    return {{"epsilon": 0.5, "delta": 0.0, "draw": draw}}
```

`privjail conformance --adapter FILE` then runs each of them in this environment, through the same auditor. It ends with
1 if a claim is refuted, so that it can stand in a test.
"""


def page(found: list[Outcome]) -> str:
    """The page: what was found, with versions, and how to do it again."""
    others = [each for each in found if each.package != OURS]
    known = [each for each in others if not each.known.startswith(CONTROL)]
    controls = [each for each in others if each.known.startswith(CONTROL) and each.verdict != "not run"]
    ours = [each for each in found if each.package == OURS]
    away = sorted({f"{each.package} ({each.found})" for each in others if each.verdict == "not run"})
    told = HEAD.format(
        example=packages()[0], python=platform.python_version(), system=platform.system(),
        again=sum(each.verdict == "refuted" for each in known), wrong=len(known),
        ours=sum(each.verdict == "refuted" for each in ours), of_ours=len(ours), controls=len(controls),
        refuted=sum(each.verdict == "refuted" for each in controls),
        powerless=sum(map(powerless, found)), judged=sum(each.verdict == "not refuted" for each in found),
        missing=f"Not run: {'; '.join(away)}." if away else "Every package was installed and run.",
    )  # fmt: skip
    told += "\n| package | claims tried | violations known | found again |\n| --- | --- | --- | --- |\n"
    tried, wrong = Counter(each.package for each in found), Counter(each.package for each in known)
    again = Counter(each.package for each in known if each.verdict == "refuted")
    told += "".join(f"| {name} | {n} | {wrong[name]} | {again[name]} |\n" for name, n in tried.items())
    for title, listed in (("Violations", known), ("Controls", controls), ("This library", ours)):
        told += f"\n## {title}\n\n| package | about | claim | described in | verdict | found |\n" + "| --- " * 6 + "|\n"
        for e in listed:
            seen = f"no power: {e.found}" if powerless(e) else e.found
            told += f"| {e.package} | {e.about} | {e.claim} | {e.known} | {e.verdict} | {seen} |\n"
    return told + TAIL.format()


def powerless(each: Outcome) -> bool:
    """Whether the auditor bet on an event that never came: then it could not have found anything."""
    return each.verdict == "not refuted" and "came 0 times on one input, 0 on its neighbour" in each.found
