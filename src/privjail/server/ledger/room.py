"""How much the ledger may keep for a user."""

from __future__ import annotations

from dataclasses import dataclass

from privjail.server.limits import LimitError


@dataclass(frozen=True)
class Room:
    """The most bytes of an answer, and how many bytes may be kept for its user."""

    answer: int = 0
    most: int | None = None
    beside: bytes | None = None  # the certificate, which is kept beside the charge

    @property
    def bytes(self) -> int:
        return self.answer + len(self.beside or b"")

    def check(self, kept: int) -> None:
        if self.most is not None and kept > self.most:
            raise LimitError(
                f"bytes kept for you: {kept} with this request is over this jail's limit of {self.most}; "
                "nothing was charged",
                do="ask for less at once, or ask the curator for more room (privjail serve --kept-per-user)",
            )
