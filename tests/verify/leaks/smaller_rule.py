"""Changes a rule of the library: a head moves by one row."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail.ops.rows import slice as slices

slices.moves = lambda start, stop: 1
print(df.head(20)["cost"].sum().reveal(eps=1))
