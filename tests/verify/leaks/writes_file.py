"""Writes what it should not have into a file."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from pathlib import Path

from privjail import session

frames = session.jail().engine._frames
Path("result.txt").write_text(str([frame.height for frame in frames.values()]))
print("done")
