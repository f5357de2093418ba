"""sample(frac=q), for all faces: what is taken, what is refused, and what is said about its price."""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.errors import PlanError, warn
from privjail.ops.rows.sample import Sample
from privjail.plan.rows import Rows


def drawn(rows: Rows, n: Any, frac: Any, replace: Any, weights: Any, random_state: Any) -> Rows:
    """A random sample of some rows. A seed names it: the same rows with the same seed are the same sample."""
    if frac is None or n is not None:
        raise PlanError(
            "how many rows there are is private, so a sample has a part of them, not a number of them",
            do="a tenth of the rows: `df.sample(frac=0.1)`; the first rows: `df.head(1000)`",
        )
    if replace or weights is not None:
        raise PlanError(
            "each row is drawn at most once, all with the same chance",
            do="leave out replace= and weights=: `df.sample(frac=0.1)`",
        )
    found = Sample(rows, _rate(frac), _tag(random_state))
    if found.cells is rows.cells:
        warn("one person may have several rows here, so this sample costs as much as all rows do, and answers worse")
    elif (notion := session.notion_of(rows.source.cells[0])) is not None and not notion.amplifies:
        warn(f"under {notion} this sample costs as much as all rows do, and answers worse; under pure ε it costs less")
    return found


def _rate(frac: Any) -> Fraction:
    rate = amount(frac, "frac")
    if rate > 1:
        raise PlanError("frac is the part of the rows that is drawn, at most 1", do="`df.sample(frac=0.1)`")
    return rate


def _tag(random_state: Any) -> str:
    if random_state is None:
        return secrets.token_hex(16)
    if isinstance(random_state, bool) or not hasattr(random_state, "__index__"):
        raise PlanError("random_state is a whole number: it names a sample", do="`df.sample(frac=0.1, random_state=1)`")
    return f"seed {int(random_state.__index__())}"[:64]
