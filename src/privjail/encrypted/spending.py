"""What was spent: each server's own ledger, on the jail's append-only chain. Charged before any noise is drawn."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

from privjail.encrypted.plans import Plan
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.store import SQLiteStore


class Spending:
    """The charges of one study, kept in `folder`; never more than the budget."""

    def __init__(self, folder: Path, budget: Fraction) -> None:
        self._lock = threading.Lock()
        self._budget = budget
        self._charges: dict[str, tuple[str, Fraction, str]] = {}
        try:
            self._store = SQLiteStore(folder, new=not (folder / "ledger.sqlite").exists())
            for event in self._store.start():
                self._take(event.body)
        except LedgerError as e:
            do = e.do or "put the newest ledger.sqlite, anchor.0 and anchor.1 back, all three of the same moment"
            raise LedgerError(f"ledger.sqlite of {folder.name!r}: {e.what}", do=do) from None

    def _take(self, body: dict[str, str]) -> None:
        self._charges[body["release"]] = (body["method"], Fraction(body["epsilon"]), body.get("mark", ""))

    @property
    def spent(self) -> Fraction:
        return sum((epsilon for _, epsilon, _ in self._charges.values()), Fraction(0))

    @property
    def budget(self) -> Fraction:
        return self._budget

    def charge(self, release: str, plan: Plan, mark: str) -> None:
        """Charge a release, durably. One that was charged before is not charged again, and must be the same.

        So must be the state it goes on from, which `mark` tells: without it noise would be drawn twice for one charge.
        """
        with self._lock:
            known = self._charges.get(release)
            if known is not None:
                if known[:2] != (plan.method, plan.epsilon):
                    raise PlanError(f"release {release!r} was begun with another method or ε", do="use another name")
                if known[2] != mark:
                    raise DPError(
                        f"release {release!r} was paid for, but state.sqlite does not know it: lost, or an old copy",
                        do="put the newest state.sqlite back, or use another name",
                    )
                return
            left = self._budget - self.spent
            if plan.epsilon > left:
                raise BudgetExceeded(
                    f"this release costs {plan.epsilon}, and {left} of the study's {self._budget} are left",
                    do="use what was published: range queries of it cost nothing",
                )
            body = {"release": release, "method": plan.method, "epsilon": str(plan.epsilon), "mark": mark}
            with self._store.writing() as writing:
                for event in self._store.news():
                    self._take(event.body)
                if self.spent + plan.epsilon > self._budget:
                    raise BudgetExceeded("another process spent the study's budget meanwhile")
                writing.append(body)
            self._take(body)

    def close(self) -> None:
        self._store.close()
