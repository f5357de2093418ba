"""Leases in served jails: kills, crashes at every step of a lease, stops, and a command beside a running jail."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.leases import set_lease

from privjail.server.server import IdleLeases

from .jails import Served, Zygote, count, make_jail, serving, wait_gone
from .test_faults import charges, kill_again_and_again
from .test_ledger import cells, spend

CENSUS = ("dataset", "", "census")
POINTS = [f"lease: {where}" for where in ("before the note", "within the note", "after the note", "entry inserted")]


def leased(where: Path, size: str = "1") -> None:
    folder = make_jail(where)
    set_lease(folder, "census", size, None)
    folder.ledger.close()


def under_leases(folder: JailFolder) -> int:
    return sum(event.body["type"] == "charge" and "lease" in event.body for event in folder.events())


def test_kill_nine_under_load_loses_no_charge_under_a_lease(tmp_path: Path, zygote: Zygote) -> None:
    journal = kill_again_and_again(tmp_path, zygote, kills=6, lease="1/2")
    folder = JailFolder(tmp_path / "jail")
    assert len(journal.seen) > 12 and under_leases(folder) > 12
    assert not folder.state.forfeited


@pytest.mark.parametrize("point", [*POINTS, "charge: entry inserted", "charge: committed", "answer: kept"])
def test_a_crash_at_any_step_of_a_lease_charges_once_and_keeps_the_answer(
    tmp_path: Path, zygote: Zygote, point: str
) -> None:
    leased(tmp_path)
    served = Served(tmp_path)
    crashing = zygote.spawn(served.args, {"point": point, "drawn": str(tmp_path / "drawn")})
    number, got = secrets.token_bytes(16), []
    connection = served.connect()
    asks = [count(connection, Fraction(1, 4))]
    asking = threading.Thread(target=lambda: got.append(connection.release(asks, number)))
    asking.start()
    wait_gone(crashing)
    again = zygote.spawn(served.args)
    try:
        asking.join(60)
        assert not asking.is_alive() and got
        assert connection.release(asks, number) == got[0]
        folder = JailFolder(tmp_path / "jail")
        assert charges(folder) == {number.hex(): Fraction(1, 4)} and under_leases(folder) == 1
        assert folder.state.total(CENSUS) == (Fraction(1, 4),)
        assert folder.state.leases.open["ann", "census"].rest == (Fraction(3, 4),)
    finally:
        os.kill(again, signal.SIGKILL)
        wait_gone(again)


def test_a_stop_ends_leases_and_a_decision_beside_a_running_jail_does(tmp_path: Path) -> None:
    leased(tmp_path)
    with serving(tmp_path) as served:
        connection = served.connect()
        connection.release([count(connection, Fraction(1, 4))])
        beside = JailFolder(tmp_path / "jail")
        assert beside.state.leases.held[CENSUS] == (Fraction(3, 4),)
        beside.add_user("bob", 30)
        assert not beside.state.leases.open
        connection.release([count(connection, Fraction(1, 4))])  # under the next one
        assert beside.state.leases.held[CENSUS] == (Fraction(3, 4),)
        served.stop()
    stopped = JailFolder(tmp_path / "jail")
    assert not stopped.state.leases.open and not stopped.state.forfeited
    assert stopped.events()[-1].body["type"] == "leases_ended"
    assert stopped.state.total(CENSUS) == (Fraction(1, 2),) and under_leases(stopped) == 2


def test_idle_leases_end(tmp_path: Path) -> None:
    leased(tmp_path)
    folder = JailFolder(tmp_path / "jail")
    idle = IdleLeases(folder.ledger)
    for _ in range(3):  # something was charged between two looks
        spend(folder, "ann", (cells()[0], Fraction(1, 100)))
        idle.look()
        assert folder.state.leases.open
    idle.look()
    assert not folder.state.leases.open and folder.events()[-1].body["type"] == "leases_ended"
    before = folder.ledger.entries
    idle.look()
    assert folder.ledger.entries == before and folder.state.total(CENSUS) == (Fraction(3, 100),)


def test_a_stop_without_open_leases_writes_nothing(tmp_path: Path) -> None:
    leased(tmp_path)
    before = JailFolder(tmp_path / "jail").ledger.entries
    with serving(tmp_path) as served:
        served.stop()
    assert JailFolder(tmp_path / "jail").ledger.entries == before


def test_a_shared_ledger_has_no_leases(tmp_path: Path, postgres: Any) -> None:
    from privjail.errors import PlanError

    folder = make_jail(tmp_path, ledger=postgres.database())
    with pytest.raises(PlanError, match="PostgreSQL has no leases"):
        set_lease(folder, "census", "1", None)
    assert not folder.ledger.leases
