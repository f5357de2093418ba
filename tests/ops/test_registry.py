"""All operations are found, also by a program that has imported none of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import privjail.ops
from privjail.ops import registry

PROGRAM = """
import sys
from privjail.ops.registry import load_all
load_all()
print(*sys.modules)
"""


def test_every_file_is_imported(monkeypatch: pytest.MonkeyPatch):
    imported: list[str] = []
    monkeypatch.setattr(registry.importlib, "import_module", imported.append)
    registry.load_all()

    assert set(names_of_files()) <= set(imported)


def names_of_files() -> list[str]:
    top = Path(privjail.ops.__path__[0])
    files = [file.relative_to(top).with_suffix("") for file in top.rglob("*.py") if file.stem != "__init__"]
    return [".".join(("privjail", "ops", *file.parts)) for file in files]


def test_a_program_that_imported_no_operation_finds_them():
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert set(names_of_files()) <= set(done.stdout.split())
