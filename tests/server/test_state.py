"""What the events add up to: every component of every limit refuses by itself."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import pytest

from privjail.budget.notions import Cost
from privjail.errors import BudgetExceeded, PlanError
from privjail.server.ledger.events import VERSION, Event, LedgerError
from privjail.server.ledger.leases import Held, Lease
from privjail.server.ledger.state import NOTIONS, RequestEntry, Scope, State

# A notion, and the limit that it is made with: two numbers for (ε, δ), and for Rényi, whose limit is one number.
WIDE = {"pure": (100,), "approx": (100, Fraction(1, 2)), "zcdp": (100,), "renyi": (100, Fraction(1, 10**6))}
COMPONENTS = {notion: len(NOTIONS[notion](*given).limit or ()) for notion, given in WIDE.items()}
SCOPES: dict[str, Scope] = {
    "dataset": ("dataset", "", "d"),
    "user": ("user", "ann", "d"),
    "group": ("group", "team", "d"),
}
TIGHT = Fraction(1, 8)
EACH = [(notion, component) for notion, n in COMPONENTS.items() for component in range(n)]


def state_with(notion: str, limits: dict[str, Cost], grants: tuple[str, ...] = ("user", "group")) -> State:
    """A data set with a limit in each scope: wide unless told."""
    state = State()
    wide = NOTIONS[notion](*WIDE[notion]).limit
    given = [str(Fraction(x)) for x in WIDE[notion]]
    bodies: list[dict[str, Any]] = [
        {"type": "dataset", "name": "d", "origin": {}, "schema": {}, "unit": [None, 1], "notion": notion, "limit": given,
         "fingerprint": ""},
        {"type": "group", "name": "team", "members": ["ann", "bob"]},
    ]  # fmt: skip
    for kind, (scope, who, dataset) in SCOPES.items():
        if kind in ("dataset", *grants):
            limit = [str(x) for x in limits.get(kind, wide or ())]
            bodies.append({"type": "limit", "scope": scope, "who": who, "dataset": dataset, "limit": limit})
    for seq, body in enumerate(bodies, start=1):
        state.apply(Event(seq, "", body))
    return state


def costing(notion: str, component: int, much: Fraction) -> Cost:
    """A cost in one component alone."""
    return tuple(much if i == component else Fraction(0) for i in range(COMPONENTS[notion]))


def tight_in(notion: str, component: int) -> Cost:
    wide = NOTIONS[notion](*WIDE[notion]).limit
    assert wide is not None
    return tuple(TIGHT if i == component else x for i, x in enumerate(wide))


def totals(state: State) -> list[Cost]:
    return [state.total(scope) for scope in SCOPES.values()]


def test_there_are_two_components_somewhere() -> None:
    assert COMPONENTS == {"pure": 1, "approx": 2, "zcdp": 1, "renyi": 1} and set(COMPONENTS) == set(NOTIONS)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("notion, component", EACH)
def test_a_limit_in_one_component_of_one_scope_refuses_v56(notion: str, component: int, scope: str) -> None:
    """V-56: all other limits are far away; what is spent in one component, beyond its limit, is refused."""
    state = state_with(notion, {scope: tight_in(notion, component)})
    for over in (TIGHT + Fraction(1, 2**80), 50 * TIGHT):
        with pytest.raises(BudgetExceeded, match="nothing was charged"):
            state.spend("ann", [("d", (), costing(notion, component, over))], {})
        assert totals(state) == [costing(notion, component, Fraction(0))] * 3

    state.spend("ann", [("d", (), costing(notion, component, TIGHT))], {})  # just the limit is not over it
    with pytest.raises(BudgetExceeded):
        state.spend("ann", [("d", (), costing(notion, component, Fraction(1, 2**80)))], {})
    assert totals(state) == [costing(notion, component, TIGHT)] * 3


@pytest.mark.parametrize("notion", COMPONENTS)
def test_the_analysts_own_cap_refuses_v56(notion: str) -> None:
    """V-56: a cap of a block of code is about the first number, ε or ρ; the limits still hold for the others."""
    state = state_with(notion, {})
    caps = {"d": (TIGHT,)}
    with pytest.raises(BudgetExceeded, match="of this block"):
        state.spend("ann", [("d", (), costing(notion, 0, TIGHT + Fraction(1, 2**80)))], caps)
    state.spend("ann", [("d", (), costing(notion, 0, TIGHT))], caps)
    with pytest.raises(BudgetExceeded, match="of this block"):
        state.spend("ann", [("d", (), costing(notion, 0, Fraction(1, 2**80)))], caps)
    state.spend("ann", [("d", (), costing(notion, 0, TIGHT))], {"other": (Fraction(0),)})  # it caps another data set


def test_the_cap_is_about_what_its_user_spent_not_about_others() -> None:
    state = state_with("pure", {})
    state.spend("bob", [("d", (), (TIGHT,))], {})
    state.spend("ann", [("d", (), (TIGHT,))], {"d": (TIGHT,)})
    with pytest.raises(BudgetExceeded, match="of this block"):
        state.spend("ann", [("d", (), (TIGHT,))], {"d": (TIGHT,)})


@pytest.mark.parametrize(
    "scope, spender, refused", [("dataset", "bob", True), ("group", "bob", True), ("user", "bob", False)]
)
def test_what_colleagues_spend_counts_for_the_data_set_and_the_group(scope: str, spender: str, refused: bool) -> None:
    state = state_with("approx", {scope: tight_in("approx", 1)})
    state.spend(spender, [("d", (), (Fraction(0), TIGHT / 2))], {})
    ask = [("d", (), (Fraction(0), TIGHT * 3 / 4))]
    if refused:
        with pytest.raises(BudgetExceeded):
            state.spend("ann", ask, {})
    else:
        state.spend("ann", ask, {})


@pytest.mark.parametrize("scope", SCOPES)
def test_a_limit_with_too_few_numbers_refuses_everything(scope: str) -> None:
    """A δ that no limit speaks of is not free."""
    state = state_with("approx", {scope: (Fraction(1),)})
    with pytest.raises(ValueError, match="shorter"):
        state.spend("ann", [("d", (), (Fraction(0), Fraction(1, 4)))], {})
    assert totals(state) == [(0, 0)] * 3


def test_one_charge_over_a_limit_takes_all_of_the_release_back() -> None:
    state = state_with("pure", {"group": (Fraction(1),)})
    whole, part = (), (("partition", "text:F"),)
    with pytest.raises(BudgetExceeded, match="of group 'team'"):
        state.spend("ann", [("d", part, (Fraction(1, 2),)), ("d", whole, (Fraction(1),))], {})
    assert totals(state) == [(0,)] * 3 and not state.trees

    take_back = state.spend("ann", [("d", part, (Fraction(1, 2),))], {})
    assert totals(state) == [(Fraction(1, 2),)] * 3
    take_back()
    assert totals(state) == [(0,)] * 3 and not state.trees


def test_leases_end_with_a_charge_that_needs_what_they_hold_and_stay_if_it_is_refused() -> None:
    state = state_with("pure", {"dataset": (Fraction(1),)})
    rest = (Fraction(3, 4),)
    state.leases.take(Lease(1, "bob", "d", (), rest, rest))
    before, held = dict(state.leases.open), dict(state.leases.held)
    half, much = ([("d", (), (Fraction(n, 2),))] for n in (1, 3))
    with pytest.raises(Held):
        state.spend("ann", half, {})
    with pytest.raises(BudgetExceeded, match="limit of the data set"):
        state.spend("ann", much, {}, ends_leases=True)
    assert (state.leases.open, state.leases.held) == (before, held)

    take_back = state.spend("ann", half, {}, ends_leases=True)
    assert not state.leases.open and not state.leases.held and totals(state) == [(Fraction(1, 2),)] * 3
    take_back()
    assert (state.leases.open, state.leases.held) == (before, held) and totals(state) == [(0,)] * 3


@pytest.mark.parametrize("notion", COMPONENTS)
def test_a_table_of_a_population_is_counted_as_its_population_is(notion: str) -> None:
    """Its own entry names no limit, and the limit of some notions says at which order, or with which δ, it counts."""
    state = state_with(notion, {})
    table = {**state.datasets["d"].entered, "name": "t", "unit": ["who", 1], "population": "d", "limit": []}
    state.apply(Event(9, "", table))

    assert state.datasets["t"].notion == state.datasets["d"].notion
    assert ("dataset", "", "t") in state.limits and state.limits["dataset", "", "t"] is None
    assert state.allowed("ann", "t") and not state.allowed("eve", "t")


@pytest.mark.parametrize("grants, allowed", [(("user",), True), (("group",), True), ((), False)])
def test_who_has_no_grant_spends_nothing(grants: tuple[str, ...], allowed: bool) -> None:
    state = state_with("pure", {}, grants)
    assert state.allowed("ann", "d") is allowed and not state.allowed("eve", "d") and not state.allowed("ann", "e")
    if not allowed:
        with pytest.raises(PlanError, match="no data set"):
            state.spend("ann", [("d", (), (TIGHT,))], {})
    state.apply(Event(9, "", {"type": "remove", "name": "d"}))
    assert not state.allowed("ann", "d")


def test_charges_of_the_log_count_in_every_scope() -> None:
    state = state_with("approx", {})
    charge = {"type": "charge", "user": "ann", "groups": ["team"], "request": "r", "digest": "x", "kept": 0,
              "charges": [["d", [["p", "text:F"]], ["1/2", "1/8"]], ["d", [["p", "text:M"]], ["1/4", "1/4"]]]}  # fmt: skip
    state.apply(Event(7, "", charge))
    assert totals(state) == [(Fraction(1, 2), Fraction(1, 4))] * 3  # of groups that exclude each other, the larger
    assert (
        state.total(("user", "bob", "d")) == (0, 0)
        and state.requests == {("ann", "r"): RequestEntry("x")}
        and state.releases == 1
    )


def test_whoever_is_revoked_or_expired_is_not_active() -> None:
    state, now = State(), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    ends = [None, "2026-01-01T00:00:01+00:00", "2026-01-01T00:00:00+00:00"]
    for seq, (name, expires) in enumerate(zip("abc", ends, strict=True), start=1):
        state.apply(Event(seq, "", {"type": "user", "name": name, "token": name, "expires": expires}))
    assert [state.users[name].active(now) for name in "abc"] == [True, True, False]

    state.apply(Event(4, "", {"type": "revoke", "scope": "user", "who": "a", "dataset": None}))
    assert [state.users[name].active(now) for name in "abc"] == [False, True, False]


@pytest.mark.parametrize("scope", ["user", "group"])
def test_a_grant_that_is_taken_back_is_gone_and_what_was_spent_is_not(scope: str) -> None:
    state = state_with("pure", {}, (scope,))
    state.spend("ann", [("d", (), (TIGHT,))], {})
    kind, who, dataset = SCOPES[scope]
    state.apply(Event(9, "", {"type": "revoke", "scope": kind, "who": who, "dataset": dataset}))

    assert not state.allowed("ann", "d") and totals(state) == [(TIGHT,)] * 3
    assert state.former[SCOPES[scope]] == (100,)


def test_an_entry_that_is_not_known_or_of_another_version_stops_the_ledger() -> None:
    with pytest.raises(LedgerError, match="not understood"):
        State().apply(Event(1, "", {"type": "refund"}))
    for version in ({}, {"version": VERSION - 1}, {"version": VERSION + 1}):
        with pytest.raises(LedgerError, match="another version"):
            State().apply(Event(1, "", {"type": "init", **version}))
    State().apply(Event(1, "", {"type": "init", "version": VERSION}))
