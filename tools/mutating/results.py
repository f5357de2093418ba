"""What was found for each mutant, and the page that says so."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

from mutating.changes import HOME, Mutant

KEPT = HOME / "tools" / "mutants_found.jsonl"  # beside the page: a later run goes on from it
EQUIVALENT = HOME / "tools" / "equivalent_mutants.txt"
PAGE = HOME / "docs" / "mutants.md"


def mark(tests: list[str]) -> str:
    """Changes when one of these files of tests does."""
    return hashlib.sha256(b"".join((HOME / test).read_bytes() for test in tests)).hexdigest()[:12]


def known() -> dict[str, dict[str, Any]]:
    if not KEPT.exists():
        return {}
    return {each["name"]: each for each in map(json.loads, KEPT.read_text(encoding="utf-8").splitlines())}


def is_open(found: dict[str, Any], now: str) -> bool:
    """Whether a mutant waits for the tests of other files, or survived tests that have changed since."""
    return bool(found["found"] == "waits" or (found["found"] == "survived" and found["mark"] != now))


def add(found: dict[str, Any]) -> None:
    with KEPT.open("a", encoding="utf-8") as out:
        out.write(json.dumps(found) + "\n")


def equivalent() -> dict[str, str]:
    """The names of mutants that are the same program, and why."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    parts = [line.split(maxsplit=2) for line in lines if line.strip() and not line.startswith("#")]
    return {name: why for name, _, why in parts}


def outcome(mutant: Mutant, found: dict[str, dict[str, Any]], same: dict[str, str]) -> str:
    each = found.get(mutant.name)
    if each is not None and each["found"] != "noticed" and mutant.name in same:
        return "equivalent"
    if each is None:
        return "not tried"
    return "noticed" if each["found"] == "noticed" else "survived"  # also what still waits for more tests


def show(chosen: list[Mutant]) -> None:
    """The survivors, and how many mutants there were."""
    found, same, counted = known(), equivalent(), Counter[str]()
    for mutant in chosen:
        what = outcome(mutant, found, same)
        counted[what] += 1
        if what == "survived":
            print(f"{mutant.name} {mutant} ({found[mutant.name].get('ran', 0)} tests)")
    print(f"{sum(counted.values())} mutants: {', '.join(f'{n} {what}' for what, n in sorted(counted.items()))}")


HEAD = """# Mutants

Written by `python tools/mutants.py --page`; do not edit. One small change at a time is made in the code that makes
claims: another comparison, `all` for `any`, `min` for `max`, `and` for `or`, a constant off by one, a sign left out,
two arguments exchanged, a statement left out. Then the tests that run the changed line are run, those beside the
changed file first. A change that some test notices is *caught*. One that no test notices is either the same program
in other words, for the reason that is given below, or a test is missing. `make mutants` repeats it.

The sample has the same number of changes in every file, as long as the file has so many; seed {seed}. Tests run on
few examples first and on more for what survives, with a fixed seed and a limit on time: `make test-all` catches more
than this. What the first run of this sample missed got tests; so the first run with another seed catches a smaller
share.

**{caught} of {changing} changes that alter behaviour are caught: {share}.** {all} were tried,
{same} of them are equivalent.{missing}

| where | tried | caught | equivalent | missed |
| --- | --- | --- | --- | --- |
"""


def write_page(chosen: list[Mutant], seed: int) -> None:
    found, same = known(), equivalent()
    outcomes = {mutant: outcome(mutant, found, same) for mutant in chosen}
    counts = Counter(outcomes.values())
    caught, missed = counts["noticed"], counts["survived"]
    share = f"{100 * caught / max(1, caught + missed):.1f} %"
    missing = f" {counts['not tried']} of the sample were not tried." if counts["not tried"] else ""
    told = HEAD.format(seed=seed, caught=caught, changing=caught + missed, share=share, missing=missing,
                       all=sum(counts.values()) - counts["not tried"], same=counts["equivalent"])  # fmt: skip
    for path in sorted({mutant.path for mutant in chosen}):
        of = Counter(what for mutant, what in outcomes.items() if mutant.path == path)
        tried = sum(of.values()) - of["not tried"]
        told += f"| `{path}` | {tried} | {of['noticed']} | {of['equivalent']} | {of['survived']} |\n"
    for title, what in (("Missed", "survived"), ("Equivalent", "equivalent")):
        told += f"\n## {title}\n\n"
        listed = [mutant for mutant in chosen if outcomes[mutant] == what]
        for mutant in listed:
            why = f": {same[mutant.name]}" if what == "equivalent" else ""
            change = f"`{shortened(mutant.before)}` → `{shortened(mutant.after)}`"
            told += f"- `{mutant.path}` line {mutant.line}, {change}{why}\n"
        told += "" if listed else "None.\n"
    PAGE.write_text(told, encoding="utf-8")


def shortened(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= 70 else line[:69] + "…"
