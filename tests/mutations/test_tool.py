"""tools/mutants.py: its changes are programs, and it knows when a test notices one."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

HOME = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", HOME / "tools" / "mutants.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    "path", ["server/ledger/state.py", "server/ledger/charging.py", "ops/rows/slice.py", "plan/value.py"]
)
def test_every_change_is_another_program(tool: ModuleType, path: str) -> None:
    source = (HOME / "src/privjail" / path).read_bytes()
    before = ast.dump(ast.parse(source))
    made = tool.mutants_of(path)
    assert len(made) > 10 and len({mutant.name for mutant in made}) >= 0.9 * len(made)
    for mutant in made:
        assert ast.dump(ast.parse(mutant.source())) != before, mutant
        assert mutant.source().count(b"\n") == source.count(b"\n"), mutant  # lines keep their numbers


def test_the_bugs_that_were_once_planted_are_among_the_changes(tool: ModuleType) -> None:
    found = {
        (m.path, m.before, m.after)
        for path in ("server/ledger/state.py", "ops/rows/slice.py")
        for m in tool.mutants_of(path)
    }
    assert any(path == "server/ledger/state.py" and before.startswith("any([s") and after.startswith("(all([s")
               for path, before, after in found)  # fmt: skip
    assert ("ops/rows/slice.py", "1 + start", "(1 - start)") in found  # iloc[-a:b] lets no row out at its start


def test_every_trusted_file_has_tests_beside_it(tool: ModuleType) -> None:
    root = HOME / "src/privjail"
    for place in tool.TRUSTED:
        assert (root / place).exists(), place
        for file in [root / place] if place.endswith(".py") else (root / place).rglob("*.py"):
            path = str(file.relative_to(root))
            assert tool.tests_beside(path) or not tool.mutants_of(path), file


def test_a_sample_is_spread_evenly_and_a_larger_one_contains_it(tool: ModuleType) -> None:
    paths = ["ops/rows/slice.py", "ops/rows/sort.py", "plan/value.py"]
    small, large = (tool.spread(paths, wanted, 0) for wanted in (9, 30))
    counts = Counter(mutant.path for mutant in small)

    assert set(counts.values()) == {3} and set(counts) == set(paths)
    assert set(small) < set(large) and len(large) == 30


CHARGING = "server/ledger/charging.py"
NAMES = ("test_what_is_written_is_the_rounded_cost", "test_costs_stay_exact_for_as_many_bits_as_are_said")


@pytest.mark.parametrize(("after", "noticed"), [("int(cost * FINE)", True), ("ceil(FINE * cost)", False)])
def test_a_change_is_noticed_and_the_same_program_is_not(after: str, noticed: bool) -> None:
    """In a process of its own, as the tool runs: it imports everything before it forks."""
    script = f"""
import sys
sys.path.insert(0, {str(HOME / "tools")!r})
import mutants
from mutating import changes, forks
source = (changes.ROOT / {CHARGING!r}).read_bytes()
begin = source.index(b"ceil(cost * FINE)")
line = source[:begin].count(b"\\n") + 1
mutant = changes.Mutant({CHARGING!r}, line, begin, begin + 17, "ceil(cost * FINE)", {after!r}, True, line)
forks.import_packages()
forks.prepare([{CHARGING!r}])
tests = ["tests/server/test_charging.py::" + name for name in {NAMES!r}]
print(forks.in_child(lambda: forks.noticed(mutant, tests, 12, True)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=HOME, timeout=900)
    found = ast.literal_eval(done.stdout.strip().splitlines()[-1])

    assert bool(found["by"]) == noticed and "again" not in found, found
    assert noticed or found["ran"] == len(NAMES)
