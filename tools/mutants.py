"""Change one thing in the trusted code at a time, and see whether a test notices.

    python tools/mutants.py --sample 600          # 600 changes, evenly over all files; goes on where it stopped
    python tools/mutants.py src/privjail/ops/rows/slice.py
    python tools/mutants.py --show                # what no test noticed, so far
    python tools/mutants.py --page                # write docs/mutants.md

A *mutant* is the library with one small change: another comparison, `all` for `any`, a constant off by one, a
statement left out. The tests that run the changed line are run until one fails: those beside the changed file first, on
few examples, with a fixed seed; then more of them, on more examples. What no test notices is printed: it is either the
same program in other words (write its name into tools/equivalent_mutants.txt, and why), or a test is missing. No file
under src/ is changed. Results are kept in tools/mutants_found.jsonl, which belongs to the repository, so that a later
run goes on: a mutant that was noticed is not tried again, one that survived is if a test has changed since. See
tools/mutating/forks.py for how it is made cheap.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutating import results  # noqa: E402
from mutating.changes import HOME, ROOT, Mutant, mutants_of, spread  # noqa: E402
from mutating.forks import EXAMPLES, import_packages, in_child, noticed, prepare  # noqa: E402
from mutating.lines import Tests, know, say  # noqa: E402

# Where claims are made. What only works on released numbers, or only speaks, is not among it.
TRUSTED = ("plan", "ops", "mechanisms", "budget", "release.py", "verify/checker",
           "server/ledger/state.py", "server/ledger/charging.py", "server/wire/decode.py")  # fmt: skip
CHECKER = [f"tests/verify/test_{name}.py" for name in (
    "checker_operations", "checker_rules", "checker_people", "forged", "forged_claims", "forged_types",
    "forged_samples", "two_tables", "checker", "certificates")]  # fmt: skip
# Tests that do not have the name of the file that they are about. The first are run first.
BESIDE = {
    "release.py": ["tests/test_release.py", "tests/budget/test_composition.py"],
    "verify/checker/places.py": ["tests/verify/test_forged_samples.py"],
    "verify/checker/mechanisms.py": ["tests/verify/test_checker_operations.py", "tests/verify/test_forged_claims.py",
                                     "tests/verify/test_private_keys.py"],
    "verify/checker/norms.py": ["tests/verify/test_checker_rules.py", "tests/verify/test_checker_operations.py",
                                "tests/verify/test_checker.py"],
    "verify/checker/operations.py": ["tests/verify/test_forged.py", "tests/verify/test_checker_operations.py",
                                     "tests/verify/test_forged_types.py"],
    "verify/checker/reading.py": ["tests/verify/test_forged_types.py", "tests/verify/test_checker_rules.py"],
    "verify/checker/": CHECKER,
    "server/wire/": ["tests/server/test_messages.py", "tests/server/test_lists.py", "tests/server/test_wire.py"],
    "server/ledger/charging.py": ["tests/server/test_charging.py", "tests/server/test_state.py"],
    "server/ledger/state.py": ["tests/server/test_state.py",
                               "tests/server/test_blocks.py", "tests/server/test_samples.py"],
    "mechanisms/noise.py": ["tests/mechanisms/test_samplers.py"],
    "mechanisms/weights.py": ["tests/mechanisms/test_choice.py", "tests/mechanisms/test_exponential.py"],
    "mechanisms/mechanism.py": ["tests/mechanisms/test_grids.py", "tests/mechanisms/test_exponential.py",
                                "tests/laws/test_mechanisms.py"],
    "mechanisms/": [f"tests/mechanisms/test_{name}.py" for name in (
        "laplace", "gaussian", "grids", "choice", "samplers")],
    "budget/ledger.py": ["tests/budget/test_blocks.py", "tests/budget/test_composition.py"],
    "plan/value.py": ["tests/plan/test_value.py", "tests/plan/test_joint.py", "tests/ops/test_combine.py"],
    "plan/cells.py": ["tests/budget/test_blocks.py", "tests/plan/test_joint.py", "tests/budget/test_composition.py"],
    "plan/domain.py": ["tests/plan/test_domain.py", "tests/ops/test_labels.py"],
    "plan/expr.py": ["tests/ops/test_lookup.py", "tests/engines/test_pieces.py",
                     "tests/ops/test_arithmetic.py", "tests/ops/test_filter.py"],
    "plan/node.py": ["tests/plan/test_constants.py", "tests/plan/test_rows.py"],
    "plan/rows.py": ["tests/ops/test_group_head.py", "tests/ops/test_filter.py"],
    "plan/": ["tests/plan/test_node.py", "tests/plan/test_rows.py"],
    "ops/numbers/vector_sum.py": ["tests/verify/test_checker_rules.py"],
    "ops/rows/deciding.py": ["tests/ops/test_filter.py"],
    "ops/rows/filter.py": ["tests/plan/test_rows.py", "tests/ops/test_lookup.py"],
    "ops/columns/compare.py": ["tests/ops/test_recode.py", "tests/ops/test_isin.py",
                               "tests/engines/test_sql_values.py"],
    "ops/columns/characters.py": ["tests/ops/test_pattern.py", "tests/ops/test_text.py"],
    "ops/polars_types.py": ["tests/ops/test_arithmetic.py", "tests/ops/test_function.py"],
    "ops/": ["tests/engines/test_sql_values.py", "tests/ops/test_filter.py", "tests/ops/test_arithmetic.py",
             "tests/laws/test_registry.py"],
}  # fmt: skip
# Where else a line may be run: asked for what the tests beside a file do not notice.
CORE = ("tests/ops/test_*.py", "tests/plan/test_*.py", "tests/budget/test_*.py", "tests/mechanisms/test_*.py",
        "tests/laws/test_[mpr]*.py", "tests/test_release.py", "tests/test_together.py")  # fmt: skip
WIDE = {
    "verify/checker/": ("tests/verify/test_checker*.py", "tests/verify/test_forged*.py",
                        "tests/verify/test_certificates.py", "tests/verify/test_private_keys.py"),
    "server/": tuple(f"tests/server/test_{name}.py" for name in (
        "state", "charging", "ledger", "checkpoints", "blocks", "samples", "rules", "messages", "lists", "wire",
        "weigh", "population")),
}  # fmt: skip
__all__ = ["mutants_of", "spread"]
FIRST, THEN = 4.0, 15.0  # seconds of tests, on few and on more examples
MORE = 60


def tests_beside(path: str) -> list[str]:
    """The files of tests that belong to a file: that of the same name, and those that are named above."""
    file = Path(path)
    same = f"tests/{file.parts[0]}/test_{file.stem.strip('_')}.py"
    folders = [place for place in BESIDE if place.endswith("/") and path.startswith(place)]
    named = BESIDE.get(path) or (BESIDE[max(folders, key=len)] if folders else [])
    return [test for test in dict.fromkeys([same, *named]) if (HOME / test).exists()]


def tests_anywhere(path: str) -> list[str]:
    """The files of tests that belong to a file, then all others that may run it."""
    wide = next((globs for place, globs in WIDE.items() if path.startswith(place)), CORE)
    found = (str(file.relative_to(HOME)) for glob in wide for file in sorted(HOME.glob(glob)))
    return list(dict.fromkeys([*tests_beside(path), *found]))


@cache
def tests_in(files: tuple[str, ...]) -> Tests:
    return Tests(know(list(files)))


def tried(mutant: Mutant, live: bool, more: bool) -> dict[str, Any]:
    """Which test noticed a change, if any. ``more``: those of all files, on more examples."""
    beside = tests_beside(mutant.path)
    among, seconds = (tests_anywhere(mutant.path), THEN) if more else (beside, FIRST)
    tests = tests_in(tuple(among))
    known = mutant.inside and mutant.path not in tests.changed
    wanted = tests.of(mutant.path, mutant.line, mutant.last, beside, seconds, 10 if more else 3) if known else []
    if not wanted and not (known and mutant.path.startswith("ops/")):
        if known and live:
            return {"again": True}  # no test runs the line: it may be run while the library is imported
        wanted = tests.of_files(among, 2 * seconds)
    if more and not wanted and mutant.path.startswith("ops/"):
        wanted = beside[:1]  # the line of an SQL engine: its tests on DuckDB
    missed = {"found": "survived" if more else "waits", "by": None}
    if not wanted:
        return {**missed, "ran": 0}
    found = in_child(lambda: noticed(mutant, wanted, MORE if more else EXAMPLES, live))
    if found is None or "failed" in found:
        return {"found": "noticed", "by": "(it ends or never ends)" if found is None else found["failed"]}
    if found.get("again"):
        return dict(found)
    return {"found": "noticed", "by": found["by"]} if found["by"] else {**missed, "ran": found["ran"]}


class Run:
    """Tries every change that is not known yet: first with the tests beside its file, then what survived with all."""

    def __init__(self, chosen: list[Mutant], seed: int) -> None:
        self.paths = sorted({mutant.path for mutant in chosen})
        random.Random(seed).shuffle(self.paths)  # so that a run that is stopped early has seen files of all folders
        self.marks = {path: results.mark(tests_anywhere(path)) for path in self.paths}
        known, same = results.known(), results.equivalent()
        self.first = [m for m in chosen if m.name not in known]
        self.later = [m for m in chosen if m.name in known and m.name not in same
                      and results.is_open(known[m.name], self.marks[m.path])]  # fmt: skip
        waiting = len(self.first) + len(self.later)
        print(f"{len(chosen)} mutants, {waiting} of them to be tried, {len(self.first)} for the first time", flush=True)

    def everything(self) -> None:
        import_packages()
        for more in (False, True):
            waiting = self.later if more else self.first
            again = in_child(lambda w=waiting, m=more: self.inside(w, m), 10**6)  # type: ignore[misc]
            if again is None or isinstance(again, dict):
                raise SystemExit(f"stopped: {again}. Run it again; it goes on from here.")
            for path in self.paths:
                for mutant in (m for m in waiting if m.path == path and (not m.inside or m.name in again)):
                    self.note(mutant, tried(mutant, False, more))
            known = results.known()
            self.later += [m for m in self.first if known.get(m.name, {}).get("found") == "waits"]

    def inside(self, waiting: list[Mutant], more: bool) -> list[str]:
        """In a child that has imported the library: the changes inside functions. Returns those that need more."""
        prepare(self.paths)
        again = []
        for path in self.paths:
            for mutant in (m for m in waiting if m.path == path and m.inside):
                found = tried(mutant, True, more)
                if found.get("again"):
                    again.append(mutant.name)
                else:
                    self.note(mutant, found)
        return again

    def note(self, mutant: Mutant, found: dict[str, Any]) -> None:
        results.add({"name": mutant.name, **asdict(mutant), **found, "mark": self.marks[mutant.path]})
        say(f"{found['found']:8} {mutant.name} {mutant}  {found['by'] or ''}")


def main() -> None:
    os.environ |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files or folders below src/privjail (all trusted code if none)")
    parser.add_argument("--sample", type=int, help="so many, spread evenly over the files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", default="0/1", help="1/2: every second file, for a second process")
    parser.add_argument("--show", action="store_true", help="print what survived, and run nothing")
    parser.add_argument("--page", action="store_true", help="write docs/mutants.md, and run nothing")
    given = parser.parse_args()
    places = [Path(path).resolve() for path in given.paths] or [ROOT / path for path in TRUSTED]
    files = sorted(f for place in places for f in ([place] if place.is_file() else place.rglob("*.py")))
    paths = [str(file.relative_to(ROOT)) for file in files]
    chosen = spread(paths, given.sample, given.seed)
    if not (given.show or given.page):
        index, of = map(int, given.share.split("/"))
        mine = set(sorted({mutant.path for mutant in chosen})[index::of])
        Run([mutant for mutant in chosen if mutant.path in mine], given.seed).everything()
    results.show(chosen)
    if given.page:
        results.write_page(chosen, given.seed)


if __name__ == "__main__":
    main()
