"""What two runs of a program on neighbouring data tell about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any

from privjail.verify.checker import check

SHOWN = 160  # characters of a message


@dataclass
class Finding:
    """One leak: its kind, what was seen, the line of the program, and the neighbours that showed it."""

    kind: str
    what: str
    line: int | None
    worlds: list[str] = field(default_factory=list)
    file: str = ""  # the file that differs

    @property
    def place(self) -> tuple[Any, ...]:
        """Findings of the same place are one finding."""
        return self.kind, self.line, self.file


def differences(left: dict[str, Any], right: dict[str, Any]) -> list[Finding]:
    """Every message that is not the same in both runs, and the first line at which they part ways."""
    ours, theirs = ([f"{m['kind']}\n{m['text']}" for m in run["messages"]] for run in (left, right))
    out: list[Finding] = []
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes() if ours != theirs else []:
        if tag == "equal":
            continue
        for i in range(max(b - a, d - c)):
            one = left["messages"][a + i] if a + i < b else None
            other = right["messages"][c + i] if c + i < d else None
            message = one or other
            assert message is not None
            file = message["text"].partition(": ")[0] if message["kind"] == "file" else ""
            out.append(Finding(message["kind"], _beside(one, other), message["line"], file=file))
    if left["lines"] != right["lines"]:
        n = next((i for i, (x, y) in enumerate(zip(left["lines"], right["lines"], strict=False)) if x != y), -1)
        went = [run["lines"][n] if -1 < n < len(run["lines"]) else "the end" for run in (left, right)]
        line = left["lines"][n - 1] if n > 0 else None
        out.append(Finding("path", f"after line {line} the program goes to line {went[0]} or to {went[1]}", line))
    return out


def _beside(one: Any, other: Any) -> str:
    if one is None or other is None:
        return f"only {'here' if other is None else 'on the neighbour'}: {_short((one or other)['text'])}"
    a, b = one["text"], other["text"]
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, n - 40)
    return f"{_short(a[start:])}  ≠  {_short(b[start:])}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def apart(left: dict[str, Any], right: dict[str, Any]) -> tuple[list[Finding], int]:
    """Mechanisms and tables that moved further than declared; and how many inputs moved at all."""
    out: list[Finding] = []
    moved = 0
    for one, other in zip(left["releases"], right["releases"], strict=False):
        if one["plan"] != other["plan"]:
            break  # told already, as a message
        made = json.loads(one["plan"])
        value = made["nodes"][made["release"]["value"]]["claims"]
        steps = _steps(one.get("exact"), other.get("exact"))
        if steps is not None:
            moved += any(steps)
            far = _too_far([s * Fraction(value["grid"]) for s in steps], value, made["release"]["noise"])
            if far:
                out.append(Finding("moved", f"{_short(one['shown'])}: {far}", one["line"]))
        for number, rows in one["tables"].items():
            claim = made["nodes"][int(number)]["claims"]["distance"]
            twin = other["tables"].get(number)
            if claim is None or rows is None or twin is None:
                continue
            true = edits(rows, twin)
            if true > Fraction(claim):
                what = f"the table of {made['nodes'][int(number)]['kind']!r} moved by {true} rows, declared {claim}"
                out.append(Finding("moved", what, one["line"]))
    return out, moved


def exact_input(found: Any) -> Any:
    """The input of a mechanism, as JSON: numbers as text, in a list; or those of keys that occur, by key."""
    if isinstance(found, list) and found and isinstance(found[0], tuple):
        return {repr(key): str(number) for key, number in found}
    return [str(x) for x in found] if isinstance(found, list) else [str(found)]


def _steps(one: Any, other: Any) -> list[int] | None:
    """How far each element moved; a key that does not occur counts nothing. None: they cannot be compared."""
    if one is None or other is None:
        return None
    if isinstance(one, dict) or isinstance(other, dict):
        left, right = one or {}, other or {}  # an empty list: no key occurs
        return [abs(int(left.get(key, 0)) - int(right.get(key, 0))) for key in sorted({*left, *right})]
    if len(one) != len(other):
        return None
    return [abs(int(x) - int(y)) for x, y in zip(one, other, strict=True)]


def _too_far(moved: list[Fraction], value: dict[str, Any], noise: dict[str, Any]) -> str | None:
    most = value["distance"]
    if most is not None and max(moved, default=Fraction(0)) > Fraction(most):
        return f"an element moved by {float(max(moved)):g}, declared {float(Fraction(most)):g}"
    size = {"l1": sum(moved), "l2": sum(x * x for x in moved), "linf": max(moved, default=Fraction(0))}[noise["norm"]]
    declared = Fraction(noise["sensitivity"])
    if size > (declared * declared if noise["norm"] == "l2" else declared):
        return f"all elements together moved further than declared ({float(declared):g} in {noise['norm']})"
    return None


def edits(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The rows to insert and delete between two tables: Myers' greedy search along diagonals."""
    n, m = len(left), len(right)
    furthest = {1: 0}
    for d in range(n + m + 1):
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < n and x - k < m and left[x] == right[x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                return d
    return n + m


def claimed(run: dict[str, Any]) -> tuple[list[Finding], list[str], int]:
    """Claims that the independent checker refutes, those that it cannot check, and how many it confirms."""
    out: list[Finding] = []
    unknown: list[str] = []
    reports: dict[str, Any] = {}
    for release in run["releases"]:
        if release["plan"] not in reports:
            reports[release["plan"]] = report = check(json.loads(release["plan"]))
            what = f"{_short(release['shown'])}: {', '.join(report.problems)}"
            if report.verdict == "refuted":
                out.append(Finding("claim", what, release["line"]))
            elif report.verdict != "ok":
                unknown.append(f"the claims of line {release['line']} cannot be checked: {what}")
    return out, unknown, sum(reports[release["plan"]].verdict == "ok" for release in run["releases"])


def judged(run: dict[str, Any]) -> list[Finding]:
    """What one run shows: the library was changed or passed by, or charges were lost."""
    found = {(f["kind"], f["text"]): Finding(f["kind"], f["text"], f["line"]) for f in reversed(run["findings"])}
    out = list(found.values())
    trees: dict[str, dict[tuple[Any, ...], list[Fraction]]] = {}
    for release in run["releases"]:
        for name, address, cost in release["charges"] or ():
            own = trees.setdefault(name, {}).setdefault(tuple(map(tuple, address)), [Fraction(0)] * len(cost))
            own[:] = [x + Fraction(y) for x, y in zip(own, cost, strict=True)]
        for name, tree in trees.items():
            told = [Fraction(x) for x in (release["spent"] or {}).get(name, ())]
            total = _total(tree)
            if not told or any(x < y for x, y in zip(told, total, strict=True)):
                what = f"the ledger says {list(map(float, told))}, but the releases cost {list(map(float, total))}"
                out.append(Finding("budget", f"{name}: {what}", release["line"]))
    return out


def _total(tree: dict[tuple[Any, ...], list[Fraction]]) -> list[Fraction]:
    """own(p) + Σ_g maxₖ cost(p/g=k), from the leaves up."""
    zero = [Fraction(0)] * len(next(iter(tree.values())))
    cost: dict[tuple[Any, ...], list[Fraction]] = {}
    cells = {address[:n] for address in tree for n in range(len(address) + 1)}
    best: dict[tuple[Any, ...], dict[str, list[Fraction]]] = {}
    for cell in sorted(cells, key=len, reverse=True):
        parts = [tree.get(cell, zero), *best.get(cell, {}).values()]
        cost[cell] = [sum(column, Fraction(0)) for column in zip(*parts, strict=True)]
        if cell:
            siblings = best.setdefault(cell[:-1], {})
            siblings[cell[-1][0]] = list(map(max, siblings.get(cell[-1][0], zero), cost[cell]))
    return cost[()]
