"""The session of the paper's section 3.2, word for word: code, texts, and the budget."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest

ROWS = 2000

SESSION = """
import privjail as pj
from privjail import pandas as pd

df = pd.read_csv("filename.csv")
print(df)
print(repr(df.shape[0]))
print(pj.laplace_mechanism(df.shape[0], eps=0.1))
print(pj.laplace_mechanism(df[df["age"] > 40].shape[0], eps=0.1))
print(pj.consumed_privacy_budget())
print(isinstance(df["age"].clip(0, 120).mean(eps=0.1), float))
print(df["age"].clip(0, 120).mean(eps=0.1))
print(df.domains["age"], "|", df["age"].clip(0, 120).domain)
df["age"].mean(eps=0.1)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    rng = numpy.random.default_rng(7)
    ages = rng.integers(17, 90, ROWS)
    (folder / "filename.csv").write_text("age,sex\n" + "\n".join(f"{a},F" for a in ages) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", SESSION], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    return ages, done


def test_the_session_of_the_paper_prints_what_the_paper_prints(session):
    ages, done = session
    lines = done.stdout.splitlines()
    assert lines[0] == "Prisoner(<class 'pandas.core.frame.DataFrame'>, distance=1)"
    shown = lines.index("Prisoner(<class 'int'>, distance=1)")
    assert lines[1:shown] == ["  unit of protection: a row", "  cell: filename.csv", "  age  untyped", "  sex  untyped"]
    count, over_forty, budget, kind, mean, domains = lines[shown + 1 :]
    assert abs(float(count) - ROWS) < 400
    assert abs(float(over_forty) - (ages > 40).sum()) < 400
    assert budget == "{'filename.csv': 0.2}"
    assert kind == "True" and abs(float(mean) - ages.mean()) < 30
    assert domains == "untyped | Float64 [0.0, 120.0]"


def test_the_unbounded_mean_fails_in_the_words_of_the_paper(session):
    _, done = session
    assert done.returncode == 1
    assert "privjail.util.DPError: The domain is unbounded. Use clip()." in done.stderr.splitlines()
