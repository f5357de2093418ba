"""Runs the python blocks of one page in order; called by test_pages.py in a process of its own.

A second argument names the engine that answers: duckdb, or the address of a Spark Connect server. What that engine
refuses (EngineGap) is counted, not compared; the last line says how often.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

NUMBER = r"-?[\d,]*\d(?:\.\d+)?(?:e-?\d+)?"
HASH = r"[0-9a-f]{16,}"
ANYTHING = r"<\w+>"
RELEASE = re.compile(r"\b(eps|rho)=")
FREE = re.compile(r"\.(error|eps_for)\(")


def is_noisy(source: str) -> bool:
    """Whether code releases something. What error() and eps_for() foretell is exact."""
    return bool(RELEASE.search(source)) and not FREE.search(source)


def differs(want: str, got: str, noisy: list[bool] | None = None) -> str | None:
    """None if a text reads as printed. In noisy lines, and after ≈, numbers may be 10 % off (but at least by 0.1).

    A hash matches any hash of its length, a word in <angle brackets> anything, and so does a last ... at the end.
    """
    if want.rstrip().endswith("..."):
        return None if got.startswith(want.rstrip()[:-3]) else f"expected {want!r}, got {got!r}"
    wanted, given = want.rstrip().splitlines(), got.rstrip().splitlines()
    if len(wanted) != len(given):
        return f"expected {len(wanted)} lines, got {len(given)}:\n{got}"
    loose = noisy if noisy is not None and len(noisy) == len(wanted) else [any(noisy or [])] * len(wanted)
    for expected, line, about in zip(wanted, given, loose, strict=True):
        if problem := _line_differs(" ".join(expected.split()), " ".join(line.split()), about):
            return problem
    return None


def _line_differs(expected: str, line: str, noisy: bool) -> str | None:
    number = NUMBER if noisy else f"≈ *{NUMBER}"
    parts = re.split(rf"({HASH}|{ANYTHING}|{number})", expected)
    pattern = "".join(
        f"[0-9a-f]{{{len(part)}}}" if re.fullmatch(HASH, part)
        else ".+?" if re.fullmatch(ANYTHING, part)
        else f"({NUMBER})" if re.fullmatch(number, part)
        else re.escape(part)
        for part in parts
    )  # fmt: skip
    found = re.fullmatch(pattern, line)
    if found is None:
        return f"expected {expected!r}, got {line!r}"
    numbers = [part.strip("≈ ") for part in parts if re.fullmatch(number, part) and not re.fullmatch(HASH, part)]
    for about, value in zip(numbers, found.groups(), strict=True):
        target, shown = (float(x.replace(",", "")) for x in (about, value))
        if abs(target - shown) > max(0.1, 0.1 * abs(target)):
            return f"expected about {target}, got {shown}"
    return None


class Checker(doctest.OutputChecker):
    """Compares an example's output; the runner says which example it is."""

    noisy = False

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return differs(want, got, [self.noisy]) is None


class Runner(doctest.DocTestRunner):
    """Tells its checker before each example whether it is a release, and counts what the engine refuses."""

    gaps = 0

    def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc: Any) -> None:
        from privjail.errors import EngineGap

        if issubclass(exc[0], EngineGap):
            self.gaps += 1
        else:
            super().report_unexpected_exception(out, test, example, exc)

    def report_start(self, out: object, test: doctest.DocTest, example: doctest.Example) -> None:
        self._checker.noisy = is_noisy(example.source)  # type: ignore[attr-defined]


def choose(engine: str) -> None:
    from privjail import session

    if engine == "duckdb":
        from privjail.engines.sql.duckdb import DuckDBEngine

        session.set_engine(DuckDBEngine())
    else:
        from privjail.engines.sql.spark import SparkEngine, SparkStore

        session.set_engine(SparkEngine(SparkStore(engine, seconds=600)))


def main(path: str, engine: str | None = None) -> int:
    if engine is not None:
        choose(engine)
    blocks = json.loads(Path(path).read_text(encoding="utf-8"))
    space: dict[str, object] = {"__name__": "__main__"}
    gaps = 0
    for i, (kind, body) in enumerate(blocks):
        if kind != "python":
            continue
        if ">>>" in body:
            test = doctest.DocTestParser().get_doctest(body, space, f"block {i + 1}", None, 0)
            runner = Runner(Checker())
            result = runner.run(test, clear_globs=False)
            space.update(test.globs)
            gaps += runner.gaps
            if result.failed > runner.gaps:
                return 1
            continue
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(body, f"block {i + 1}", "exec"), space)  # noqa: S102
        if i + 1 < len(blocks) and blocks[i + 1][0] == "text":
            prints = [is_noisy(line) for line in body.splitlines() if "print(" in line]
            problem = differs(blocks[i + 1][1], shown.getvalue(), prints)
            if problem is not None:
                print(f"block {i + 1}: {problem}")
                return 1
    if engine is not None:
        print(f"refused by the engine: {gaps}")
    return 1 if gaps and engine is None else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
