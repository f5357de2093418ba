"""What mypy and an editor know about a user's program: right types, and misspellings found before it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"

PROGRAM = """
import privjail as pj
from privjail import pandas as pd

df = pd.read_csv("patients.csv", schema="patients.json", budget=1.0)
reveal_type(df["age"])
reveal_type(df[df["age"] > 40])
reveal_type(df[["age", "cost"]])
reveal_type((df["cost"] / df["days"]).clip(0, 1000).shift(1))
reveal_type(df["cost"].sum() * 2 + 1)
reveal_type(df.shape[0].reveal(eps=0.1))
reveal_type(df["age"].mean(eps=0.1))
reveal_type(df["age"].quantile([0.1, 0.9], eps=0.1))
reveal_type(df.groupby("ward"))
reveal_type(df.groupby("ward")["cost"])
reveal_type(df.groupby("ward")["cost"].sum().reveal(eps=0.1))
reveal_type(df.groupby("ward")["cost"].mean(eps=0.1))
reveal_type(pd.crosstab(df["sex"], df["ward"]).reveal(eps=0.1))
reveal_type(pj.reveal_all({"rows": df.shape[0]}, eps=0.1))
reveal_type(df["ward"].str.lower())
reveal_type(df["admitted"].dt.month)
X = df[["age", "cost"]].to_numpy()
reveal_type((2 * X - [1, 2]) / X.sum(axis=1))
reveal_type(X[X[:, 0] > 40].mean(axis=1))
reveal_type(X.sum(axis=0))
reveal_type(X.mean(axis=0, eps=0.1))
reveal_type(X.var(axis=0, eps=0.1))
reveal_type(X.std(axis=0, eps=0.1))
"""
TYPES = [
    "PrivSeries", "PrivDataFrame", "PrivDataFrame", "PrivSeries", "SensitiveInt | SensitiveFloat", "Answer", "Answer",
    "ReleasedSeries", "PrivDataFrameGroupBy", "PrivSeriesGroupBy", "ReleasedSeries", "ReleasedSeries", "ReleasedFrame",
    "dict[str, Answer]", "PrivSeries", "PrivSeries", "PrivArray", "PrivArray",
    "SensitiveArray | SensitiveInt | SensitiveFloat", *["ndarray[tuple[Any, ...], dtype[float64]] | float"] * 3,
]  # fmt: skip

MISSPELT = [
    'df["age"].maen(eps=0.1)',
    'df["age"].mean(epsilon=0.1)',
    'df["age"].sum().revael(eps=0.1)',
    'df.gruopby("ward")',
    'df.groupby("ward").sizes()',
    'df[df["age"] > 40]["cost"].sum().reveal(ep=0.1)',
    'df["ward"].str.lowercase()',
    'df["admitted"].dt.mnth',
    'df["ward"].value_counts(sort=False).idxmx(eps=0.1)',
    "pj.laplace_mechanism(df.shape[0], epsilon=0.1)",
    "pd.read_cvs('patients.csv')",
    'df[["age"]].to_numpy().sum(axes=0)',
    'df[["age"]].to_numpy().sum(axis=0).revael(eps=0.1)',
    'df[["age"]].to_numpy().men(axis=0, eps=0.1)',
]


def checked(tmp_path: Path, program: str) -> list[str]:
    """mypy's messages about a program, without those about where the library's source lies."""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nfollow_imports = silent\nignore_missing_imports = true\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--strict", "program.py"]
    environment = os.environ | {"MYPYPATH": str(SOURCE), "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    return [line for line in done.stdout.splitlines() if line.startswith("program.py")]


def test_an_editor_knows_the_type_of_every_step(tmp_path):
    said = checked(tmp_path, PROGRAM)

    assert not [line for line in said if "error" in line]
    shown = [line.split('Revealed type is "')[1].rstrip('"') for line in said if "Revealed type" in line]
    plain = [_without_modules(each) for each in shown]
    assert plain == TYPES


def _without_modules(type_: str) -> str:
    return re.sub(r"[\w.]+\.(\w+)", r"\1", type_).replace("?", "")


def test_every_misspelling_is_found_before_the_program_runs(tmp_path):
    opening = ["import privjail as pj", "from privjail import pandas as pd", 'df = pd.read_csv("patients.csv")']

    said = checked(tmp_path, "\n".join([*opening, *MISSPELT]) + "\n")

    found = {int(message.split(":")[1]) for message in said if ": error:" in message}
    assert found == {len(opening) + 1 + i for i in range(len(MISSPELT))}
