"""The table of outcomes: python -m tests.habits.measure [program] [-v] [--page]."""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path

from tests.habits.corpus import OUTCOMES, Line, programs, run

PAGE = Path(__file__).parents[2] / "docs" / "habits.md"
#: works, dead ends and raw errors before anything was mended (no line had its second line then)
BEFORE = {
    "abtest": (22, 21, 8), "adult": (26, 20, 8), "cleaning": (40, 31, 13), "epidemic": (13, 29, 10),
    "hospital": (27, 20, 9), "retail": (21, 23, 8), "series": (20, 28, 6), "survey": (32, 39, 10),
    "taxi": (20, 19, 6), "titanic": (20, 17, 8),
    "bank": (51, 5, 0), "cases": (53, 7, 1), "clinic": (51, 12, 0), "energy": (46, 7, 0), "flights": (52, 2, 0),
    "arrays": (68, 30, 20), "incomes": (75, 15, 1),
}  # fmt: skip
_HEAD = """# Lines typed by habit

Seventeen programs in the style of public notebooks, each written before anything was mended for it and without looking at
what works (`tests/habits/programs/`; bank, cases, clinic, energy and flights came later than the others, arrays and incomes after
those: every second to fourth line of two longer lists, and what these lines need). Each line is run as it stands. Where it is refused, what the error told the analyst to type is
run next; it counts only if the error names every word that is new in it. `python -m tests.habits.measure --page` writes
this page; a test holds it to the truth.

- **works**: as typed
- **rename**: the same line with another name or one more argument, as the error says
- **advice**: another way to the same end, as the error says, and it runs
- **dead end**: neither; **raw error**: not in our words
"""


def page(outcomes: dict[str, list[Line]]) -> str:
    """The page, from the lines of each program."""
    titles = {program.name: program.title for program in programs()}
    shown = [o for o in OUTCOMES if o != "wrong"]
    rows = ["| program | lines | " + " | ".join(shown) + " | before: works, dead ends, raw |", "| --- " * 8 + "|"]
    total: Counter[str] = Counter()
    for name, lines in outcomes.items():
        counted = Counter(line.outcome for line in lines)
        total += counted
        cells = " | ".join(str(counted[o]) for o in shown)
        rows.append(f"| {titles[name]} | {len(lines)} | {cells} | {', '.join(map(str, BEFORE[name]))} |")
    n = sum(total.values())
    before = ", ".join(str(sum(x[i] for x in BEFORE.values())) for i in range(3))
    rows.append(f"| **all** | {n} | " + " | ".join(str(total[o]) for o in shown) + f" | {before} |")
    first, second = total["works"] + total["rename"], total["works"] + total["rename"] + total["advice"]
    goal = f"As typed or after one rename: {first / n:.1%}. With advice that works: {second / n:.1%}."
    return "\n".join([_HEAD, *rows, "", goal, "", *_refused(outcomes)])


def _refused(outcomes: dict[str, list[Line]]) -> list[str]:
    """Every line that does not work as typed."""
    out = ["## What was refused, and what was typed then", "", "| typed | outcome | then |", "| --- | --- | --- |"]
    for lines in outcomes.values():
        for line in lines:
            if line.outcome != "works":
                then = "<br>".join(f"`{x}`" for x in (*line.rename, *line.advice) if line.outcome != "dead end")
                out.append(f"| `{line.typed}` | {line.outcome} | {then} |".replace(";|", ";\\|"))
    return [*out, ""]


def main() -> None:
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    with contextlib.redirect_stdout(io.StringIO()):
        outcomes = {p.name: run(p) for p in programs() if not wanted or p.name in wanted}
    for name, lines in outcomes.items():
        counted = Counter(line.outcome for line in lines)
        print(f"{name:10} {len(lines):4}  " + "  ".join(f"{o} {counted[o]}" for o in OUTCOMES))
        for line in lines if "-v" in sys.argv else []:
            if line.outcome in ("dead end", "raw error"):
                print(f"    [{line.outcome}] {line.typed}\n        {line.said.replace(chr(10), ' / ')[:330]}")
    total = Counter(line.outcome for lines in outcomes.values() for line in lines)
    print("total", sum(total.values()), {o: total[o] for o in OUTCOMES})
    if "--page" in sys.argv:
        PAGE.write_text(page(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
