"""What a curator is shown, as plain records: without the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest

from privjail.curator import views
from privjail.curator.folder import JailFolder
from privjail.errors import DPError

SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}}


@pytest.fixture
def jail(tmp_path: Path) -> JailFolder:
    (tmp_path / "people.csv").write_text("age\n30\n40\n", encoding="utf-8")
    folder = JailFolder.init(tmp_path / "jail", ["localhost"], "localhost:7443", None)
    for name, notion, budget in (("people", "pure", [2]), ("others", "approx", [1, Fraction(1, 10**6)])):
        folder.add_dataset(
            name, str(tmp_path / "people.csv"), SCHEMA, budget, notion, (None, 1), overlap_reason="a test"
        )
    folder.add_user("ann", 30)
    folder.add_user("bob", None)
    folder.set_group("lab", ["bob", "ann"])
    folder.grant("ann", "people", [Fraction(1, 2)], False, None)
    folder.grant("lab", "people", [1], True, None)
    return folder


def spend(jail: JailFolder, eps: Fraction) -> None:
    asked = {
        "type": "charge",
        "user": "ann",
        "request": "r",
        "digest": "d",
        "kept": 0,
        "groups": ["lab"],
        "program": [],
    }
    jail.ledger.record({**asked, "charges": [["people", [], [str(eps)]]]})


def test_data_sets_users_and_groups(jail: JailFolder) -> None:
    state = jail.state
    people, others = views.data_sets(state)
    assert (people.name, people.kind, people.unit, people.limit, people.removed) == (
        "people",
        "csv",
        "a row",
        (2,),
        False,
    )
    assert others.limit == (1, Fraction(1, 10**6)) and others.spent == (0, 0)
    assert [(u.name, u.groups, u.revoked) for u in views.users(state)] == [
        ("ann", ("lab",), False),
        ("bob", ("lab",), False),
    ]
    assert views.users(state)[1].expires is None
    assert [asdict(g) for g in views.groups(state)] == [{"name": "lab", "members": ("ann", "bob")}]


def test_budgets_show_what_was_spent_in_each_scope(jail: JailFolder) -> None:
    spend(jail, Fraction(1, 4))
    found = {(b.dataset, b.scope, b.who): (b.spent, b.limit, b.share) for b in views.budgets(jail.state, "people")}
    quarter = (Fraction(1, 4),)
    assert found == {
        ("people", "dataset", ""): (quarter, (2,), 0.125),
        ("people", "group", "lab"): (quarter, (1,), 0.25),
        ("people", "user", "ann"): (quarter, (Fraction(1, 2),), 0.5),
    }
    assert {b.dataset for b in views.budgets(jail.state)} == {"people", "others"}
    with pytest.raises(DPError, match="no data set 'nothing'"):
        views.budgets(jail.state, "nothing")


def test_the_log_has_decisions_and_charges_and_no_answers(jail: JailFolder) -> None:
    spend(jail, Fraction(1, 4))
    lines = [e.line for e in views.search(jail, views.Filter(), None, 3)][::-1]
    assert [(line.what, line.who) for line in lines] == [("limit", "ann"), ("limit", "lab"), ("charge", "ann")]
    assert lines[0].details == "user ann may spend 0.5 on people" and lines[0].by
    assert lines[2].details.startswith("people: 1/4")
    assert len(views.search(jail, views.Filter(), None, 1000)) == len(jail.events())


def test_views_need_no_command_line() -> None:
    code = "import sys, privjail.curator.views; print([m for m in ('typer', 'rich', 'click') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_log_is_readable_at_80_columns(jail: JailFolder) -> None:
    reason = "a second study about the use of wards in winter, as agreed in May with the board"
    jail.grant("ann", "people", [1], False, reason)
    spend(jail, Fraction(1, 7))
    jail.ledger.close()
    args = [sys.executable, "-m", "privjail.curator", "log", "--jail", str(jail.path)]
    done = subprocess.run(args, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines and all(len(line) <= 80 for line in lines), max(lines, key=len)
    assert reason in " ".join(done.stdout.split()) and "charge" in done.stdout
