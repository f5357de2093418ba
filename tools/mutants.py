"""Change one thing in the trusted code at a time, and see whether a test notices.

    python tools/mutants.py --sample 200          # 200 random changes, or go on where the last run stopped
    python tools/mutants.py src/privjail/ops/rows/slice.py
    python tools/mutants.py --show                # what no test noticed, so far

A *mutant* is a copy of src/ with one small change: another comparison, `all` for `any`, a constant off by one, a
statement left out. The tests beside the changed file are run until one fails; with --wide those of its folder, too.
What no test notices is printed: it is either the same program in other words (write its name into
tools/equivalent_mutants.txt, and why), or a test is missing. src/ itself is never changed. Results are kept in
build/mutants.jsonl: a mutant that was noticed is not tried again, one that survived is.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
RESULTS = HOME / "build" / "mutants.jsonl"
EQUIVALENT = HOME / "tools" / "equivalent_mutants.txt"
PACKAGE = Path("src/privjail")
# Where claims are made. What only works on released numbers, or only speaks, is not among it.
TRUSTED = ("plan", "ops", "mechanisms", "budget", "release.py", "verify/checker",
           "server/ledger/state.py", "server/ledger/charging.py", "server/wire/decode.py",
           *(f"histograms/{name}.py" for name in (
               "counts", "deviations", "choice", "dawa", "php", "structure_first", "partition", "ahp", "buckets",
               "relation", "identity", "hierarchy", "wavelet")))  # fmt: skip
# Tests that do not have the name of the file that they are about. The first are run first.
BESIDE = {
    "release.py": ["tests/test_release.py", "tests/budget/test_composition.py"],
    **{
        f"verify/checker/{path.name}": [
            f"tests/verify/test_{name}.py"
            for name in ("checker_operations", "checker_rules", "forged", "forged_claims", "forged_types")
        ]
        for path in (HOME / PACKAGE / "verify/checker").glob("*.py")
    },
    "server/wire/decode.py": [
        "tests/server/test_decode.py",
        "tests/server/test_messages.py",
        "tests/server/test_lists.py",
    ],
    "server/ledger/state.py": ["tests/server/test_state.py", "tests/server/test_ledger.py"],
    "mechanisms/noise.py": ["tests/mechanisms/test_samplers.py"],
    "mechanisms/mechanism.py": ["tests/mechanisms/test_grids.py", "tests/laws/test_mechanisms.py"],
    "budget/ledger.py": ["tests/budget/test_ledger.py", "tests/budget/test_composition.py"],
    "plan/value.py": ["tests/plan/test_value.py", "tests/plan/test_joint.py", "tests/ops/test_numbers.py"],
    "plan/cells.py": ["tests/plan/test_rows.py", "tests/plan/test_joint.py", "tests/budget/test_composition.py"],
    "plan/domain.py": ["tests/plan/test_domain.py", "tests/ops/test_labels.py"],
    "plan/expr.py": ["tests/ops/test_arithmetic.py", "tests/ops/test_filter.py"],
    "ops/polars_types.py": ["tests/ops/test_arithmetic.py", "tests/ops/test_function.py"],
}
FOLDERS = {
    "plan": ["tests/plan", "tests/ops"], "ops": ["tests/ops", "tests/laws"],
    "release.py": ["tests/budget", "tests/attacks"],
}  # fmt: skip
HISTOGRAMS = ["tests/histograms/test_exactness.py", "tests/histograms/test_privacy.py"]
UNSEEN = {"text", "spell_out", "quotes", "shown", "__str__", "__repr__", "_whose", "fold"}  # words for people
SECONDS = 240  # for all tests of one mutant: one that runs so long is noticed, too

COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
            ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip
CALLED = {"any": "all", "all": "any", "min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "sorted": "list"}


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two places of a file, and what stands there instead."""

    path: str  # below src/privjail
    line: int
    begin: int  # in bytes
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """The same as long as the line is the same, wherever it moves to."""
        source = (HOME / PACKAGE / self.path).read_bytes()
        start = source.rfind(b"\n", 0, self.begin) + 1
        stop = source.find(b"\n", self.end)
        at = f"{self.path}|{source[start:stop].decode()}|{self.begin - start}|{self.after}"
        return hashlib.sha256(at.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before!r} → {self.after!r}"


def changes(node: ast.AST) -> Iterator[ast.AST | str]:
    """What else could stand in the place of a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield ast.Compare(node.left, [COMPARED[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from values[:1] + values[-1:]
        case ast.BinOp(op=op) if type(op) in COMPUTED and not isinstance(node.left, ast.JoinedStr):
            yield ast.BinOp(node.left, COMPUTED[type(op)](), node.right)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield ast.Call(ast.Name(CALLED[name]), node.args, node.keywords)
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as value):
            yield f"({value + 1})"
            yield f"({value - 1})"
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "pass"


def mutants_of(path: str) -> list[Mutant]:
    """Every change of a file."""
    source = (HOME / PACKAGE / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in UNSEEN:
            return
        for change in changes(node) if hasattr(node, "end_col_offset") else ():
            begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            after = change if isinstance(change, str) else f"({ast.unparse(ast.fix_missing_locations(change))})"
            found.append(Mutant(path, node.lineno, begin, end, source[begin:end].decode(), after))  # type: ignore[attr-defined]
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "exc") or isinstance(node, ast.JoinedStr):
                continue  # types and texts
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    visit(ast.parse(source))
    return found


def tests_of(path: str) -> tuple[list[str], list[str]]:
    """The tests beside a file, and those of its folder."""
    file = Path(path)
    own = BESIDE.get(path, [f"tests/{file.parts[0]}/test_{file.stem.strip('_')}.py"])
    beside = HISTOGRAMS if file.parts[0] == "histograms" else [test for test in own if (HOME / test).exists()]
    wide = FOLDERS.get(file.parts[0], [f"tests/{file.parts[0]}"])
    return beside or wide, wide


def noticed(mutant: Mutant, tree: Path, wide: bool) -> str:
    """ "beside", "elsewhere" or "survived": which tests failed with this change, if any."""
    place, source = tree / "privjail" / mutant.path, (HOME / PACKAGE / mutant.path).read_bytes()
    place.write_bytes(source[: mutant.begin] + mutant.after.encode() + source[mutant.end :])
    try:
        left = time.monotonic() + SECONDS
        for where, tests in zip(("beside", "elsewhere"), tests_of(mutant.path), strict=True):
            if (where == "beside" or wide) and not passes(tests, tree, left - time.monotonic()):
                return where
        return "survived"
    finally:
        place.write_bytes(source)


def passes(tests: list[str], tree: Path, seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider",
               "-p", "no:randomly", "-m", "not slow", *tests]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=HOME, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(max(1.0, seconds)) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def known() -> dict[str, dict[str, str]]:
    if not RESULTS.exists():
        return {}
    return {each["name"]: each for each in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())}


def equivalent() -> set[str]:
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def run(chosen: list[Mutant], wide: bool) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    done = known()
    with tempfile.TemporaryDirectory(prefix="privjail-mutants-") as scratch:
        tree = Path(scratch) / "src"
        shutil.copytree(HOME / "src", tree, ignore=shutil.ignore_patterns("__pycache__"))
        sound: set[str] = set()  # tests that pass without any change
        for i, mutant in enumerate(chosen, start=1):
            if done.get(mutant.name, {"found": "survived"})["found"] != "survived":
                continue
            found = noticed(mutant, tree, wide)
            if found != "survived" and mutant.path not in sound:
                if not passes(tests_of(mutant.path)[0], tree, 4 * SECONDS):
                    raise SystemExit(f"these tests fail without any change: {' '.join(tests_of(mutant.path)[0])}")
                sound.add(mutant.path)
            print(f"{i}/{len(chosen)} {found:9} {mutant.name} {mutant}", flush=True)
            with RESULTS.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"name": mutant.name, "found": found, **asdict(mutant)}) + "\n")


def show() -> None:
    """The survivors, and how many mutants there were."""
    same, counted = equivalent(), Counter[str]()
    for each in known().values():
        found = "equivalent" if each["found"] == "survived" and each["name"] in same else each["found"]
        counted[found] += 1
        if found == "survived":
            print(f"{each['name']} {each['path']}:{each['line']}: {each['before']!r} → {each['after']!r}")
    print(f"{sum(counted.values())} mutants: {', '.join(f'{n} {what}' for what, n in sorted(counted.items()))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files or folders below src/privjail (all trusted code if none)")
    parser.add_argument("--sample", type=int, help="so many at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print what survived, and run nothing")
    parser.add_argument("--wide", action="store_true", help="also run the tests of the whole folder")
    given = parser.parse_args()
    if given.show:
        show()
        return
    root = HOME / PACKAGE
    places = [Path(path).resolve() for path in given.paths] or [root / path for path in TRUSTED]
    files = sorted(f for place in places for f in ([place] if place.is_file() else place.rglob("*.py")))
    found = [mutant for file in files for mutant in mutants_of(str(file.relative_to(root)))]
    if given.sample is not None:
        found = random.Random(given.seed).sample(found, min(given.sample, len(found)))
    run(found, given.wide)
    show()


if __name__ == "__main__":
    main()
