"""Random certificates of counts and sums after row operations: those that the certified checker knows all rules of."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from privjail.budget.notions import PureDP
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.combine import Scale
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import BoolDomain, IntDomain
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.verify import certificate

COLUMNS = (
    ("x", IntDomain(False, 0, 3)), ("y", IntDomain(True, -7, 40)), ("z", IntDomain(True, 5, 9)), ("b", BoolDomain(True)),
)  # fmt: skip
SOURCE = Source(Dataset("d", "d", COLUMNS, Unit()))
NOTION = PureDP()


def small_certificate(seed: int) -> dict[str, Any]:
    """The certificate of a random release."""
    pick = random.Random(seed)
    rows: Rows = SOURCE
    columns: dict[str, Any] = {name: Column(SOURCE, name) for name, _ in COLUMNS}
    for _ in range(pick.randint(0, 4)):
        rows, columns = stepped(pick, rows, columns)
    keys = pick.choice(((), (), (columns["x"],), (columns["x"], columns["b"])))
    value: Any = Tally(rows, keys, columns[pick.choice("yzb")] if pick.random() < 0.6 else None)
    if pick.random() < 0.3:
        value = Scale(value, Fraction(pick.choice(("1/3", "-2", "5/7"))))
    asked = Query(value, Laplace(Fraction(pick.choice(("1/2", "1", "3/10")))))
    return certificate.of(asked, {SOURCE.cells[0]: NOTION})


def stepped(pick: random.Random, rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
    match pick.randrange(7):
        case 0:
            return Filter(rows, Compare("==", columns["x"], Lit.of(pick.randrange(4)))), columns
        case 1:
            return Filter(rows, Compare(">", columns["y"], Lit.of(pick.randrange(20)))), columns
        case 2:
            return Sort(rows, (columns["y"],), (pick.randrange(2),)), columns
        case 3 | 4:
            made: Rows = Slice(rows, *[pick.choice((None, None, 1, 3, 8, 10**6, -1, -2, -5)) for _ in range(2)])
        case 5:
            made = GroupHead(rows, columns["x"], pick.randint(1, 3))
        case _ if pick.random() < 0.5:
            k = pick.choice((-2, -1, 1, 3))
            alone = Window(rows, k, -k)
            return alone, {name: Lag(alone, column, k) for name, column in columns.items()}
        case _:
            made = Window(rows, pick.randint(0, 2), pick.randint(0, 1))
    return made, {name: Carried(made, column) for name, column in columns.items()}
