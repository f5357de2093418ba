"""Runs the python blocks of one page in order; called by test_pages.py in a process of its own."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import sys
from pathlib import Path

NUMBER = r"-?[\d,]*\d(?:\.\d+)?(?:e-?\d+)?"


def differs(want: str, got: str) -> str | None:
    """None if a text reads as printed: ≈ numbers may be 10 % off, <words> stand for anything, so does a last ..."""
    if want.rstrip().endswith("..."):
        return None if got.startswith(want.rstrip()[:-3]) else f"expected {want!r}, got {got!r}"
    wanted, given = want.rstrip().splitlines(), got.rstrip().splitlines()
    if len(wanted) != len(given):
        return f"expected {len(wanted)} lines, got {len(given)}:\n{got}"
    for expected, line in zip(wanted, given, strict=True):
        parts = re.split(rf"(≈ *{NUMBER}|<\w+>)", " ".join(expected.split()))
        pattern = "".join(
            rf"({NUMBER})" if part.startswith("≈") else ".+?" if re.fullmatch(r"<\w+>", part) else re.escape(part)
            for part in parts
        )
        found = re.fullmatch(pattern, " ".join(line.split()))
        if found is None:
            return f"expected {expected!r}, got {line!r}"
        for about, number in zip(re.findall(rf"≈ *({NUMBER})", expected), found.groups(), strict=True):
            target, value = (float(x.replace(",", "")) for x in (about, number))
            if abs(target - value) > 0.1 * abs(target):
                return f"expected about {target}, got {value}"
    return None


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return differs(want, got) is None


def main(path: str) -> int:
    blocks = json.loads(Path(path).read_text(encoding="utf-8"))
    space: dict[str, object] = {"__name__": "__main__"}
    for i, (kind, body) in enumerate(blocks):
        if kind != "python":
            continue
        if ">>>" in body:
            test = doctest.DocTestParser().get_doctest(body, space, f"block {i + 1}", None, 0)
            result = doctest.DocTestRunner(Checker()).run(test, clear_globs=False)
            space.update(test.globs)
            if result.failed:
                return 1
            continue
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(body, f"block {i + 1}", "exec"), space)  # noqa: S102
        if i + 1 < len(blocks) and blocks[i + 1][0] == "text":
            problem = differs(blocks[i + 1][1], shown.getvalue())
            if problem is not None:
                print(f"block {i + 1}: {problem}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
