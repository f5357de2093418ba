"""Random samples through a served jail: the same charges as in process, kept over restarts and checkpoints (V-47)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import privjail as pj
import privjail.pandas as pd
from privjail.budget.sampling import amplified
from privjail.client import connect
from privjail.curator.folder import JailFolder
from privjail.engines.coins import Coins
from privjail.errors import BudgetExceeded
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.sample import Sample
from privjail.release import Query
from privjail.server.ledger.checkpoint import pack, sha256, unpack
from privjail.server.server import Options, Running, start

from .jails import make_jail

TENTH = Fraction(1, 10)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    make_jail(tmp_path, budget=1, grant=1)
    jail = serve(tmp_path)
    yield jail
    jail.stop()


def serve(where: Path) -> Running:
    port = int(JailFolder(where / "jail").config["address"].rpartition(":")[2])
    return start(where / "jail", Options(port=port, insecure_loopback=True))


def spent(where: Path) -> Fraction:
    (cost,) = JailFolder(where / "jail").state.total(("dataset", "", "census"))
    return cost


def test_a_sample_is_amplified_in_the_durable_ledger_and_after_a_restart(running: Running, tmp_path: Path) -> None:
    file = tmp_path / "ann.privjail"
    with closing(connect(file)) as connection:
        sample = Sample(connection.source("census"), TENTH, "one")
        for _ in range(2):
            connection.release([Query(Tally(sample, (), None), Laplace(Fraction(1)))])
    assert spent(tmp_path) == amplified(Fraction(2), TENTH) < Fraction(1, 2)
    running.stop()

    again = serve(tmp_path)
    try:
        with closing(connect(file)) as connection:
            sample = Sample(connection.source("census"), TENTH, "one")
            with pytest.raises(BudgetExceeded):  # all three together: 1.07, although one alone is 0.16
                connection.release([Query(Tally(sample, (), None), Laplace(Fraction(1))) for _ in range(1)])
                connection.release([Query(Tally(sample, (), None), Laplace(Fraction(1, 10)))])
    finally:
        again.stop()
    assert spent(tmp_path) <= 1


def test_a_checkpoint_keeps_what_samples_cost(running: Running, tmp_path: Path) -> None:
    with closing(connect(tmp_path / "ann.privjail")) as connection:
        sample = Sample(connection.source("census"), TENTH, "one")
        connection.release([Query(Tally(sample, (), None), Laplace(Fraction(1)))])
    state = running.service.ledger.state
    packed = pack(state)

    kept = unpack(packed, {"sha256": sha256(packed)})

    scope = ("dataset", "", "census")
    assert kept.total(scope) == state.total(scope) == (amplified(Fraction(1), TENTH),)
    address = sample.cells[0].address
    kept.trees[scope].add(address, (Fraction(1),))
    assert kept.total(scope) == (amplified(Fraction(2), TENTH),)


def test_sessions_share_a_sample_and_the_wire_carries_no_coin(running: Running, tmp_path: Path) -> None:
    """The same node is the same rows in every session; what a client sends and gets holds no key."""
    found = []
    for _ in range(2):
        with closing(connect(tmp_path / "ann.privjail")) as connection:
            rows = Sample(connection.source("census"), Fraction(1, 2), "seed 7")
            session = next(iter(running.service.sessions._open.values()))
            found.append(running.service.catalogue.holdings.engine(2**20).evaluate(Tally(rows, (), None)))
            assert session is not None
    assert found[0] == found[1]
    assert isinstance(running.service.catalogue.holdings.coins, Coins)


def test_the_face_draws_over_the_wire_and_costs_what_the_ledger_says(running: Running, tmp_path: Path) -> None:
    pj.connect(tmp_path / "ann.privjail")
    try:
        df = pd.read_csv("census")
        answer = df.sample(frac=0.1, random_state=1).shape[0].reveal(eps=1)
        assert -50 < float(answer) < 200
        assert pj.budget_left()["census"] == pytest.approx(1 - float(amplified(Fraction(1), TENTH)))
    finally:
        pj.disconnect()
