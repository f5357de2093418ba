"""Change one thing in the trusted code at a time, and see whether a test notices.

    python tools/mutants.py --sample 600          # 600 changes, evenly over all files; goes on where it stopped
    python tools/mutants.py src/privjail/ops/rows/slice.py
    python tools/mutants.py --show                # what no test noticed, so far
    python tools/mutants.py --page                # write docs/mutants.md

A *mutant* is the library with one small change: another comparison, `all` for `any`, a constant off by one, a
statement left out. The tests that run the changed line are run until one fails: those beside the changed file first, on
few examples, with a fixed seed; then more of them, on more examples. What no test notices is printed: it is either the
same program in other words (write its name into tools/equivalent_mutants.txt, and why), or a test is missing. No file
under src/ is changed. Results are kept in build/mutants.jsonl: a mutant that was noticed is not tried again, one that
survived is if a test has changed since. See tools/mutating/forks.py for how it is made cheap.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from dataclasses import asdict
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
    "checker_operations", "checker_rules", "forged", "forged_claims", "forged_types", "forged_samples",
    "checker", "certificates")]  # fmt: skip
# Tests that do not have the name of the file that they are about. The first are run first.
BESIDE = {
    "release.py": ["tests/test_release.py", "tests/budget/test_composition.py"],
    "verify/checker/places.py": ["tests/verify/test_forged_samples.py"],
    "verify/checker/": CHECKER,
    "server/wire/": ["tests/server/test_messages.py", "tests/server/test_lists.py", "tests/server/test_wire.py"],
    "server/ledger/charging.py": ["tests/server/test_charging.py", "tests/server/test_state.py"],
    "server/ledger/state.py": ["tests/server/test_state.py",
                               "tests/server/test_blocks.py", "tests/server/test_samples.py"],
    "mechanisms/noise.py": ["tests/mechanisms/test_samplers.py"],
    "mechanisms/weights.py": ["tests/mechanisms/test_choice.py", "tests/mechanisms/test_exponential.py"],
    "mechanisms/mechanism.py": ["tests/mechanisms/test_grids.py", "tests/laws/test_mechanisms.py"],
    "mechanisms/": [f"tests/mechanisms/test_{name}.py" for name in (
        "laplace", "gaussian", "grids", "choice", "samplers")],
    "budget/ledger.py": ["tests/budget/test_ledger.py", "tests/budget/test_composition.py"],
    "plan/value.py": ["tests/plan/test_value.py", "tests/plan/test_joint.py", "tests/ops/test_combine.py"],
    "plan/cells.py": ["tests/plan/test_rows.py", "tests/plan/test_joint.py", "tests/budget/test_composition.py"],
    "plan/domain.py": ["tests/plan/test_domain.py", "tests/ops/test_labels.py"],
    "plan/expr.py": ["tests/plan/test_rows.py", "tests/ops/test_arithmetic.py", "tests/ops/test_filter.py"],
    "plan/": ["tests/plan/test_node.py", "tests/plan/test_rows.py"],
    "ops/rows/deciding.py": ["tests/ops/test_filter.py"],
    "ops/columns/characters.py": ["tests/ops/test_text.py", "tests/ops/test_pattern.py"],
    "ops/polars_types.py": ["tests/ops/test_arithmetic.py", "tests/ops/test_function.py"],
    "ops/": ["tests/ops/test_filter.py", "tests/ops/test_arithmetic.py", "tests/laws/test_registry.py"],
}  # fmt: skip
__all__ = ["mutants_of", "spread"]
FIRST, THEN = 4.0, 25.0  # seconds of tests, on few and on more examples
MORE = 60


def tests_beside(path: str) -> list[str]:
    """The files of tests that belong to a file: that of the same name, and those that are named above."""
    file = Path(path)
    same = f"tests/{file.parts[0]}/test_{file.stem.strip('_')}.py"
    folders = [place for place in BESIDE if place.endswith("/") and path.startswith(place)]
    named = BESIDE.get(path) or (BESIDE[max(folders, key=len)] if folders else [])
    return [test for test in dict.fromkeys([same, *named]) if (HOME / test).exists()]


def tried(mutant: Mutant, tests: Any, live: bool) -> dict[str, Any]:
    """Which test noticed a change, if any."""
    beside, told = tests_beside(mutant.path), {}
    for seconds, files, examples in ((FIRST, 3, EXAMPLES), (THEN, 8, MORE)):
        if mutant.inside and mutant.path not in tests.changed:
            wanted = tests.of(mutant.path, mutant.line, mutant.last, beside, seconds, files)
        else:
            wanted = tests.of_files(beside, 2 * seconds)
        if not wanted:
            continue
        found = in_child(lambda w=wanted, e=examples: noticed(mutant, w, e, live))  # type: ignore[misc]
        if found is None or "failed" in found:
            return {"found": "noticed", "by": "(it ends or never ends)" if found is None else found["failed"]}
        if found.get("again"):
            return found
        if found["by"]:
            return {"found": "noticed", "by": found["by"]}
        told = {"ran": found["ran"]}
    return {"found": "survived", "by": None, "ran": 0, **told}


class Run:
    """Tries every change that is not known yet: those inside functions first, file by file."""

    def __init__(self, chosen: list[Mutant], seed: int) -> None:
        self.paths = sorted({mutant.path for mutant in chosen})
        random.Random(seed).shuffle(self.paths)  # so that a run that is stopped early has seen files of all folders
        self.marks = {path: results.mark(tests_beside(path)) for path in self.paths}
        self.waiting = [m for m in chosen if results.is_open(m.name, self.marks[m.path])]
        print(f"{len(chosen)} mutants, {len(self.waiting)} of them to be tried", flush=True)

    def of(self, path: str, inside: bool) -> list[Mutant]:
        return [each for each in self.waiting if each.path == path and each.inside == inside]

    def everything(self) -> None:
        import_packages()
        again = in_child(self.inside, 10**6)
        if again is None or isinstance(again, dict):
            raise SystemExit(f"stopped: {again}. Run it again; it goes on from here.")
        for path in self.paths:
            outside = self.of(path, False) + [each for each in self.of(path, True) if each.name in again]
            tests = Tests(know(tests_beside(path))) if outside else None
            for mutant in outside:
                self.note(mutant, tried(mutant, tests, live=False))

    def inside(self) -> list[str]:
        """In a child that has imported the library: the changes inside functions. Returns those that need more."""
        prepare(self.paths)
        again = []
        for path in self.paths:
            wanted = self.of(path, True)
            tests = Tests(know(tests_beside(path))) if wanted else None
            for mutant in wanted:
                found = tried(mutant, tests, live=True)
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
    parser.add_argument("--show", action="store_true", help="print what survived, and run nothing")
    parser.add_argument("--page", action="store_true", help="write docs/mutants.md, and run nothing")
    given = parser.parse_args()
    places = [Path(path).resolve() for path in given.paths] or [ROOT / path for path in TRUSTED]
    files = sorted(f for place in places for f in ([place] if place.is_file() else place.rglob("*.py")))
    paths = [str(file.relative_to(ROOT)) for file in files]
    chosen = spread(paths, given.sample, given.seed)
    if not (given.show or given.page):
        Run(chosen, given.seed).everything()
    results.show(chosen)
    if given.page:
        results.write_page(chosen, given.seed)


if __name__ == "__main__":
    main()
