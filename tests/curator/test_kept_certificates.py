"""Certificates that a jail keeps beside charges: right, checkable, and a changed one is noticed."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

import pytest

from privjail.curator.certificates import checked, read
from privjail.curator.folder import JailFolder
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


def test_a_jail_can_be_told_to_keep_none(tmp_path):
    folder = make_jail(tmp_path)
    with serving(tmp_path, "--no-certificates") as jail:
        ann = jail.connect()
        ann.release([count(ann, Fraction(1, 10))])
        ann.close()
    charge = next(e for e in folder.events() if e.body["type"] == "charge")
    assert "certificate" not in charge.body and read(folder, charge.seq) is None
