"""Intakes: persons who entered at another time, with a budget of their own.

The rows of new persons can go into an account beside that of the persons before them. Nobody may be in two intakes:
each data set and update of an intake is compared with all the others by the keyed hashes of their persons, and refused
where they share one, whatever the reason. So a release on one intake does not depend on the persons of another, and a
person pays at most the largest of what they cost, not the sum. A column says when somebody entered; every row of a
table that has it must say so. See docs/decisions/0209-epochs.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from privjail.budget.notions import Cost, Notion, name_of
from privjail.curator.checks import check_open
from privjail.errors import PlanError, SchemaError
from privjail.plan.domain import CategoryDomain, Domain, IntDomain, TextDomain
from privjail.server.ledger.entries import Intake
from privjail.server.ledger.state import State


@dataclass(frozen=True)
class Family:
    """Accounts about different persons: the first, and its intakes. Amounts are ε, (ε, δ) or ρ, as people read them."""

    accounts: tuple[str, ...]
    spent: tuple[float, ...]  # the most that one person has paid
    limit: tuple[float, ...]  # the most that one person can pay

    def __str__(self) -> str:
        spent, limit = (", ".join(f"{x:.10g}" for x in each) for each in (self.spent, self.limit))
        return f"each person is in one of {', '.join(self.accounts)}: she has paid at most {spent}, and can pay {limit}"


def first_of(state: State, account: str) -> str:
    """The account whose intake this one is; itself, if it is none."""
    entry = state.datasets.get(account)
    return account if entry is None or entry.intake is None else entry.intake.of


def declared(state: State, of: str | None, entered: str | None, notion: str) -> Intake | None:
    """What a curator says of an intake: the account before it, and COLUMN=VALUE."""
    if of is None and entered is None:
        return None
    if of is None or entered is None:
        raise PlanError("--intake-of and --entered go together", do="e.g. --intake-of patients --entered year=2027")
    column, equals, value = entered.partition("=")
    if not (column and equals and value):
        raise PlanError(f"{entered!r} does not say when persons entered", do="write COLUMN=VALUE, e.g. year=2027")
    before = check_open(state, of)
    if before.population is not None:
        raise PlanError(f"{of!r} is a table of {before.population!r}", do=f"--intake-of {before.population}")
    if before.unit.column is None and not before.is_population:
        raise PlanError(
            f"nobody knows who is in {of!r}: each of its rows is a person of her own",
            do="intakes need a column that names the person (--unit COLUMN)",
        )
    first = state.datasets[first_of(state, of)]
    if name_of(first.notion) != notion:
        raise PlanError(f"{first.name!r} is paid in another notion of privacy", do="use the same --notion")
    return Intake(first.name, column, value)


def said(intake: Intake | None) -> dict[str, Any]:
    """What the entry of an account says of it."""
    return {} if intake is None else {"intake": asdict(intake)}


def check_entered(name: str, rows: Any, domains: Mapping[str, Domain], intake: Intake | None) -> None:
    """Every row of a table that has the column says when its person entered."""
    if intake is None or intake.column not in domains:
        return
    from privjail.ops.polars_types import named

    value = _stored(intake, domains[intake.column])
    same = (named(intake.column) == value).fill_null(False)
    if not rows.lazy().select(same.all()).collect().item():
        raise SchemaError(
            f"not every row of {name!r} has {intake.column!r} = {intake.value!r}",
            do="put persons who entered at another time into another intake",
        )


def _stored(intake: Intake, domain: Domain) -> Any:
    """The value as it is held."""
    if isinstance(domain, CategoryDomain) and intake.value in domain.categories:
        return domain.categories.index(intake.value)
    if type(domain) is TextDomain:
        return intake.value
    if type(domain) is IntDomain and intake.value.lstrip("-").isdecimal():
        return int(intake.value)
    raise SchemaError(
        f"{intake.value!r} is no value of the column {intake.column!r}, or the column cannot say when a person entered",
        do="declare it in the schema as a category, a whole number or a string",
    )


def check_disjoint(name: str, first: str, state: State, shared: Iterable[str], unknown: Iterable[str]) -> None:
    """Nobody is in two intakes; what cannot be compared may not be one.

    ``shared``: accounts with some of the same persons. ``unknown``: accounts whose persons cannot be read now.
    """
    both = sorted(other for other in shared if first_of(state, other) == first)
    if both:
        raise PlanError(
            f"persons of {name!r} are in {', '.join(map(repr, both))} already, and both are intakes of {first!r}: "
            "a person enters once",
            do="new rows of the same people: privjail dataset update NAME FILE",
        )
    lost = sorted(other for other in unknown if first_of(state, other) == first)
    if lost:
        raise PlanError(
            f"the persons of {', '.join(map(repr, lost))} cannot all be compared with those of {name!r}",
            do="let the jail read its file, or put back persons.sqlite and persons.key from a backup; then try again",
        )


def families(state: State, account: str | None = None) -> list[Family]:
    """All accounts that have intakes, or that of one account, with what one person pays at most."""
    found = []
    for first in sorted({entry.intake.of for entry in state.datasets.values() if entry.intake is not None}):
        if account is not None and first_of(state, account) != first:
            continue
        names = [name for name, e in state.datasets.items() if e.population is None and first_of(state, name) == first]
        scopes = {("dataset", "", name): state.datasets[name].notion for name in names}
        limits = [(notion, limit) for s, notion in scopes.items() if (limit := state.limits.get(s)) is not None]
        spent = _most((notion, state.total(scope)) for scope, notion in scopes.items())
        found.append(Family(tuple(names), spent, _most(limits)))
    return found


def _most(costs: Iterable[tuple[Notion, Cost]]) -> tuple[float, ...]:
    """The largest of each component: at least what any one of them is.

    Each is read under its own notion first: divergences of two Rényi orders cannot be compared, their (ε, δ) can.
    """
    read = (notion.report(cost) for notion, cost in costs)
    return tuple(map(max, zip(*(each if isinstance(each, tuple) else (each,) for each in read), strict=True)))
