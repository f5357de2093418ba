"""What was spent: each server's own ledger, on the jail's append-only chain. Charged before any noise is drawn.

Several studies of the same owners share an *account*: a ledger of its own with a budget of its own, on each server. A
release is charged to the account first, then to its study, so that an interruption in between costs, and never gives.
"""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from pathlib import Path

from privjail.encrypted.plans import Plan
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.store import SQLiteStore

ACCOUNT, SHARED = "account.json", "shared.json"


def make_account(folder: Path, budget: Fraction) -> None:
    """A folder for the charges of several studies of the same owners; its budget is set once."""
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise PlanError(f"{folder.name!r} exists and was left as it is", do="choose another folder") from None
    (folder / SHARED).write_text(json.dumps({"budget": str(budget)}) + "\n", encoding="utf-8")
    SQLiteStore(folder, new=True).close()


def use_account(folder: Path, account: Path) -> None:
    """Let the server in `folder` charge this account, too."""
    _account_budget(account)
    (folder / ACCOUNT).write_text(json.dumps({"folder": str(account.resolve())}) + "\n", encoding="utf-8")


def _account_budget(account: Path) -> Fraction:
    try:
        return Fraction(json.loads((account / SHARED).read_text(encoding="utf-8"))["budget"])
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        do = "make one with: privjail encrypted keys account"
        raise PlanError(f"{account.name!r} is no account of several studies", do=do) from None


def opened_account(folder: Path, study: bytes) -> Spending | None:
    """The account that the server in `folder` charges, if there is one; releases are named by their study in it."""
    if not (folder / ACCOUNT).exists():
        return None
    try:
        account = Path(json.loads((folder / ACCOUNT).read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError, TypeError):
        raise PlanError(f"{ACCOUNT} of {folder.name!r} cannot be read", do="put it back") from None
    budget = _account_budget(account)
    if not (account / "ledger.sqlite").exists():
        raise PlanError(
            f"the ledger of the account {account.name!r} is not there", do="put it back; do not make a new one"
        )
    return Spending(account, budget, prefix=study.hex()[:32] + " ")


class Spending:
    """The charges of one study, kept in `folder`; never more than the budget."""

    def __init__(self, folder: Path, budget: Fraction, account: Spending | None = None, prefix: str = "") -> None:
        self._lock = threading.Lock()
        self._account, self._prefix = account, prefix
        self._budget = budget
        self._charges: dict[str, tuple[str, Fraction, str]] = {}
        self._noted: dict[tuple[str, str], str] = {}  # the mark of what a step of a release made
        self._failed: set[str] = set()  # releases in which the other server sent what an honest one never sends
        try:
            self._store = SQLiteStore(folder, new=not (folder / "ledger.sqlite").exists())
            for event in self._store.start():
                self._take(event.body)
        except LedgerError as e:
            do = e.do or "put the newest ledger.sqlite, anchor.0 and anchor.1 back, all three of the same moment"
            raise LedgerError(f"ledger.sqlite of {folder.name!r}: {e.what}", do=do) from None

    def _take(self, body: dict[str, str]) -> None:
        if "step" in body:
            self._noted[body["release"], body["step"]] = body["mark"]
            if "failed" in body:
                self._failed.add(body["release"])
            return
        self._charges[body["release"]] = (body["method"], Fraction(body["epsilon"]), body.get("mark", ""))

    @property
    def failed(self) -> int:
        """Releases that the other server spoilt."""
        return len(self._failed)

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
        if self._account is not None:
            self._account.charge(release, plan, mark)
        release = self._prefix + release
        with self._lock:
            if self._prefix:  # other studies charge it meanwhile
                with self._store.writing():
                    for event in self._store.news():
                        self._take(event.body)
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

    def note(self, release: str, step: str, mark: str, failed: bool = False) -> None:
        """Note what a step with noise made, durably, before anything of it is sent.

        An old copy of state.sqlite from the middle of a release lacks what the step made, and would draw noise a second
        time under the same charge. What it makes then has another mark, and is refused here.
        """
        with self._lock:
            known = self._noted.get((release, step))
            if known is None:
                body = {"release": release, "step": step, "mark": mark} | ({"failed": "1"} if failed else {})
                with self._store.writing() as writing:
                    for event in self._store.news():
                        self._take(event.body)
                    writing.append(body)
                self._take(body)
            elif known != mark:
                raise DPError(
                    f"step {step!r} of release {release!r} was done before; state.sqlite lacks it: it is an old copy",
                    do="put the newest state.sqlite back, or use another name",
                )

    def close(self) -> None:
        if self._account is not None:
            self._account.close()
        self._store.close()
