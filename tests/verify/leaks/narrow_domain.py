"""Says that a column is narrower than it is, through a private name."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail.plan.domain import FloatDomain

cost = df["cost"] * 50
object.__setattr__(cost._expr, "domain", FloatDomain(True, 0.0, 1.0))
print(cost.sum().reveal(eps=1))
