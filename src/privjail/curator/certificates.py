"""The certificates that a jail keeps beside charges: made, read and checked."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from typing import Any

from privjail.budget.notions import Notion
from privjail.curator.folder import JailFolder
from privjail.release import Query
from privjail.server.ledger.events import LedgerError

MOST_BYTES = 64 * 2**20  # of certificates, unpacked


def packed(asks: list[Query], notion: Callable[[str], Notion]) -> bytes:
    """The certificates of all releases of a request."""
    from privjail.verify.certificate import written

    made = []
    for ask in asks:
        roots = {cell.root for cell in ask.value.cells}
        made.append(written(ask, {root: notion(str(root.partition)) for root in roots})[0])
    return zlib.compress(f"[{','.join(made)}]".encode(), 1)


def read(folder: JailFolder, entry: int) -> list[dict[str, Any]] | None:
    """The certificates of a charge; None if none were kept."""
    event = folder.ledger.window(entry, entry)[0]
    body = folder.ledger.beside(entry)
    if "certificate" not in event.body or body is None:
        return None
    if hashlib.sha256(body).hexdigest() != event.body["certificate"]:
        raise LedgerError(f"the certificate that was kept with entry {entry} was changed")
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(body, MOST_BYTES)
    if not unpacker.eof:
        raise LedgerError(f"the certificate that was kept with entry {entry} is too large to be shown")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def checked(certificates: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What the independent checker says of each: a verdict, and problems."""
    from privjail.verify.checker import check

    reports = [check(each) for each in certificates]
    return [(report.verdict, list(report.problems)) for report in reports]
