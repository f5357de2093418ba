"""tools/mutants.py: its changes are programs, and it knows when a test notices one."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import sys
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


def changed(tool: ModuleType, mutant: object) -> bytes:
    source = (HOME / "src/privjail" / mutant.path).read_bytes()
    return source[: mutant.begin] + mutant.after.encode() + source[mutant.end :]


@pytest.mark.parametrize(
    "path", ["server/ledger/state.py", "server/ledger/charging.py", "ops/rows/slice.py", "plan/value.py"]
)
def test_every_change_is_another_program(tool: ModuleType, path: str) -> None:
    before = ast.dump(ast.parse((HOME / "src/privjail" / path).read_bytes()))
    made = tool.mutants_of(path)
    assert len(made) > 10 and len({mutant.name for mutant in made}) >= 0.9 * len(made)
    for mutant in made:
        assert ast.dump(ast.parse(changed(tool, mutant))) != before, mutant


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
            beside, wide = tool.tests_of(str(file.relative_to(root)))
            assert all((HOME / test).exists() for test in (*beside, *wide)) and beside


def test_a_change_is_noticed_and_the_same_program_is_not(tool: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(HOME / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    source = (HOME / "src/privjail/server/ledger/charging.py").read_bytes()
    begin = source.index(b"ceil(cost * FINE)")
    end = begin + len(b"ceil(cost * FINE)")
    for after, found in (("int(cost * FINE)", "beside"), ("ceil(FINE * cost)", "survived")):
        mutant = tool.Mutant("server/ledger/charging.py", 1, begin, end, "ceil(cost * FINE)", after)
        assert tool.noticed(mutant, tmp_path / "src", wide=False) == found
    assert (tmp_path / "src/privjail/server/ledger/charging.py").read_bytes() == source
