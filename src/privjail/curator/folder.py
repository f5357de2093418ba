"""A jail's folder, and a curator's decisions in it."""

from __future__ import annotations

import datetime
import json
import os
import re
import secrets
from pathlib import Path
from typing import Any

from privjail.catalogue.origins import fingerprint, origin_of
from privjail.catalogue.schema import read_schema
from privjail.errors import BudgetError, PlanError, SchemaError
from privjail.jail.events import Event, checked, texts
from privjail.jail.ledger import DurableLedger
from privjail.jail.server import open_store, token_hash
from privjail.jail.state import NOTIONS, Scope, State
from privjail.jail.tls import make_certificates, user_certificate

NAME = re.compile(r"[\w.@+-]{1,100}")


class JailFolder:
    """What `privjail init` makes, and what the other commands change: all of it through the ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "jail.json").is_file():
            raise PlanError(f"{str(path)!r} is no jail", do="make one with: privjail init")
        self.config: dict[str, Any] = json.loads((path / "jail.json").read_text(encoding="utf-8"))
        self.ledger = DurableLedger(open_store(path, self.config.get("ledger_url")))

    @property
    def state(self) -> State:
        self.ledger.refresh()
        return self.ledger.state

    def events(self) -> list[Event]:
        """The whole log, checked against its chain."""
        last: Event | None = None
        found = []
        for row in self.ledger.rows():
            last = checked(last, *row)
            found.append(last)
        return found

    @staticmethod
    def init(path: Path, hosts: list[str], address: str, ledger_url: str | None) -> JailFolder:
        path.mkdir(parents=True, exist_ok=True)
        if (path / "jail.json").exists():
            raise PlanError(f"{str(path)!r} is a jail already")
        os.chmod(path, 0o700)
        make_certificates(path, hosts)
        config = {"version": 1, "address": address, "ledger_url": ledger_url}
        (path / "jail.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
        folder = JailFolder(path)
        if not folder.ledger.state.datasets and not folder.ledger.state.users:
            folder.ledger.record({"type": "init", "id": secrets.token_hex(16)})
        return folder

    def add_dataset(
        self, name: str, file: str, schema: Any, budget: list[Any], notion: str, unit: tuple[str | None, int | None],
        kind: str | None = None, query: str | None = None,
    ) -> list[str]:  # fmt: skip
        """Add a data set; returns warnings. The rows are loaded once, to see that they fit the schema."""
        _check_name(name)
        if name in self.state.datasets:
            raise PlanError(
                f"there was a data set {name!r} before; its budget cannot be set anew", do="use another name"
            )
        if notion not in NOTIONS:
            raise BudgetError(f"unknown notion {notion!r}", do=f"use one of {', '.join(NOTIONS)}")
        limit = tuple(_given(b) for b in budget)
        NOTIONS[notion](*limit)
        origin = origin_of(file, kind, query)
        text = schema if isinstance(schema, dict) else _schema_dict(schema)
        warnings = self._trial(origin, text, unit)
        mark = fingerprint(origin, self.path)
        twins = [d.name for d in self.state.datasets.values() if d.fingerprint == mark]
        if twins:
            warnings.append(
                f"the same data is already there as {twins[0]!r}: the two budgets add up for the same people"
            )
        self.ledger.record(
            {"type": "dataset", "name": name, "origin": origin, "schema": text, "unit": list(unit), "notion": notion,
             "limit": texts(limit), "fingerprint": mark}
        )  # fmt: skip
        return warnings

    def _trial(self, origin: dict[str, Any], schema: dict[str, Any], unit: tuple[str | None, int | None]) -> list[str]:
        from privjail.catalogue.load import enforce
        from privjail.catalogue.origins import fetch
        from privjail.ops.source import Unit

        frame, domains = enforce(fetch(origin, self.path), read_schema(schema), Unit(*unit))
        loose = [n for n, d in domains.items() if d.dtype == "untyped"]
        return [f"columns without a schema are untyped and unbounded: {', '.join(loose)}"] if loose else []

    def add_user(self, name: str, role: str, days: int | None, mutual: bool = False) -> dict[str, Any]:
        """Add a user, or give her a new token; returns the contents of her connection file."""
        _check_name(name)
        if role not in ("analyst", "curator"):
            raise PlanError(f"unknown role {role!r}", do="use analyst or curator")
        token = secrets.token_urlsafe(32)
        expires = None
        if days is not None:
            expires = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)).isoformat()
        self.ledger.record({"type": "user", "name": name, "role": role, "token": token_hash(token), "expires": expires})
        file = {
            "address": self.config["address"],
            "user": name,
            "token": token,
            "certificate": (self.path / "jail.crt").read_text(encoding="ascii"),
        }
        if mutual:
            key, certificate = user_certificate(self.path, name)
            file |= {"key": key.decode(), "user_certificate": certificate.decode()}
        return file

    def set_group(self, name: str, members: list[str]) -> None:
        _check_name(name)
        for member in members:
            self._user(member)
        self.ledger.record({"type": "group", "name": name, "members": sorted(set(members))})

    def grant(self, who: str, dataset: str, budget: list[Any], group: bool, reason: str | None) -> None:
        """Set what a user or a group may spend on a data set. Raising it needs a reason."""
        state = self.state
        if dataset not in state.datasets:
            raise PlanError(f"there is no data set {dataset!r}")
        if group and who not in state.groups:
            raise PlanError(f"there is no group {who!r}")
        if not group:
            self._user(who)
        self._limit(("group" if group else "user", who, dataset), budget, reason)

    def raise_budget(self, dataset: str, budget: list[Any], reason: str) -> None:
        """Change the hard cap of a data set."""
        if dataset not in self.state.datasets:
            raise PlanError(f"there is no data set {dataset!r}")
        self._limit(("dataset", "", dataset), budget, reason)

    def _limit(self, scope: Scope, budget: list[Any], reason: str | None) -> None:
        state = self.state
        notion = state.datasets[scope[2]].notion
        limit = tuple(_given(b) for b in budget)
        if len(limit) != len(notion.zero()):
            raise BudgetError(f"a budget under {notion} has {len(notion.zero())} numbers, got {len(limit)}")
        before = state.limits.get(scope)
        if before is not None and any(new > old for new, old in zip(limit, before, strict=True)) and not reason:
            raise PlanError("raising a budget needs a reason, which is logged", do="give --reason '…'")
        self.ledger.record(
            {"type": "limit", "scope": scope[0], "who": scope[1], "dataset": scope[2], "limit": texts(limit),
             "reason": reason}
        )  # fmt: skip

    def revoke(self, user: str, dataset: str | None) -> None:
        self._user(user)
        self.ledger.record({"type": "revoke", "user": user, "dataset": dataset})

    def _user(self, name: str) -> None:
        if name not in self.state.users:
            raise PlanError(f"there is no user {name!r}", do=f"privjail user add {name}")


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise PlanError(f"{name!r} is no good name", do="use letters, digits and . _ - + @")


def _given(budget: Any) -> Any:
    from privjail.budget.amounts import amount

    return amount(budget, "the budget")


def _schema_dict(schema: Any) -> dict[str, Any]:
    """A schema file as a plain dictionary that the ledger can hold."""
    from privjail.catalogue.schema import _load

    if schema is None:
        return {}
    loaded = _load(Path(schema))
    read_schema(loaded)
    if not isinstance(loaded, dict):
        raise SchemaError("a schema must be a table of columns")
    out: dict[str, Any] = json.loads(json.dumps(loaded, default=str))
    return out
