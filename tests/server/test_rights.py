"""V-59: whom a decision lets spend more, compared with what the ledger then really charges."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.errors import BudgetError, DPError, PlanError
from privjail.server.ledger.events import Event
from privjail.server.rights import gains, preview, rights
from privjail.server.ledger.state import State

from .jails import make_jail

Body = dict[str, Any]
#: the whole data set, and two parts of it that exclude each other
CELLS: list[Any] = [(), (("p", "a"),), (("p", "b"),)]
LEVELS = (None, 1, 3)
#: what was spent before: (user, groups she was in at that time, cell, cost)
HISTORIES: list[list[tuple[str, list[str], int, int]]] = [
    [],
    [("ann", [], 1, 1)],
    [("bob", ["g", "h"], 2, 1), ("ann", ["g"], 1, 1)],
    [("bob", ["g"], 0, 1)],
]


def limit(scope: str, who: str, most: Any, costs: int = 1) -> Body:
    return {"type": "limit", "scope": scope, "who": who, "dataset": "d", "limit": [str(most)] * costs}


def group(name: str, *members: str) -> Body:
    return {"type": "group", "name": name, "members": list(members)}


def revoke(scope: str, who: str, dataset: str | None = "d") -> Body:
    return {"type": "revoke", "scope": scope, "who": who, "dataset": dataset}


def user(name: str) -> Body:
    return {"type": "user", "name": name, "token": "", "expires": None}


def state_of(cap: int, bodies: list[Body], history: list[Any], notion: str = "pure") -> State:
    costs = 2 if notion == "approx" else 1
    dataset = {"type": "dataset", "name": "d", "origin": {}, "schema": {}, "unit": [None, 1], "notion": notion,
               "limit": [str(cap), "1/2"][:costs], "fingerprint": ""}  # fmt: skip
    state = State()
    charges = [
        {"type": "charge", "user": who, "groups": groups, "request": str(i), "digest": "", "kept": 0,
         "charges": [("d", CELLS[cell], [str(cost), str(Fraction(cost, 100))][:costs])]}
        for i, (who, groups, cell, cost) in enumerate(history)
    ]  # fmt: skip
    for body in [dataset, user("ann"), user("bob"), *charges, *bodies]:
        state.apply(Event(0, "", body))
    return state


def accepted(state: State, who: str) -> set[Any]:
    """All of a grid of releases that the ledger would charge: at one cell, and at two."""
    found = set()
    each = [(cell, Fraction(n, 2)) for cell in range(len(CELLS)) for n in (1, 2, 3, 4, 6, 7)]
    if not state.users[who].revoked:
        pairs = [(a, b) for a, b in itertools.combinations(each, 2) if a[0] != b[0] and b[1] in (1, 3)]
        for charges in [*((c,) for c in each), *pairs]:
            listed = [("d", CELLS[cell], (cost,)) for cell, cost in charges]
            try:
                state.spend(who, listed, {})()
            except DPError:
                continue
            found.add(charges)
    return found


def now(state: State) -> dict[str, set[Any]]:
    return {who: accepted(state, who) for who in ("ann", "bob")}


def worlds() -> Iterator[tuple[int, list[Body], list[Any]]]:
    """All pairs and triples of grants: her own, and those of two groups, in or out of which she is."""
    for cap, own, g, h, inside, history in itertools.product(
        (2, 4), LEVELS, LEVELS, LEVELS, ((), ("g",), ("g", "h")), HISTORIES
    ):
        bodies = [group(name, *(["ann", "bob"] if name in inside else ["bob"])) for name in ("g", "h")]
        for scope, who, most in (("user", "ann", own), ("group", "g", g), ("group", "h", h)):
            bodies += [] if most is None else [limit(scope, who, most)]
        yield cap, bodies, history


def changes(state: State, levels: tuple[Any, ...] = (1, 3)) -> list[Body]:
    """Every decision about grants and groups that a curator can take here."""
    out = [revoke(kind, who) for kind, who, _ in state.limits if kind != "dataset"]
    out += [limit(kind, who, most) for kind, who in (("user", "ann"), ("group", "g")) for most in levels]
    out += [group("g", "bob"), group("g", "ann"), group("g"), group("h", "ann", "bob"), group("h", "bob")]
    return [*out, limit("dataset", "", 2), limit("dataset", "", 4), revoke("user", "ann", None),
            {"type": "remove", "name": "d"}]  # fmt: skip


def checked(state: State, body: Body, before: dict[str, set[Any]]) -> tuple[int, int]:
    """Compare what is foretold with what is then charged; (users who gain, users named for caution only)."""
    named = {gain.user for gain in gains(state, body)}
    after = preview(state, body)
    real, cautious = 0, 0
    for who in ("ann", "bob"):
        more = accepted(after, who) - before[who]
        assert not more or who in named, (body, who, sorted(map(str, more))[:3])
        real += bool(more)
        cautious += who in named and not more
    return real, cautious


def test_whoever_can_spend_more_after_a_decision_is_named_v59() -> None:
    """All pairs of grants × all decisions × histories, a part of them drawn: real gains are named, and few others."""
    pick = random.Random(59)
    cases = list(worlds())
    seen, real, cautious = 0, 0, 0
    for cap, bodies, history in pick.sample(cases, 300):
        state = state_of(cap, bodies, history)
        more, too_many = checked(state, pick.choice(changes(state)), now(state))
        seen, real, cautious = seen + 1, real + more, cautious + (0 if history else too_many)
    assert seen == 300 and real > 30
    assert not cautious  # where nothing is spent yet, nobody is named without need


@pytest.mark.slow
def test_whoever_can_spend_more_after_a_decision_is_named_v59_all_pairs() -> None:
    for cap, bodies, history in worlds():
        state = state_of(cap, bodies, history)
        before = now(state)
        for body in changes(state):
            _, cautious = checked(state, body, before)
            assert history or not cautious, body


def test_each_component_of_a_limit_is_compared_v59() -> None:
    """(ε, δ): a group that is tighter in δ alone is not covered by a grant that is tighter in ε."""
    both = [group("g", "ann"), {**limit("group", "g", 0), "limit": ["3", "1/100"]},
            {**limit("user", "ann", 0), "limit": ["1", "1/10"]}]  # fmt: skip
    state = state_of(4, both, [], "approx")
    assert rights(state, "ann", "d").limit == (1, Fraction(1, 100))
    assert [gain.user for gain in gains(state, revoke("group", "g"))] == ["ann"]
    looser = {**limit("group", "g", 0), "limit": ["1", "1/10"]}
    assert gains(state_of(4, [both[0], looser, both[2]], [], "approx"), revoke("group", "g")) == []


def test_what_was_spent_elsewhere_counts_v59() -> None:
    """Equal limits are not enough: against her own limit 1 of 3 is spent, against her group's nothing."""
    bodies = [group("g", "ann"), limit("group", "g", 3), limit("user", "ann", 3)]
    fresh, spent = state_of(9, bodies, []), state_of(9, bodies, [("ann", [], 0, 1)])
    both = state_of(9, bodies, [("ann", ["g"], 0, 1)])
    own = revoke("user", "ann")
    assert not gains(fresh, own) and gains(spent, own) and not gains(both, own)
    assert rights(spent, "ann", "d").left == (2,)


def test_a_preview_changes_nothing() -> None:
    state = state_of(4, [group("g", "ann"), limit("group", "g", 1)], HISTORIES[2])
    before = state_of(4, [group("g", "ann"), limit("group", "g", 1)], HISTORIES[2])
    for body in changes(state):
        preview(state, body)
        gains(state, body)
        assert state == before


@pytest.fixture
def jail(tmp_path: Path) -> JailFolder:
    """A group limited to 0.1, and a member who holds 3 herself."""
    folder = make_jail(tmp_path, budget=5, users=("ann", "bob"), grant=None)
    folder.set_group("g", ["ann", "bob"])
    folder.grant("g", "census", [Fraction(1, 10)], True, None)
    folder.grant("ann", "census", [3], False, None)
    return folder


def test_a_revocation_that_widens_is_refused_by_name_v59(jail: JailFolder) -> None:
    assert rights(jail.state, "ann", "census").limit == (Fraction(1, 10),)
    before = len(jail.events())
    for take in (lambda: jail.revoke("g", "census", group=True), lambda: jail.set_group("g", ["bob"])):
        with pytest.raises(PlanError, match=r"ann may spend up to 3 on 'census'.*0\.1 of group 'g'") as refused:
            take()
        assert "--widen" in str(refused.value) and "bob" not in str(refused.value)
    assert len(jail.events()) == before
    jail.set_group("g", ["ann"])  # bob only loses
    said = jail.revoke("g", "census", group=True, widen=True)
    assert said == ["ann may spend up to 3 on 'census': the limit 0.1 of group 'g' (0 spent) no longer holds"]
    assert jail.events()[-1].body["widens"] == ["ann"]
    assert rights(jail.state, "ann", "census").limit == (3,)


def test_a_limit_is_not_lifted_behind_the_back_of_a_user_who_is_shut_out_v59(jail: JailFolder) -> None:
    """A new token ends a revocation: a limit that was taken back in between would be missing then."""
    jail.revoke("ann", None)
    for take in (lambda: jail.revoke("g", "census", group=True), lambda: jail.set_group("g", ["bob"])):
        with pytest.raises(PlanError, match=r"ann may spend up to 3 on 'census'"):
            take()
    jail.add_user("ann", 1)
    assert rights(jail.state, "ann", "census").limit == (Fraction(1, 10),)


def test_who_gains_by_a_gift_is_told_but_not_asked_for(jail: JailFolder) -> None:
    jail.add_user("cy", 1)
    assert jail.set_group("g", ["ann", "bob", "cy"]) == ["cy may spend up to 0.1 on 'census' (before: nothing)"]
    said = jail.grant("g", "census", [2], True, "more")
    assert [line.split()[0] for line in said] == ["ann", "bob", "cy"]


def test_raising_only_raises_and_lowering_only_lowers(jail: JailFolder) -> None:
    for budget in ([4], [5]):
        with pytest.raises(BudgetError, match="does not lower|already"):
            jail.raise_budget("census", budget, "why")
    with pytest.raises(BudgetError, match="does not raise"):
        jail.lower_budget("census", [6], "why")
    with pytest.raises(PlanError, match="lowering a budget needs a reason"):
        jail.lower_budget("census", [4], None)
    jail.ledger.charge("ann", "r", "", {}, [], {})
    jail.ledger.record({"type": "charge", "user": "ann", "groups": [], "request": "s", "digest": "", "kept": 0,
                        "charges": [("census", [], ["2"])]})  # fmt: skip
    with pytest.raises(BudgetError, match="below what was spent of 'census', 2"):
        jail.lower_budget("census", [Fraction(3, 2)], "why")
    jail.lower_budget("census", [2], "the study is over")
    assert jail.state.limits[("dataset", "", "census")] == (2,)
    assert jail.events()[-1].body["reason"] == "the study is over"


def test_a_grant_above_the_cap_says_so_and_one_on_a_removed_data_set_is_refused(jail: JailFolder) -> None:
    said = jail.grant("ann", "census", [7], False, "asked")
    assert said == ["the grant of 7 is above the cap of 'census': all users together may spend 5, and 0 of it is spent"]
    jail.remove_dataset("census")
    for change in (
        lambda: jail.grant("ann", "census", [1], False, None),
        lambda: jail.grant("g", "census", [1], True, "why"),
        lambda: jail.raise_budget("census", [9], "why"),
        lambda: jail.lower_budget("census", [1], "why"),
        lambda: jail.remove_dataset("census"),
    ):
        with pytest.raises(PlanError, match="'census' was removed"):
            change()


BAD_NAMES = ["", ".", "..", "...", ".hidden", "-x", "--jail", "a/b", "/etc", "a\\b", "a b", "a\n", "a\x00b", "\x1b[1m",
             "a\u202eb", "a:b", "a*", "~", "+x", "@x", "x" * 101]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_no_path_option_or_control_character_is_a_name(jail: JailFolder, name: str, tmp_path: Path) -> None:
    before = len(jail.events())
    file = str(tmp_path / "census.csv")
    for act in (
        lambda: jail.add_dataset(name, file, {}, [1], "pure", (None, 1)),
        lambda: jail.add_user(name, 1),
        lambda: jail.set_group(name, []),
    ):
        with pytest.raises(PlanError, match="cannot be used as a name"):
            act()
    assert len(jail.events()) == before
