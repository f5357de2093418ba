"""Leases: one sync pays for many charges, and whatever a power cut loses was paid before (decision 0242)."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.budget.ledger import CostTree
from privjail.curator import house_rules
from privjail.curator.backup import backup
from privjail.curator.folder import JailFolder
from privjail.curator.leases import set_lease
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.plan.cells import SAMPLE
from privjail.server.ledger import anchor, store
from privjail.server.ledger.events import Event, LedgerError
from privjail.server.ledger.leases import own_cost
from privjail.server.ledger.state import State

from .jails import make_jail
from .test_ledger import DATASET, cells, spend
from .test_power_cut import DATABASE

USERS = ("ann", "bob")
TENTH = Fraction(1, 10)
Used = tuple[str, Any, Fraction]  # by whom, in which cell, how much


def leased(where: Path, size: Any = 1, budget: Any = 10, grant: Any = 5) -> JailFolder:
    folder = make_jail(where, budget=budget, users=USERS, grant=grant)
    set_lease(folder, "census", str(size), None)
    return folder


def types(folder: JailFolder, last: int) -> list[str]:
    return [event.body["type"] for event in folder.events()[-last:]]


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every sync of the log by the ledger itself."""
    real, found = store.fdatasync, []

    def counted(fd: int) -> None:
        real(fd)
        found.append(fd)

    monkeypatch.setattr(store, "fdatasync", counted)
    return found


def end_machine(folder: JailFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is started again; here all that was written is still there."""
    folder.ledger.close()
    monkeypatch.setattr(anchor, "machine_run", lambda: "another run")


# -- what a lease saves


def test_one_sync_pays_for_many_charges(tmp_path: Path, syncs: list[int]) -> None:
    folder = leased(tmp_path, size=1)
    before = len(syncs)
    for _ in range(10):
        request = spend(folder, "ann", (cells()[0], TENTH))
        folder.ledger.keep_answer("ann", request, b"answer")
    assert len(syncs) == before + 1  # that of the lease
    assert not folder.state.leases.open["ann", "census"].rest[0]
    spend(folder, "ann", (cells()[0], TENTH))  # it is used up: the next one is opened
    assert len(syncs) == before + 2 and folder.state.leases.open["ann", "census"].rest == (Fraction(9, 10),)
    set_lease(folder, "census", None, None)
    before = len(syncs)
    for _ in range(3):
        spend(folder, "ann", (cells()[0], TENTH))
    assert len(syncs) == before + 3
    assert folder.state.total(DATASET) == (Fraction(14, 10),)


def test_nobody_goes_on_under_a_lease_that_is_not_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the charge that opened it, nor the next one, which finds it open."""
    folder = leased(tmp_path)
    begun, go_on, real = threading.Event(), threading.Event(), store.fdatasync
    went_on: list[int] = []

    def held(fd: int) -> None:
        begun.set()
        assert go_on.wait(20)
        real(fd)

    def one(number: int) -> None:
        spend(folder, "ann", (cells()[0], TENTH))
        went_on.append(number)

    monkeypatch.setattr(store, "fdatasync", held)
    before = folder.ledger.entries
    threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    while folder.ledger.entries < before + 3:  # the lease and both charges
        assert threads[1].is_alive()
    assert not went_on
    go_on.set()
    for each in threads:
        each.join(20)
    assert sorted(went_on) == [0, 1]


@pytest.mark.parametrize("done", ["check", "backup"])
def test_an_entry_that_a_curator_is_told_is_on_disk(tmp_path: Path, syncs: list[int], done: str) -> None:
    """She notes it elsewhere. If a power cut took it, `verify --expect` would speak of a rollback."""
    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    beside = JailFolder(folder.path)
    spend(folder, "ann", (cells()[0], TENTH))  # under the lease
    before = len(syncs)
    told = beside.check() if done == "check" else backup(beside, tmp_path / "backup")
    assert told.seq == folder.ledger.entries and len(syncs) == before + 1


# -- what a power cut leaves


@dataclass
class Past:
    """What was done, and after each step: copies of the files, entries, those on disk, and charges that were used."""

    folder: Path
    copies: list[Path] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    synced: list[int] = field(default_factory=list)
    used: list[list[Used]] = field(default_factory=list)


def act(folder: JailFolder, rng: random.Random, used: list[Used]) -> None:
    """One thing that happens to a ledger: mostly charges, sometimes a decision, a repetition or a checkpoint."""
    user, what = rng.choice(USERS), rng.randrange(40)
    if what == 0:
        folder.set_group("team", rng.choice([["ann"], ["ann", "bob"], []]), widen=True)
    elif what == 1:
        folder.grant(user, "census", [rng.choice([3, 4, 5])], False, "asked")
    elif what == 2:
        folder.grant("team", "census", [rng.choice([2, 4])], True, "asked")
    elif what == 3:
        folder.ledger.record({"type": "leasing", "dataset": "census", "amount": [rng.choice(["1/2", "1", "2"])]})
    elif what == 4:
        folder.ledger._checkpoint -= 10**6  # so that one is due
        folder.ledger._checkpoint_if_due()
    else:
        chosen = rng.sample(cells(), rng.choice([1, 1, 1, 2]))
        costs = [(cell, Fraction(rng.choice([1, 2, 3, 5, 12]), rng.choice([10, 20]))) for cell in chosen]
        request = spend(folder, user, *costs)
        used += [(user, cell.address, cost) for cell, cost in costs]
        if rng.random() < 0.7:
            folder.ledger.keep_answer(user, request, b"answer")


def lived(where: Path, seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> Past:
    rng, used = random.Random(seed), []
    folder = leased(where)
    folder.set_group("team", ["ann"])
    past, real, durable = Past(folder.path), store.fdatasync, [folder.ledger.entries]

    def noted(fd: int) -> None:
        upto = folder.ledger._store._committed  # type: ignore[attr-defined]
        real(fd)
        durable.append(upto)

    monkeypatch.setattr(store, "fdatasync", noted)
    for i in range(steps):
        before = folder.ledger.entries
        try:
            act(folder, rng, used)
        except DPError as e:
            assert not isinstance(e, LedgerError), e
        for event in folder.events()[before:]:  # SQLite itself syncs these when it commits them
            if event.body["type"] not in ("charge", "answer", "lease", "repeat"):
                durable.append(event.seq)
        past.entries.append(folder.ledger.entries)
        past.synced.append(max(durable))
        past.used.append(list(used))
        past.copies.append(where / f"copy-{i}")
        past.copies[-1].mkdir()
        for name in (*DATABASE, "anchor.0", "anchor.1"):
            shutil.copy(folder.path / name, past.copies[-1] / name)
    folder.ledger.close()
    monkeypatch.setattr(store, "fdatasync", real)
    return past


def cuts(past: Past, rng: random.Random) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Step of the power cut, the newest entry that is left, notes that are left: every cut of the longest tail, and others."""
    steps = range(1, len(past.copies))
    longest = max(steps, key=lambda i: past.entries[i] - past.synced[i])
    for step in (longest, *(rng.choice(steps) for _ in range(25))):
        tail = range(past.synced[step], past.entries[step] + 1)
        for last in tail if step == longest else (rng.choice(tail),):
            yield step, last, rng.choice([(step, step), (step - 1, step), (step, step - 1), (0, 0)])


def left(past: Past, to: Path, step: int, last: int, notes: tuple[int, int]) -> Path:
    """A jail's folder with the entries up to one of them."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(past.folder, to)
    (to / "ledger.sqlite-shm").unlink(missing_ok=True)
    for name in DATABASE:
        shutil.copy(past.copies[step] / name, to / name)
    with contextlib.closing(sqlite3.connect(to / "ledger.sqlite")) as db, db:
        db.execute("DROP TRIGGER events_DELETE")
        db.execute("DELETE FROM events WHERE seq > ?", (last,))
        db.execute(next(each for each in store.TABLES if "events_DELETE" in each))
    for slot, of in enumerate(notes):
        shutil.copy(past.copies[of] / f"anchor.{slot}", to / f"anchor.{slot}")
    return to


def truth(used: list[Used], user: str | None = None) -> CostTree:
    tree = CostTree((Fraction(0),))
    for who, address, cost in used:
        if user in (None, who):
            tree.add(address, (cost,))
    return tree


def check_left(path: Path, used: list[Used], rng: random.Random) -> Fraction:
    """What is counted covers what was used, now and after further charges, and no limit is passed by it."""
    folder = JailFolder(path)
    state = folder.state
    assert not state.leases.open and not state.leases.held
    charged = State()  # without what was forfeited: a curator may set a limit below what is spent
    for event in folder.events():
        charged.apply(Event(event.seq, "", {**event.body, "leases": []}))
    for scope, limit in state.limits.items():
        assert limit is None or state.total(scope) <= max(limit, charged.total(scope)), "a limit was passed"
    later: list[Used] = []
    for _ in range(3):
        for user in (None, *USERS):
            scope = DATASET if user is None else ("user", user, "census")
            assert state.total(scope) >= truth([*used, *later], user).total, "what was spent is forgotten"
        user, cell, cost = rng.choice(USERS), rng.choice(cells()), Fraction(1, 100)
        try:
            spend(folder, user, (cell, cost))
            later.append((user, cell.address, cost))
        except BudgetExceeded:
            pass
        state = folder.state
    lost = state.forfeited.get("census", (Fraction(0),))[0]
    folder.ledger.close()
    again = JailFolder(path)
    assert again.state == state and again.check()
    again.ledger.close()
    return lost


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_power_cut_leaves_covers_what_was_used(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = lived(tmp_path, seed, 40, monkeypatch)
    monkeypatch.setattr(anchor, "machine_run", lambda: "another run")
    rng, tried, forfeited, lost = random.Random(seed), 0, 0, 0
    for step, last, notes in cuts(past, rng):
        path = left(past, tmp_path / "left", step, last, notes)
        forfeited += check_left(path, past.used[step], rng) > 0
        lost += last < past.entries[step]
        tried += 1
    assert tried > 25 and forfeited > 8 and lost > 8, (tried, forfeited, lost)


def test_what_is_forfeited_is_the_rest_and_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privjail.curator.spending import Courses
    from privjail.curator.views import details, forfeited

    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    end_machine(folder, monkeypatch)
    state = JailFolder(folder.path).state
    assert state.total(DATASET) == state.total(("user", "ann", "census")) == (1,)
    assert state.forfeited == {"census": (Fraction(9, 10),)} and not state.leases.open
    last = JailFolder(folder.path).events()[-1].body
    assert last["leases"] == [["ann", "census", ["9/10"]]]
    assert "forfeited of ann's lease on census: 9/10" in details(last, state)
    assert "0.9" in forfeited(state)[0]
    courses = Courses(JailFolder(folder.path))
    courses.of("census")
    assert courses._trees["census"].total == (1,)
    assert JailFolder(folder.path).state.total(DATASET) == (1,)  # once


def test_a_lease_is_held_and_forfeited_of_the_limits_of_groups_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = leased(tmp_path)
    team = ("group", "team", "census")
    folder.set_group("team", ["ann", "bob"])
    folder.grant("team", "census", [3], True, None)
    spend(folder, "ann", (cells()[0], TENTH))
    assert folder.state.leases.held[team] == (Fraction(9, 10),)
    spend(folder, "bob", (cells()[0], TENTH))  # 0.1 + 2·(0.9 + 1) is over 3: no second lease
    assert set(folder.state.leases.open) == {("ann", "census")}
    end_machine(folder, monkeypatch)
    state = JailFolder(folder.path).state
    assert state.total(team) == state.total(DATASET) == (1 + TENTH,)


def test_a_process_that_cannot_see_restarts_does_not_hide_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its notes are on disk and name no run of the machine; those of charges under a lease, after them, are lost."""
    folder = leased(tmp_path, size=1)
    with monkeypatch.context() as blind:
        for module in (anchor, store):
            blind.setattr(module, "machine_run", lambda: "")
        other = JailFolder(tmp_path / "jail")
    spend(folder, "ann", (cells()[0], TENTH))
    with monkeypatch.context() as blind:
        for module in (anchor, store):
            blind.setattr(module, "machine_run", lambda: "")
        for _ in range(2):
            spend(other, "bob", (cells()[0], TENTH))
    other.ledger.close()
    shutil.copytree(tmp_path / "jail", tmp_path / "left")
    spend(folder, "ann", (cells()[0], TENTH))
    for note in ("anchor.0", "anchor.1"):  # the new one was synced, since the other one tells of no restart
        shutil.copy(tmp_path / "jail" / note, tmp_path / "left" / note)
    for _ in range(3):
        spend(folder, "ann", (cells()[0], TENTH))
    end_machine(folder, monkeypatch)

    after = JailFolder(tmp_path / "left")

    assert after.state.total(("user", "ann", "census")) >= (5 * TENTH,)
    assert not after.state.leases.open


def test_a_request_whose_charge_was_lost_is_charged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    copy = tmp_path / "copy"
    shutil.copytree(folder.path, copy)
    request = spend(folder, "ann", (cells()[0], TENTH))
    end_machine(folder, monkeypatch)
    found = JailFolder(copy)
    assert found.ledger.answer("ann", request) is None and found.state.total(DATASET) == (1,)
    spend(found, "ann", (cells()[0], TENTH), request=request)
    assert found.state.total(DATASET) == (Fraction(11, 10),)


def test_a_kill_of_the_process_forfeits_nothing(tmp_path: Path) -> None:
    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    folder.ledger.close()  # without ending leases
    other = JailFolder(folder.path)
    assert other.state.leases.open["ann", "census"].rest == (Fraction(9, 10),)
    spend(other, "ann", (cells()[0], TENTH))
    assert other.state.total(DATASET) == (Fraction(2, 10),) and not other.state.forfeited


# -- the same as without leases


def happens(folder: JailFolder, other: JailFolder, seed: int, steps: int) -> list[str]:
    """The same things in both jails; returns what became of each."""
    found: list[list[str]] = [[], []]
    for jail, said in zip((folder, other), found, strict=True):
        rng, used = random.Random(seed), []
        for _ in range(steps):
            before = len(used)
            try:
                act(jail, rng, used)
                said.append("done" if len(used) > before else "decided")
            except DPError as e:
                said.append(type(e).__name__)
            state = jail.state
            for scope, held in state.leases.held.items():
                most = state.limits.get(scope)
                assert most is None or all(t + h <= m for t, h, m in zip(state.total(scope), held, most, strict=True))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("seed", range(6))
def test_leases_refuse_and_count_as_a_plain_ledger_does(tmp_path: Path, seed: int) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    ours, plain = leased(tmp_path / "a"), leased(tmp_path / "b")
    for each in (ours, plain):
        each.set_group("team", ["ann"])
    plain.ledger._store.__class__ = type("Plain", (store.SQLiteStore,), {"leases": False})
    said = happens(ours, plain, seed, 70)
    assert said.count("done") > 15
    mine, theirs = ours.state, plain.state
    assert mine.trees == theirs.trees and mine.limits == theirs.limits and not mine.forfeited
    kinds = [event.body for event in ours.events()]
    assert sum(body["type"] == "lease" for body in kinds) > 3 and sum("lease" in body for body in kinds) > 5
    assert not any("lease" in event.body for event in plain.events())
    assert JailFolder(ours.path).state == mine


def test_a_charge_that_fits_only_without_leases_ends_them(tmp_path: Path) -> None:
    folder = leased(tmp_path, size=4, budget=10, grant=10)
    spend(folder, "ann", (cells()[0], 1))
    assert folder.state.leases.held[DATASET] == (3,)
    spend(folder, "bob", (cells()[0], 6))  # too large for a lease; 1 + 6 + 3 are 10
    assert folder.state.leases.held[DATASET] == (3,)
    spend(folder, "bob", (cells()[0], 2))
    assert not folder.state.leases.open and folder.events()[-1].body["ends_leases"]
    assert JailFolder(folder.path).state == folder.state
    with pytest.raises(BudgetExceeded, match="limit of the data set"):
        spend(folder, "bob", (cells()[0], 2))


def test_a_refused_charge_leaves_leases_and_log_as_they_were(tmp_path: Path) -> None:
    """Or an analyst could make others' leases end for nothing, and fill the disk."""
    folder = leased(tmp_path, budget=10, grant=5)
    spend(folder, "ann", (cells()[0], TENTH))
    before, entries = dict(folder.state.leases.open), folder.ledger.entries
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            spend(folder, "bob", (cells()[0], 7))
        with pytest.raises(BudgetExceeded):
            spend(folder, "ann", (cells()[0], TENTH), caps={"census": (TENTH,)})
    assert folder.state.leases.open == before and folder.ledger.entries == entries
    assert folder.state.leases.held == {DATASET: (Fraction(9, 10),), ("user", "ann", "census"): (Fraction(9, 10),)}


def test_a_charge_that_cannot_be_stored_is_taken_back_from_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    before, held = dict(folder.state.leases.open), dict(folder.state.leases.held)
    with monkeypatch.context() as patch:
        patch.setattr(store.SQLiteStore, "_insert", lambda *_: (_ for _ in ()).throw(LedgerError("full")))
        with pytest.raises(LedgerError, match="full"):
            spend(folder, "ann", (cells()[0], TENTH))
    assert (folder.state.leases.open, folder.state.leases.held) == (before, held)
    assert folder.state == JailFolder(folder.path).state


def test_leases_hold_at_most_half_of_what_is_left(tmp_path: Path) -> None:
    folder = leased(tmp_path, size=1, budget=Fraction(39, 10), grant=10)
    spend(folder, "ann", (cells()[0], TENTH))
    spend(folder, "bob", (cells()[0], TENTH))  # 0.1 + 2·(0.9 + 1) = 3.9
    assert set(folder.state.leases.open) == {("ann", "census"), ("bob", "census")}
    spend(folder, "bob", (cells()[0], 1))  # more than is left of hers, and a new one would hold more than half
    assert folder.state.leases.open["bob", "census"].rest == (Fraction(9, 10),)
    assert "lease" not in folder.events()[-1].body


# -- the bound that all this rests on


def random_tree(rng: random.Random, most: int) -> list[tuple[str, Any, tuple[Fraction, ...]]]:
    def step() -> tuple[str, str]:
        return rng.choice(["g", "h", f"{SAMPLE}1/10 x", f"{SAMPLE}1/2 y"]), rng.choice("ab")

    return [
        ("d", tuple(step() for _ in range(rng.randrange(4))), (Fraction(rng.randrange(1, 30), 10),))
        for _ in range(rng.randrange(1, most))
    ]


def cost_of(charges: list[tuple[str, Any, tuple[Fraction, ...]]]) -> Fraction:
    tree = CostTree((Fraction(0),), amplifies=True)
    for _, address, cost in charges:
        tree.add(address, cost)
    return tree.total[0]


def test_charges_raise_no_total_by_more_than_their_own_cost() -> None:
    rng, tight, smaller = random.Random(0), 0, 0
    for _ in range(1500):
        known, more = random_tree(rng, 8), random_tree(rng, 5)
        growth, own = cost_of(known + more) - cost_of(known), own_cost(more)[0]
        assert growth <= own + Fraction(1, 2**56)  # costs of samples are rounded up, to multiples of 2**-64
        tight += growth == own
        smaller += own < sum(cost[0] for _, _, cost in more)
    assert tight > 50 and smaller > 50


def test_amplified_costs_would_not_cover_what_is_lost() -> None:
    """Why a request under a lease costs what it costs without amplification."""
    one = [("d", ((f"{SAMPLE}1/10 x", "a"),), (Fraction(2),))]
    assert cost_of(one + one) > 2 * cost_of(one)
    assert own_cost(one) == (2,)


# -- where there are none


def under_lease(folder: JailFolder) -> bool:
    return "lease" in folder.events()[-1].body


def test_limits_by_day_and_hour_are_counted_on_disk(tmp_path: Path) -> None:
    folder = leased(tmp_path)
    folder.set_group("team", ["ann"])
    for given in ({"per_day": "2"}, {"requests_per_day": "5"}, {"requests_per_hour": "5"}):
        for who in ({"user": "ann"}, {"group": "team"}, {}):
            house_rules.set_rule(folder, "census", house_rules.read_rule(given), reason="a test", **who)
            spend(folder, "ann", (cells()[0], Fraction(1, 100)))
            assert not under_lease(folder) and not folder.state.leases.open
            house_rules.set_rule(folder, "census", house_rules.read_rule({}), reason="a test", **who)
    house_rules.set_rule(folder, "census", house_rules.read_rule({"per_request": "1/20"}))
    with pytest.raises(BudgetExceeded, match="one request"):
        spend(folder, "ann", (cells()[0], TENTH))
    spend(folder, "ann", (cells()[0], Fraction(1, 20)))
    assert under_lease(folder)


def test_a_charge_in_a_block_is_synced(tmp_path: Path, syncs: list[int]) -> None:
    from privjail.budget.blocks import Block
    from privjail.budget.notions import ZCDP

    folder = make_jail(tmp_path, budget=10)
    body = {**folder.state.datasets["census"].entered, "name": "rho", "notion": "zcdp", "limit": ["10"]}
    folder.ledger.record(body)
    folder.grant("ann", "rho", [10], False, None)
    set_lease(folder, "rho", "1", None)
    whole = cells("rho")[0]
    spend(folder, "ann", (whole, TENTH))
    assert under_lease(folder)
    before = len(syncs)
    block = Block.of("zcdp", None, None, Fraction(1, 2), "0" * 32)
    spend(folder, "ann", (block.below(whole, ZCDP()), Fraction(1, 1000)))
    assert not under_lease(folder) and len(syncs) == before + 1
    assert folder.state.total(("dataset", "", "rho")) == (Fraction(6, 10),)


def test_a_charge_on_two_data_sets_is_synced(tmp_path: Path, syncs: list[int]) -> None:
    folder = leased(tmp_path)
    folder.ledger.record({**folder.state.datasets["census"].entered, "name": "other"})
    folder.grant("ann", "other", [5], False, None)
    set_lease(folder, "other", "1", None)
    spend(folder, "ann", (cells()[0], TENTH))
    before = len(syncs)
    spend(folder, "ann", (cells()[0], TENTH), (cells("other")[0], TENTH))
    assert not under_lease(folder) and len(syncs) == before + 1


def test_every_component_of_a_cost_is_leased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_jail(tmp_path)
    body = {**folder.state.datasets["census"].entered, "name": "pair", "notion": "approx", "limit": ["10", "1/1000"]}
    folder.ledger.record(body)
    folder.grant("ann", "pair", [5, Fraction(1, 2000)], False, None)
    assert set_lease(folder, "pair", "1", None) == (1, Fraction(1, 10000))
    whole, scope = cells("pair")[0], ("dataset", "", "pair")

    def charge(eps: Any, delta: Any) -> None:
        cost = (Fraction(eps), Fraction(delta))
        folder.ledger.charge("ann", random.randbytes(16).hex(), "d", {}, [(whole, cost)], {})

    charge("1/10", "1/100000")
    assert under_lease(folder) and folder.state.leases.held[scope] == (Fraction(9, 10), Fraction(9, 100000))
    charge("1/10", "1/1000000000")
    charge("1/10", "1/5000")  # of δ more than a lease has
    assert not under_lease(folder)
    end_machine(folder, monkeypatch)
    state = JailFolder(folder.path).state
    assert state.total(scope) == (1 + TENTH, Fraction(1, 10000) + Fraction(1, 5000))


def test_who_may_not_spend_reserves_nothing(tmp_path: Path) -> None:
    folder = leased(tmp_path)
    folder.add_user("eve", 30)
    with pytest.raises(PlanError, match="no data set"):
        spend(folder, "eve", (cells()[0], TENTH))
    house_rules.freeze(folder, "census", "a test")
    with pytest.raises(PlanError, match="frozen"):
        spend(folder, "ann", (cells()[0], TENTH))
    assert "lease" not in types(folder, 4)


# -- decisions, processes, checkpoints, copies


def test_decisions_end_leases(tmp_path: Path) -> None:
    folder = leased(tmp_path)
    folder.add_user("eve", 30)
    decisions = [
        lambda: folder.revoke("bob", "census"),
        lambda: folder.set_group("team", ["ann"]),
        lambda: folder.lower_budget("census", [9], "a test"),
        lambda: house_rules.freeze(folder, "census", "a test"),
        lambda: house_rules.set_rule(folder, "census", house_rules.read_rule({"per_request": "3"})),
        lambda: folder.revoke("eve", None),
        lambda: set_lease(folder, "census", "2", None),
        lambda: folder.remove_dataset("census"),
    ]
    for decide in decisions:
        spend(folder, "ann", (cells()[0], Fraction(1, 100)))
        assert folder.state.leases.open
        decide()
        assert not folder.state.leases.open and not folder.state.leases.held
        assert JailFolder(folder.path).state == folder.state
        if folder.state.frozen:
            house_rules.freeze(folder, "census", "a test", frozen=False)
    assert not folder.state.forfeited and folder.state.total(DATASET) == (Fraction(len(decisions), 100),)


def test_two_processes_charge_under_one_lease(tmp_path: Path) -> None:
    one = leased(tmp_path)
    both = [one, JailFolder(one.path)]
    for i in range(10):
        spend(both[i % 2], "ann", (cells()[0], TENTH))
    kinds = [event.body["type"] for event in one.events()]
    assert kinds.count("lease") == 1 and sum("lease" in event.body for event in one.events()) == 10
    both[1].revoke("ann", "census")
    with pytest.raises(PlanError, match="no data set"):
        spend(one, "ann", (cells()[0], TENTH))
    assert both[0].state == both[1].state and both[0].state.total(DATASET) == (1,)


def test_whoever_reads_charges_of_another_process_syncs_them(tmp_path: Path, syncs: list[int]) -> None:
    """What is built on them may be synced, and must not stand above what a crash loses."""
    one = leased(tmp_path)
    two = JailFolder(one.path)
    spend(one, "ann", (cells()[0], TENTH))
    two.ledger.refresh()  # the lease, and the first charge
    spend(one, "ann", (cells()[0], TENTH))
    before = len(syncs)
    two.ledger.refresh()
    assert len(syncs) == before + 1


def test_a_checkpoint_has_no_leases_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privjail.server.ledger import ledger

    folder = leased(tmp_path)
    monkeypatch.setattr(ledger, "EVERY", 12)
    for _ in range(20):
        request = spend(folder, "ann", (cells()[0], Fraction(1, 100)))
        folder.ledger.keep_answer("ann", request, b"answer")
    kinds = [event.body["type"] for event in folder.events()]
    assert kinds.count("checkpoint") >= 3 and kinds.count("lease") >= kinds.count("checkpoint")
    assert folder.check() and JailFolder(folder.path).state.leases == folder.state.leases
    held = folder.state.leases.held[DATASET] if folder.state.leases.open else (Fraction(0),)
    end_machine(folder, monkeypatch)
    again = JailFolder(folder.path)
    assert again.state.total(DATASET) == (Fraction(20, 100) + held[0],) and again.check()
    assert again.state.leasing == {"census": (1,)}


def test_a_restored_backup_forfeits_what_its_leases_held(tmp_path: Path) -> None:
    from privjail.curator.backup import backup, restore

    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    backup(folder, tmp_path / "a.backup")
    spend(folder, "ann", (cells()[0], TENTH))  # which the copy does not have
    folder.ledger.close()
    found, newest = restore(tmp_path / "a.backup", tmp_path / "again", "a test")
    assert not newest and found.state.total(DATASET) == (1,) and not found.state.leases.open


def test_a_renewed_anchor_forfeits_what_leases_held(tmp_path: Path) -> None:
    from privjail.curator.keeping import renew_anchor

    folder = leased(tmp_path)
    spend(folder, "ann", (cells()[0], TENTH))
    folder.ledger.close()
    renew_anchor(folder.path, "a test")
    assert JailFolder(folder.path).state.total(DATASET) == (1,)


def test_a_population_has_leases_and_its_tables_have_none(tmp_path: Path) -> None:
    folder = make_jail(tmp_path)
    folder.add_population("people", [10], "pure")
    set_lease(folder, "people", "1/2", None)
    assert folder.state.leasing == {"people": (Fraction(1, 2),)}
    body = {**folder.state.datasets["census"].entered, "name": "visits", "population": "people", "limit": []}
    folder.ledger.record(body)
    with pytest.raises(PlanError, match="do this for 'people'"):
        set_lease(folder, "visits", "1/2", None)


@pytest.mark.parametrize("size, wrong", [("6", "at most half"), ("0", "more than 0"), ("x", "no number")])
def test_sizes_that_make_no_sense_are_refused(tmp_path: Path, size: str, wrong: str) -> None:
    folder = make_jail(tmp_path, budget=10)
    with pytest.raises(DPError, match=wrong):
        set_lease(folder, "census", size, None)
    assert not folder.state.leasing


def test_leases_are_refused_where_they_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = leased(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(folder, "config", {**folder.config, "ledger_url": "postgresql://elsewhere"})
        with pytest.raises(PlanError, match="PostgreSQL has no leases"):
            set_lease(folder, "census", "1", None)
    for module in (anchor, store):
        monkeypatch.setattr(module, "machine_run", lambda: "")
    with pytest.raises(PlanError, match="whether the machine was restarted"):
        set_lease(folder, "census", "1", None)
    spend(folder, "ann", (cells()[0], TENTH))  # switched on before: charged as ever
    assert not under_lease(folder) and not folder.state.leases.open


def test_entries_about_leases_that_are_not_open_stop_the_ledger(tmp_path: Path) -> None:
    folder = leased(tmp_path)
    request = spend(folder, "ann", (cells()[0], TENTH))
    charge = next(e.body for e in folder.events() if e.body.get("request") == request)
    for wrong in (
        {**charge, "request": "1", "lease": charge["lease"] - 1},
        {**charge, "request": "2", "charges": [["census", [], ["2"]]]},
        {"type": "lost", "requests": [], "leases": [["bob", "census", ["1"]]]},
        {"type": "lost", "requests": [], "leases": [["ann", "census", ["1/10"]]]},
    ):
        other = JailFolder(folder.path)
        with pytest.raises(LedgerError, match="lease"):
            other.ledger.state.leases.follow(Event(10**6, "", wrong))
