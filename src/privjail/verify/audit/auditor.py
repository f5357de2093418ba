"""Audit a program: run it on dummy data and on neighbours of it, and compare everything that it shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from privjail.errors import DPError
from privjail.verify.audit.compare import Finding, apart, claimed, differences, judged
from privjail.verify.audit.data import EDITS
from privjail.verify.audit.jail import Given, served
from privjail.verify.audit.world import shown_accounts

NEIGHBOURS = 5  # of each data set, if nothing else is asked for
ROWS = 60


@dataclass
class Report:
    """What an audit found. ``leaks`` are reasons to refuse a program; ``remarks`` are for the reader."""

    program: str
    leaks: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    worlds: int = 0
    datasets: list[str] = field(default_factory=list)
    left_out: int = 0  # places that differ on the same data, and were not compared
    releases: int = 0
    moved: int = 0  # released values whose exact input differed between neighbours
    checked: int = 0  # releases whose claims the independent checker confirmed

    @property
    def clean(self) -> bool:
        return not self.leaks

    def as_json(self) -> dict[str, Any]:
        return {"clean": self.clean, **asdict(self)}


class Auditor:
    """Runs programs, one process for each run, all forked from one that has imported everything."""

    def __init__(self, seconds: int = 120) -> None:
        env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        env |= {"SOURCE_DATE_EPOCH": "1700000000", "COLUMNS": "110", "POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "1"}
        self._seconds = seconds
        self._folder = Path(tempfile.mkdtemp(prefix="privjail-audit-"))
        self._runner = subprocess.Popen(
            [sys.executable, "-m", "privjail.verify.audit.run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=env,
        )  # fmt: skip
        self._heard("ready")

    def _heard(self, word: str) -> None:
        assert self._runner.stdout is not None
        if self._runner.stdout.readline().strip() != word:
            raise DPError("the auditor's process ended")

    def close(self) -> None:
        self._runner.kill()
        self._runner.communicate()  # waits, and closes the pipes
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """One run in one world."""
        scratch, trace, raw = (self._folder / name for name in ("scratch", "trace.json", "raw.txt"))
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        trace.unlink(missing_ok=True)
        for file in job["files"]:
            shutil.copy(file, scratch)
        sent = {**job, "scratch": str(scratch), "trace": str(trace), "raw": str(raw), "seconds": self._seconds}
        assert self._runner.stdin is not None
        self._runner.stdin.write(json.dumps(sent) + "\n")
        self._runner.stdin.flush()
        self._heard("done")
        direct = raw.read_text(encoding="utf-8", errors="replace") if raw.exists() else ""
        if not trace.exists():
            if job["edit"] == "as it is":
                why = direct[-2000:] or "it ended itself, or took too long"
                raise DPError(f"the program cannot be audited, its process died: {why}")
            died = [{"kind": "end", "text": "the process died", "line": 0}]
            return {"messages": died, "findings": [], "notes": [], "lines": [], "releases": [], "opened": {}}
        found: dict[str, Any] = json.loads(trace.read_text(encoding="utf-8"))
        if direct:
            found["messages"].append({"kind": "direct output", "text": direct, "line": 0})
        return found


@contextmanager
def auditor(seconds: int = 120) -> Iterator[Auditor]:
    made = Auditor(seconds)
    try:
        yield made
    finally:
        made.close()


def audit(
    program: Any, arguments: list[str] | None = None, *, data: dict[str, Given] | None = None,
    files: list[Any] | None = None, neighbours: int = NEIGHBOURS, rows: int = ROWS, within: Auditor | None = None,
    told: Callable[[str, int, int], None] = lambda world, done, of: None,
) -> Report:  # fmt: skip
    """Run a program on dummy data and on neighbours of it, with the answers of the first run, and compare."""
    if not Path(program).is_file():
        raise DPError(f"there is no program {str(program)!r}", do="check the path")
    with ExitStack() as stack:
        at = within or stack.enter_context(auditor())
        job = {
            "program": str(Path(program).resolve()), "arguments": arguments or [], "cwd": os.getcwd(), "rows": rows,
            "files": [str(Path(f).resolve()) for f in files or []],
        }  # fmt: skip
        return _Audit(at, job, data or {}, neighbours, told).done()


class _Audit:
    """The runs of one audit."""

    def __init__(self, at: Auditor, job: dict[str, Any], data: dict[str, Given], neighbours: int, told: Any) -> None:
        self.at, self.job, self.data, self.neighbours, self.told = at, job, data, neighbours, told
        self.report = Report(job["program"])
        self.known: dict[str, Any] = {name: given.facts(name) for name, given in data.items()}

    def done(self) -> Report:
        base = self._world("as it is")
        fresh = {n: d for n, d in base["opened"].items() if d["made"] and n not in self.known}
        if fresh:  # the files are there from the first line on
            self.known |= fresh
            base = self._world("as it is")
        sets = self._sets(base)
        edits = EDITS[: max(1, self.neighbours)]
        total, done = 2 + len(sets) * len(edits) + 2 * bool(sets), 2
        again = self._world("again", answers=base["releases"])
        flaky = differences(base, again)
        self.report.left_out = len({each.place for each in flaky})
        for each in flaky:
            self.report.remarks.append(f"differs between two runs on the same data, so it is not compared: {each.what}")
        self._own(base)
        for which, name in enumerate(sets):
            for edit in edits:
                self.told(f"{name} {edit}", done, total)
                self._pair(base, self._world(edit, which, base["releases"]), f"{name} {edit}", flaky)
                done += 1
        if sets:
            self.told("one unit, and none", done, total)
            one = self._world("a single row", 0)
            self._pair(one, self._world("no row", 0, one["releases"]), f"{sets[0]} with one unit, and with none", flaky)
        self.told("done", total, total)
        return self.report

    def _sets(self, base: dict[str, Any]) -> list[str]:
        """The accounts of which a unit comes or goes."""
        sets = shown_accounts(base["opened"] if base["opened"] and not self._remote(base) else self.known)
        self.report.datasets = sets
        if not sets:
            self.report.remarks.append("the program opened no private data: there is nothing to compare")
        return sets

    def _remote(self, base: dict[str, Any]) -> bool:
        return any(r["charges"] is None for r in base["releases"])

    def _world(self, edit: str, which: int = 0, answers: list[Any] | None = None) -> dict[str, Any]:
        self.report.worlds += 1
        job = {**self.job, "edit": edit, "which": which, "answers": answers or [], "known": self.known, "jail": None}
        if not self.data:
            return self.at.run(job)
        with served(self.data, edit, which, self.job["rows"]) as (jail, inputs):
            found = self.at.run({**job, "jail": jail})
        for release, exact in zip(found["releases"], inputs, strict=False):
            release.setdefault("exact", exact)
        return found

    def _own(self, base: dict[str, Any]) -> None:
        """What one run alone shows: claims that do not hold, charges that were lost, a library that was changed."""
        end = next(m for m in base["messages"] if m["kind"] == "end")
        if end["text"] != "exit 0":
            self.report.remarks.append(f"the program ended with: {end['text']}")
        self.report.remarks += base["notes"]
        self.report.releases = len(base["releases"])
        refuted, unknown, self.report.checked = claimed(base)
        self.report.remarks += unknown
        self._add(judged(base) + refuted, "every world")

    def _pair(self, left: dict[str, Any], right: dict[str, Any], world: str, flaky: list[Finding]) -> None:
        known = {f.place for f in flaky}
        self._add([f for f in differences(left, right) if f.place not in known], world)
        far, moved = apart(left, right)
        self.report.moved += moved
        self._add(far + judged(right), world)

    def _add(self, found: list[Finding], world: str) -> None:
        for each in found:
            twin = next((f for f in self.report.leaks if f.place == each.place), None)
            if twin is None:
                each.worlds = [world]
                self.report.leaks.append(each)
            elif world not in twin.worlds:
                twin.worlds.append(world)
