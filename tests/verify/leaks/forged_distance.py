"""Makes a sum whose distance is said to be small."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail.plan.distance import Distance
from privjail.plan.value import PerElement

total = df["cost"].sum()
object.__setattr__(total._value, "_facts", total._value.facts._replace(joint=PerElement((Distance(1),))))
print(total.reveal(eps=1))
