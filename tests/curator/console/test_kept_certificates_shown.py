"""Entries of the log whose certificate cannot be shown are shown without it."""

from __future__ import annotations

import json
import secrets
import sqlite3
import zlib
from fractions import Fraction

from privjail.curator.certificates import MOST_BYTES
from privjail.server.ledger.room import Room
from tests.server.jails import make_jail
from tests.server.test_ledger import cells

from .served import Person, add, console


def kept(folder, said):
    """The entry of a charge beside which some bytes are kept, packed."""
    room, words = Room(beside=zlib.compress(said.encode(), 9)), {"program": [["census | count", "Laplace(10)"]]}
    charges = [(cells()[0], (Fraction(1, 10),))]
    return folder.ledger.charge("ann", secrets.token_hex(16), "digest", words, charges, {}, room)


def test_an_entry_is_shown_though_its_certificate_cannot_be(tmp_path):
    folder = make_jail(tmp_path)
    link = {"data sets": [], "nodes": [], "cells": [], "releases": []}
    whole, large, removed, changed = (
        kept(folder, json.dumps({**link, "after": None})),
        kept(folder, " " * (MOST_BYTES + 1)),
        kept(folder, json.dumps({**link, "after": 1})),  # the entry that it goes on from has none any more
        kept(folder, json.dumps({**link, "after": None})),
    )
    maria = add(folder, "maria")
    folder.ledger.close()
    db = sqlite3.connect(tmp_path / "jail" / "ledger.sqlite")
    db.execute("DROP TRIGGER events_UPDATE")
    db.execute("UPDATE events SET answer = x'00' WHERE seq = ?", (changed,))
    db.commit()
    db.close()
    with console(tmp_path / "jail") as url:
        person = Person(url, maria)
        pages = {entry: person.get(f"/log/{entry}") for entry in (whole, large, removed, changed)}
        assert person.get(f"/log/{large}/certificates.json").status_code == 400

    assert {page.status_code for page in pages.values()} == {200}
    assert all("Laplace(10)" in page.text for page in pages.values())
    assert "Check it" in pages[whole].text
    assert "too large to be shown" in pages[large].text
    assert "was removed or lost" in pages[removed].text
    assert "was changed" in pages[changed].text
    assert not any("Check it" in pages[entry].text for entry in (large, removed, changed))
