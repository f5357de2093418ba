"""The day after: backups and restores, new certificates, upgrades, several jails behind one name; with real processes."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import tarfile
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from privjail import client
from privjail.curator.backup import backup, head_of, restore
from privjail.curator.doctor import look
from privjail.curator.folder import LAYOUT, JailFolder
from privjail.curator.upgrade import upgrade
from privjail.errors import DPError
from privjail.server import rotation
from privjail.server.ledger.events import LedgerError
from tests.server.jails import ENV, PRIVJAIL, count, free_port, make_jail, serving


def spent(folder):
    return folder.state.total(("dataset", "", "census"))[0]


class Load:
    """Analysts who ask again and again; an error ends the test."""

    def __init__(self, files, eps=0.001):
        self._stop, self.answers, self.errors, self._eps = threading.Event(), 0, [], eps
        self._threads = [threading.Thread(target=self._ask, args=(file,)) for file in files]

    def _ask(self, file):
        try:
            connection = client.connect(file)
            while not self._stop.is_set():
                connection.release([count(connection, self._eps)])
                self.answers += 1
            connection.close()
        except Exception as e:
            self.errors.append(repr(e))

    def wait(self, more, seconds=60.0):
        """Until so many more answers came."""
        goal, deadline = self.answers + more, time.monotonic() + seconds
        while self.answers < goal and not self.errors:
            assert time.monotonic() < deadline, "the analysts wait for ever"
            time.sleep(0.01)
        assert self.errors == []

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        for each in self._threads:
            each.join(60)


def test_backup_and_restore_under_load_lose_nothing(tmp_path):
    """A backup while analysts spend is whole; the newest one restores what was spent, to the last entry."""
    folder = make_jail(tmp_path, users=("ann", "bob"))
    with serving(tmp_path), Load([tmp_path / "ann.privjail", tmp_path / "bob.privjail"]) as load:
        load.wait(5)
        first = backup(folder, tmp_path / "first.backup")
        load.wait(5)
    last = backup(folder, tmp_path / "last.backup")
    assert load.errors == [] and last.seq > first.seq
    before = spent(folder)
    assert str(last) == f"{folder.ledger.entries}:{folder.ledger.hash_of(folder.ledger.entries)}"
    assert before >= Fraction(load.answers, 1000) > 0
    folder.ledger.close()
    again, newest = restore(tmp_path / "last.backup", tmp_path / "jail")  # the anchors that are there show it
    assert newest and spent(again) == before and again.state.frozen == {}
    again.check()
    again.ledger.close()
    with serving(tmp_path):
        connection = client.connect(tmp_path / "ann.privjail")
        connection.release([count(connection, 0.1)])
        connection.close()


def under_load(load, act, most=200):
    """Do something again and again until analysts got answers while it was being done; the last result."""
    for i in range(most):
        before = load.answers
        found = act(i)
        if load.answers > before + 1:  # one may have been on its way already
            return found
    raise AssertionError("no answer came meanwhile")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_jail_answers_during_backup_and_restore_and_nothing_is_lost(tmp_path, request, kind):
    """A backup has all that was charged before it began, and is a state that the running ledger had."""
    server = request.getfixturevalue("postgres") if kind == "postgres" else None
    url, other = (server.database(), server.database) if server else (None, lambda: None)
    folder = make_jail(tmp_path, users=("ann", "bob"), ledger=url)
    begun, copies = {}, []

    def restored(i):
        found, newest = restore(tmp_path / "a.backup", tmp_path / f"second-{i}", "a test", str(head), other())
        assert not newest
        copies.append(found)
        return found

    def backed_up(i):
        begun.update(answers=load.answers)  # first: answers go on coming while the ledger is read
        begun.update(spent=spent(folder), entries=folder.ledger.entries)
        return backup(folder, tmp_path / "a.backup")

    with serving(tmp_path), Load([tmp_path / "ann.privjail", tmp_path / "bob.privjail"]) as load:
        load.wait(20)
        head = under_load(load, backed_up)
        assert head.seq >= begun["entries"] and folder.ledger.hash_of(head.seq) == head.hash
        copy = under_load(load, restored)
        load.wait(5)  # the running jail does not notice
        assert copy.check().seq > head.seq  # the restore itself was entered
        charged = [e.body for e in copy.events()[: head.seq] if e.body["type"] == "charge"]
        assert spent(copy) == Fraction(len(charged), 1000) >= begun["spent"] >= Fraction(begun["answers"], 1000)
        assert [e.hash for e in copy.events()[: head.seq]] == [e.hash for e in folder.events()[: head.seq]]
        assert set(copy.state.frozen) == {"census"} and folder.state.frozen == {}
    assert load.errors == []
    folder.check()
    assert spent(folder) >= Fraction(load.answers, 1000) > begun["spent"]
    for each in (folder, *copies):
        each.ledger.close()


def test_a_restore_of_an_older_state_is_noticed(tmp_path):
    folder = make_jail(tmp_path)
    backup(folder, tmp_path / "old.backup")
    folder.grant("ann", "census", [2000], False, "more")
    head = backup(folder, tmp_path / "new.backup")
    folder.ledger.close()
    with pytest.raises(DPError, match="would be forgotten.*needs a reason"):
        restore(tmp_path / "old.backup", tmp_path / "jail")
    assert (tmp_path / "jail" / "ledger.sqlite").exists()  # nothing was touched
    for name in ("old", "new"):  # without anchors nothing shows which one is the newest
        with pytest.raises(DPError, match="nothing shows that this backup is the newest"):
            restore(tmp_path / f"{name}.backup", tmp_path / f"elsewhere-{name}")
    with pytest.raises(LedgerError, match="not at the entry that you gave"):
        restore(tmp_path / "old.backup", tmp_path / "elsewhere", expect=str(head))
    found, newest = restore(tmp_path / "new.backup", tmp_path / "elsewhere", expect=str(head), reason="a new machine")
    assert not newest and set(found.state.frozen) == {"census"}  # an entry that was noted does not show it
    found.ledger.close()
    stale, newest = restore(tmp_path / "old.backup", tmp_path / "jail", reason="the disk is gone")
    assert not newest and set(stale.state.frozen) == {"census"}
    restored = [e.body for e in stale.events() if e.body["type"] == "restored"]
    assert restored[0]["reason"] == "the disk is gone" and restored[0]["newest"] is False
    stale.ledger.close()
    assert list(tmp_path.glob("jail.before-*"))  # what was there is kept
    with serving(tmp_path):
        connection = client.connect(tmp_path / "ann.privjail")
        with pytest.raises(DPError, match="is frozen"):
            connection.release([count(connection, 0.1)])
        connection.close()


def test_a_jail_that_runs_is_not_replaced(tmp_path):
    """Red before: the old process went on charging a ledger that was put aside, beside a restored one that had all of
    its budget again, "known to be the newest"."""
    folder = make_jail(tmp_path)
    with serving(tmp_path):
        connection = client.connect(tmp_path / "ann.privjail")
        connection.release([count(connection, 1)])
        backup(folder, tmp_path / "a.backup")
        folder.ledger.close()
        with pytest.raises(DPError, match="another process uses the jail"):
            restore(tmp_path / "a.backup", tmp_path / "jail", reason="in a hurry")
        connection.release([count(connection, 1)])
        connection.close()
    assert not list(tmp_path.glob("jail.before-*"))
    with pytest.raises(DPError, match="would be forgotten.*needs a reason"):
        restore(tmp_path / "a.backup", tmp_path / "jail")
    stale, _ = restore(tmp_path / "a.backup", tmp_path / "jail", reason="the disk is gone")
    assert spent(stale) == 1 and set(stale.state.frozen) == {"census"}
    stale.ledger.close()


def test_damaged_and_hostile_backups_are_refused(tmp_path):
    folder = make_jail(tmp_path)
    file = tmp_path / "a.backup"
    backup(folder, file)
    assert file.stat().st_mode & 0o077 == 0
    whole = file.read_bytes()
    (tmp_path / "cut.backup").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.backup").write_text("no backup")
    for name in ("cut", "text"):
        with pytest.raises(DPError, match="no backup of a jail, or is damaged"):
            restore(tmp_path / f"{name}.backup", tmp_path / "x", reason="a test")
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path / "parts", filter="data")
    db = sqlite3.connect(tmp_path / "parts" / "ledger.sqlite")
    db.execute("DROP TRIGGER events_UPDATE")
    db.execute("UPDATE events SET body = replace(body, '1000', '9999') WHERE seq = 2")
    db.commit()
    db.close()
    manifest = json.loads((tmp_path / "parts" / "manifest.json").read_text())
    import hashlib

    manifest["files"]["ledger.sqlite"] = hashlib.sha256((tmp_path / "parts" / "ledger.sqlite").read_bytes()).hexdigest()
    (tmp_path / "parts" / "manifest.json").write_text(json.dumps(manifest))

    def packed(name, more=()):
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            for each in (*sorted((tmp_path / "parts").iterdir()), *more):
                tar.add(each, each.name)

    packed("changed.backup")
    with pytest.raises(LedgerError, match="changed at entry 2"):
        restore(tmp_path / "changed.backup", tmp_path / "x", reason="a test")
    manifest["files"]["../../evil"] = "0"
    (tmp_path / "parts" / "manifest.json").write_text(json.dumps(manifest))
    packed("evil.backup")
    with pytest.raises(DPError):
        restore(tmp_path / "evil.backup", tmp_path / "x", reason="a test")
    assert not (tmp_path / "x").exists()
    assert head_of(tmp_path / "jail" / "ledger.sqlite").seq == folder.ledger.entries


def test_a_backup_of_postgresql_restores_there_and_in_a_file(tmp_path, postgres):
    url, other = postgres.database(), postgres.database()
    folder = make_jail(tmp_path, ledger=url)
    with serving(tmp_path):
        connection = client.connect(tmp_path / "ann.privjail")
        connection.release([count(connection, 0.5)])
        head = backup(folder, tmp_path / "a.backup")
        connection.close()
    before = spent(folder)
    folder.ledger.close()
    for place, to in (("file", None), ("database", other)):
        found, newest = restore(tmp_path / "a.backup", tmp_path / place, "moved", str(head), ledger_url=to)
        assert not newest and spent(found) == before and found.check().seq > head.seq
        assert set(found.state.frozen) == {"census"}
        found.ledger.close()
    with pytest.raises(DPError, match="has a ledger already"):
        restore(tmp_path / "a.backup", tmp_path / "third", "moved", str(head), ledger_url=url)
    shutil.rmtree(tmp_path / "database")  # a restore that stopped after it had filled the database goes on
    found, _ = restore(tmp_path / "a.backup", tmp_path / "database", "moved", str(head), ledger_url=other)
    assert spent(found) == before and set(found.state.frozen) == {"census"}
    found.ledger.close()
    with pytest.raises(DPError, match="needs a reason"):  # its own anchors show nothing: others may write to its ledger
        restore(tmp_path / "a.backup", tmp_path / "jail", expect=str(head))


def old_layout(where):
    """A folder as the layout before this one had it: the pinned certificate is the one that is shown."""
    folder = make_jail(where)
    for name in ("server.pem", "chain.pem"):
        (where / "jail" / name).unlink(missing_ok=True)
    shutil.rmtree(where / "jail" / "security", ignore_errors=True)
    config = json.loads((where / "jail" / "jail.json").read_text())
    del config["layout"]
    (where / "jail" / "jail.json").write_text(json.dumps(config))
    folder.ledger.close()
    return JailFolder(where / "jail")


def test_a_folder_of_the_first_layout_is_upgraded(tmp_path):
    folder = old_layout(tmp_path)
    pinned = (tmp_path / "jail" / "jail.crt").read_bytes()
    assert {f.what: f.state for f in look(tmp_path / "jail")}["layout"] == "warning"
    with serving(tmp_path, tls=True):  # it is served as it is
        assert client.connect(with_tls(tmp_path)).datasets == ["census"]
    before = folder.ledger.entries
    had, head = upgrade(folder, tmp_path / "kept.backup")
    assert had == 1 and head is not None and head.seq == before and (tmp_path / "kept.backup").is_file()
    assert json.loads((tmp_path / "jail" / "jail.json").read_text())["layout"] == LAYOUT
    assert (tmp_path / "jail" / "jail.crt").read_bytes() == pinned
    assert upgrade(JailFolder(tmp_path / "jail"), tmp_path / "other.backup") == (LAYOUT, None)
    with serving(tmp_path, tls=True):
        connection = client.connect(with_tls(tmp_path))
        connection.release([count(connection, 0.1)])
        connection.close()


def with_tls(where, user="ann"):
    """A connection file that uses TLS."""
    file = json.loads((where / f"{user}.privjail").read_text())
    file.pop("insecure_loopback", None)
    (where / f"{user}-tls.privjail").write_text(json.dumps(file))
    return where / f"{user}-tls.privjail"


def test_certificates_are_rotated_under_load_and_nobody_notices(tmp_path):
    folder = make_jail(tmp_path, users=("ann",))
    file = with_tls(tmp_path)
    with serving(tmp_path, tls=True), Load([file]) as load:
        shown = {served_certificate(folder)}
        load.wait(3)
        for change in (rotation.rotate_certificate, rotation.rotate_authority, rotation.rotate_authority):
            change(tmp_path / "jail")
            shown.add(served_certificate(folder))
            connection = client.connect(file)  # the oldest connection file still works
            connection.release([count(connection, 0.001)])
            connection.close()
            load.wait(3)
        new = folder.add_user("bob", 30)
        folder.grant("bob", "census", [1], False, None)
        (tmp_path / "bob.privjail").write_text(json.dumps(new))
        assert new["certificate"] != json.loads(file.read_text())["certificate"]
        connection = client.connect(tmp_path / "bob.privjail")  # and one that pins the newest authority
        connection.release([count(connection, 0.001)])
        connection.close()
        assert len(shown) == 4
    assert load.errors == []
    # A certificate of somebody else's is still refused.
    other = make_jail_beside(tmp_path)
    with serving(other, tls=True), pytest.raises(DPError, match="certificates do not match"):
        stranger = json.loads(file.read_text()) | {
            "address": json.loads((other / "jail" / "jail.json").read_text())["address"]
        }
        (tmp_path / "wrong.privjail").write_text(json.dumps(stranger))
        client.connect(tmp_path / "wrong.privjail")


def make_jail_beside(where):
    (where / "other").mkdir()
    make_jail(where / "other").ledger.close()
    return where / "other"


def served_certificate(folder):
    import ssl

    host, _, port = folder.config["address"].rpartition(":")
    return ssl.get_server_certificate((host, int(port)))


@contextmanager
def jail_process(folder, port):
    args = ["serve", "--jail", str(folder), "--port", str(port)]
    process = subprocess.Popen([*PRIVJAIL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    line = process.stdout.readline()
    assert line.startswith("serving on"), process.stderr.read()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_two_jails_behind_one_name_kill_either(tmp_path, postgres):
    """One PostgreSQL ledger, one certificate, one connection file: whichever jail is killed, analysts go on."""
    url, ports = postgres.database(), (free_port(), free_port())
    (tmp_path / "census.csv").write_text("age,sex\n" + "".join(f"{20 + i % 60},F\n" for i in range(50)))
    one, two = tmp_path / "one", tmp_path / "two"
    init = [*PRIVJAIL, "init", str(one), "--host", "127.0.0.1", "--port", str(ports[0]), "--ledger", url]
    subprocess.run([*init, "--also", f"127.0.0.1:{ports[1]}"], check=True, env=ENV, capture_output=True)
    like = [*PRIVJAIL, "init", str(two), "--host", "127.0.0.1", "--port", str(ports[1]), "--like", str(one)]
    subprocess.run(like, check=True, env=ENV, capture_output=True)
    folder = JailFolder(one)
    schema = {"age": {"type": "Int64", "range": [0, 120]}}
    folder.add_dataset("census", str(tmp_path / "census.csv"), schema, [1000], "pure", (None, 1))
    file = tmp_path / "ann.privjail"
    file.write_text(json.dumps(folder.add_user("ann", 30)))
    folder.grant("ann", "census", [1000], False, None)
    with jail_process(one, ports[0]) as first, jail_process(two, ports[1]) as second, Load([file]) as load:
        load.wait(3)
        first.kill()
        first.wait()
        load.wait(3)
        with jail_process(one, ports[0]):
            second.kill()
            second.wait()
            load.wait(3)
            load.stop()
    assert load.errors == []
    charged = len([e for e in folder.events() if e.body["type"] == "charge"])
    assert charged >= load.answers >= charged - 1  # every answer was charged once, whichever jail gave it
    assert spent(folder) == charged * Fraction(1, 1000)


def test_doctor_says_what_to_do(tmp_path):
    folder = make_jail(tmp_path)
    found = {f.what: f for f in look(tmp_path / "jail")}
    assert found["ledger"].state == found["folder"].state == found["certificate"].state == found["layout"].state == "ok"
    assert found["curators"].state == "warning" and "--role curator" in found["curators"].do
    (tmp_path / "jail" / "jail.key").chmod(0o644)
    rotation.rotate_certificate(tmp_path / "jail", days=3)
    folder.ledger.record({"type": "freeze", "name": "census", "frozen": True, "reason": "a test"})
    folder.ledger.close()
    found = {f.what: f for f in look(tmp_path / "jail")}
    assert found["folder"].state == "wrong" and "jail.key" in found["folder"].said
    assert found["certificate"].state == "warning" and "rotate" in found["certificate"].do
    assert found["frozen"].state == "warning"
    (tmp_path / "jail" / "ledger.sqlite").unlink()
    assert {f.what: f.state for f in look(tmp_path / "jail")}["jail"] == "wrong"
    assert {f.what: f.state for f in look(Path("/nonexistent"))}["jail"] == "wrong"
