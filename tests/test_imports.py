"""What an import loads, and which folder may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "privjail"
HEAVY = (
    "polars",
    "opendp",
    "pyarrow",
    "typer",
    "dp_accounting",
    "grpc",
    "pyspark",
    "matplotlib",
    "cryptography",
    "tenseal",
)

#: A folder imports only from those above it; names on one line do not import each other.
LAYERS = [
    {"util"}, {"errors"}, {"faults"}, {"plan"}, {"ops"}, {"budget"}, {"mechanisms"}, {"engines"}, {"catalogue", "histograms"},
    {"release"}, {"server"}, {"client"}, {"session"}, {"prisoner"}, {"rowwise"}, {"opening", "sensitive", "statistics"},
    {"pandas"}, {"curator"},
    {"encrypted", "verify"},
]  # fmt: skip


@pytest.mark.parametrize("statement", ["import privjail", "from privjail import pandas"])
def test_an_import_loads_no_engine_and_no_sampler(statement):
    code = f"import sys; {statement}; print([m for m in {HEAVY!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def imported(path: Path) -> set[str]:
    """The parts of privjail that a file imports when it is loaded (not inside functions)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {id(n) for i in ast.walk(tree) if isinstance(i, ast.If) for n in ast.walk(i)}
    lazy = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    top = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and id(n) not in guarded | lazy]
    names = [[f"privjail.{a.name}" for a in n.names] if n.module == "privjail" else [n.module or ""] for n in top]
    return {name.split(".")[1] for each in names for name in each if name.startswith("privjail.")}


def test_a_folder_imports_only_from_those_above_it():
    height = {name: i for i, names in enumerate(LAYERS) for name in names}
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part in height:
            below = {name for name in imported(path) - {part} if name in height and height[name] >= height[part]}
            assert not below, f"{path.relative_to(SOURCE)} imports {sorted(below)}, which stand below it"


def test_no_source_file_is_long():
    lengths = {str(p.relative_to(SOURCE)): len(p.read_text().splitlines()) for p in (SOURCE / "pandas").rglob("*.py")}
    facades = {
        "pandas/frame.py",
        "pandas/series.py",
        "pandas/groups.py",
        "pandas/vectors.py",
    }  # as long as what pandas offers
    assert not {name: n for name, n in lengths.items() if n > 400 and name not in facades}
