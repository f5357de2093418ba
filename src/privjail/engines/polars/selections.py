"""Which rows of a data set a table of counts or sums is about."""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.ops.rows.filter import Filter
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

Array = np.ndarray[Any, Any]


def conditions(rows: Rows) -> list[Expr] | None:
    """What a row of the data set must meet to be among these rows; None if that depends on other rows."""
    found: list[Expr] = []
    while not isinstance(rows, Source):
        match rows:
            case Filter(above, condition):
                found.append(condition)
            case Sort(above):  # counts and sums do not depend on the order
                pass
            case _:
                return None
        rows = above
    return found[::-1]
