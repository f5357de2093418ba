"""What a hostile review found in the service, each as a test that failed before."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from fractions import Fraction

import pytest

from privjail.curator import backup as backups
from privjail.curator import house_rules
from privjail.curator.backup import backup, restore
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded, PlanError, SchemaError
from privjail.faults import safe_url
from privjail.server.ledger import ledger as ledgers
from privjail.server.ledger.rules import Rule
from privjail.server.limits import LimitError
from tests.server.jails import ENV, PRIVJAIL, make_jail
from tests.server.test_rules import root_of

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil"


def run(*args):
    return subprocess.run([*PRIVJAIL, *args], capture_output=True, text=True, env=ENV, timeout=300)


# -- restore


def test_a_noted_entry_does_not_show_that_a_backup_is_the_newest(tmp_path):
    """`--expect` names the entry that a backup ends with; what was spent after it can be known to nobody who says so."""
    folder = make_jail(tmp_path)
    head = backup(folder, tmp_path / "a.backup")
    folder.grant("ann", "census", [2000], False, "more")  # after the backup
    folder.ledger.close()
    with pytest.raises(PlanError, match="nothing shows that this backup is the newest"):
        restore(tmp_path / "a.backup", tmp_path / "elsewhere", expect=str(head))
    found, newest = restore(tmp_path / "a.backup", tmp_path / "elsewhere", expect=str(head), reason="the disk is gone")
    assert not newest and set(found.state.frozen) == {"census"}
    found.ledger.close()


def test_an_interrupted_restore_never_leaves_a_jail_that_answers(tmp_path, monkeypatch):
    """Stopped at any moment, the place holds no jail, the old one, or one that is frozen; the same command ends it."""
    folder = make_jail(tmp_path)
    backup(folder, tmp_path / "a.backup")
    folder.ledger.close()
    calls = 0

    def stops_at(step, act):
        def stopped(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == step:
                raise KeyboardInterrupt
            return act(*args, **kwargs)

        return stopped

    ended = False
    for step in range(1, 30):
        calls, place = 0, tmp_path / f"at-{step}"
        with monkeypatch.context() as patch:
            patch.setattr(JailFolder, "_decide", stops_at(step, JailFolder._decide))
            patch.setattr(backups.os, "rename", stops_at(step, os.rename))
            patch.setattr(backups, "_renewed", stops_at(step, backups._renewed))
            try:
                restore(tmp_path / "a.backup", place, reason="the disk is gone")[0].ledger.close()
                ended = True
            except KeyboardInterrupt:
                pass
        if place.exists():
            found = JailFolder(place)
            assert set(found.state.frozen) == {"census"}
            found.ledger.close()
        else:
            found, newest = restore(tmp_path / "a.backup", place, reason="the disk is gone")
            assert not newest and set(found.state.frozen) == {"census"}
            found.ledger.close()
        if ended:
            break
    assert ended and step > 5


def test_a_restore_that_stopped_between_two_names_still_knows_what_was_written(tmp_path, monkeypatch):
    folder = make_jail(tmp_path)
    backup(folder, tmp_path / "a.backup")
    folder.grant("ann", "census", [2000], False, "more")
    folder.ledger.close()
    os.rename(tmp_path / "jail", tmp_path / "jail.before-20261118T000000")  # where a restore stopped
    with pytest.raises(PlanError, match="what was spent in between would be forgotten"):
        restore(tmp_path / "a.backup", tmp_path / "jail")


# -- limits


def charge(folder, number, cost="1/4", user="ann"):
    folder.ledger.charge(user, f"{number:032x}", "d", {}, [(root_of(folder), (Fraction(cost),))], {})


def test_a_clock_that_goes_back_starts_no_day_anew(tmp_path, monkeypatch):
    folder = make_jail(tmp_path)
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1, 2), requests_per_hour=3))
    house_rules.set_rule(folder, "census", Rule(until="2031-01-02"), user="ann")
    day = "2031-01-01T10:00:00+00:00"
    monkeypatch.setattr(ledgers, "_now", lambda: day)
    charge(folder, 1)
    charge(folder, 2)
    monkeypatch.setattr(ledgers, "_now", lambda: "2030-12-31T10:00:00+00:00")
    with pytest.raises(BudgetExceeded, match="in a day"):
        charge(folder, 3)
    again = JailFolder(tmp_path / "jail")  # also after a restart
    with pytest.raises(BudgetExceeded, match="in a day"):
        charge(again, 3)
    again.ledger.close()
    house_rules.set_rule(folder, "census", Rule(requests_per_hour=3), reason="a test")
    charge(folder, 4)
    with pytest.raises(LimitError, match="this hour"):
        charge(folder, 5)
    monkeypatch.setattr(ledgers, "_now", lambda: "2031-01-02T10:00:00+00:00")
    folder.grant("ann", "census", [1], False, None)  # an entry of that day, whatever it is about
    monkeypatch.setattr(ledgers, "_now", lambda: day)
    with pytest.raises(PlanError, match="ended on 2031-01-02"):
        charge(folder, 6)


def test_the_latest_time_survives_a_checkpoint(tmp_path, monkeypatch):
    folder = make_jail(tmp_path)
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1, 2)))
    monkeypatch.setattr(ledgers, "_now", lambda: "2031-01-01T10:00:00+00:00")
    charge(folder, 1, "1/2")
    monkeypatch.setattr(ledgers, "_now", lambda: "2030-12-31T10:00:00+00:00")
    monkeypatch.setattr(ledgers, "EVERY", 1)
    folder.ledger._checkpoint_if_due()
    assert folder.events()[-1].body["latest"] == "2031-01-01T10:00:00+00:00"
    folder.check()
    monkeypatch.setattr(ledgers, "EVERY", 10**9)
    again = JailFolder(tmp_path / "jail")
    with pytest.raises(BudgetExceeded, match="in a day"):
        charge(again, 2)


def test_who_leaves_a_group_does_not_lose_its_rules_unnoticed(tmp_path):
    folder = make_jail(tmp_path, users=("ann", "bob"))
    folder.set_group("team", ["ann", "bob"])
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1, 4)), group="team")
    with pytest.raises(PlanError, match=r"spend more, not less: ann .*the rule of group 'team' \(at most 0.25 a day\)"):
        folder.set_group("team", ["bob"])
    assert folder.state.groups["team"] == {"ann", "bob"}
    assert "no longer holds" in folder.set_group("team", ["bob"], widen=True)[0]
    assert folder.events()[-1].body["widens"] == ["ann"]
    folder.set_group("team", ["bob", "ann"])  # a new member loses nothing
    house_rules.set_rule(folder, "census", Rule(), group="team", reason="the study ended")
    folder.set_group("team", [])  # and without a rule nobody gains


def test_limits_count_samples_and_blocks_at_no_less_than_the_ledger_takes(tmp_path):
    """A rule counts each request by itself, without the discount of a sample: never less than its price."""
    from privjail.plan.cells import Cell
    from privjail.plan.node import Lit

    folder = make_jail(tmp_path)
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(100)))
    scope = ("dataset", "", "census")
    root = root_of(folder)
    for i in range(6):
        before = folder.state.total(scope)[0], folder.state.used[scope].spent
        cell = Cell(root, "sample 1/10 x", Lit.of(True)) if i % 2 else root
        folder.ledger.charge("ann", f"{i:032x}", "d", {}, [(cell, (Fraction(1, 2),))], {})
        price, counted = folder.state.total(scope)[0] - before[0], folder.state.used[scope].spent - before[1]
        assert counted == Fraction(1, 2) >= price


# -- what others wrote


def test_somebody_elses_text_does_not_work_the_terminal(tmp_path):
    folder = make_jail(tmp_path)
    folder.ledger.record(
        {"type": "wish", "user": "ann", "dataset": "=cmd|' /C calc'!A0", "budget": "1", "reason": HOSTILE}
    )
    folder.ledger.close()
    jail = ["--jail", str(tmp_path / "jail")]
    for args in (
        ["requests"],
        ["requests", "--json"],
        ["log"],
        *(["log", "--format", f] for f in ("csv", "syslog", "json")),
    ):
        shown = run(*args, *jail)
        assert shown.returncode == 0 and "evil" in shown.stdout, shown.stderr
        assert not any(c in shown.stdout for c in "\x1b\x07\x9b\u202e"), args
    with pytest.raises(PlanError, match="a line of plain text"):
        house_rules.wish(JailFolder(tmp_path / "jail"), "ann", "census", "1", HOSTILE)
    (tmp_path / "jail" / "security").mkdir(exist_ok=True)
    line = {"at": "2026-01-01T00:00:00", "kind": "=1+1", "user": "@SUM(A1)", "why": "+2"}
    (tmp_path / "jail" / "security" / "jail.jsonl").write_text(json.dumps(line) + "\n")
    rows = list(csv.DictReader(io.StringIO(run("log", "--security", "--format", "csv", *jail).stdout)))
    assert (rows[0]["what"], rows[0]["who"]) == ("'=1+1", "'@SUM(A1)")


@pytest.mark.parametrize(("url", "fine"), [
    ("https://house.example/x", True), ("http://127.0.0.1:9/x", True), ("http://localhost/x", True), ("http://[::1]:9/", True),
    ("http://localhost.evil.example/", False), ("http://127.0.0.1.evil.example/", False), ("http://127.0.0.1@evil.example/", False),
    ("http://house.example/", False), ("ftp://localhost/", False), ("https://", False), ("http://[", False),
])  # fmt: skip
def test_web_addresses_are_read_not_compared(tmp_path, url, fine):
    from privjail.server.alerts import Alert, _webhook

    assert safe_url(url) is fine
    if not fine:
        with pytest.raises(ValueError, match="begins with https"):
            _webhook(url, Alert("x", "dataset", "", 80, "1"))


def test_what_was_told_is_for_the_jail_only(tmp_path):
    from privjail.server.alerts import Alerts
    from privjail.server.security_log import SecurityLog

    folder = make_jail(tmp_path)
    charge(folder, 1, "1000")
    old = os.umask(0)
    try:
        Alerts(tmp_path / "jail", {}, lambda: folder.state, SecurityLog(None, "x")).look()
    finally:
        os.umask(old)
    assert (tmp_path / "jail" / "alerts.json").stat().st_mode & 0o777 == 0o600


# -- files without names


@pytest.mark.parametrize(
    "text",
    ["41,F\n22,M\n", "Ann;41\nBob;22\n", "Ann,1970-01-31\nBob,1980-02-01\n", "F,Ann\nM,Bob\nF,Cid\n", "a,\n1,2\n"],
)
def test_a_first_row_of_data_gets_into_no_draft(tmp_path, text):
    from privjail.curator.schema_draft import read_any

    if ";" in text:
        text = text.replace(";", ",")
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(SchemaError, match="looks like a row of data") as e:
        read_any(str(tmp_path / "a.csv"))
    assert not any(word in str(e.value) for word in ("Ann", "41", "1970"))
    assert read_any(str(tmp_path / "a.csv"), header=True)[1]  # with a note
    (tmp_path / "a.csv").write_text("age,sex\n" + text)
    assert read_any(str(tmp_path / "a.csv"))[0].columns == ["age", "sex"]


def test_a_draft_of_a_file_without_names_is_refused_by_the_command(tmp_path):
    (tmp_path / "a.csv").write_text("41,F\n22,M\n")
    shown = run("schema", "draft", str(tmp_path / "a.csv"))
    assert (
        shown.returncode == 1
        and shown.stderr.startswith("privjail: error: ")
        and "41" not in shown.stdout + shown.stderr
    )
    assert run("schema", "draft", str(tmp_path / "a.csv"), "--header").returncode == 0
