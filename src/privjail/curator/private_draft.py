"""Ranges for a data set's open columns, found privately and paid from its own account.

A draft that reads ranges off the data is a leak (schema_draft.py). These are what ``clip("auto")`` finds: one noisy
histogram for each column, whose bins double. They are releases like an analyst's: charged before data is read, entered
in the log, and public. With the ranges in its schema, ``privjail dataset update`` begins a new epoch of the data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.budget.amounts import amount
from privjail.budget.notions import ApproxDP, PureDP
from privjail.curator.checks import check_open, need_reason
from privjail.curator.examples import payer, served
from privjail.curator.folder import JailFolder
from privjail.errors import PlanError
from privjail.plan.domain import Numeric
from privjail.together import at_once

NUMBERS = ("Int64", "Float64")


@dataclass(frozen=True)
class Price:
    """What a private draft would cost: known from the schema alone, before anything is paid."""

    dataset: str
    columns: tuple[str, ...]  # numbers without a range
    eps: Fraction  # of all of them together: every person may be in every column
    account: str

    def __str__(self) -> str:
        each = self.eps / len(self.columns)
        return (
            f"ranges of {', '.join(self.columns)}: epsilon {float(each):.4g} each, {float(self.eps):.4g} in all, "
            f"from the budget of {self.account}"
        )


def price(folder: JailFolder, dataset: str, eps: Any) -> Price:
    """What the ranges of a data set's open columns would cost."""
    entry = check_open(folder.state, dataset)
    if entry.is_population:
        raise PlanError(f"{dataset!r} is a population: it has no columns of its own", do="name one of its tables")
    if not isinstance(entry.notion, (PureDP, ApproxDP)):
        raise PlanError(
            "private drafts are paid in epsilon, and this budget is not", do="declare ranges that are public"
        )
    known = (entry.unit.column, *entry.keys, *(link.partition("=")[0] for link in entry.links))
    open_ = [
        name for name, column in entry.schema.items()
        if column.get("type") in NUMBERS and "range" not in column and name not in known
    ]  # fmt: skip
    if not open_:
        raise PlanError(
            f"{dataset!r} has no numbers without a range", do="declare the type of a column first: Int64 or Float64"
        )
    return Price(dataset, tuple(open_), amount(eps), entry.population or dataset)


def draft(folder: JailFolder, asked: Price, reason: str | None) -> dict[str, Any]:
    """The schema of a data set with the ranges that were found. They are paid for, all of them or none."""
    need_reason(reason or folder.reason, "a private draft")
    entry = check_open(folder.state, asked.dataset)
    budget: list[Any] = [asked.eps]
    if isinstance(entry.notion, ApproxDP):  # of which nothing is used: the noise is Laplace's
        limit = folder.state.limits[("dataset", "", asked.account)]
        budget.append(Fraction(1, 10**12) if limit is None else limit[1])
    with payer(folder, asked.dataset) as (name, token):
        folder.grant(name, asked.account, budget, False, reason or folder.reason)
        with served(folder, token) as connection:
            found = _found(connection, asked)
    return {
        name: {**column, "range": found[name]} if name in found else column for name, column in entry.schema.items()
    }


def _found(connection: Any, asked: Price) -> dict[str, list[Any]]:
    from privjail import pandas as face

    table = face.read_csv(asked.dataset)
    unit = connection.source(asked.dataset).dataset.unit
    if unit.most_rows is None:  # the first row of each person is enough for a range
        table = table.groupby(unit.column).head(1)
    share = asked.eps / len(asked.columns)

    def ranges() -> dict[str, list[Any]]:
        found = {name: table[name].clip("auto", eps=share).domain for name in asked.columns}
        return {name: [each.lower, each.upper] for name, each in found.items() if isinstance(each, Numeric)}

    return at_once(ranges)
