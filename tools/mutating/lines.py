"""Which tests run which lines: measured once for each file of tests, and kept in build/."""

from __future__ import annotations

import hashlib
import json
import resource
from typing import Any

from mutating.changes import HOME, ROOT
from mutating.forks import EXAMPLES, Chosen, in_child, pytest_run

KEPT = HOME / "build" / "mutants-lines.json"
LOG = HOME / "build" / "mutants.log"
SECONDS = 150.0  # of the processor, for one file of tests; the tests that were run until then are known
LONGEST = 6.0  # a test that takes longer is never run: on more examples it would take too long


def measured(file: str) -> dict[str, Any]:
    """In a child: run a file of tests, and note the lines of ours that each test runs."""
    import coverage

    chosen = Chosen(None, EXAMPLES, SECONDS)
    cover = coverage.Coverage(data_file=None, include=[f"{ROOT}/*"], config_file=False, concurrency=["thread"])
    chosen.context = cover.switch_context
    spent = resource.getrusage(resource.RUSAGE_SELF)
    cover.start()
    pytest_run([file], chosen, stop=False)
    cover.stop()
    now = resource.getrusage(resource.RUSAGE_SELF)
    tests = {name: round(t, 3) for name, t in chosen.passed.items() if name not in chosen.bad and t < LONGEST}
    names = {name: i for i, name in enumerate(tests)}
    data, lines = cover.get_data(), {}
    for path in data.measured_files():
        by_line = {
            line: [names[c] for c in contexts if c in names] for line, contexts in data.contexts_by_lineno(path).items()
        }
        lines[path.removeprefix(f"{ROOT}/")] = {line: found for line, found in by_line.items() if found}
    sources = {path: digest(f"src/privjail/{path}") for path in lines}
    cpu = now.ru_utime - spent.ru_utime
    return {"tests": tests, "lines": lines, "sources": sources, "bad": sorted(chosen.bad), "cpu": cpu}


def say(line: str) -> None:
    """Progress. A child has no screen."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("a", encoding="utf-8") as log:
        print(line, file=log)


def digest(file: str) -> str:
    return hashlib.sha256((HOME / file).read_bytes()).hexdigest()[:16]


def know(files: list[str]) -> dict[str, dict[str, Any]]:
    """What each file of tests runs; measured where it is not known, or the tests have changed."""
    kept: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for file in files:
        if kept.get(file, {}).get("digest") == digest(file):
            continue
        found = in_child(lambda file=file: measured(file), 2 * SECONDS)  # type: ignore[misc]
        if found is None or "failed" in found:
            say(f"{file}: its lines could not be measured ({found})")
            found = {"tests": {}, "lines": {}, "sources": {}, "bad": [], "cpu": 0.0}
        kept[file] = {**found, "digest": digest(file)}
        say(f"{file}: {len(found['tests'])} tests, {found['cpu']:.1f} s, {len(found['bad'])} fail without a change")
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept), encoding="utf-8")
    return {file: kept[file] for file in files}


class Tests:
    """The tests that run a line, quickest first."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self.seconds: dict[str, float] = {}
        self.at: dict[tuple[str, int], list[str]] = {}
        self.changed: set[str] = set()  # files of ours whose lines have moved since they were measured
        now: dict[str, str] = {}
        for each in known.values():
            names = list(each["tests"])
            self.seconds |= each["tests"]
            for path, lines in each["lines"].items():
                if now.setdefault(path, digest(f"src/privjail/{path}")) != each["sources"][path]:
                    self.changed.add(path)
                    continue
                for line, tests in lines.items():
                    self.at.setdefault((path, int(line)), []).extend(names[i] for i in tests)

    def of(self, path: str, first: int, last: int, beside: list[str], most: float, files: int) -> list[str]:
        """Tests that run one of these lines: those beside the file first, so many seconds of them, of few files."""
        found = {test for line in range(first, last + 1) for test in self.at.get((path, line), [])}
        return self._cut(found, beside, most, files)

    def _cut(self, found: set[str], beside: list[str], most: float, files: int) -> list[str]:
        def rank(test: str) -> tuple[int, float]:
            file = test.split("::")[0]
            return (beside.index(file) if file in beside else len(beside)), self.seconds[test]

        chosen: list[str] = []
        for test in sorted(found, key=rank):
            used = {each.split("::")[0] for each in chosen}
            if self.seconds[test] <= most and (test.split("::")[0] in used or len(used) < files):
                chosen.append(test)
                most -= self.seconds[test]
        return chosen

    def of_files(self, files: list[str], most: float) -> list[str]:
        """All tests of some files, for changes that no single test runs: those made while a file is imported."""
        return self._cut({t for t in self.seconds if t.split("::")[0] in files}, files, most, len(files))
