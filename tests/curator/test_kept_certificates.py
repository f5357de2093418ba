"""Certificates that a jail keeps beside charges: right, checkable, and a changed one is noticed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from fractions import Fraction

import pytest

from privjail.curator.certificates import checked, read
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded
from privjail.server.ledger.events import LedgerError
from tests.server.jails import count, make_jail, serving


def test_each_charge_has_its_certificate_and_a_changed_one_is_noticed(tmp_path):
    folder = make_jail(tmp_path)
    with serving(tmp_path) as jail:
        ann = jail.connect()
        ann.release([count(ann, Fraction(1, 10)), count(ann, Fraction(1, 5))])
        ann.close()
    charge = next(e for e in folder.events() if e.body["type"] == "charge")
    kept = read(folder, charge.seq)
    assert [verdict for verdict, _ in checked(kept)] == ["ok", "ok"]
    assert [c["release"]["mechanism"]["epsilon"] for c in kept] == ["1/10", "1/5"]
    kept[0]["release"]["charges"][0][1] = ["1/100"]  # it claims to cost less
    assert checked(kept)[0][0] == "refuted"
    folder.check()
    folder.ledger.close()
    db = sqlite3.connect(tmp_path / "jail" / "ledger.sqlite")
    db.execute("DROP TRIGGER events_UPDATE")
    db.execute("UPDATE events SET answer = x'00' WHERE seq = ?", (charge.seq,))
    db.commit()
    db.close()
    changed = JailFolder(tmp_path / "jail")
    with pytest.raises(LedgerError, match="certificate that was kept with entry .* was changed"):
        read(changed, charge.seq)
    with pytest.raises(LedgerError, match="certificate that was kept with entry .* was changed"):
        changed.check()


def test_requests_of_one_session_share_what_is_kept(tmp_path):
    folder = make_jail(tmp_path, budget=1)
    with serving(tmp_path) as jail:
        ann = jail.connect()
        ann.release([count(ann, Fraction(1, 10))])
        with pytest.raises(BudgetExceeded):
            ann.release([count(ann, Fraction(2))])  # nothing is stored: the next one says all again
        ann.release([count(ann, Fraction(1, 5))])
        ann.release([count(ann, Fraction(3, 10)), count(ann, Fraction(1, 20))])
        ann.close()
    charges = [e.seq for e in folder.events() if e.body["type"] == "charge"]
    kept = [read(folder, seq) for seq in charges]
    assert [[c["release"]["mechanism"]["epsilon"] for c in each] for each in kept] == [
        ["1/10"],
        ["1/5"],
        ["3/10", "1/20"],
    ]
    assert {verdict for each in kept for verdict, _ in checked(each)} == {"ok"}
    sizes = [len(folder.ledger.beside(seq)) for seq in charges]
    assert sizes[2] < 0.6 * sizes[1]  # it adds two releases, and no plan
    folder.ledger.close()
    db = sqlite3.connect(tmp_path / "jail" / "ledger.sqlite")
    db.execute("DROP TRIGGER events_UPDATE")
    db.execute("UPDATE events SET answer = NULL WHERE seq = ?", (charges[1],))  # as `privjail compact` does
    db.commit()
    db.close()
    compacted = JailFolder(tmp_path / "jail")
    assert read(compacted, charges[0]) is not None
    assert read(compacted, charges[1]) is None and read(compacted, charges[2]) is None


def test_a_whole_certificate_of_an_older_ledger_is_read_as_it_is(tmp_path):
    folder = make_jail(tmp_path)
    whole = [{"privjail certificate": 1, "nodes": []}]
    body = zlib.compress(json.dumps(whole).encode())
    said = {"type": "settings", "certificate": hashlib.sha256(body).hexdigest()}  # any entry: no charge is needed
    folder.ledger.decide(lambda state: said, body)
    assert read(folder, folder.ledger.entries) == whole


def test_a_jail_can_be_told_to_keep_none(tmp_path):
    folder = make_jail(tmp_path)
    with serving(tmp_path, "--no-certificates") as jail:
        ann = jail.connect()
        ann.release([count(ann, Fraction(1, 10))])
        ann.close()
    charge = next(e for e in folder.events() if e.body["type"] == "charge")
    assert "certificate" not in charge.body and read(folder, charge.seq) is None
