"""The gateway: takes records from browsers over HTTP and passes them to the compute server.

It belongs to the compute server: it sees what that server sees, encrypted records with their owners' names, and keeps
nothing. A record is answered only after the compute server has answered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import submission
from privjail.encrypted.records import size_of
from privjail.encrypted.study import Study
from privjail.encrypted.wire import Caller
from privjail.errors import DPError, PlanError
from privjail.page_server import PageServer

HEAD = 4096  # bytes at most of what stands before a record


class Gateway(PageServer):
    """An HTTP server with two addresses: the page, and ``submit``."""

    def __init__(
        self,
        study: Study,
        page: str,
        address: tuple[str, int] = ("127.0.0.1", 0),
        *,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self._study, self._caller = study, Caller("Compute", study.compute, patience=5.0)
        most = 4 + HEAD + size_of(study.terms.bins)
        # The page may come from elsewhere, and is better for it.
        super().__init__(page, {"/submit": self._take}, address, largest=most, certificate=certificate, anywhere=True)

    def _take(self, body: bytes) -> tuple[int, dict[str, str]]:
        try:
            result = passed_on(self._study, self._caller, body)
        except PlanError as e:
            return 400, {"status": "refused", "why": str(e)}
        except DPError as e:
            return 503, {"status": "refused", "why": str(e)}
        return 200, {"status": result.status, "why": result.why}

    def stop(self) -> None:
        super().stop()
        self._caller.close()


def passed_on(study: Study, caller: Caller, body: bytes) -> Any:
    """One record: four bytes that tell the length of a JSON head, the head, the record."""
    size = int.from_bytes(body[:4], "little")
    if not 0 < size <= HEAD or len(body) < 4 + size:
        raise PlanError("this is no submission", do="use the study's page")
    try:
        head = json.loads(body[4 : 4 + size])
        asked = tuple(str(head[name]) for name in ("study", "key", "owner", "ticket"))
        ticket = bytes.fromhex(asked[3])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PlanError("this is no submission", do="use the study's page") from None
    if asked[:2] != (study.id.hex(), study.key.hex()):
        raise PlanError("this is for another study", do="use the newest page")
    request = submission(study, [(asked[2], ticket)], [body[4 + size :]])
    return caller.call("Submit", request, pb.SubmitReply).results[0]
