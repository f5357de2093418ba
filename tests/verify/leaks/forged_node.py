"""Invents an operation whose rule is wrong."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from fractions import Fraction

from privjail.ops.numbers.tally import Tally
from privjail.plan.distance import Distance
from privjail.plan.value import PerElement


class Small(Tally):
    kind = "small"

    def derive(self):
        return super().derive()._replace(joint=PerElement((Distance(Fraction(1, 1000)),)))

    __match_args__ = Tally.__match_args__


value = df["cost"].sum()._value
print(type(df.shape[0])(Small(value.rows, value.keys, value.value)).reveal(eps=1))
