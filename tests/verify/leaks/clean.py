"""Nothing leaks: several releases, and decisions on what was released."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

import privjail as pj

total = df.shape[0].reveal(eps=0.5)
print(df, total, df[df["ward"] == "a"].head(10)["cost"].sum().reveal(eps=0.5))
if total > 20:
    print(df["ward"].value_counts(sort=False).reveal(eps=0.5).to_dict())
print(pj.noisy_max(df["ward"].value_counts(sort=False), eps=0.5), df["age"].mean(eps=0.5))
try:
    print(len(df))
except pj.DPError as e:
    print(e)
print(pj.consumed_privacy_budget())
