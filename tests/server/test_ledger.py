"""The ledger's truth: what events add up to, who may spend what, and what a request id means."""

from __future__ import annotations

import copy
import datetime
import random
import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.curator import loading, views
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetError, BudgetExceeded, DPError, PlanError
from privjail.server.ledger.events import VERSION, LedgerError, checked, linked, spelled
from privjail.server.ledger.ledger import DurableLedger
from privjail.server.ledger.state import State
from privjail.server.ledger.store import SQLiteStore
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.cells import Cell, Partition
from privjail.plan.domain import CategoryDomain
from privjail.plan.node import Lit

from .jails import SCHEMA, make_jail

USERS = ("ann", "bob", "cy")
DATASET = ("dataset", "", "census")


def source(name: str = "census") -> Source:
    return Source(Dataset(name, name, (("sex", CategoryDomain(True, ("F", "M"), False)),), Unit()))


def cells(name: str = "census") -> list[Cell]:
    """The whole of a data set and two exclusive parts of it."""
    whole = source(name)
    by = Partition(whole, Column(whole, "sex"))
    return [whole.cells[0], *(Cell(whole.cells[0], by, Lit.of(key)) for key in ("F", "M"))]


def spend(folder: JailFolder, user: str, *costs: tuple[Cell, Any], request: str | None = None, digest: str = "d",
          caps: dict[str, Any] | None = None) -> str:  # fmt: skip
    request = request or secrets.token_hex(16)
    charges = [(cell, (Fraction(cost),)) for cell, cost in costs]
    folder.ledger.charge(user, request, digest, {"program": []}, charges, caps or {})
    return request


def again(folder: JailFolder) -> State:
    """The state as a new process reads it off the disk."""
    return JailFolder(folder.path).state


@pytest.fixture
def folder(tmp_path: Path) -> JailFolder:
    return make_jail(tmp_path, budget=10, users=USERS, grant=None)


# -- truth


@pytest.mark.parametrize("seed", range(6))
def test_a_rebuilt_state_equals_the_one_kept_in_memory(tmp_path: Path, seed: int) -> None:
    """Random histories of grants, groups, revocations, charges and answers, by two processes that share a folder."""
    rng = random.Random(seed)
    one = make_jail(tmp_path, budget=6, users=USERS, grant=None)
    both = [one, JailFolder(one.path)]
    refused = spent = 0
    for _ in range(120):
        jail = rng.choice(both)
        try:
            spent += _happens(jail, rng)
        except DPError as e:
            assert not isinstance(e, LedgerError)
            refused += 1
    states = [folder.state for folder in both]
    assert states[0] == states[1] == again(one)
    assert refused > 5 and spent > 5
    assert states[0].total(DATASET) == _defined(one) <= (6,)


def _happens(jail: JailFolder, rng: random.Random) -> int:
    user = rng.choice(USERS)
    match rng.randrange(8):
        case 0:
            jail.grant(user, "census", [Fraction(rng.randrange(1, 9), 2)], False, rng.choice([None, "asked"]))
        case 1:
            jail.set_group("team", rng.sample(USERS, rng.randrange(4)))
        case 2:
            jail.grant("team", "census", [rng.randrange(1, 5)], True, rng.choice([None, "asked"]))
        case 3 if rng.random() < 0.3:
            jail.revoke(user, "census")
        case _:
            where = rng.sample(cells(), rng.randrange(1, 3))
            request = spend(jail, user, *((cell, Fraction(rng.randrange(1, 6), 10)) for cell in where))
            if rng.random() < 0.7:
                jail.ledger.keep_answer(user, request, b"answer")
            return 1
    return 0


def _defined(folder: JailFolder) -> tuple[Fraction, ...]:
    """own(whole) + the largest of the exclusive parts, summed from the log by hand."""
    own: dict[Any, Fraction] = {}
    for event in folder.events():
        for _, address, (cost,) in event.body.get("charges", []):
            key = tuple(map(tuple, address))
            own[key] = own.get(key, Fraction(0)) + Fraction(cost)
    parts = [cost for key, cost in own.items() if key]
    return (own.get((), Fraction(0)) + max(parts, default=Fraction(0)),)


def test_asking_for_a_total_changes_nothing(folder: JailFolder) -> None:
    """A reader that made the account it asked for could replace one that a charge had just made."""
    before = copy.deepcopy(folder.state.trees)
    assert folder.state.total(("user", "ann", "census")) == (0,)
    assert folder.state.trees == before


def test_an_entry_that_is_not_understood_stops_the_ledger(folder: JailFolder) -> None:
    other = JailFolder(folder.path)
    with other.ledger._store.writing() as writing:
        writing.append({"type": "from the future"})
    for _ in range(2):  # not only once: the second time nothing is new
        with pytest.raises(LedgerError, match="not understood"):
            folder.ledger.refresh()
    with pytest.raises(LedgerError, match="not understood"):
        JailFolder(folder.path)


def test_exclusive_parts_cost_their_maximum_in_a_new_process_too(folder: JailFolder) -> None:
    whole, f, m = cells()
    folder.grant("ann", "census", [1], False, None)
    spend(folder, "ann", (f, "1/2"))
    spend(JailFolder(folder.path), "ann", (m, "1/2"))
    spend(folder, "ann", (whole, "1/2"))
    assert again(folder).total(DATASET) == (1,)
    with pytest.raises(BudgetExceeded):
        spend(folder, "ann", (m, "1/1000"))


# -- who may spend what


def test_without_a_grant_there_is_no_data_set(folder: JailFolder) -> None:
    for user in ("ann", "nobody"):
        with pytest.raises(PlanError, match="no data set 'census' for you"):
            spend(folder, user, (cells()[0], 1))


def test_colluding_users_cannot_exceed_the_cap_v38(folder: JailFolder) -> None:
    """V-38: each user has a grant of 8, the data set a cap of 10."""
    for user in USERS:
        folder.grant(user, "census", [8], False, None)
    for user in USERS:
        for _ in range(20):
            try:
                spend(folder, user, (cells()[0], "1/2"))
            except BudgetExceeded:
                break
    state = again(folder)
    assert state.total(DATASET) == (10,)
    assert [state.total(("user", u, "census")) for u in USERS] == [(8,), (2,), (0,)]
    with pytest.raises(BudgetExceeded, match="of the data set"):
        spend(folder, "cy", (cells()[0], "1/1000"))


def test_members_share_what_their_group_was_granted(folder: JailFolder) -> None:
    folder.set_group("team", ["ann", "bob"])
    folder.grant("team", "census", [2], True, None)
    spend(folder, "ann", (cells()[0], "3/2"))
    with pytest.raises(BudgetExceeded, match="of group 'team'"):
        spend(folder, "bob", (cells()[0], 1))
    spend(folder, "bob", (cells()[0], "1/2"))
    with pytest.raises(PlanError, match="no data set"):
        spend(folder, "cy", (cells()[0], 1))


def test_who_leaves_a_group_leaves_what_was_spent_behind(folder: JailFolder) -> None:
    folder.set_group("team", ["ann"])
    folder.grant("team", "census", [2], True, None)
    spend(folder, "ann", (cells()[0], 2))
    folder.set_group("team", ["bob"])
    assert again(folder).total(("group", "team", "census")) == (2,)
    for user in ("ann", "bob"):
        with pytest.raises(DPError):
            spend(folder, user, (cells()[0], "1/10"))


def test_every_limit_that_applies_must_allow(folder: JailFolder) -> None:
    folder.set_group("team", ["ann"])
    folder.grant("team", "census", [5], True, None)
    folder.grant("ann", "census", [1], False, None)
    with pytest.raises(BudgetExceeded, match="granted to you"):
        spend(folder, "ann", (cells()[0], 2))
    with pytest.raises(BudgetExceeded, match="of this block"):
        spend(folder, "ann", (cells()[0], 1), caps={"census": (Fraction(1, 2),)})
    assert again(folder).total(DATASET) == (0,)


def test_a_release_over_two_data_sets_is_charged_on_both_or_on_none(folder: JailFolder, tmp_path: Path) -> None:
    folder.add_dataset("copy", str(tmp_path / "census.csv"), SCHEMA, [1], "pure", (None, 1), overlap_reason="a test")
    for name in ("census", "copy"):
        folder.grant("ann", name, [5], False, None)
    with pytest.raises(BudgetExceeded, match="'copy'"):
        spend(folder, "ann", (cells()[0], 2), (cells("copy")[0], 2))
    assert again(folder).total(DATASET) == (0,)


def test_raising_needs_a_reason_also_after_a_revocation(folder: JailFolder) -> None:
    folder.grant("ann", "census", [1], False, None)
    folder.grant("ann", "census", [Fraction(1, 2)], False, None)  # lowering does not
    for reason in (None, "", "  "):
        with pytest.raises(PlanError, match="reason"):
            folder.grant("ann", "census", [1], False, reason)
        with pytest.raises(PlanError, match="reason"):
            folder.raise_budget("census", [11], reason)
    folder.revoke("ann", "census")
    with pytest.raises(PlanError, match="reason"):
        folder.grant("ann", "census", [1], False, None)
    folder.raise_budget("census", [11], "a second study")
    assert folder.events()[-1].body["reason"] == "a second study"
    assert again(folder).limits[DATASET] == (11,)


def test_a_removed_data_set_is_closed_and_its_name_is_taken(folder: JailFolder, tmp_path: Path) -> None:
    """V-33: a name never gets a second budget."""
    folder.grant("ann", "census", [8], False, None)
    spend(folder, "ann", (cells()[0], 3))
    folder.remove_dataset("census")
    with pytest.raises(PlanError, match="no data set"):
        spend(folder, "ann", (cells()[0], 1))
    with pytest.raises(PlanError, match="cannot be used again"):
        folder.add_dataset("census", str(tmp_path / "census.csv"), SCHEMA, [10], "pure", (None, 1))
    assert again(folder).total(DATASET) == (3,)


def test_the_same_data_under_two_names_is_noticed_v33(folder: JailFolder, tmp_path: Path) -> None:
    """V-33: links, copies and other spellings of a path are the same data."""
    copy, link = tmp_path / "copy.csv", tmp_path / "link.csv"
    copy.write_bytes((tmp_path / "census.csv").read_bytes())
    link.symlink_to(tmp_path / "census.csv")
    for i, path in enumerate([copy, link, tmp_path / "jail" / ".." / "census.csv"]):
        with pytest.raises(PlanError, match="the same data is already in 'census'"):
            folder.add_dataset(f"other{i}", str(path), SCHEMA, [1], "pure", (None, 1))


def test_two_curators_cannot_add_one_name_at_once(folder: JailFolder, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """The second looks while the first has not written yet; it is refused when it writes."""
    first = JailFolder(folder.path)
    trial = loading.tried

    def slow(*args: Any) -> Any:
        monkeypatch.setattr(loading, "tried", trial)
        first.add_dataset("new", str(tmp_path / "census.csv"), SCHEMA, [1], "pure", (None, 1), overlap_reason="a test")
        return trial(*args)

    monkeypatch.setattr(loading, "tried", slow)
    with pytest.raises(PlanError, match="before"):
        folder.add_dataset("new", str(tmp_path / "census.csv"), SCHEMA, [100], "pure", (None, 1))
    assert again(folder).limits["dataset", "", "new"] == (1,)


@pytest.mark.parametrize(
    ("notion", "budget", "grant", "limit"),
    [
        ("pure", [1], [Fraction(1, 2)], 1), ("zcdp", [1], [Fraction(1, 2)], 1),
        ("approx", [1, Fraction(1, 10**12)], [Fraction(1, 2), Fraction(1, 10**13)], 2),
        ("renyi", [3, Fraction(1, 10**6)], [2, Fraction(1, 10**6)], 1),
    ],
)  # fmt: skip
def test_budgets_of_every_notion(folder: JailFolder, tmp_path: Path, notion: str, budget: Any, grant: Any,
                                 limit: int) -> None:  # fmt: skip
    file = str(tmp_path / "census.csv")
    with pytest.raises(BudgetError, match="numbers"):
        folder.add_dataset("other", file, SCHEMA, [*budget, 1], notion, (None, 1))
    folder.add_dataset("other", file, SCHEMA, budget, notion, (None, 1), overlap_reason="a test")
    with pytest.raises(BudgetError, match="numbers"):
        folder.grant("ann", "other", [*grant, 1], False, None)
    folder.grant("ann", "other", grant, False, None)
    state = again(folder)
    granted, whole = state.limits["user", "ann", "other"], state.limits["dataset", "", "other"]
    assert granted is not None and whole is not None and len(granted) == len(whole) == limit
    assert all(g < w for g, w in zip(granted, whole, strict=True))


# -- request ids


def test_a_request_id_is_charged_once_and_only_for_what_it_was_used(folder: JailFolder) -> None:
    for user in ("ann", "bob"):
        folder.grant(user, "census", [5], False, None)
    request = spend(folder, "ann", (cells()[0], 1))
    spend(folder, "ann", (cells()[0], 1), request=request)
    spend(JailFolder(folder.path), "ann", (cells()[0], 1), request=request)
    assert again(folder).total(DATASET) == (1,)
    with pytest.raises(PlanError, match="used before"):
        spend(folder, "ann", (cells()[0], 2), request=request, digest="another")
    spend(folder, "bob", (cells()[0], 1), request=request)  # ids are each user's own
    assert again(folder).total(DATASET) == (2,)


def test_there_is_nothing_beyond_the_newest_entry(folder: JailFolder) -> None:
    """Red before: entries from the first one on were given under other numbers."""
    newest = folder.ledger.entries
    assert [event.seq for event in folder.ledger.window(newest - 1, newest + 9)] == [newest - 1, newest]
    for after in (0, 1, 5):
        assert folder.ledger.window(newest + 1 + after, newest + 9) == []
        assert list(folder.ledger.past(newest + after)) == []
    assert views.search(folder, views.Filter(), 10**30, 9) == views.search(folder, views.Filter(), None, 9)


def test_entries_say_when_they_were_written(folder: JailFolder) -> None:
    folder.grant("ann", "census", [5], False, None)
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    spend(folder, "ann", (cells()[0], 1))
    written = datetime.datetime.fromisoformat(folder.events()[-1].body["at"])
    assert before <= written <= datetime.datetime.now(datetime.UTC)


def test_the_first_answer_that_was_kept_stands(folder: JailFolder) -> None:
    folder.grant("ann", "census", [5], False, None)
    request = spend(folder, "ann", (cells()[0], 1))
    assert folder.ledger.answer("ann", request) is None
    assert folder.ledger.keep_answer("ann", request, b"first") == b"first"
    assert JailFolder(folder.path).ledger.keep_answer("ann", request, b"second") == b"first"
    assert folder.ledger.answer("bob", request) is None


def test_an_answer_that_was_lost_or_changed_is_not_given_anew(folder: JailFolder) -> None:
    """It may have been seen: fresh noise for the same charge would be a second release."""
    folder.grant("ann", "census", [5], False, None)
    kept = [spend(folder, "ann", (cells()[0], 1)) for _ in range(2)]
    for request in kept:
        folder.ledger.keep_answer("ann", request, b"answer")
    db = folder.ledger._store._db  # type: ignore[attr-defined]
    db.execute("DROP TRIGGER events_UPDATE")
    for request, changed in zip(kept, (b"answeR", None), strict=True):
        entry = f'%"request":"{request}"%"type":"answer"%'
        assert db.execute("UPDATE events SET answer = ? WHERE body LIKE ?", (changed, entry)).rowcount == 1
    for request in kept:
        for ledger in (folder.ledger, JailFolder(folder.path).ledger):
            with pytest.raises(LedgerError, match="lost or changed"):
                ledger.answer("ann", request)


def test_the_tables_are_append_only(folder: JailFolder) -> None:
    import sqlite3

    db = folder.ledger._store._db  # type: ignore[attr-defined]
    for statement in ("DELETE FROM events", "UPDATE events SET hash = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)


def test_a_failed_transaction_leaves_no_trace(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path, new=True)
    ledger = DurableLedger(store)
    ledger.record({"type": "init", "version": VERSION})
    with pytest.raises(ZeroDivisionError), store.writing() as writing:
        writing.append({"type": "anchor", "reason": "never written"})
        raise ZeroDivisionError
    ledger.record({"type": "anchor", "reason": "written"})
    for rows in (ledger.rows(), DurableLedger(SQLiteStore(tmp_path)).rows()):
        assert [seq for seq, _, _ in rows] == [1, 2] and "never" not in rows[1][2]


def test_one_spelling_and_any_text_in_the_chain() -> None:
    body = {"b": "\ud800 \0 é \U0001f600", "a": [1, None, {"x": "y"}]}
    event = linked(None, body)
    assert checked(None, 1, event.hash, spelled(body)).body == body
    assert spelled({"a": body["a"], "b": body["b"]}) == spelled(body)


def test_a_ledger_of_another_version_is_refused_v60(tmp_path: Path) -> None:
    """Its entries may name partitions in another way."""
    store = SQLiteStore(tmp_path, new=True)
    with store.writing() as writing:
        writing.append({"type": "init", "id": "older"})
    store.close()
    with pytest.raises(LedgerError, match="the ledger was made by another version") as caught:
        DurableLedger(SQLiteStore(tmp_path))
    assert "make a new jail" in str(caught.value)
