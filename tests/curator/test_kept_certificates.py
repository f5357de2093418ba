"""Certificates that a jail keeps beside charges: right, checkable, and a changed one is noticed."""

from __future__ import annotations

import json
import secrets
import sqlite3
import zlib
from fractions import Fraction

import pytest

from privjail.budget.blocks import Block
from privjail.budget.notions import PureDP
from privjail.curator import certificates
from privjail.curator.certificates import checked, read
from privjail.curator.cli import serve
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Dataset, Source, Unit
from privjail.plan.domain import IntDomain
from privjail.release import Query
from privjail.server import server
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.room import Room
from privjail.verify.certificate import to_json
from privjail.verify.certificate_chain import CertificateChain
from tests.server.jails import SCHEMA, count, make_jail, serving
from tests.server.test_ledger import cells


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


def test_releases_in_a_block_of_accounting_are_certified_in_its_notion(tmp_path):
    """And those before and after it in that of the data set, though all are made in one session."""
    folder = make_jail(tmp_path)
    limit = [Fraction(2), Fraction(1, 10**5)]
    folder.add_dataset(
        "more", str(tmp_path / "census.csv"), SCHEMA, limit, "approx", (None, 1), overlap_reason="the same"
    )
    folder.grant("ann", "more", limit, False, None)
    block = Block.of("zcdp", Fraction(1), Fraction(1, 10**6), None, secrets.token_hex(16))
    with serving(tmp_path) as jail:
        ann = jail.connect()
        value = Tally(ann.source("more"), (), None)
        for inside in (False, True, True, False):
            how = Gaussian(rho=Fraction(1, 1000)) if inside else Laplace(Fraction(1, 10))
            ann.release([Query(value, how)], block=block if inside else None)
        ann.close()
    charges = [e.seq for e in folder.events() if e.body["type"] == "charge"]
    [outside], [first], [second], [after] = [read(folder, seq) for seq in charges]
    told = [each["data sets"][0]["notion"]["kind"] for each in (outside, first, second, after)]
    assert told == ["approx", "zcdp", "zcdp", "approx"]
    assert [verdict for verdict, _ in checked([outside, first, second, after])] == ["ok"] * 4
    assert len(folder.ledger.beside(charges[2])) < len(folder.ledger.beside(charges[1]))  # it goes on from it


def kept(folder, said):
    """The entry of a charge beside which some bytes are kept, packed."""
    room = Room(beside=zlib.compress(said.encode()))
    return folder.ledger.charge(
        "ann", secrets.token_hex(16), "digest", {}, [(cells()[0], (Fraction(1, 10),))], {}, room
    )


def test_certificates_from_before_there_were_chains_are_read(tmp_path):
    folder = make_jail(tmp_path)
    alone = {"privjail certificate": 1, "release": {}}
    assert read(folder, kept(folder, json.dumps([alone, alone]))) == [alone, alone]


def test_no_more_is_unpacked_than_what_is_left_by_later_links(tmp_path, monkeypatch):
    folder = make_jail(tmp_path)
    link = {"data sets": [], "nodes": [], "cells": [], "releases": []}
    first = kept(folder, json.dumps({**link, "after": None}))
    second = json.dumps({**link, "after": first})
    both = len(second) + len(json.dumps({**link, "after": None}))
    monkeypatch.setattr(certificates, "MOST_BYTES", both)
    assert read(folder, kept(folder, second)) == []
    for most in (both - 1, len(second)):
        monkeypatch.setattr(certificates, "MOST_BYTES", most)
        with pytest.raises(LedgerError, match="too large"):
            read(folder, kept(folder, second))


def test_certificates_are_not_put_together_beyond_the_most_bytes(tmp_path, monkeypatch):
    """A link says once what all its releases rest on; each certificate says it again."""
    folder, chain = make_jail(tmp_path), CertificateChain()
    value = Tally(Source(Dataset("d", "d", (("i", IntDomain(False, 0, 5)),), Unit())), (), None)
    link = chain.link([Query(value, Laplace(Fraction(1, k))) for k in range(1, 51)], lambda _: PureDP())
    entry = kept(folder, link)
    size = sum(len(to_json(each)) for each in read(folder, entry))
    assert size > 2 * len(link)
    monkeypatch.setattr(certificates, "MOST_BYTES", size)
    assert len(read(folder, entry)) == 50
    monkeypatch.setattr(certificates, "MOST_BYTES", size - 1)
    with pytest.raises(LedgerError, match="too large"):
        read(folder, entry)


def test_of_the_log_only_the_links_of_a_chain_are_read(tmp_path, monkeypatch):
    folder, entry = make_jail(tmp_path), None
    for _ in range(3):
        link = {"after": entry, "data sets": [], "nodes": [], "cells": [], "releases": []}
        entry = kept(folder, json.dumps(link))
    rows, batch = [], folder.ledger._store.batch
    monkeypatch.setattr(folder.ledger._store, "batch", lambda *given: rows.extend(batch(*given)) or batch(*given))
    assert read(folder, entry) == [] and [seq for seq, _, _ in rows] == [entry, entry - 1, entry - 2]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_session_that_is_opened_as_soon_as_the_jail_listens_has_certificates(tmp_path, monkeypatch, wanted):
    """Red before: such a session had none as long as it lasted."""
    make_jail(tmp_path).ledger.close()
    opened, start = [], server.start

    def listening(*given):
        running = start(*given)
        sessions = running.service.sessions
        opened.append(sessions.get(sessions.open("ann"), "ann"))
        running.stop(0)
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "start", listening)
    monkeypatch.setattr(serve.signal, "signal", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        serve.serve(tmp_path / "jail", port=0, insecure_loopback=True, certificates=wanted)
    assert (opened[0].certificates is not None) == wanted


def test_a_jail_can_be_told_to_keep_none(tmp_path):
    folder = make_jail(tmp_path)
    with serving(tmp_path, "--no-certificates") as jail:
        ann = jail.connect()
        ann.release([count(ann, Fraction(1, 10))])
        ann.close()
    charge = next(e for e in folder.events() if e.body["type"] == "charge")
    assert "certificate" not in charge.body and read(folder, charge.seq) is None
