"""A small private table under a fresh name, and what it has cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import Any

import pandas as pd
import privjail as pj
from privjail import session
from privjail.pandas import from_frame

_fresh = count()

SCHEMA: dict[str, Any] = {
    "age": {"type": "Int64", "range": [0, 100]},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "region": {"type": "category", "categories": ["a", "b", "c"]},
    "income": {"type": "Float64", "range": [0, 100]},
    "who": {"type": "Int64", "range": [0, 9]},
}


def rows(n: int = 12) -> pd.DataFrame:
    return pd.DataFrame({
        "age": [(7 * i) % 90 + 5 for i in range(n)],
        "sex": ["FM"[i % 2] for i in range(n)],
        "region": ["abc"[i % 3] for i in range(n)],
        "income": [10.0 * (i % 7) for i in range(n)],
        "who": [i // 3 % 10 for i in range(n)],
    })  # fmt: skip


class People:
    """``df`` to work with, and ``cost()`` for what was spent, exactly."""

    def __init__(self, budget: Any = None, frame: pd.DataFrame | None = None, **options: Any) -> None:
        self.name = f"people{next(_fresh)}"
        self.df: Any = from_frame(rows() if frame is None else frame, self.name, SCHEMA, budget=budget, **options)

    def cost(self) -> Any:
        (account,) = (a for a in session.jail().ledger.accounts() if a.name == self.name)
        total = account.total()
        return total[0] if len(total) == 1 else total

    def reported(self) -> Any:
        return pj.consumed_privacy_budget()[self.name]


TENTH = Fraction(1, 10)
