"""Shows how much the engine keeps."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail import session

df[df["age"] > 50].shape[0].reveal(eps=0.1)
print(session.jail().engine._cache.used)
