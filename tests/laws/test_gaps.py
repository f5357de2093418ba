"""What an engine lacks is marked, strictly: a gap that works fails, and so does one that nobody marked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CONFTEST = """
from tests.ops import gaps
from tests.ops.conftest import each_engine

def pytest_collection_modifyitems(items):
    marked = {"marked": gaps.never("no such function")}
    gaps.mark_gaps(items, {"reference": {"slice": gaps.notimpl("later"), **marked}, "duckdb": marked})
"""
TESTS = '''
from privjail.ops.rows.slice import Slice
from privjail.plan.expr import Expr
from privjail.plan.node import node
from tests.ops.checking import check_row_wise, check_rows, covers, growing
from tests.ops.worlds import NUMBERS

class OnlyPolars(Expr):
    def __post_init__(self):
        self.computed_from(self.a, domain=self.a.domain)

    def polars(self, *inputs):
        return inputs[0]

@node
class Marked(OnlyPolars):
    """Has a Polars line only, and says so."""
    kind = "marked"
    a: Expr

@node
class Unmarked(OnlyPolars):
    """Has a Polars line only, and does not say so."""
    kind = "unmarked"
    a: Expr

@covers("property", "slice")
def test_works():
    check_rows(Slice(NUMBERS.source, None, 1), growing(NUMBERS.rows))

@covers("property", "marked")
def test_marked():
    check_row_wise(Marked(NUMBERS.column("x")), growing(NUMBERS.rows))

@covers("property", "unmarked")
def test_unmarked():
    check_row_wise(Unmarked(NUMBERS.column("x")), growing(NUMBERS.rows))
'''


def test_gaps_are_strict(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_lacking.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    found = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    outcomes = {
        line.split("::")[1].split(" ")[0]: line.split(" ")[0] for line in found.splitlines() if "::test_" in line
    }

    assert outcomes == {
        "test_works[polars]": "PASSED",
        "test_works[reference]": "FAILED",  # marked, and it works
        "test_works[duckdb]": "PASSED",
        "test_marked[polars]": "PASSED",
        "test_marked[reference]": "XFAIL",
        "test_marked[duckdb]": "XFAIL",
        "test_unmarked[polars]": "PASSED",
        "test_unmarked[reference]": "FAILED",  # it does not work, and nobody said so
        "test_unmarked[duckdb]": "FAILED",
    }, found
    assert "never marked: no such function" in found
