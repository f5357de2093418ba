"""Claimed against observed: how far counts and sums after row operations are said to move, and how far they do.

    python tools/tightness.py PROGRAMS [--json FILE]
    python tools/tightness.py PROGRAMS --ledger

Random programs of row operations are run on random neighbours (one row more), and the largest change is compared with
the claim. Observed changes are below the true sensitivity, so ratios above 1 need not be waste. ``--ledger``: programs
of several releases with Laplace noise; what the ledger charges for all of them together is compared with the largest
joint loss on a pair of neighbours, which for Laplace noise is exactly Σ ε·|change|₁ / sensitivity. Runs on older
versions of the library too, which is how docs/tightness.md was made.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from fractions import Fraction
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ops.checking import numbers
from tests.tables import World

from privjail.budget.ledger import Ledger
from privjail.errors import PlanError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query, where_charged

WORLD = World((("x", IntDomain(False, 0, 3)), ("y", IntDomain(False, -1, 2))), ())
PAIRS, LONGEST = 60, 9
LEDGER_PAIRS = 30
Case = tuple[str, Any]


def case(pick: random.Random) -> Case:
    """A random program: its last row operation, and a value of the rows."""
    rows: Rows = WORLD.source
    x, y, last = WORLD.column("x"), WORLD.column("y"), "source"
    for _ in range(pick.randint(1, 3)):
        last, made, shown = step(pick, rows, x, y)
        if made is rows:
            continue
        if made.starts_base:
            x, y = (shown(e) for e in (x, y))
        rows = made
    match pick.randrange(5):
        case 0 | 1:
            return f"count after {last}", Tally(rows, (), None)
        case 2:
            return f"sum after {last}", Tally(rows, (), pick.choice((x, y)))
        case 3:
            return f"nunique after {last}", Distinct(rows, x)
    return f"counts by key after {last}", Tally(rows, (x,), None)


def step(pick: random.Random, rows: Rows, x: Any, y: Any) -> tuple[str, Rows, Any]:
    match pick.randrange(6):
        case 0:
            return "filter", Filter(rows, Compare(">", x, Lit.of(0))), None
        case 1:
            return "sort", Sort(rows, (y,), (0,)), None
        case 2 | 3:
            ends = [pick.choice((None, None, -4, -2, 2, 4, 6)) for _ in range(2)]
            made: Rows = Slice(rows, *ends)
            return "slice", made, lambda e: Carried(made, e)
        case 4:
            k = pick.choice((1, 2))
            try:
                shifted = Window(rows, k, -k)
            except PlanError:  # before a shifted column was told from a window
                shifted = Window(rows, k, 0)
            return "shift alone", shifted, lambda e: Lag(shifted, e, k)
        case 5 if pick.random() < 0.5:
            headed = GroupHead(rows, y, 1)
            return "group_head", headed, lambda e: Carried(headed, e)
    wide = Window(rows, 2, 0)
    return "window", wide, lambda e: Carried(wide, e)


def ratio(value: Any, pick: random.Random) -> float | None:
    """The claimed largest change of an element over the largest one seen; None if nothing moved."""
    seen = 0.0
    for _ in range(PAIRS):
        table = tuple((pick.randrange(4), pick.randint(-1, 2)) for _ in range(pick.randint(1, LONGEST)))
        i = pick.randrange(len(table))
        left, right = (numbers(value, data, WORLD.source) for data in (table[:i] + table[i + 1 :], table))
        seen = max(seen, *(float(abs(a - b)) for a, b in zip(left, right, strict=True)))
    claim = value.joint.linf
    assert claim is not None and seen <= claim, f"{value} moved by {seen}, claimed {claim}"
    return float(claim) / seen if seen else None


def divided(pick: random.Random) -> Case:
    """A value of some rows of the source, chosen by a condition: such rows may exclude each other."""
    x, y = WORLD.column("x"), WORLD.column("y")
    chosen: Any = Compare(pick.choice(("==", ">")), x, Lit.of(pick.choice((0, 1, 2))))
    rows: Rows = Filter(WORLD.source, chosen if pick.random() < 0.5 else Not(chosen))
    if pick.random() < 0.4:
        below: Any = Compare(">", y, Lit.of(0))
        rows = Filter(rows, below if pick.random() < 0.5 else Not(below))
    return "part", Tally(rows, (), pick.choice((None, None, x, y)))


def ledger_ratio(pick: random.Random, drawn: random.Random) -> tuple[str, float] | None:
    """What a program of two to five releases is charged, over the largest joint loss that was seen."""
    values = [(divided if pick.random() < 0.5 else case)(pick)[1] for _ in range(pick.randint(2, 5))]
    values = [value for value in values if value.joint.l1]
    if len(values) < 2:
        return None
    prices = [Fraction(pick.choice((1, 2, 5)), 10) for _ in values]
    ledger, root = Ledger(), WORLD.source.cells[0]
    ledger.open(root, "world", None)
    for value, price in zip(values, prices, strict=True):
        ledger.charge(where_charged(Query(value, Laplace(price)), lambda root: ledger.account(root).notion))
    charge, seen = ledger.account(root).total()[0], Fraction(0)
    for _ in range(LEDGER_PAIRS):
        table = tuple((drawn.randrange(4), drawn.randint(-1, 2)) for _ in range(drawn.randint(1, LONGEST)))
        i, loss = drawn.randrange(len(table)), Fraction(0)
        for value, price in zip(values, prices, strict=True):
            left, right = (numbers(value, data, WORLD.source) for data in (table[:i] + table[i + 1 :], table))
            loss += (
                price
                * sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(left, right, strict=True))
                / Fraction(value.joint.l1)
            )
        seen = max(seen, loss)
    assert seen <= charge, f"a joint loss of {seen} was charged {charge}: {values}"
    return (f"{len(values)} releases", float(charge / seen)) if seen else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--first", type=int, default=0, help="the first seed, for a run in several parts")
    parser.add_argument("--raw", type=Path, help="write all ratios here, to join the parts of a run")
    parser.add_argument("--ledger", action="store_true", help="the ledger's charge over the joint loss, instead")
    options = parser.parse_args()
    found: dict[str, list[float]] = {}
    for seed in range(options.first, options.first + options.programs):
        if options.ledger:
            told = ledger_ratio(random.Random(seed), random.Random(-seed))
            name, got = told or ("", None)
        else:
            name, value = case(random.Random(seed))
            got = ratio(value, random.Random(-seed))
        if got is not None:
            found.setdefault(name, []).append(got)
            found.setdefault("all", []).append(got)
    if options.raw:
        options.raw.write_text(json.dumps(found), encoding="utf-8")
    shown = {name: [len(r), round(median(r), 2), round(mean(r), 2), round(max(r), 2)] for name, r in found.items()}
    for name, row in sorted(shown.items()):
        print(f"{name:32} programs {row[0]:5}  median {row[1]:5}  mean {row[2]:5}  largest {row[3]:6}")
    if options.json:
        options.json.write_text(json.dumps(shown, indent=1, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
