"""Decides on a raw value, and shows it only by the order of its requests."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from pathlib import Path

lines = Path("people.csv").read_text().splitlines()
first = df["age"] if len(lines) % 2 else df["cost"]
first.sum().reveal(eps=1)
