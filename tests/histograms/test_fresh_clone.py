"""The experiments run from a clone without any data files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from histograms_families import capital_loss, families, small

ROOT = Path(__file__).resolve().parents[2]
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *(p for p in sys.path if p)]),
    "PRIVJAIL_HISTOGRAMS": "/nowhere",
    "OPENBLAS_NUM_THREADS": "1",
}


def ran(script: str, *args: str) -> str:
    command = [sys.executable, str(ROOT / "bench" / script), *args]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_families_are_those_of_their_seed():
    one, again, other = families(1, (256,)), families(1, (256,)), families(2, (256,))
    assert all((one[name] == again[name]).all() for name in one)
    assert any((one[name] != other[name]).any() for name in one)
    assert capital_loss().sum() == 17_665 and len(capital_loss()) == 4096
    for x in [*one.values(), *small().values(), capital_loss()]:
        assert x.dtype.kind == "i" and x.min() >= 0 and x.ndim == 1 and np.isfinite(x).all()


def test_without_the_thesis_data_the_comparison_says_so():
    assert "its tables are not compared" in ran("histograms.py", "--quick")


@pytest.mark.slow
def test_the_pages_are_made_without_any_files():
    assert "Covered, over all" in ran("histograms_coverage.py", "--quick")
    ranges = ran("histograms_ranges.py", "--quick")
    assert "| block_tree for ranges |" in ranges and "| 256 | s = 0.95 |" in ranges


def test_buckets_are_counted_without_any_files():
    """Without the data sets the generated histograms are counted; nothing is compared with the thesis."""
    told = ran("histograms_buckets.py", "--quick", "--only", "proposed,ahp")
    assert "| needles, 256 | 9" in told and "Table 5.4" in told and " = " not in told.partition("Table 5.4")[2]
