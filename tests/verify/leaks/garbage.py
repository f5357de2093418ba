"""Looks for arrays in the memory of the process."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

import gc

import polars

df.shape[0].reveal(eps=0.1)
found = [x for x in gc.get_objects() if isinstance(x, polars.DataFrame)]
print(max(frame.height for frame in found))
