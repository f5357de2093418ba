"""Tells somebody when 80 % or all of a budget is spent: by a command, a web address or an e-mail.

An alert says which budget, how much of it, and nothing else. What was told is noted in ``alerts.json`` beside the
ledger, so a restart does not tell it again; a raised budget that is used up again is told again.
"""

from __future__ import annotations

import json
import logging
import os
import smtplib
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail.faults import safe_url
from privjail.server.ledger.state import Scope, State
from privjail.server.security_log import SecurityLog

log = logging.getLogger("privjail.jail")
LEVELS = (Fraction(8, 10), Fraction(1))
SECONDS = 10.0  # for a command, a web address or a mail server
MARK = "alerts.json"


@dataclass(frozen=True)
class Alert:
    """A budget of which so much is spent."""

    dataset: str
    scope: str
    who: str
    percent: int
    limit: str

    def __str__(self) -> str:
        whose = {"dataset": "all users", "user": f"user {self.who}", "group": f"group {self.who}"}[self.scope]
        return f"{self.percent} % of the budget of {whose} on {self.dataset} ({self.limit}) is spent"

    def record(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "scope": self.scope, "who": self.who, "percent": self.percent,
                "limit": self.limit, "text": str(self)}  # fmt: skip


def due(state: State, told: dict[str, list[Any]]) -> list[tuple[str, Alert, Fraction]]:
    """Budgets that passed a level since they were told of last: (their key, the alert, the level)."""
    found = []
    for scope, limit in list(state.limits.items()):
        if not limit or not limit[0] or state.datasets[scope[2]].removed:
            continue
        spent = state.total(scope)
        share = max(Fraction(s) / m for s, m in zip(spent, limit, strict=True) if m)
        reached = max((level for level in LEVELS if share >= level), default=None)
        key = "/".join(scope)
        before, at = told.get(key, ["0", ""])
        text = state.datasets[scope[2]].notion.spelled(limit)
        if reached is not None and (reached > Fraction(before) or at != text):
            found.append((key, _alert(scope, reached, text), reached))
    return found


def _alert(scope: Scope, level: Fraction, limit: str) -> Alert:
    kind, who, dataset = scope
    return Alert(dataset, kind, who, int(level * 100), limit)


class Alerts:
    """Looks at the budgets from time to time, and tells what is due."""

    def __init__(self, folder: Path, ways: dict[str, Any], state: Callable[[], State], security: SecurityLog) -> None:
        self._mark, self._ways, self._state, self._security = folder / MARK, ways, state, security
        try:
            self._told: dict[str, list[Any]] = json.loads(self._mark.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._told = {}

    def look(self) -> None:
        for key, alert, level in due(self._state(), self._told):
            self._security.write("alert", dataset=alert.dataset, user=alert.who or None, percent=alert.percent)
            log.warning("%s", alert)
            for way, wrong in send(self._ways, alert).items():
                if wrong:
                    self._security.write("alert not sent", way=way, why=wrong)
                    log.error("an alert could not be sent by %s: %s", way, wrong)
            self._told[key] = [str(level), alert.limit]
            other = self._mark.with_name(MARK + ".new")
            with open(os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                json.dump(self._told, file)
            os.replace(other, self._mark)


def send(ways: dict[str, Any], alert: Alert) -> dict[str, str | None]:
    """Tell an alert in all ways; returns for each what went wrong, or None."""
    known: dict[str, Callable[[Any, Alert], None]] = {"command": _command, "webhook": _webhook, "email": _email}
    outcome: dict[str, str | None] = {}
    for way, given in ways.items():
        try:
            known[way](given, alert)
            outcome[way] = None
        except (OSError, subprocess.SubprocessError, urllib.error.URLError, smtplib.SMTPException, ValueError) as e:
            outcome[way] = type(e).__name__
    return outcome


def _command(given: list[str], alert: Alert) -> None:
    """A program, without a shell. It gets the alert on its standard input, as JSON."""
    body = json.dumps(alert.record()).encode()
    subprocess.run(given, input=body, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _webhook(given: str, alert: Alert) -> None:
    if not safe_url(given):
        raise ValueError("a web address begins with https://")
    headers = {"Content-Type": "application/json", "User-Agent": "privjail"}
    request = urllib.request.Request(given, json.dumps(alert.record()).encode(), headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        answer.read(1000)


def _email(given: dict[str, str], alert: Alert) -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = f"PrivJail: {alert}", given["from"], given["to"]
    message.set_content(f"{alert}.\n\nSee the console, or: privjail budget {alert.dataset}\n")
    host, _, port = given["server"].partition(":")
    with smtplib.SMTP(host, int(port or 25), timeout=SECONDS) as server:
        server.send_message(message)
