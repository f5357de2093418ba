"""The search for cycles is made rarer where plans are built, and left alone where somebody has set it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc
{before}
import privjail
after_import = gc.get_threshold()
from privjail import session
session.jail()
print(after_import, gc.get_threshold())
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
def test_only_the_usual_pace_is_changed_and_not_by_importing(before: str, expected: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == expected
