"""The unit file in the guide is one that systemd reads, and it takes away what the guide says."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from tests.server.jails import Served, Zygote, count, make_jail, wait_gone

UNIT = Path(__file__).parents[2] / "docs" / "guide" / "privjail.service"


def unit() -> dict[str, str]:
    return dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] not in "#[")


def test_the_unit_runs_serve_as_its_own_user_with_everything_else_taken_away() -> None:
    from privjail.curator.cli.root import app

    settings = unit()
    for key, value in {
        "User": "privjail", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes",
        "PrivateTmp": "yes", "PrivateDevices": "yes", "CapabilityBoundingSet": "", "UMask": "0077", "LimitCORE": "0",
    }.items():  # fmt: skip
        assert settings[key] == value
    words = settings["ExecStart"].split()
    assert words[0].endswith("/privjail") and words[1] == "serve"
    with pytest.raises(SystemExit) as end:  # the options exist: what fails is that the folder is not there
        app(words[1:])
    assert end.value.code == 1


def test_systemd_understands_it(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd is not installed")
    here = tmp_path / "privjail.service"
    here.write_text(UNIT.read_text().replace("/opt/privjail/bin/privjail", "/bin/true"))
    done = subprocess.run([tool, "verify", str(here)], capture_output=True, text=True, check=False)
    assert "Unknown" not in done.stderr and "Invalid" not in done.stderr


# What systemd mounts as /proc for these settings (systemd.exec, "ProtectProc=" and "ProcSubset=").
PROC = {"ProtectProc": {"invisible": "hidepid=invisible"}, "ProcSubset": {"pid": "subset=pid", "all": ""}}


def proc_of(settings: dict[str, str]) -> str:
    found = [meanings[settings[key]] for key, meanings in PROC.items() if key in settings]
    return ",".join(each for each in found if each)


@contextmanager
def jails_that_see(proc: str, said: Path) -> Iterator[Zygote]:
    """Jails in a mount namespace of their own whose /proc is mounted with these options."""
    mount = ["sh", "-c", 'mount -t proc -o "$0" proc /proc && exec "$@"', proc]
    prefix = ("unshare", "--mount", *mount)
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no mount namespaces here: this test needs root on Linux")
    with said.open("w") as stderr:
        zygote = Zygote(prefix, stderr)
        try:
            yield zygote
        finally:
            zygote.close()


def answered_after_a_kill(where: Path, zygote: Zygote, folder: JailFolder) -> Any:
    """End a jail between a charge and its answer, start it again, and ask on; the error, or None if it answers."""
    served, number = Served(where), secrets.token_bytes(16)
    crashing = zygote.spawn(served.args, {"point": "charge: committed", "drawn": str(where / "drawn")})
    connection = served.connect()
    asks, outcome = [count(connection, 1)], list[Any]()

    def ask() -> None:
        try:
            connection.release(asks, number)
            outcome.append(None)
        except BaseException as e:
            outcome.append(e)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_gone(crashing)
    folder.ledger.refresh()
    folder.grant("ann", "census", [900], group=False, reason=None)  # noted by the curator, who sees all of /proc
    again = zygote.spawn(served.args)
    try:
        asking.join(60)
        assert outcome, "neither an answer nor an error"
        folder.ledger.refresh()
        assert folder.state.total(("user", "ann", "census")) == (1,)  # one charge, whatever came of it
        return outcome[0]
    finally:
        os.kill(again, signal.SIGKILL)
        wait_gone(again)


def test_under_the_unit_a_jail_that_is_killed_loses_no_answer_v37(tmp_path: Path) -> None:
    """V-37: with the /proc that the unit gives it, the jail tells its own restart from the machine's."""
    folder = make_jail(tmp_path)
    with jails_that_see(proc_of(unit()), tmp_path / "said") as zygote:
        error = answered_after_a_kill(tmp_path, zygote, folder)
    folder.ledger.refresh()

    assert error is None
    assert not any(entry.lost for entry in folder.state.requests.values())
    assert (tmp_path / "said").read_text() == ""


def test_a_jail_that_cannot_read_the_boot_id_says_so_and_stays_safe_v37(tmp_path: Path) -> None:
    """V-37: the request may have been answered before a restart of the machine: it stays charged and is given up."""
    folder = make_jail(tmp_path)
    with jails_that_see("subset=pid", tmp_path / "said") as zygote:
        error = answered_after_a_kill(tmp_path, zygote, folder)
    folder.ledger.refresh()

    assert sum(entry.lost for entry in folder.state.requests.values()) == 1 and "it stays charged" in str(error)
    said = (tmp_path / "said").read_text()
    assert said.count("boot_id cannot be read") == 2 and "no ProcSubset=pid in its unit" in said
