"""Blocks of accounting through a served jail: paid durably with the first release, and forfeited by a crash."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import privjail as pj
import privjail.pandas as pd
from privjail.budget.blocks import Block
from privjail.client import connect
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded, DPError
from privjail.mechanisms.gaussian import Gaussian
from privjail.ops.numbers.tally import Tally
from privjail.release import Query
from privjail.server.ledger.checkpoint import pack, sha256, unpack
from privjail.server.server import Options, Running, start

from .jails import SCHEMA, make_jail

TINY = Fraction(1, 10**6)
PRICE = (Fraction(1), TINY)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    folder = make_jail(tmp_path)
    (tmp_path / "more.csv").write_text("age,sex\n1,F\n2,M\n", encoding="utf-8")
    limit = [Fraction(2), Fraction(1, 10**5)]
    folder.add_dataset("more", str(tmp_path / "more.csv"), SCHEMA, limit, "approx", (None, 1))
    folder.grant("ann", "more", limit, False, None)
    jail = serve(tmp_path)
    yield jail
    jail.stop()


def serve(where: Path) -> Running:
    port = int(JailFolder(where / "jail").config["address"].rpartition(":")[2])
    return start(where / "jail", Options(port=port, insecure_loopback=True))


def spent(where: Path) -> tuple[Fraction, ...]:
    return JailFolder(where / "jail").state.total(("user", "ann", "more"))


def ask(connection: object, rho: Fraction) -> list[Query]:
    return [Query(Tally(connection.source("more"), (), None), Gaussian(rho=rho))]  # type: ignore[attr-defined]


def test_a_block_is_paid_with_its_first_release_and_known_after_a_restart(running: Running, tmp_path: Path) -> None:
    block = Block.of("zcdp", *PRICE, None, secrets.token_hex(16))
    (limit,) = block.notion.limit or ()
    with closing(connect(tmp_path / "ann.privjail")) as connection:
        connection.release(ask(connection, limit * Fraction(2, 3)), block=block)
        assert spent(tmp_path) == PRICE
    running.stop()
    again = serve(tmp_path)
    try:
        with closing(connect(tmp_path / "ann.privjail")) as connection:
            with pytest.raises(BudgetExceeded):
                connection.release(ask(connection, limit * Fraction(2, 3)), block=block)
            connection.release(ask(connection, limit / 4), block=block)
            assert spent(tmp_path) == PRICE
            other = Block.of("zcdp", *PRICE, None, secrets.token_hex(16))
            connection.release(ask(connection, limit / 4), block=other)
            assert spent(tmp_path) == (2, 2 * TINY)
            with pytest.raises(BudgetExceeded):
                connection.release(ask(connection, limit / 4), block=Block.of("zcdp", *PRICE, None, "0" * 32))
    finally:
        again.stop()


def test_a_request_that_is_repeated_is_charged_once(running: Running, tmp_path: Path) -> None:
    block = Block.of("zcdp", *PRICE, None, secrets.token_hex(16))
    (limit,) = block.notion.limit or ()
    number = secrets.token_bytes(16)
    with closing(connect(tmp_path / "ann.privjail")) as connection:
        asked = ask(connection, limit * Fraction(2, 3))
        first = connection.release(asked, number, block)
        assert connection.release(asked, number, block) == first
        with pytest.raises(DPError):  # the same number for another request: outside of the block
            connection.release(asked, number)


def test_a_checkpoint_keeps_what_a_block_has_left(running: Running, tmp_path: Path) -> None:
    block = Block.of("zcdp", *PRICE, None, secrets.token_hex(16))
    (limit,) = block.notion.limit or ()
    with closing(connect(tmp_path / "ann.privjail")) as connection:
        source = connection.source("more")
        connection.release(ask(connection, limit * Fraction(2, 3)), block=block)
    state = running.service.ledger.state
    packed = pack(state)
    kept = unpack(packed, {"sha256": sha256(packed)})

    scope = ("dataset", "", "more")
    assert kept.total(scope) == PRICE
    address = block.below(source.cells[0], state.datasets["more"].notion).address
    with pytest.raises(BudgetExceeded):
        kept.trees[scope].add(address, (limit / 2,))
    assert pack(kept) == packed  # what was refused left no trace


def test_forged_blocks_are_refused(running: Running, tmp_path: Path) -> None:
    """A client that names a kind, or parameters, that there are not."""
    with closing(connect(tmp_path / "ann.privjail")) as connection:
        for forged in (
            Block("pure", Fraction(1), TINY, None, "0" * 32),
            Block("zcdp", Fraction(-1), TINY, None, "0" * 32),
            Block("zcdp", Fraction(1), Fraction(0), None, "0" * 32),
            Block("zcdp", Fraction(1), TINY, None, "00"),
            Block("zcdp", Fraction(1), TINY, Fraction(1), "0" * 32),
            Block("zcdp", None, None, Fraction(100), "0" * 32),  # under (ε, δ) it needs both
        ):
            with pytest.raises(DPError):
                connection.release(ask(connection, Fraction(1, 1000)), block=forged)
    assert spent(tmp_path) == (0, 0)


def test_the_face_opens_blocks_over_the_wire(running: Running, tmp_path: Path) -> None:
    pj.connect(tmp_path / "ann.privjail")
    try:
        df = pd.read_csv("more")
        with pj.accounting("zcdp", eps=1, delta=TINY):
            for _ in range(3):
                df.shape[0].reveal(rho=Fraction(1, 1000))
        assert pj.budget_left()["more"] == pytest.approx((1, 9e-6))
    finally:
        pj.disconnect()
