"""The durable ledger: one writer at a time, checked and kept before any data is touched."""

from __future__ import annotations

import datetime
import threading
from dataclasses import dataclass
from typing import Any

from privjail.budget.ledger import Charge
from privjail.budget.notions import Cost, Notion
from privjail.budget.tree import Address
from privjail.errors import PlanError
from privjail.jail.events import texts
from privjail.jail.state import State
from privjail.jail.store import Store
from privjail.plan.cells import Cell


def address_of(cell: Cell) -> Address:
    """A cell by names that mean the same in every process."""
    known: Address | None = cell.__dict__.get("_address")
    if known is None:
        known = ()
        if cell.parent is not None:
            assert not isinstance(cell.partition, str)
            known = (*address_of(cell.parent), (cell.partition.name, f"{cell.key.type_}:{cell.key.spelling}"))
        object.__setattr__(cell, "_address", known)
    return known


def dataset_of(cell: Cell) -> str:
    return str(cell.root.partition)


class DurableLedger:
    """Events on disk, and the state that they add up to in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self.state = State()
        for event in store.start():
            self.state.apply(event.body)

    def refresh(self) -> None:
        """Take in what others wrote."""
        with self._lock:
            for event in self._store.news():
                self.state.apply(event.body)

    def record(self, body: dict[str, Any]) -> None:
        """Append a curator's decision."""
        with self._lock, self._store.writing() as writing:
            self.refresh()
            event = writing.append({"at": _now(), **body})
        self.state.apply(event.body)

    def charge(self, user: str, request: str, digest: str, body: dict[str, Any], charges: list[Charge],
               caps: dict[str, Cost]) -> None:  # fmt: skip
        """Charge a request once: check every limit and write it down, or raise and write nothing."""
        listed = [(dataset_of(cell), address_of(cell), cost) for cell, cost in charges]
        with self._lock:
            with self._store.writing() as writing:
                self.refresh()
                known = self.state.requests.get((user, request))
                if known is not None:
                    if known != digest:
                        raise PlanError("this request id was used before, for another request")
                    return
                self.state.check(user, listed, caps)
                event = writing.append(
                    {
                        "type": "charge",
                        "at": _now(),
                        "user": user,
                        "groups": self.state.groups_of(user),
                        "request": request,
                        "digest": digest,
                        "charges": [[d, [list(s) for s in a], texts(c)] for d, a, c in listed],
                        **body,
                    }
                )
            self.state.apply(event.body)

    def known(self, user: str, request: str) -> str | None:
        """The digest of a request that was charged before, if there was one."""
        with self._lock:
            self.refresh()
            return self.state.requests.get((user, request))

    def answer(self, user: str, request: str) -> bytes | None:
        return self._store.answer(user, request)

    def keep_answer(self, user: str, request: str, body: bytes) -> bytes:
        """Keep an answer before it is sent; the first one kept is the one that is sent."""
        self._store.put_answer(user, request, body)
        kept = self._store.answer(user, request)
        return body if kept is None else kept

    def rows(self) -> list[tuple[int, str, str]]:
        """All entries as they are stored."""
        return self._store.after(0)

    def close(self) -> None:
        self._store.close()


@dataclass(frozen=True)
class NotionOf:
    notion: Notion


@dataclass
class RequestLedger:
    """The ledger as one request of one user sees it; what release.py charges."""

    ledger: DurableLedger
    user: str
    request: str
    digest: str
    body: dict[str, Any]
    caps: dict[str, Cost]

    def account(self, root: Cell) -> NotionOf:
        return NotionOf(self.ledger.state.datasets[dataset_of(root)].notion)

    def charge(self, charges: list[Charge]) -> None:
        self.ledger.charge(self.user, self.request, self.digest, self.body, charges, self.caps)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
