"""`privjail log --format csv` and `syslog`: read back by their own rules, with hostile names and reasons in them."""

from __future__ import annotations

import csv
import datetime
import io
import re

import pytest
from typer.testing import CliRunner

from privjail.curator.cli.log import COLUMNS
from privjail.curator.cli.root import app
from privjail.curator.folder import JailFolder
from privjail.server.security_log import SecurityLog
from tests.server.jails import make_jail

NASTY = '=cmd(), "quoted" ] \\ back\nnext line\x1b[31m é'

#: RFC 5424, section 6: HEADER SP STRUCTURED-DATA SP MSG. Names have no blanks, "=", "]" or quotes.
NAME = r"[!#-<>-\\^-~]{1,32}"
VALUE = r'(?:[^"\\\]]|\\["\\\]])*'
SYSLOG = re.compile(
    r"<(?P<pri>\d{1,3})>1 "
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) "
    r"(?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) (?P<proc>[!-~]{1,128}) (?P<id>[!-~]{1,32}) "
    rf'\[(?P<sd>{NAME}(?: {NAME}="{VALUE}")*)\] (?P<msg>[^\x00-\x1f]*)'
)


@pytest.fixture(scope="module")
def jail(tmp_path_factory):
    where = tmp_path_factory.mktemp("log")
    folder = make_jail(where, budget=5)
    folder.grant("ann", "census", [2], False, NASTY)
    folder.ledger.record({"type": "failed", "user": "ann", "request": "00" * 16, "at": "2026-01-01T00:00:00+00:00"})
    SecurityLog(where / "jail", "console").write("login failed", source="127.0.0.1", named=NASTY)
    folder.ledger.close()
    return where / "jail"


def run(jail, *arguments):
    done = CliRunner().invoke(app, ["log", "--jail", str(jail), *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout_bytes.decode()


def test_csv_is_read_back_with_one_row_for_each_entry(jail):
    text = run(jail, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert list(rows[0]) == COLUMNS == ["entry", "at", "what", "who", "details", "by", "reason"]
    shown = JailFolder(jail).events()
    assert [(int(r["entry"]), r["what"]) for r in rows] == [(e.seq, e.body["type"]) for e in shown]
    assert all(set(r) == set(COLUMNS) for r in rows) and "\x1b" not in text
    reason = next(r["reason"] for r in rows if "quoted" in r["reason"])
    assert reason == "'" + NASTY.replace("\n", "\\n").replace("\x1b", "\\x1b")  # a spreadsheet computes nothing


def test_csv_of_nothing_still_has_its_columns(jail):
    assert run(jail, "--format", "csv", "--who", "nobody") == ",".join(COLUMNS) + "\r\n"


@pytest.mark.parametrize("security", [False, True])
def test_syslog_lines_are_those_of_rfc_5424(jail, security):
    lines = run(jail, "--format", "syslog", *(["--security"] if security else [])).splitlines()
    found = [SYSLOG.fullmatch(line) for line in lines]
    assert all(found), [line for line, each in zip(lines, found, strict=True) if not each]
    assert len(lines) == (1 if security else len(JailFolder(jail).events()))
    for each in found:
        assert datetime.datetime.fromisoformat(each["at"]).tzinfo is not None
        assert (each["host"], each["app"]) == ("-", "privjail") and each["sd"].startswith("privjail@0 ")
        serious = each["id"] in ("failed", "login-failed")
        assert int(each["pri"]) == 13 * 8 + (4 if serious else 5)
    pairs = {k: re.sub(r'\\(["\\\]])', r"\1", v) for x in found for k, v in re.findall(rf'(\w+)="({VALUE})"', x["sd"])}
    if not security:
        assert pairs["reason"] == NASTY.replace("\n", "\\n").replace("\x1b", "\\x1b")
