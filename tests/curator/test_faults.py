"""Full and read-only disks, used ports, missing and truncated files: one message with what to do, and nothing lost."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from privjail.curator.folder import JailFolder
from privjail.faults import explained

from ..server.jails import ENV, PRIVJAIL, make_jail

#: every command that reads or changes a jail
COMMANDS = [
    ("dataset", "add", "b", "census.csv", "--budget", "1", "--unit", "row"), ("dataset", "list"),
    ("dataset", "remove", "census"), ("user", "add", "bob", "-o", "bob.privjail"), ("user", "list"),
    ("group", "add", "g", "ann"), ("group", "list"), ("grant", "ann", "census", "--budget", "0.5"), ("budget",),
    ("budget", "census", "--raise", "2000", "--reason", "x"), ("log",), ("revoke", "ann"), ("verify",),
    ("verify", "--renew-anchor", "--reason", "x"), ("serve", "--port", "0"), ("audit", "program.py"),
]  # fmt: skip
QUICK = [("grant", "ann", "census", "--budget", "0.5"), ("budget",), ("user", "add", "bob", "-o", "bob.privjail")]


def run(where: Path, *args: str) -> str:
    """Run a command that must fail: with one message, what to do, and no traceback."""
    done = subprocess.run([*PRIVJAIL, *args], cwd=where, capture_output=True, text=True, timeout=120, env=ENV)
    assert done.returncode in (1, 2), (args, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and "\n  do:   " in done.stderr, (args, done.stderr)
    return done.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, with a jail on it."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a disk needs root")
    try:
        make_jail(place).ledger.close()
        (tmp_path / "census.csv").write_text("age\n1\n")
        (tmp_path / "program.py").write_text("")
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path) -> None:
    with open(place / "filler", "wb", buffering=0) as f:
        size = 1 << 16
        while size:
            try:
                f.write(b"x" * size)
            except OSError:
                size //= 2
    assert os.statvfs(place).f_bavail == 0


def _refused(disk: Path, commands: list[tuple[str, ...]], says: str) -> None:
    for command in commands:
        assert says in run(disk.parent, *command, "--jail", str(disk / "jail")), command
    assert says in run(disk.parent, "init", str(disk / "new")) and not (disk / "new").exists()
    assert says in run(disk.parent, "schema", "draft", "census.csv", "-o", str(disk / "schema.json"))
    assert not (disk.parent / "bob.privjail").exists()


@pytest.mark.parametrize(
    "commands", [pytest.param(QUICK, id="some"), pytest.param(COMMANDS, id="all", marks=pytest.mark.slow)]
)
def test_a_full_disk_is_called_full(disk: Path, commands: list[tuple[str, ...]]) -> None:
    fill(disk)
    _refused(disk, commands, "full")
    (disk / "filler").unlink()
    JailFolder(disk / "jail").ledger.close()  # nothing is damaged
    grant = [*PRIVJAIL, "grant", "ann", "census", "--budget", "0.5", "--jail", str(disk / "jail")]
    assert subprocess.run(grant, env=ENV, timeout=120).returncode == 0


@pytest.mark.parametrize(
    "commands", [pytest.param(QUICK, id="some"), pytest.param(COMMANDS, id="all", marks=pytest.mark.slow)]
)
def test_a_read_only_disk_is_called_read_only(disk: Path, commands: list[tuple[str, ...]]) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    _refused(disk, commands, "read-only")


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        yield str(s.getsockname()[1])


def test_a_used_port_is_named(tmp_path: Path, taken: str) -> None:
    make_jail(tmp_path).ledger.close()
    for options, who in ((("--port", taken), "the jail"), (("--port", "0", "--metrics-port", taken), "/metrics")):
        said = run(tmp_path, "serve", *options)
        assert f"{who} cannot listen on 127.0.0.1:{taken}: another process listens on it" in said
        assert len(said.splitlines()) == 2  # nothing else
    assert "no such address" in run(tmp_path, "serve", "--host", "192.0.2.7", "--port", "0")
    for option in ("--port", "--metrics-port"):
        done = subprocess.run([*PRIVJAIL, "serve", option, "70000"], cwd=tmp_path, capture_output=True, env=ENV)
        assert done.returncode == 2


def test_missing_files_are_named(tmp_path: Path) -> None:
    make_jail(tmp_path).ledger.close()
    add = ("dataset", "add", "b")
    budget = ("--budget", "1", "--unit", "row")
    for args in (
        (*add, "nothing.csv", *budget), (*add, "nothing.parquet", *budget), (*add, "nothing.db", "--table", "t", *budget),
        (*add, "census.csv", "--schema", "nothing.json", *budget), ("audit", "nothing.py"),
        ("check", "nothing.json"), ("user", "add", "bob", "-o", "nothing/bob.privjail"),
        ("schema", "draft", "nothing.csv"), ("schema", "check", "census.csv", "nothing.json"),
    ):  # fmt: skip
        assert "nothing" in run(tmp_path, *args)
    for name in ("server.pem", "jail.crt"):  # without the first, the second is what the jail shows
        (tmp_path / "jail" / name).unlink()
    for args in (("serve", "--port", "0"), ("user", "add", "bob")):
        assert "jail.crt' cannot be opened: no such file" in run(tmp_path, *args)
    assert not (tmp_path / "bob.privjail").exists()
    (tmp_path / "jail" / "ledger.sqlite").unlink()
    assert "the ledger is gone" in run(tmp_path, "budget")
    (tmp_path / "jail" / "jail.json").unlink()
    assert "is not a jail" in run(tmp_path, "serve", "--port", "0")


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_truncated_ledger_is_called_damaged(tmp_path: Path, size: int) -> None:
    make_jail(tmp_path).ledger.close()
    os.truncate(tmp_path / "jail" / "ledger.sqlite", size)
    for command in (("budget",), ("serve", "--port", "0")):
        said = run(tmp_path, *command)
        assert "damaged" in said or "rolled back" in said
        assert "put the newest" in said


@pytest.mark.parametrize("name", ["ledger.sqlite", "state.sqlite"])
def test_a_truncated_database_of_a_study_is_called_damaged(tmp_path: Path, name: str) -> None:
    pytest.importorskip("tenseal", reason="TenSEAL is not installed")
    folder = tmp_path / "decrypt"
    folder.mkdir()
    from privjail.encrypted.keys import make_compute, make_decrypt
    from privjail.encrypted.study import Terms

    folder.rmdir()
    from fractions import Fraction

    offer = make_decrypt(folder, Terms(2, "add-remove", Fraction(1)), "127.0.0.1:1")
    make_compute(tmp_path / "compute", offer, "127.0.0.1:2")
    study = str(tmp_path / "compute" / "study.json")
    command = ("encrypted", "decrypt", str(folder), "--study", study, "--listen", "127.0.0.1:0")
    served = subprocess.Popen([*PRIVJAIL, *command], stdout=subprocess.PIPE, text=True, env=ENV)
    assert served.stdout is not None and "serving" in served.stdout.readline()
    served.terminate()
    served.communicate(timeout=30)
    os.truncate(folder / name, 1000)
    said = run(tmp_path, *command)
    assert "damaged" in said and "put the newest" in said


def test_what_is_our_own_fault_is_not_explained_away() -> None:
    assert explained(RuntimeError("something else")) is None and explained(ValueError("x")) is None
    assert "no such file" in str(explained(FileNotFoundError(2, "", "x.csv")))
    json.dumps(str(explained(OSError("without a number"))))
