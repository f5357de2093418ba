"""The unit of protection is a user: all rows of one are counted as one."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)


people = pd.read_csv("visits.csv", schema={"who": {"type": "string"}, **SCHEMA}, unit="who", max_rows_per_unit=4)
rows = people._rows
object.__setattr__(rows, "lineage", rows.lineage._replace(factor=1, edits=1))
print(people.shape[0].reveal(eps=1))
