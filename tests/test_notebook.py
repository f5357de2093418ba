"""Short tracebacks and progress."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pandas
import privjail as pj
from privjail import notebook
from privjail import pandas as pd

PROGRAM = """
import pandas
import privjail as pj
from privjail import pandas as pd
{before}
df = pd.from_frame(pandas.DataFrame({{"x": [1.0]}}), "one")
{line}
"""


def ends(tmp_path: Path, before: str, line: str) -> str:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(before=before, line=line), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=env)
    assert done.returncode == 1
    return done.stderr


def test_errors_of_ours_are_shown_without_our_frames_if_asked(tmp_path):
    ours = os.path.dirname(pj.__file__)
    line = 'df["x"].mean(eps=1)'
    long, short = (ends(tmp_path, before, line) for before in ("", "pj.short_tracebacks()"))
    assert ours in long and ours not in short
    assert "unbounded" in short and line in short and "program.py" in short and "plan:" in short
    assert ours in ends(tmp_path, "pj.short_tracebacks(); pj.short_tracebacks(on=False)", line)
    assert "ZeroDivisionError" in ends(tmp_path, "pj.short_tracebacks()", "1 / 0")


def test_progress_goes_through_all_items_and_is_silent_where_nobody_looks(capsys, monkeypatch):
    assert list(notebook.progress(range(20), 20, "medians")) == list(range(20))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(notebook.importlib.util, "find_spec", lambda name: None)
    assert list(notebook.progress(range(20), 20, "medians")) == list(range(20))


def test_progress_is_shown_to_whoever_looks(monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")
    seen = []
    monkeypatch.setattr(notebook, "_in_notebook", lambda: True)
    monkeypatch.setattr(tqdm, "tqdm", lambda items, **options: seen.append(options) or items)
    df = pd.from_frame(pandas.DataFrame({"g": list("abcdefghij"), "x": range(10)}), "ten",
                       {"g": {"type": "category", "categories": list("abcdefghij")},
                        "x": {"type": "Int64", "range": [0, 9]}})  # fmt: skip
    df.groupby("g")["x"].median(eps=1)
    assert seen[0]["total"] == 10 and "median" in seen[0]["desc"]
