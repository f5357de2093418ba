"""Damaged files, impostors and other systems: one clear message each."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from privjail.encrypted import analyst, compute, decrypt, keys, probe, seal
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.journal import Database
from privjail.encrypted.study import Server
from privjail.encrypted.wire import Caller
from privjail.errors import DPError

from .parties import ENV, Parties, free_port, privjail
from .refusing import BINS, good, sent


@pytest.mark.parametrize("server", ["cs", "ds"])
@pytest.mark.parametrize("name", ["state.sqlite", "ledger.sqlite"])
@pytest.mark.parametrize("left", [0.9, 0.5, 100, "text"])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, server: str, name: str, left: float | str) -> None:
    parties = Parties(tmp_path, bins=BINS)
    with parties.in_threads():
        sent(parties, *((f"o{i}", good(parties)) for i in range(3)))
        analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 1)
    path = tmp_path / server / name
    for log in path.parent.glob(f"{name}-*"):
        log.unlink()
    raw = path.read_bytes()
    if name == "ledger.sqlite" and left == 0.9:
        left = 0.6  # the last page is an index without entries: what is cut off there is not missed
    path.write_bytes(b"no database" * 9999 if left == "text" else raw[: int(left if left > 1 else left * len(raw))])
    with pytest.raises(DPError, match="damaged|cut off|gone|older|empty") as found:
        if server == "cs":
            compute.Computer(tmp_path / "cs").close()
        else:
            decrypt.Decryptor(tmp_path / "ds").close()
    assert "do:" in str(found.value) and "sqlite3" not in str(found.value)


def test_the_command_says_so_without_a_traceback(tmp_path: Path) -> None:
    Parties(tmp_path, bins=BINS)
    (tmp_path / "ds" / "state.sqlite").write_bytes(b"SQLite format 3\0" + bytes(50))
    done = privjail("decrypt", str(tmp_path / "ds"), "--study", str(tmp_path / "cs" / "study.json"))
    assert done.returncode == 2 and "state.sqlite of 'ds' is damaged" in done.stderr
    assert "Traceback" not in done.stderr and "put the newest copy" in done.stderr


def test_a_file_that_cannot_be_written_is_told_apart_from_a_damaged_one(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.sqlite")
    database.rows("PRAGMA query_only=ON")
    with pytest.raises(DPError, match="read-only") as found, database.writing() as db:
        db.execute("INSERT INTO unconfirmed VALUES (1, x'00')")
    assert "nothing was kept" in str(found.value)
    database.rows("PRAGMA query_only=OFF")
    with database.writing() as db:
        db.execute("INSERT INTO unconfirmed VALUES (1, x'00')")
    database.rows("PRAGMA max_page_count=1")
    with pytest.raises(DPError, match="disk is full"), database.writing() as db:
        db.execute("INSERT INTO unconfirmed VALUES (2, ?)", (bytes(10**6),))
    database.close()


# -- who answers


def called(server: Server) -> str:
    caller = Caller("Compute", server)
    try:
        with pytest.raises(DPError) as found:
            caller.call("Status", pb.StatusRequest(), pb.StatusReply, patience=0.5)
    finally:
        caller.close()
    return str(found.value)


def test_an_impostor_is_not_called_nobody(tmp_path: Path, parties) -> None:
    """A server with a certificate of its own, at the address of the study's."""
    other = keys._server(tmp_path, "127.0.0.1:1")
    impostor = Server(parties.study.compute.address, other.certificate)
    assert probe.who_answers(impostor) == probe.OTHER
    assert probe.who_answers(parties.study.compute) == probe.RIGHT
    said = called(impostor)
    assert "another server answers" in said and "newest study file" in said


def test_nobody_is_nobody_and_a_port_without_tls_is_told_apart(parties) -> None:
    nowhere = Server(f"127.0.0.1:{free_port()}", parties.study.compute.certificate)
    assert "nobody answers" in called(nowhere)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        stop = threading.Event()

        def plain() -> None:
            listener.settimeout(0.1)
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                    connection.sendall(b"HTTP/1.0 400 what?\r\n\r\n")
                    connection.close()
                except OSError:
                    continue

        thread = threading.Thread(target=plain)
        thread.start()
        said = called(Server(f"127.0.0.1:{listener.getsockname()[1]}", parties.study.compute.certificate))
        stop.set()
        thread.join()
    assert "speaks no TLS" in said and "nobody" not in said


# -- other systems


def test_ciphertexts_go_through_ordinary_files_where_there_are_none_in_memory(monkeypatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    public, secret = seal.slots().new_keys()
    numbers = np.arange(8192)
    d, c = seal.Secret(seal.slots(), secret), seal.Public(seal.slots(), public)
    found = c.scheme.loaded(c.scheme.seal.Ciphertext(), d.encrypted(numbers))
    assert (d.slots(found) == numbers).all()
    with pytest.raises(DPError, match="no key or ciphertext"):
        c.scheme.loaded(c.scheme.seal.Ciphertext(), b"nothing")


def test_owners_need_neither_seal_nor_linux() -> None:
    """What only Linux has, and the encryption library of the servers, is taken away before an owner encrypts."""
    program = """
import os, sys
for name in ("tenseal", "tenseal.sealapi", "fcntl", "resource", "pwd"):
    sys.modules[name] = None
for name in ("memfd_create", "fork", "fchmod", "sched_getaffinity"):
    if hasattr(os, name): delattr(os, name)
from privjail.encrypted import envelope, owner
from privjail.encrypted.records import Encryptor, size_of
record = Encryptor(bytes(32), envelope.new_keys()[0], 12).record(3)
assert len(record) == size_of(12)
from privjail.encrypted.cli import app
print("encrypted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENV, timeout=120)
    assert done.stdout == "encrypted\n", done.stderr


OTHER_SYSTEM = """
import os, runpy, sys
for name in ("tenseal", "tenseal.sealapi", "fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
linux = "memfd_create fork fchmod sched_getaffinity fdatasync getuid O_CLOEXEC O_NOFOLLOW O_DIRECTORY"
for name in linux.split():
    if hasattr(os, name): delattr(os, name)
sys.argv = ["privjail", "encrypted", *sys.argv[1:]]
runpy.run_module("privjail.curator", run_name="__main__")
"""


def test_owners_and_analysts_of_other_systems_use_the_same_commands(tmp_path: Path) -> None:
    """explain, submit and query, as a process without what only Linux has, against the real servers."""
    parties = Parties(tmp_path, bins=8)
    study, records = str(tmp_path / "cs" / "study.json"), tmp_path / "records.csv"
    rows = [f"p{i},{bin},{parties.tickets.owner(f'p{i}').hex()}" for i, bin in enumerate((1, 1, 5, ""))]
    records.write_text("\n".join(["owner,bin,ticket", *rows]) + "\n")

    def run(*words: str) -> str:
        command = [sys.executable, "-c", OTHER_SYSTEM, *words]
        done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    silent = lambda scale, n: [0] * n  # noqa: E731
    with parties.in_threads(draw_d=silent, draw_c=silent):
        assert "encrypted on your device" in " ".join(run("explain", study).split())
        assert "4 kept, 0 there before, 0 refused" in run("submit", study, str(records))
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 1)
        assert found.released["leaves"].tolist() == [0, 2, 0, 0, 0, 1, 0, 0]
        run("query", study, "0:4", "--release", "r", "--out", str(tmp_path / "r.json"))
    assert (tmp_path / "r.json").exists()
