"""A jail's folder, and the curator's decisions about it."""

from __future__ import annotations

import copy
import datetime
import getpass
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.budget.notions import NOTIONS, name_of
from privjail.curator.checks import (
    check_change_of_cap,
    check_name,
    check_new,
    check_open,
    check_role,
    check_widening,
    need_reason,
    the_analyst,
    the_dataset,
    the_group,
    the_user,
)
from privjail.curator.given import limit_under, new_limit, schema_dict
from privjail.engines.choice import check_engine
from privjail.errors import BudgetError, PlanError
from privjail.server.ledger.events import VERSION, Event, checked, other_version, texts
from privjail.server.ledger.history import Checked
from privjail.server.ledger.ledger import DurableLedger
from privjail.server.ledger.state import ANALYST, Scope, State
from privjail.server.ledger.store import open_store
from privjail.server.rights import Gain, amount, gains, preview
from privjail.server.tls import make_certificates, user_certificate
from privjail.server.tokens import token_hash

LAYOUT = 2  # of the folder; 2: a server certificate apart from the pinned authority, and a security log


def read_config(path: Path) -> dict[str, Any]:
    """The configuration that `privjail init` wrote."""
    file = path / "jail.json"
    if not file.is_file():
        raise PlanError(f"{str(path)!r} is not a jail", do="make one with: privjail init, or name it with --jail")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        if config["version"] != VERSION:
            raise other_version(repr(str(path)))
    except (ValueError, TypeError, KeyError):
        raise PlanError(f"{str(file)!r} is damaged", do="put it back from a copy") from None
    return dict(config)


@dataclass(frozen=True)
class Tried:
    """A decision that was tried and not written: its entry, and the state before and after it."""

    body: dict[str, Any]
    before: State
    after: State


class JailFolder:
    """The folder that `privjail init` makes. All other commands change it through the ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = read_config(path)
        self.ledger = DurableLedger(open_store(path, self.config.get("ledger_url")))
        self.by = _curator()
        self.reason: str | None = None
        self.tried: Tried | None = None  # by ``acting`` with ``dry``: the decision that was tried last

    def acting(self, by: str, reason: str | None = None, dry: bool = False) -> JailFolder:
        """The same jail, with decisions in another name and for a reason; ``dry``: they are tried, and not written."""
        other = copy.copy(self)
        other.by, other.reason, other._dry = by, reason, dry
        return other

    _dry = False

    @property
    def state(self) -> State:
        self.ledger.refresh()
        return self.ledger.state

    def events(self) -> list[Event]:
        """The whole log; its hash chain is checked."""
        last: Event | None = None
        found = []
        for row in self.ledger.rows():
            last = checked(last, *row)
            found.append(last)
        return found

    def newest(self, count: int, hidden: tuple[str, ...] = ()) -> list[Event]:
        """The newest entries, but for some types of them, each checked against the one before it; oldest first."""
        self.ledger.refresh()
        return self.ledger.newest(count, hidden)

    def check(self, progress: Callable[[int, int], None] = lambda done, all_: None, resume: bool = False) -> Checked:
        """Check all of the ledger's past. ``progress`` is told how many entries of how many are done.

        What was found right is noted in the folder, so that a check that was stopped can go on from there (``resume``).
        """
        note = self.path / "verified.json"
        before = None
        if resume and note.is_file():
            before = Checked(*json.loads(note.read_text(encoding="ascii")))

        def found_right(checkpoint: Checked) -> None:
            note.write_text(json.dumps([checkpoint.seq, checkpoint.hash]), encoding="ascii")
            progress(checkpoint.seq, self.ledger.entries)

        newest = self.ledger.check(found_right, before)
        self.ledger.refresh()  # syncs what others wrote: the curator notes the newest entry, so it must not be lost
        return newest

    @staticmethod
    def init(
        path: Path, hosts: list[str], address: str, ledger_url: str | None, like: Path | None = None
    ) -> JailFolder:
        """Make a jail. ``like``: another jail whose certificates and settings it shares, to stand behind one name."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            known = "is a jail already" if (path / "jail.json").exists() else "exists and is not empty"
            raise PlanError(f"{str(path)!r} {known}", do="name a folder that does not exist yet")
        path.mkdir(parents=True, exist_ok=True)
        os.chmod(path, 0o700)
        try:
            _furnish(path, hosts, address, ledger_url, like)
        except BaseException:
            shutil.rmtree(path)  # it was empty
            raise
        return JailFolder(path)

    def _decide(
        self, make: Callable[[State], dict[str, Any]], widen: bool = False, beside: bytes | None = None
    ) -> list[Gain]:  # fmt: skip
        """Make a decision on the newest state and write it, with the curator's name. Returns who can spend more by it.

        A decision that takes rights away is refused if somebody could then spend more, unless `widen` is given.
        """
        found: list[Gain] = []

        def decide(state: State) -> dict[str, Any]:
            body = {**make(state), "by": self.by}
            if self.reason and not body.get("reason"):
                body["reason"] = self.reason
            found[:] = gains(state, body)
            if self._dry:
                self.tried = Tried(body, state, preview(state, body))
            widened = check_widening(body, found, widen)
            return {**body, "widens": widened} if widened else body

        if self._dry:
            decide(self.state)
        else:
            self.ledger.decide(decide, beside)
        return found

    @property
    def after(self) -> State:
        """The state with the last decision, even if it was only tried."""
        return self.state if self.tried is None else self.tried.after

    def add_dataset(
        self, name: str, file: str, schema: Any, budget: list[Any], notion: str, unit: tuple[str | None, int | None],
        kind: str | None = None, query: str | None = None, engine: str | None = None,
        progress: Callable[[int], None] = lambda rows: None, overlap_reason: str | None = None,
        intake_of: str | None = None, entered: str | None = None,
    ) -> list[str]:  # fmt: skip
        """Add a data set; returns warnings. The rows are loaded once, to check that they fit the schema.

        ``progress`` is called with the rows of a large file that are written into the jail's folder.
        ``overlap_reason``: why people who are in another account get one more budget. ``intake_of``, ``entered``: see
        intakes.py.
        """
        from privjail.catalogue.origins import fingerprint, origin_of, remarks
        from privjail.curator import intakes, loading, overlap

        check_name(name)
        check_new(name, self.state)
        if notion not in NOTIONS:
            raise BudgetError(f"unknown notion {notion!r}", do=f"use one of {', '.join(NOTIONS)}")
        limit = new_limit(notion, budget)
        intake = intakes.declared(self.state, intake_of, entered, notion)
        if intake is not None and unit[0] is None:
            raise PlanError("intakes need a column that names the person", do="--unit COLUMN --rows-per-unit N")
        check_engine(engine)
        origin = origin_of(file, kind, query)
        text = schema if isinstance(schema, dict) else schema_dict(schema)
        if origin["kind"] == "held":
            text = loading.ingested(origin, text if schema is not None else None, unit)
        mark = fingerprint(origin)
        trial = loading.tried(self.path, origin, mark, text, unit, progress, intake)
        warnings = [*remarks(origin), *trial.notes]
        body = {"type": "dataset", "name": name, "origin": origin, "schema": text, "unit": list(unit), "engine": engine,
                "notion": notion, "limit": texts(limit), "fingerprint": mark, "columns": trial.columns,
                "rows": trial.rows, **intakes.said(intake)}  # fmt: skip

        def make(state: State) -> dict[str, Any]:
            check_new(name, state)
            told, notes = overlap.checked(known, state, name, name, mark, trial, overlap_reason, intake)
            overlap.note(known, name, name, mark, trial)
            warnings.extend(notes)
            return {**body, **told}

        with overlap.register(self) as known:
            self._decide(make)
        return warnings

    def add_population(
        self, name: str, budget: list[Any], notion: str, intake_of: str | None = None, entered: str | None = None
    ) -> None:
        """Add a population: persons, and one budget for all tables about them."""
        from privjail.curator import intakes

        check_name(name)
        if notion not in NOTIONS:
            raise BudgetError(f"unknown notion {notion!r}", do=f"use one of {', '.join(NOTIONS)}")
        limit = new_limit(notion, budget)
        body = {"type": "dataset", "name": name, "origin": {"kind": "population"}, "schema": {}, "unit": [None, 1],
                "engine": None, "notion": notion, "limit": texts(limit), "fingerprint": "", "columns": [],
                **intakes.said(intakes.declared(self.state, intake_of, entered, notion))}  # fmt: skip

        def make(state: State) -> dict[str, Any]:
            check_new(name, state)
            return body

        self._decide(make)

    def add_table(
        self, name: str, file: str, schema: Any, population: str, person: tuple[str | None, int | None],
        keys: list[str], links: list[str], kind: str | None = None, query: str | None = None,
        overlap_reason: str | None = None, reading: Callable[[str], None] = lambda name: None,
    ) -> list[str]:  # fmt: skip
        """Add a table to a population; returns warnings. The rows are loaded once, with those that they link to.

        ``reading`` is called with the name of each table before it is read.
        """
        from privjail.catalogue.origins import fingerprint, origin_of, remarks
        from privjail.curator import loading, overlap

        check_name(name)
        check_new(name, self.state)
        people = check_open(self.state, population)
        if not people.is_population:
            raise PlanError(f"{population!r} is no population", do="privjail population add NAME --budget …")
        origin = origin_of(file, kind, query)
        if origin["kind"] == "held":
            raise PlanError("ingested data cannot be a table of a population yet", do="add the file itself")
        text = schema if isinstance(schema, dict) else schema_dict(schema)
        mark = fingerprint(origin)
        body = {"type": "dataset", "name": name, "origin": origin, "schema": text, "unit": list(person), "engine": None,
                "notion": name_of(people.notion), "limit": [], "fingerprint": mark, "columns": [],
                "population": population, "keys": keys, "links": links}  # fmt: skip
        tried = State(datasets=dict(self.state.datasets)).add_dataset(body)
        trial = loading.tried_table(tried, self.state.datasets, self.path, {}, reading)
        warnings = [*remarks(origin), *trial.notes]

        def make(state: State) -> dict[str, Any]:
            check_new(name, state)
            check_open(state, population)
            told, notes = overlap.checked(known, state, name, population, mark, trial, overlap_reason)
            overlap.note(known, name, population, mark, trial)
            warnings.extend(notes)
            return {**body, **told, "columns": trial.columns, "rows": trial.rows}

        with overlap.register(self) as known:
            self._decide(make)
        return warnings

    def remove_dataset(self, name: str) -> None:
        """Close a data set permanently, for everybody. Its charges stay in the ledger; a copy of its rows goes."""
        from privjail.catalogue.held_copy import drop_other_copies

        def make(state: State) -> dict[str, Any]:
            check_open(state, name)
            return {"type": "remove", "name": name}

        self._decide(make)
        drop_other_copies(self.path, [e for e in self.state.datasets.values() if not e.removed])

    def add_user(
        self, name: str, days: int | None, mutual: bool = False, role: str | None = None, renews: bool = False
    ) -> dict[str, Any]:  # fmt: skip
        """Add a user, or give her a new token; returns the contents of her connection file. Her role stays as it is.

        ``renews``: her old token must still be accepted, and the new one ends when the old one would have.
        """
        check_name(name)
        token = secrets.token_urlsafe(32)
        expires = None
        if days is not None:
            end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
            expires = end.isoformat(timespec="seconds")
        file = {
            "address": self.config["address"],
            "user": name,
            "token": token,
            "certificate": (self.path / "jail.crt").read_text(encoding="ascii"),
        }
        if mutual:
            key, certificate = user_certificate(self.path, name)
            file |= {"key": key.decode(), "user_certificate": certificate.decode()}
        body = {"type": "user", "name": name, "token": token_hash(token), "expires": expires}

        def make(state: State) -> dict[str, Any]:
            if renews:
                known = state.users.get(name)
                if known is None or not known.active(datetime.datetime.now(datetime.UTC)):
                    raise PlanError("your token is no longer accepted", do="ask the curator for a new one")
                body["expires"] = known.expires
            had = state.users[name].role if name in state.users else ANALYST
            check_role(state, name, role or had)
            return body if (role or had) == ANALYST else {**body, "role": role or had}

        self._decide(make)
        return file

    def pardon(self, name: str, reason: str | None) -> None:
        """Allow releases again to a user whose requests failed too often inside the jail."""

        def make(state: State) -> dict[str, Any]:
            the_user(state, name)
            need_reason(reason or self.reason, "pardoning a user after failures inside the jail")
            return {"type": "pardon", "name": name, "reason": reason}

        self._decide(make)

    def set_group(self, name: str, members: list[str], widen: bool = False) -> list[str]:
        """Set the members of a group; returns warnings. The group's limits no longer apply to users who leave it."""
        check_name(name)

        def make(state: State) -> dict[str, Any]:
            for member in members:
                the_user(state, member)
            return {"type": "group", "name": name, "members": sorted(set(members))}

        return [str(gain) for gain in self._decide(make, widen)]

    def grant(
        self, who: str, dataset: str, budget: list[Any], group: bool, reason: str | None, wish: int | None = None
    ) -> list[str]:  # fmt: skip
        """Set what a user or a group may spend on a data set; returns warnings. Raising it needs a reason.

        ``wish``: the number of the analyst's request that is granted by this.
        """
        scope = ("group" if group else "user", who, dataset)
        gained = self._limit(scope, budget, reason or self.reason, wish=wish)
        state = self.after
        cap, limit = state.limits[("dataset", "", dataset)], state.limits[scope]
        warnings = []
        if cap is not None and limit is not None and any(x > most for x, most in zip(limit, cap, strict=True)):
            warnings.append(
                f"the grant of {amount(limit)} is above the cap of {dataset!r}: all users together may spend "
                f"{amount(cap)}, and {amount(state.total(('dataset', '', dataset)))} of it is spent"
            )
        return warnings + [str(gain) for gain in gained if group]

    def raise_budget(self, dataset: str, budget: list[Any], reason: str | None) -> list[str]:
        """Raise the hard cap of a data set; returns warnings."""
        return [str(gain) for gain in self._limit(("dataset", "", dataset), budget, reason or self.reason, "--raise")]

    def lower_budget(self, dataset: str, budget: list[Any], reason: str | None) -> None:
        """Lower the hard cap of a data set, at most to what is spent."""
        self._limit(("dataset", "", dataset), budget, reason or self.reason, "--lower")

    def _limit(
        self, scope: Scope, budget: list[Any], reason: str | None, cap: str = "", wish: int | None = None
    ) -> list[Gain]:  # fmt: skip
        kind, who, dataset = scope

        def make(state: State) -> dict[str, Any]:
            if kind == "user":
                the_analyst(state, who)
            elif kind == "group":
                the_group(state, who)
            entry = check_open(state, dataset)
            if entry.population is not None:
                raise PlanError(
                    f"{dataset!r} has no budget of its own", do=f"set that of its population, {entry.population!r}"
                )
            limit = limit_under(entry.notion, budget)
            before = state.former.get(scope)
            if cap and before is not None:
                check_change_of_cap(cap, dataset, before, limit, state.total(scope))
            if cap == "--lower":
                need_reason(reason, "lowering a budget")
            elif before is not None and any(new > old for new, old in zip(limit, before, strict=True)):
                need_reason(reason, "raising a budget")
            body = {"type": "limit", "scope": kind, "who": who, "dataset": dataset, "limit": texts(limit),
                    "reason": reason}  # fmt: skip
            return body if wish is None else {**body, "wish": wish}

        return self._decide(make)

    def revoke(self, who: str, dataset: str | None, group: bool = False, widen: bool = False) -> list[str]:
        """Revoke a user, or the grant of a user or a group on one data set; returns warnings."""
        warnings: list[str] = []

        def make(state: State) -> dict[str, Any]:
            if group and dataset is None:
                raise PlanError("a whole group cannot be revoked", do="give --dataset NAME, or revoke its members")
            (the_group if group else the_user)(state, who)
            scope = ("group" if group else "user", who, dataset or "")
            if dataset is not None:
                the_dataset(state, dataset)
                if scope not in state.limits:
                    raise PlanError(f"{who!r} has no grant on {dataset!r}", do="see: privjail budget")
                rest = [g for g in state.groups_of(who) if ("group", g, dataset) in state.limits and not group]
                warnings.extend(f"{who} may still use {dataset} as a member of {g}" for g in rest)
            return {"type": "revoke", "scope": scope[0], "who": who, "dataset": dataset}

        return warnings + [str(gain) for gain in self._decide(make, widen)]


def _furnish(path: Path, hosts: list[str], address: str, ledger_url: str | None, like: Path | None = None) -> None:
    if like is None:
        make_certificates(path, hosts)
    else:
        for name in ("jail.key", "jail.crt", "users.key", "users.crt", "server.pem", "chain.pem"):
            if (like / name).is_file():
                shutil.copy2(like / name, path / name)
    ledger = DurableLedger(open_store(path, ledger_url, new=True))
    if not ledger.entries:  # a jail may join others whose ledger is there
        ledger.record({"type": "init", "version": VERSION, "id": secrets.token_hex(16), "by": _curator()})
    ledger.close()
    config = {"version": VERSION, "layout": LAYOUT, "address": address, "ledger_url": ledger_url}
    with open(os.open(path / "jail.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(config, file, indent=1)


def _curator() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this user id
        return str(os.getuid())
