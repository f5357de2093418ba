"""Generated hospital stays, for the pages in docs/. No real person is in it.

python examples/patients.py        # writes patients.csv and patients.json here
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import pandas as pd

SCHEMA = {
    "patient": {"type": "string"},
    "age": {"type": "Int64", "range": [0, 120]},
    "sex": {"type": "category", "categories": ["F", "M"], "na_value": "?"},
    "ward": {"type": "category", "categories": ["cardiology", "geriatrics", "maternity", "surgery"]},
    "admitted": {"type": "datetime", "range": ["2025-01-01", "2025-12-31"], "outside": "null"},
    "days": {"type": "Int64", "range": [0, 60]},
    "cost": {"type": "Float64", "range": [0, 20000]},
}
ROWS = 100_000


def generate(rows: int = ROWS, seed: int = 7) -> pd.DataFrame:
    """Stays of about 60,000 patients; how long and how dear depends on age and ward."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, rows * 6 // 10, rows)
    women = np.random.default_rng(seed + 1).random(rows)[patient] < 0.55
    age = np.random.default_rng(seed + 2).gamma(9, 6, rows)[patient].clip(0, 104).astype(int)
    young_woman = women & (age > 17) & (age < 46)
    ward = np.where(rng.random(rows) < 0.4 * young_woman, 2, np.where(rng.random(rows) < 0.3 * (age > 70), 1,
                    rng.choice([0, 3], rows, p=[0.4, 0.6])))  # fmt: skip
    days = rng.poisson(2 + age / 20 + 3 * (ward == 1))
    cost = np.round(900 + 620 * days + rng.gamma(2, 400, rows) * (1 + 2 * (ward == 3)), 2)
    admitted = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    number = np.arange(rows)
    return pd.DataFrame({
        "patient": [f"p{i:05d}" for i in patient],
        "age": np.where(number % 5000 == 42, 999, age),  # slips of the pen, as real files have them
        "sex": np.where(number % 100 == 7, "?", np.where(women, "F", "M")),
        "ward": np.array(SCHEMA["ward"]["categories"])[ward],
        "admitted": admitted.strftime("%Y-%m-%d"),
        "days": days,
        "cost": cost,
    })  # fmt: skip


def write_files(folder: str = ".") -> None:
    where = Path(folder)
    generate().to_csv(where / "patients.csv", index=False)
    lines = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in SCHEMA.items()]
    (where / "patients.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_files()
    print("wrote patients.csv (generated stays; no real person) and patients.json (its schema)")
