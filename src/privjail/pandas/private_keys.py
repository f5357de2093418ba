"""Keys that nobody listed beforehand: those come out that enough persons share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail import session
from privjail.budget.amounts import amount, probability
from privjail.errors import PlanError
from privjail.mechanisms.private_keys import PrivateKeys
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query

if TYPE_CHECKING:
    import pandas

PRICE = 'value_counts(keys="private", eps=1, delta=1e-6)'


def key_counts(
    rows: Rows, key: Expr, name: Any, *, keys: Any, eps: Any, delta: Any, min_persons: int, keys_per_person: int,
    most_keys: int,
) -> pandas.Series[float]:  # fmt: skip
    """Noisy counts of persons by key, for the keys that reach the threshold; ``attrs`` say what it was."""
    import pandas

    if keys != "private":
        raise PlanError(f'keys is "private", or is left out; not {keys!r}', do=PRICE)
    if eps is None or delta is None:
        raise PlanError("which keys occur is private, and a list of keys has a price: eps= and delta=", do=PRICE)
    owner: Any = rows.base.owner()
    value = KeyCounts(rows, key, owner, keys_per_person, most_keys)
    mechanism = PrivateKeys(amount(eps), probability(delta), min_persons)
    found = session.release([Query(value, mechanism)])[0]
    index = pandas.Index([label for label, _ in found], name=name, dtype=None if found else object)
    made = pandas.Series([count for _, count in found], index=index, name="count", dtype="float64")
    made.attrs = {
        "threshold": mechanism.calibrate(value).threshold,
        "of": "rows" if owner is None else str(owner),
        "keys_per_person": keys_per_person,
        "eps": float(mechanism.epsilon),
        "delta": float(mechanism.delta),
    }
    return made
