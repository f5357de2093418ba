"""The curator's word about a ledger: that it is the newest, or that it must hold an entry that was noted elsewhere."""

from __future__ import annotations

import datetime
from pathlib import Path

from privjail.curator.checks import need_reason
from privjail.curator.folder import JailFolder, read_config
from privjail.curator.given import whole
from privjail.errors import PlanError
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.store import open_store


def renew_anchor(path: Path, reason: str) -> None:
    """Accept the ledger as the newest copy, on the curator's word and with a reason."""
    need_reason(reason, "renewing an anchor")
    config = read_config(path)
    store = open_store(path, config.get("ledger_url"))
    store.renew_anchor()
    store.close()
    JailFolder(path)._decide(lambda state: {"type": "anchor", "reason": reason})


def drop_answers(folder: JailFolder, days: int, reason: str) -> dict[str, int]:
    """Stop keeping answers and certificates that are older than so many days; returns the bytes of each user."""
    need_reason(reason, "dropping answers")
    at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)
    return folder.ledger.drop_answers(at.isoformat(timespec="seconds"), reason, folder.by)


def expect(folder: JailFolder, given: str) -> None:
    """Compare the log with an entry that was noted elsewhere, as SEQ:HASH."""
    seq, _, head = given.partition(":")
    number = whole(seq)
    if number is None or not head:
        raise PlanError(f"{given!r} is not an entry", do="give it as privjail verify prints it: SEQ:HASH")
    if folder.ledger.hash_of(number) != head:
        raise LedgerError(
            f"the ledger does not contain the entry {seq} that you gave: it was rolled back or replaced",
            do="put the newest copy of the ledger back",
        )
