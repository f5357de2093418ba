"""The command ``privjail log``: the audit log and the security log, for people and for other programs."""

from __future__ import annotations

import csv
import json
import sys
import textwrap
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.markup import escape

from privjail.curator.cli.jail import HERE, Where, _folder
from privjail.curator.cli.show import cell, out, plain, quiet
from privjail.distribution import __version__
from privjail.terminal import Json, dumps

COLUMNS = ["entry", "at", "what", "who", "details", "by", "reason"]
FACILITY = 13  # of syslog: log audit
NOTICE, WARNING = 5, 4
SERIOUS = ("failed", "lost", "anchor", "login failed", "login refused", "forged request", "role", "limit hit")


class Form(StrEnum):
    lines = "lines"
    json = "json"
    csv = "csv"
    syslog = "syslog"


@quiet
def log(
    jail: Where = HERE,
    as_json: Json = False,
    last: Annotated[int, typer.Option("-n", help="how many entries", min=1, max=10**9)] = 50,
    who: Annotated[str, typer.Option(help="only of this user, group, data set or curator")] = "",
    dataset: Annotated[str, typer.Option(help="only about this data set")] = "",
    what: Annotated[str, typer.Option(help="only of this kind: charge, limit, user, revoke, …")] = "",
    text: Annotated[str, typer.Option(help="only with these words")] = "",
    since: Annotated[str, typer.Option(help="from this day on, e.g. 2026-11-18")] = "",
    until: Annotated[str, typer.Option(help="up to this day")] = "",
    security: Annotated[bool, typer.Option("--security", help="the security log instead")] = False,
    form: Annotated[Form, typer.Option("--format", help="lines, json, csv, or syslog (RFC 5424)")] = Form.lines,
) -> None:
    """Show the audit log: what was decided, asked and charged. Answers are not in it."""
    wanted = {"who": who, "dataset": dataset, "what": what, "text": text, "since": since, "until": until}
    rows = (_security if security else _entries)(jail, wanted, last)
    if as_json or form is Form.json:
        print(dumps(rows))
    elif form is Form.csv:
        table = csv.DictWriter(sys.stdout, list(dict.fromkeys(k for row in rows for k in row)) or COLUMNS)
        table.writeheader()
        table.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    elif form is Form.syslog:
        for row in rows:
            print(_syslog(row))
    else:
        _lines(rows)


def _entries(jail: Any, wanted: dict[str, str], last: int) -> list[dict[str, Any]]:
    from privjail.curator import views

    found = views.search(_folder(jail), views.Filter(**wanted), None, last)
    return [
        {"entry": e.line.entry, "at": e.line.at, "what": e.line.what, "who": e.line.who, "details": e.line.details,
         "by": e.line.by, "reason": e.reason}
        for e in reversed(found)
    ]  # fmt: skip


def _security(jail: Any, wanted: dict[str, str], last: int) -> list[dict[str, Any]]:
    from privjail.server.security_log import read

    def fits(line: dict[str, Any]) -> bool:
        day, words = str(line.get("at"))[:10], json.dumps(line, ensure_ascii=False).lower()
        return (
            (not wanted["who"] or wanted["who"] == line.get("user"))
            and (not wanted["dataset"] or wanted["dataset"] == line.get("dataset"))
            and (not wanted["what"] or wanted["what"] == line.get("kind"))
            and (not wanted["text"] or wanted["text"].lower() in words)
            and (not wanted["since"] or day >= wanted["since"])
            and (not wanted["until"] or day <= wanted["until"])
        )

    known = ("at", "kind", "user")
    found = [line for line in read(jail) if fits(line)][-last:]
    return [
        {"at": x.get("at"), "what": x.get("kind"), "who": x.get("user"),
         "details": "; ".join(f"{k}: {v}" for k, v in x.items() if k not in known)}
        for x in found
    ]  # fmt: skip


def _lines(rows: list[dict[str, Any]]) -> None:
    """Two or more lines for each entry: readable however narrow the terminal is."""
    width = max(40, out.width)
    for row in rows:
        at = str(row["at"] or "")[:19].replace("T", " ")
        by = f" by {row['by']}" if row.get("by") else ""
        what, who = escape(plain(row["what"])), escape(plain(row["who"] or ""))
        head = f"{row.get('entry', ''):>6} {at:19}  [bold]{what}[/] {who}"
        out.print(head + escape(plain(by)), soft_wrap=True, highlight=False)
        details = plain(row["details"])
        for line in textwrap.wrap(details, width, initial_indent=" " * 7, subsequent_indent=" " * 7):
            out.print(escape(line), soft_wrap=True, highlight=False, style="dim")


def _syslog(row: dict[str, Any]) -> str:
    """RFC 5424. The names of the structured data are stable."""
    level = WARNING if row["what"] in SERIOUS else NOTICE
    pairs = {k: row.get(k) for k in ("entry", "what", "who", "by", "reason") if row.get(k) is not None}
    quoted = " ".join(f'{k}="{_quoted(str(v))}"' for k, v in pairs.items())
    details = plain(row["details"])
    kind = plain(row["what"]).replace(" ", "-")
    return (
        f"<{FACILITY * 8 + level}>1 {row['at'] or '-'} - privjail {__version__} {kind} [privjail@0 {quoted}] {details}"
    )


def _quoted(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(log)
