"""Breaks a jail in one place: the process ends there at once, as by a power cut. Used in forked jails only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: In the order in which a release passes them.
POINTS = (
    "charge: before the note",
    "charge: within the note",
    "charge: after the note",
    "charge: entry inserted",
    "charge: committed",
    "evaluated",
    "noise drawn",
    "answer: before the note",
    "answer: within the note",
    "answer: after the note",
    "answer: entry inserted",
    "answer: kept",
)


def arm(point: str, drawn: str) -> None:
    """End the process at this point; what was drawn before it is left in a file."""
    from privjail.engines.polars.engine import PolarsEngine
    from privjail.server.ledger.anchor import Anchor
    from privjail.server.ledger.ledger import DurableLedger
    from privjail.server.ledger.store import SQLiteStore
    from privjail.release import ReleaseGate

    kind, _, where = point.partition(": ")

    def crash(*_: Any) -> None:
        os._exit(9)

    def of_kind(event: Any) -> bool:
        return bool(event.body["type"] == kind)

    def noting(self: Any, slot: int, note: Any, **how: Any) -> None:
        if of_kind(note.event) and where == "before the note":
            crash()
        if of_kind(note.event) and where == "within the note":
            write(self, slot, note, **how)
            path = self._files[slot]
            os.truncate(path, path.stat().st_size // 2)
            crash()
        write(self, slot, note, **how)
        if of_kind(note.event) and where == "after the note":
            crash()

    def inserting(self: Any, event: Any, answer: Any) -> None:
        insert(self, event, answer)
        if of_kind(event) and where == "entry inserted":
            crash()

    def keeping(self: Any, user: str, request: str, body: bytes) -> bytes:
        Path(drawn).write_bytes(body)
        kept = keep(self, user, request, body)
        if point == "answer: kept":
            crash()
        return kept

    write, insert, keep = Anchor.write, SQLiteStore._insert, DurableLedger.keep_answer
    Anchor.write, SQLiteStore._insert = noting, inserting  # type: ignore[method-assign]
    DurableLedger.keep_answer = keeping  # type: ignore[method-assign]
    if point == "charge: committed":
        _after(DurableLedger, "charge", crash)
    if point == "evaluated":
        _after(PolarsEngine, "evaluate", crash)
    if point == "noise drawn":
        _after(ReleaseGate, "release", crash)


def _after(cls: type, name: str, then: Callable[..., None]) -> None:
    inner = getattr(cls, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        then()
        return result

    setattr(cls, name, outer)
