"""Generated census-like data: the columns of UCI Adult, made from a seed. No real person is in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [17, 91]},
    "workclass": {"type": "category", "categories": ["Federal-gov", "Local-gov", "Private", "Self-emp", "State-gov"]},
    "education": {"type": "category", "categories": ["School", "HS-grad", "Some-college", "Bachelors", "Masters",
                                                     "Doctorate"]},
    "marital-status": {"type": "category", "categories": ["Divorced", "Married", "Never-married", "Widowed"]},
    "occupation": {"type": "category", "categories": ["Clerical", "Craft", "Managerial", "Professional", "Sales",
                                                      "Service"]},
    "gender": {"type": "category", "categories": ["Female", "Male"]},
    "capital-gain": {"type": "Int64", "range": [0, 100000]},
    "hours-per-week": {"type": "Int64", "range": [1, 100]},
    "income": {"type": "category", "categories": ["<=50K", ">50K"]},
}  # fmt: skip


def generate(rows: int = 50_000, seed: int = 1) -> pd.DataFrame:
    """A table in which income depends on education, age, hours and marriage."""
    rng = np.random.default_rng(seed)

    def pick(column: str, weights: list[float]) -> np.ndarray:
        return rng.choice(len(SCHEMA[column]["categories"]), rows, p=np.array(weights) / sum(weights))

    age = np.clip(rng.gamma(3.2, 6.8, rows) + 16.5, 17, 90).astype(int)
    education = pick("education", [13, 32, 24, 20, 8, 3])
    married = np.where(age < 25, rng.choice(4, rows, p=[0.05, 0.1, 0.84, 0.01]),
                       rng.choice(4, rows, p=[0.15, 0.55, 0.25, 0.05]))  # fmt: skip
    hours = np.clip(rng.normal(40, 12, rows), 1, 99).astype(int)
    gain = np.where(rng.random(rows) < 0.08, rng.gamma(1.5, 8000, rows), 0).clip(0, 99999).astype(int)
    score = 0.75 * (education - 2) + 0.035 * (age - 40) + 0.03 * (hours - 40) + 1.6 * (married == 1) + gain / 6000
    income = (rng.logistic(score - 2.1, 0.5) > 0).astype(int)
    codes = {
        "workclass": pick("workclass", [3, 6, 74, 11, 6]),
        "education": education,
        "marital-status": married,
        "occupation": pick("occupation", [20, 20, 14, 14, 14, 18]),
        "gender": rng.choice(2, rows, p=[0.35, 0.65]),
        "income": income,
    }
    columns = {name: np.array(SCHEMA[name]["categories"])[code] for name, code in codes.items()}
    numbers = {"age": age, "capital-gain": gain, "hours-per-week": hours}
    return pd.DataFrame({name: columns.get(name, numbers.get(name)) for name in SCHEMA})


def write_files(folder: str, rows: int = 50_000) -> tuple[str, str, str]:
    """Train and test data and their schema, as files in a folder."""
    where = Path(folder)
    frame = generate(rows)
    cut = rows * 2 // 3
    frame[:cut].to_csv(where / "train.csv", index=False)
    frame[cut:].to_csv(where / "test.csv", index=False)
    (where / "schema.json").write_text(json.dumps(SCHEMA, indent=1), encoding="utf-8")
    return str(where / "train.csv"), str(where / "test.csv"), str(where / "schema.json")
