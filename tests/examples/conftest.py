from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench")]

import adult  # noqa: E402


@pytest.fixture
def adult_files(tmp_path: Path) -> tuple[str, str, str]:
    """UCI Adult; the private file is a copy, so that its budget starts at 0."""
    found = adult.files()
    if found is None:
        pytest.skip(adult.MISSING)
    return str(shutil.copy(found[0], tmp_path / "train.csv")), found[1], found[2]
