"""examples/demo.py, as `make demo` runs it."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    scratch = tmp_path_factory.mktemp("demo")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    env.pop("COLUMNS", None)
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")], capture_output=True, text=True, timeout=600, env=env
    )

    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time: what it takes on an idle machine, also when this one is busy.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
    assert list(scratch.iterdir()) == [], "the demo left files behind"
    return done.stdout


def test_it_shows_accuracy_beside_the_commonest_class(shown: str) -> None:
    tree = float(re.search(r"accuracy on test data\W+([\d.]+)%", shown)[1])
    guess = float(re.search(r"commonest class\W+([\d.]+)%", shown)[1])

    assert tree > guess + 3


def test_it_spends_what_it_says(shown: str) -> None:
    assert "ε 1.75 of 2" in shown
    assert "{'train.csv': 1.75}" in shown
    assert re.search(r"budget spent\W+1 ", shown)


def test_it_shows_the_audit_log(shown: str) -> None:
    assert "train.csv | count" in shown
    assert re.search(r"the first 6 of \d{3,} releases", shown)


@pytest.mark.parametrize(
    ("tried", "error"),
    [
        ("df.shape[0].reveal(eps=5)", "BudgetExceeded"),
        ('raw["age"].sum()', "The domain is unbounded. Use clip()."),
        ("len(df)", "PrisonerError"),
        ("if df.shape[0] > 100", "PrisonerError"),
        ('f"{df.shape[0]}"', "PrisonerError"),
        ("df.shape[0] * df.shape[0]", "the product of two private numbers"),
        ("cumsum", "is refused"),
        ("to_csv", "is refused"),
        ("df.iloc[7]", "a single row is private"),
    ],
)
def test_it_shows_what_is_refused(shown: str, tried: str, error: str) -> None:
    lines = shown[shown.index("What is refused") :].splitlines()
    row = next(i for i, line in enumerate(lines) if tried in line)

    assert error in " ".join(lines[row : row + 2])
