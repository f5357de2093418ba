"""Why a request is not charged, or was charged and gets no answer, in words for the analyst."""

from __future__ import annotations

from privjail.server.ledger.entries import RequestEntry, Scope
from privjail.server.ledger.events import LedgerError


def may_be_answered(known: RequestEntry) -> None:
    """Refuse a request that is known to have no answer."""
    if known.given_up:
        raise LedgerError(
            "this request took longer than this jail allows; it stays charged, and is not run again",
            do="ask for less at once, as a new request",
        )
    if known.lost:
        raise LedgerError(
            "the machine of the jail was restarted before the answer to this request was on its disk; it may have "
            "been sent, so there is no other, and it stays charged",
            do="ask again, as a new request",
        )


def too_late() -> LedgerError:
    # Its cells are those of the rows at that time. Read from other rows, they could be cells of other people.
    return LedgerError(
        "the data was updated after this request was charged and before it was answered; it stays charged",
        do="ask again, as a new request",
    )


def under(scope: Scope, user: str) -> str:
    """By whose rule something is refused, in words for the user."""
    kind, who, dataset = scope
    return {
        "dataset": f"on {dataset!r}",
        "user": f"by you on {dataset!r}",
        "group": f"by group {who!r} on {dataset!r}",
    }[kind]


def whose_limit(kind: str, who: str) -> str:
    if kind == "group":
        return f"of group {who!r}"
    return {"dataset": "of the data set", "user": "granted to you", "block": "of this block"}[kind]
