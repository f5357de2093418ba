"""Python's garbage collector is left alone, unless the program asks for fewer collections."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SETS = re.compile(r"set_threshold\(|^\s+(\w+\.)*raise_gc_threshold\(|gc\.disable\(", re.M)
PROGRAM = """
import gc
{before}
import pandas
import privjail as pj
from privjail import pandas as pd
frame = pd.from_frame(pandas.DataFrame({{"n": [1, 2]}}), "two", {{"n": {{"type": "Int64", "range": [0, 9]}}}})
frame["n"].sum().reveal(eps=1)
used = gc.get_threshold()
pj.raise_gc_threshold()
print(used, gc.get_threshold())
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("gc.set_threshold(700, 10, 10)", "(700, 10, 10) (20000, 10, 10)"),
        ("gc.set_threshold(2000, 10, 0)", "(2000, 10, 0) (20000, 10, 0)"),
        ("gc.set_threshold(300, 5, 5)", "(300, 5, 5) (300, 5, 5)"),
        ("gc.set_threshold(0)", "(0, 10, 10) (0, 10, 10)"),
        ("gc.set_threshold(50_000, 3, 3)", "(50000, 3, 3) (50000, 3, 3)"),
    ],
)
def test_the_threshold_is_raised_only_when_asked_and_only_from_its_start(before: str, expected: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == expected


def test_nothing_else_sets_the_threshold_but_a_server_its_own() -> None:
    """Neither opening data nor connecting to a jail: in an analyst's process it is hers to set."""
    source = Path(__file__).parent.parent / "src" / "privjail"
    setters = {str(p.relative_to(source)) for p in source.rglob("*.py") if SETS.search(p.read_text(encoding="utf-8"))}

    assert setters == {"collector.py", "server/server.py"}
