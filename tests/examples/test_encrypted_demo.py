"""`make demo-encrypted` runs, and shows what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_demo_runs() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *(p for p in sys.path if p)])}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "encrypted_demo.py")],
        capture_output=True,
        text=True,
        timeout=600,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    for expected in (
        "600 kept",
        "600 there before",
        "not one record in one bin",
        "count it twice: not answered",
        "RecordsMoved",
        "this release costs 1/2, and 0 of the study's 2 are left",
        "64 bins",
    ):
        assert expected in done.stdout
