"""Charges one release to the durable ledger, all of it or nothing, in fractions of limited length."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

from privjail.budget.ledger import Charge
from privjail.budget.notions import Cost, Notion
from privjail.plan.cells import Cell
from privjail.server.deadline import Deadline
from privjail.server.ledger.ledger import DurableLedger, Epochs, dataset_of
from privjail.server.ledger.room import Room
from privjail.server.limits import Limits

EXACT_BITS = 1024
FINE = 2**64


class Denominators:
    """The common denominator of the ledger's fractions, for each user and data set.

    Amounts are exact, so that ten times 1/10 is 1. But sums of fractions with ever new denominators grow without limit
    and would slow the ledger down for everybody. A user whose common denominator would exceed 1024 bits is charged in
    steps of 2**-64 instead, rounded up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._common: dict[tuple[str, str], int] = {}

    def rounded(self, user: str, dataset: str, cost: Fraction) -> Fraction:
        with self._lock:
            common = lcm(self._common.get((user, dataset), 1), cost.denominator)
            if common.bit_length() > EXACT_BITS:
                return Fraction(ceil(cost * FINE), FINE)
            self._common[user, dataset] = common
            return cost


@dataclass
class Progress:
    """How far a release has come, which decides what happens if it fails."""

    deadline: Deadline
    touched: bool = False  # data may have been read: an error from now on may depend on it
    charged: bool = False  # the charge is in the ledger
    entry: int | None = None  # the number of its entry, if this attempt made it
    reserved: int = 0  # bytes of memory, until the release ends


@dataclass(frozen=True)
class NotionOf:
    notion: Notion


@dataclass
class Charging:
    """The ledger for one request of one user: what release.py charges, while the request's deadline is held back.

    A release that is charged to no cell depends on no data: it costs 0, however often it is repeated. So neither the
    release nor its answer is written, which would fill the disk for nothing; a repetition draws new noise.
    """

    ledger: DurableLedger
    user: str
    request: str
    digest: str
    body: dict[str, Any]
    caps: dict[str, Cost]
    room: Room
    epochs: Epochs
    limits: Limits
    denominators: Denominators
    progress: Progress

    def account(self, root: Cell) -> NotionOf:
        return NotionOf(self.ledger.state.datasets[dataset_of(root)].notion)

    def charge(self, charges: list[Charge]) -> None:
        if not charges:
            self.progress.touched = True
            return
        steps = sum(cell.depth + 1 for cell, _ in charges)
        self.limits.check("cells charged in one request", steps, self.limits.charged_steps_per_request)
        rounded = [
            (cell, tuple(self.denominators.rounded(self.user, dataset_of(cell), x) for x in cost))
            for cell, cost in charges
        ]
        with self.progress.deadline.shield():
            self.progress.entry = self.ledger.charge(
                self.user, self.request, self.digest, self.body, rounded, self.caps, self.room, self.epochs
            )
            self.progress.touched = self.progress.charged = True
