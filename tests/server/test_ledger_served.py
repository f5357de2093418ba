"""The ledger of a served jail: no way around it, no refund, and nothing of the data in what it says."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privjail as pj
import privjail.pandas as pd
from privjail.client import Connection, connect
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.server import Options, Running, start
from privjail.mechanisms.noise import Noise

from .jails import count, make_jail


class Breaks(Noise):
    """Fails when it is drawn from: after the charge, with the data touched."""

    broken = True

    def laplace(self, scale: float, n: int) -> list[int]:
        if self.broken:
            raise RuntimeError("the value 42 of row 7")
        return super().laplace(scale, n)


def serve(where: Path, noise: Noise | None = None) -> Running:
    port = int(JailFolder(where / "jail").config["address"].rpartition(":")[2])
    return start(where / "jail", Options(port=port, insecure_loopback=True), noise)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    make_jail(tmp_path, budget=10, users=("ann", "bob"), grant=3)
    jail = serve(tmp_path)
    yield jail
    jail.stop()


def ask(connection: Connection, eps: Any, request: bytes | None = None) -> list[Any]:
    return connection.release([count(connection, eps)], request)


def spent(where: Path, scope: tuple[str, str] = ("dataset", "")) -> Fraction:
    (cost,) = JailFolder(where / "jail").state.total((*scope, "census"))
    return cost


def test_paths_links_and_other_names_open_nothing_v33(running: Running, tmp_path: Path) -> None:
    """V-33: a client opens the curator's names, as they are, and nothing else."""
    (tmp_path / "link.csv").symlink_to(tmp_path / "census.csv")
    pj.connect(tmp_path / "ann.privjail")
    try:
        for name in (
            tmp_path / "census.csv", tmp_path / "link.csv", "census.csv", "./census", "census/", "../jail/census",
            "census/../census", "CENSUS", " census", "census ", "census\0", "file:census", "cen\u200bsus", "ｃensus",
        ):  # fmt: skip
            with pytest.raises(PlanError, match="there is no data set"):
                pd.read_csv(name)
        for more in ({"schema": {}}, {"budget": 10**6}, {"unit": "age"}, {"max_rows_per_unit": 1}):
            with pytest.raises(PlanError, match="curator"):
                pd.read_csv("census", **more)
        assert pd.read_csv("census") is not None
    finally:
        pj.disconnect()


def test_no_fresh_budget_by_session_reconnect_restart_or_new_token_v33_v37(running: Running, tmp_path: Path) -> None:
    """V-33, V-37: what a user has spent is hers, however she comes."""
    first = connect(tmp_path / "ann.privjail")
    ask(first, 1)
    second = connect(tmp_path / "ann.privjail")
    ask(second, 1)
    first.close()
    again = connect(tmp_path / "ann.privjail")
    with pytest.raises(BudgetExceeded):
        ask(again, 2)
    running.stop()
    restarted = serve(tmp_path)
    try:
        with pytest.raises(BudgetExceeded):
            ask(second, 2)
        token = JailFolder(tmp_path / "jail").add_user("ann", 1)["token"]
        address = f"127.0.0.1:{restarted.port}"
        renewed = connect(address, token=token, insecure_loopback=True)
        with pytest.raises(BudgetExceeded):
            ask(renewed, 2)
        ask(renewed, 1)
    finally:
        restarted.stop()
    assert spent(tmp_path) == 3


def test_a_release_that_fails_after_its_charge_stays_charged_v25(tmp_path: Path) -> None:
    """V-25: no refund once data was touched; asked again under its id, it is answered and not charged again."""
    make_jail(tmp_path, budget=10, grant=3)
    noise = Breaks()
    jail = serve(tmp_path, noise)
    try:
        connection = connect(tmp_path / "ann.privjail")
        number = secrets.token_bytes(16)
        with pytest.raises(DPError) as error:
            ask(connection, 1, number)
        assert "42" not in str(error.value)
        assert spent(tmp_path) == 1
        with pytest.raises(DPError):
            ask(connection, 1)
        assert spent(tmp_path) == 2
        noise.broken = False
        first = ask(connection, 1, number)
        assert ask(connection, 1, number) == first
        assert spent(tmp_path) == 2
    finally:
        jail.stop()


def test_of_two_jails_that_answer_one_request_the_first_to_keep_is_the_one_that_is_seen(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two draws of noise for one charge would be two releases."""
    ledger, other = running.service.ledger, pb.ReleaseReply(answers=[pb.Answer(number=-12345.0)]).SerializeToString()
    keep = ledger.keep_answer

    def late(user: str, request: str, body: bytes) -> bytes:
        assert JailFolder(tmp_path / "jail").ledger.keep_answer(user, request, other) == other
        return keep(user, request, body)

    connection, request = connect(tmp_path / "ann.privjail"), secrets.token_bytes(16)
    with monkeypatch.context() as slow:
        slow.setattr(ledger, "keep_answer", late)
        assert ask(connection, 1, request) == [-12345.0]
    assert ask(connection, 1, request) == [-12345.0]
    assert spent(tmp_path) == 1
    assert ask(connection, 1) != [-12345.0]


def test_what_is_refused_before_the_charge_costs_nothing(running: Running, tmp_path: Path) -> None:
    connection = connect(tmp_path / "ann.privjail")
    number = secrets.token_bytes(16)
    with pytest.raises(BudgetExceeded):
        ask(connection, 4, number)
    assert spent(tmp_path) == 0
    ask(connection, 1, number)  # an id that was refused is free
    with pytest.raises(PlanError, match="used before, for another request"):
        ask(connection, 2, number)
    assert ask(connect(tmp_path / "bob.privjail"), 1, number)  # and each user has her own
    assert spent(tmp_path) == 2


def test_costs_and_refusals_do_not_depend_on_data_v26(tmp_path: Path) -> None:
    """V-26: the same requests on other data cost the same, and are refused at the same place."""
    told = []
    for name in ("full", "empty"):
        where = tmp_path / name
        where.mkdir()
        folder = make_jail(where, budget=10, grant=3)
        if name == "empty":
            (where / "none.csv").write_text("age,sex\n", encoding="utf-8")
            schema = folder.state.datasets["census"].schema
            folder.add_dataset("other", str(where / "none.csv"), schema, [10], "pure", (None, 1))
        else:
            folder.add_dataset("other", str(where / "census.csv"), folder.state.datasets["census"].schema, [10], "pure",
                               (None, 1), overlap_reason="a test")  # fmt: skip
        folder.grant("ann", "other", [3], False, None)
        jail = serve(where)
        try:
            told.append(_told(where))
        finally:
            jail.stop()
    assert told[0] == told[1]
    assert {"BudgetExceeded", "answered"} == {verdict.partition(":")[0] for verdict, _ in told[0]}


def _told(where: Path) -> list[tuple[str, Any]]:
    """Verdict and balance after each step of one program."""
    pj.connect(where / "ann.privjail")
    steps = []
    try:
        df = pd.read_csv("other")
        for eps in (0.5, 1, 1, 0.75, 0.5, 0.25, 0.25):
            old = df[df["age"] > 40]
            for value in (old.shape[0], old["age"].sum(), old["sex"].value_counts(sort=False)):
                try:
                    pj.laplace_mechanism(value, eps=eps)
                    verdict = "answered"
                except DPError as e:
                    verdict = f"{type(e).__name__}: {e}"
                steps.append((verdict, pj.consumed_privacy_budget()))
    finally:
        pj.disconnect()
    return steps


def test_blocks_inside_each_other_are_limited_as_in_one_process(running: Running, tmp_path: Path) -> None:
    pj.connect(tmp_path / "ann.privjail")
    try:
        size = pd.read_csv("census").shape[0]
        with pj.budget(1), pj.budget(2):
            with pytest.raises(BudgetExceeded, match="of this block"):
                pj.laplace_mechanism(size, eps=1.5)
            pj.laplace_mechanism(size, eps=1)
        pj.laplace_mechanism(size, eps=1)
    finally:
        pj.disconnect()
    assert spent(tmp_path) == 2
