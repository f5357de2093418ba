"""The README of the checker: its example runs and prints what stands there, and no file is left out."""

from __future__ import annotations

import doctest
from pathlib import Path

import privjail.verify.checker as checker

README = Path(checker.__file__).parent / "README.md"


def test_the_example_is_what_the_library_and_the_checker_say() -> None:
    result = doctest.testfile(str(README), module_relative=False)

    assert result.attempted >= 15 and result.failed == 0


def test_every_file_stands_in_the_reading_order() -> None:
    _, order = README.read_text(encoding="utf-8").split("## In which order to read")
    order, _ = order.split("## One certificate")

    files = {path.name for path in README.parent.rglob("*.py")} - {"__init__.py"}
    assert {name for name in files if f"`{name}`" not in order} == set()
