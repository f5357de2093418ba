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


class SessionCertificates:
    """Writes what a jail keeps beside the charges of one session, packed."""

    def __init__(self) -> None:
        from privjail.verify.certificate_chain import CertificateChain

        self._chain = CertificateChain()

    def packed(self, asks: list[Query], notion: Callable[[str], Notion], block: Notion | None = None) -> bytes | None:
        """The certificates of a request, as far as earlier ones do not say it; None if the request is too large."""
        link = self._chain.link(asks, notion, block)
        return None if link is None else zlib.compress(link.encode(), 1)

    def settle(self, entry: int | None) -> None:
        """The number of the entry that was stored with them; None if there is none."""
        self._chain.settle(entry)


def read(folder: JailFolder, entry: int) -> list[dict[str, Any]] | None:
    """The certificates of a charge; None if none were kept, or if some that they go on from were removed since."""
    from privjail.verify.certificate import to_json
    from privjail.verify.certificate_chain import LINKS, whole

    links: list[dict[str, Any]] = []
    room = MOST_BYTES
    next_: int | None = entry
    while next_ is not None and len(links) < LINKS:
        found = _link(folder, next_, room)
        if found is None:
            return None
        link, room = found
        if isinstance(link, list):  # written before there were chains: certificates that stand alone
            return link
        links.append(link)
        next_ = link["after"]
    shown: list[dict[str, Any]] = []
    room = MOST_BYTES
    for each in whole(reversed(links)):  # a link says once what each of its releases rests on
        room -= len(to_json(each))
        if room < 0:
            raise _too_large(entry)
        shown.append(each)
    return shown


def _link(folder: JailFolder, entry: int, room: int) -> tuple[Any, int] | None:
    """What was kept with one entry, and how many more bytes may be read."""
    event = folder.ledger.window(entry, entry)[0]
    body = folder.ledger.beside(entry)
    if "certificate" not in event.body or body is None:
        return None
    if hashlib.sha256(body).hexdigest() != event.body["certificate"]:
        raise LedgerError(f"the certificate that was kept with entry {entry} was changed")
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(body, room + 1)  # 0 would be no limit
    if not unpacker.eof or len(text) > room:
        raise _too_large(entry)
    return json.loads(text), room - len(text)


def _too_large(entry: int) -> LedgerError:
    return LedgerError(f"the certificate that was kept with entry {entry} is too large to be shown")


def checked(certificates: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What the independent checker says of each: a verdict, and problems."""
    from privjail.verify.checker import check

    reports = [check(each) for each in certificates]
    return [(report.verdict, list(report.problems)) for report in reports]
