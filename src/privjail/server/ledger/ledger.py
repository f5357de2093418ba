"""The durable ledger: one writer at a time; a charge is checked and stored before any data is read."""

from __future__ import annotations

import datetime
import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from privjail.budget.ledger import Charge
from privjail.budget.notions import Cost
from privjail.errors import DPError, PlanError
from privjail.plan.cells import Cell
from privjail.server.ledger.checkpoint import EVERY, pack, sha256, unpack
from privjail.server.ledger.entries import PerElement
from privjail.server.ledger.events import CHECKPOINT, Event, LedgerError, spelled, subject, texts
from privjail.server.ledger.history import BATCH, Checked, check_history, events_from
from privjail.server.ledger.leasing import spend, to_open
from privjail.server.ledger.refusals import may_be_answered, too_late
from privjail.server.ledger.room import Room
from privjail.server.ledger.state import RequestEntry, State
from privjail.server.ledger.store import FIRST, Row, Store, StoreLost

T = TypeVar("T")
Epochs = Collection[tuple[str, int]]  # names of data sets, each with the version of its rows
PATIENCE = 15.0  # seconds to wait for a shared ledger whose connection was lost
ENTRIES = 2_048  # bytes of the entries of one request, without the text of its charge and its answer
REPEATS = 4  # times that a request is run again after the jail stopped or failed before the answer


class Outdated(DPError):
    """A request rests on rows that were replaced meanwhile. Nothing was charged."""


def dataset_of(cell: Cell) -> str:
    return str(cell.root.partition)


class DurableLedger:
    """Events on disk, and in memory the state that follows from them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self.state = State()
        self._broken = False
        self._checkpoint = 0  # the number of the newest checkpoint
        events = store.start()
        if events and events[0].body.get("type") == CHECKPOINT:
            self.state = unpack(store.kept(events[0].seq), events[0].body)
            self._checkpoint = events[0].seq
            del events[0]
        for event in events:
            self._apply(event)
        self._checkpoint_if_due()

    def _apply(self, event: Event) -> None:
        """Apply an entry. One that is not understood stops the ledger: to go on would ignore it."""
        try:
            self.state.apply(event)
        except Exception:
            self._broken = True
            raise
        if event.body["type"] == CHECKPOINT:
            self._checkpoint = event.seq

    def _checkpoint_if_due(self) -> None:
        """Write the state down, if many entries were written since that was done last."""
        last = self._store.last
        if last is None or last.seq - self._checkpoint < EVERY:
            return
        event = None
        with self._store.writing() as writing:
            self._refresh()
            if self._store.last is not None and self._store.last.seq - self._checkpoint >= EVERY:
                packed = pack(self.state)
                body = {"type": CHECKPOINT, "at": _now(), "sha256": sha256(packed)}
                late = {"latest": self.state.latest} if self.state.latest > body["at"] else {}
                event = writing.append({**body, **late}, packed)
        if event is not None:
            self._apply(event)

    def _request(self, user: str, request: str) -> RequestEntry | None:
        """What is known of a request: in memory since the newest checkpoint, in the log before it."""
        known = self.state.requests.get((user, request))
        if known is not None or not self._checkpoint:
            return known
        rows = self._again(lambda: self._store.about(subject({"user": user, "request": request}) or ""))
        past = State()
        for row in rows:
            past.follow(self._store.alone(row))
        return past.requests.get((user, request))

    def refresh(self) -> None:
        """Read the entries that other processes wrote."""
        with self._lock:
            self._again(self._refresh)

    def _refresh(self) -> None:
        if self._broken:
            raise LedgerError("an entry of the ledger is not understood here", do="install the newest privjail")
        for event in self._store.news():
            self._apply(event)

    def record(self, body: dict[str, Any]) -> None:
        """Append a curator's decision."""
        self.decide(lambda state: body)

    def decide(self, make: Callable[[State], dict[str, Any]], beside: bytes | None = None) -> None:
        """Append a curator's decision on the newest state. No other entry can come in between.

        ``beside``: bytes that are kept with the entry, whose hash it names.
        """
        with self._lock:
            with self._store.writing() as writing:
                self._refresh()
                event = writing.append({"at": _now(), **make(self.state)}, beside)
            self._apply(event)
            self._checkpoint_if_due()

    def charge(self, user: str, request: str, digest: str, body: dict[str, Any], charges: list[Charge],
               caps: dict[str, Cost], room: Room | None = None, epochs: Epochs = ()) -> int | None:  # fmt: skip
        """Charge a request once: check every limit and write the charge, or raise and write nothing.

        Returns the number of its entry; None if the request was charged before. ``room``: the most bytes of its answer,
        and how many may be kept for its user. ``epochs``: of the data sets that it will read. They must be the newest
        when it is charged: the order of entries tells what was read.
        """
        listed = [(dataset_of(cell), cell.address, cost) for cell, cost in charges]
        said = {**body, "charges": [(d, a, texts(c)) for d, a, c in listed]}
        beside = None if room is None else room.beside
        if beside is not None:
            said["certificate"] = hashlib.sha256(beside).hexdigest()
        later = sorted((name, epoch) for name, epoch in epochs if epoch > 1)
        if later:
            said["epochs"] = later
        said["kept"] = kept = ENTRIES + (0 if room is None else room.bytes) + len(spelled(said))

        def once() -> tuple[int | None, int | None]:
            take_back = repeated = stored = None
            try:
                with self._store.writing(synced=False) as writing:
                    self._refresh()
                    self._check_epochs(epochs)
                    known = self._request(user, request)
                    if known is not None and known.digest != digest:
                        raise PlanError("this request id was used before, for another request")
                    if known is not None and known.answered is None and list(known.epochs) != later:
                        raise too_late()
                    if known is None:
                        if room is not None:
                            room.check(self.state.kept[user] + kept)
                        # Added now, so that the limits are checked for the total; undone if the entry is not stored.
                        take_back, by = spend(self.state, user, listed, caps, _now(), leases)
                        entry = {**self._charge(user, request, digest, said), **by}
                        stored = writing.append(entry, beside).seq
                    elif known.answered is None:
                        repeated = writing.append(self._repeat(user, request, known))
            except BaseException:
                if take_back is not None:
                    take_back()
                raise
            if take_back is not None:
                self.state.charged(entry)
            if repeated is not None:
                self._apply(repeated)
            return None if take_back is None else entry.get("lease"), stored

        with self._lock:
            leases = bool(self.state.leasing) and self._store.leases
            if leases:
                self._open_lease(user, listed)
            lease, stored = self._again(once)
        # Without the lock: those who are charged meanwhile share one sync. Under a lease, only that must be on disk.
        self._store.sync(lease)
        return stored

    def _open_lease(self, user: str, charges: list[PerElement]) -> None:
        """Reserve a part of the budget for a user's charges, if there is to be one and she has none that suffices."""
        if to_open(self.state, user, charges) is None:
            return
        event = None
        with self._store.writing(synced=False) as writing:
            self._refresh()
            amount = to_open(self.state, user, charges)
            if amount is not None:
                said = {"user": user, "groups": self.state.groups_of(user), "dataset": charges[0][0]}
                event = writing.append({"type": "lease", "at": _now(), **said, "amount": texts(amount)})
        if event is not None:
            self._apply(event)

    @property
    def leases(self) -> bool:
        """Whether this ledger can have leases."""
        return self._store.leases

    def end_leases(self) -> None:
        """Free what leases hold, before a jail stops: a restart of the machine afterwards forfeits nothing."""
        with self._lock:
            self._again(self._refresh)
            if self.state.leases.open:
                self.decide(lambda state: {"type": "leases_ended"})

    def _check_epochs(self, epochs: Epochs) -> None:
        for name, epoch in epochs:
            if name not in self.state.datasets or self.state.datasets[name].epoch != epoch:
                raise Outdated(f"the rows of {name!r} were updated", do="connect again")

    def _charge(self, user: str, request: str, digest: str, said: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "charge",
            "at": _now(),
            "user": user,
            "groups": self.state.groups_of(user),
            "request": request,
            "digest": digest,
            **said,
        }

    def _repeat(self, user: str, request: str, known: RequestEntry) -> dict[str, Any]:
        """The entry of another attempt, if there may be one: each of them takes the time of a release for nothing."""
        may_be_answered(known)
        if known.repeats >= REPEATS:
            raise LedgerError(
                f"this request was begun {1 + REPEATS} times and never answered; it stays charged and is not run again",
                do="ask for less at once, as a new request",
            )
        return {"type": "repeat", "at": _now(), "user": user, "request": request}

    def give_up(self, user: str, request: str) -> None:
        """Enter that a request took too long and is not run again, unless it was answered."""

        def unanswered() -> bool:
            known = self._request(user, request)
            return known is not None and known.open

        self._enter("given_up", user, request, unanswered)

    def failed(self, user: str, request: str) -> None:
        """Enter that a request failed after data was touched."""
        self._enter("failed", user, request, lambda: True)

    def _enter(self, what: str, user: str, request: str, holds: Callable[[], bool]) -> None:
        """Append what became of a request, if ``holds`` is still true in the newest state."""

        def once() -> None:
            event = None
            with self._store.writing() as writing:
                self._refresh()
                if holds():
                    event = writing.append({"type": what, "at": _now(), "user": user, "request": request})
            if event is not None:
                self._apply(event)

        with self._lock:
            self._again(once)

    def earlier(self, user: str, request: str, digest: str) -> bytes | None:
        """The stored answer of an earlier run of the same request, or None.

        An answer that another jail gave a moment ago may not be read yet. Then it is found when ours is to be stored.
        """
        with self._lock:
            known = self._request(user, request)
            return self.answer(user, request) if known is not None and known.digest == digest else None

    def answer(self, user: str, request: str) -> bytes | None:
        """The stored answer. If it was lost, the request gets no new one: the analyst may have seen the old one."""
        with self._lock:
            self.refresh()
            known = self._request(user, request)
            if known is None:
                return None
            may_be_answered(known)
            answered = known.answered
            if answered is None:
                return None
            if answered.seq < self.state.dropped:
                raise LedgerError(
                    "the answer to this request is no longer kept here, and there is no other",
                    do="use the one that was sent, or ask again, as a new request",
                )
            body = self._again(lambda: self._store.kept(answered.seq))
        if body is None or hashlib.sha256(body).hexdigest() != answered.sha256:
            raise LedgerError("the answer that was kept for this request was lost or changed")
        return body

    def keep_answer(self, user: str, request: str, body: bytes) -> bytes:
        """Store an answer before it is sent. If one is already stored, that one is sent."""
        entry = {"type": "answer", "user": user, "request": request, "sha256": hashlib.sha256(body).hexdigest()}

        def once() -> bool:
            event = None
            with self._store.writing(synced=False) as writing:
                self._refresh()
                known = self._request(user, request)
                if known is None:
                    raise LedgerError("an answer can be kept only for a request that was charged")
                may_be_answered(known)
                if known.answered is None:
                    event = writing.append(entry, body)
            if event is not None:
                self._apply(event)
            return event is not None

        with self._lock:
            if self._again(once):
                self._again(self._checkpoint_if_due)
                return body
            kept = self.answer(user, request)
        if kept is None:
            raise LedgerError("the answer of this request could not be kept")
        return kept

    def _again(self, work: Callable[[], T]) -> T:
        """Run an idempotent action, and repeat it if the connection to the shared ledger is lost meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return work()
            except StoreLost:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def drop_answers(self, at: str, reason: str, by: str) -> dict[str, int]:
        """Stop keeping the answers and certificates of charges before a time; returns the bytes of each user.

        That it is done is entered first: a crash in between leaves answers that are no longer given, for the next time.
        """
        freed: dict[str, int] = {}

        def make(state: State) -> dict[str, Any]:
            newer = self._store.newer_than(at)
            # Not the newest entries, which the anchor may have to write again.
            before = max(state.dropped, min(self.entries - 1, self.entries - 1 if newer is None else newer))
            freed.update(self._store.sizes(state.dropped, before))
            return {"type": "dropped", "before": before, "freed": freed, "reason": reason, "by": by}

        self.decide(make)
        with self._lock:
            self._again(lambda: self._store.drop_kept(self.state.dropped))
        return freed

    def rows(self) -> list[Row]:
        """All entries as stored."""
        return self._store.since(FIRST)

    @property
    def entries(self) -> int:
        """How many entries there are, as far as this process knows."""
        return 0 if self._store.last is None else self._store.last.seq

    def hash_of(self, seq: int) -> str | None:
        """The hash of an entry, if there is one of this number."""
        return self._again(lambda: self._store.hash_of(seq) if 0 < seq < 2**63 else None)

    def newest(self, count: int, hidden: tuple[str, ...]) -> list[Event]:
        """The newest entries, but for some types; each is checked against the one before it."""
        reach = 3 * count
        while True:
            first = max(1, self.entries - reach)
            found = [e for e in events_from(self._store, first) if e.body["type"] not in hidden]
            if len(found) >= count or first == 1:
                return found[-count:]
            reach *= 4

    def window(self, first: int, last: int) -> list[Event]:
        """The entries from one number to another, each checked against the one before it."""
        size = max(0, last + 1 - max(1, first))
        return list(islice(events_from(self._store, max(1, first), min(size, BATCH)), size))

    def past(self, after: int = 0) -> Iterator[Event]:
        """All entries after one of them, each checked against the one before it; read in batches."""
        return events_from(self._store, max(1, after + 1))

    def beside(self, seq: int) -> bytes | None:
        """The certificate that was kept beside a charge."""
        return self._again(lambda: self._store.kept(seq))

    def check(self, found_right: Callable[[Checked], None], resume: Checked | None) -> Checked:
        """Check every entry, answer and checkpoint; see history.py."""
        return check_history(self._store, found_right, resume, self.state.dropped)

    def close(self) -> None:
        self._store.close()


def _now() -> str:
    return _moment(int(time.time()))


@lru_cache(maxsize=1)
def _moment(second: int) -> str:
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat()
