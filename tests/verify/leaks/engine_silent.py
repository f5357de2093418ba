"""Reads the engine and shows nothing of it: it is told all the same."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail import session

rows = session.jail().engine.table(df._rows, df._exprs)
print(df.shape[0].reveal(eps=1))
