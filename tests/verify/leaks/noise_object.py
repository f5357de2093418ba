"""Gives the jail another generator."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail import session


class Silent:
    def laplace(self, scale, n):
        return [0] * n


session.jail().noise = Silent()
print(df.shape[0].reveal(eps=0.1))
