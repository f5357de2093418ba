"""A real jail on a real Spark cluster: workers and the Connect server are killed during releases.

Each release is charged once and answered, whatever is killed; and a job that outlives its deadline is cancelled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail import client
from privjail.engines.sql.spark import SparkStore
from privjail.errors import EngineFailed
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.server.holdings import EngineOptions
from privjail.server.limits import Limits
from privjail.server.server import Options, start
from tests.engines import spark_servers as servers
from tests.server.test_engines import ROWS, make, token

pytestmark = pytest.mark.slow

KILLS = 20
EPS = Fraction(8)
FAR = 20.0  # noise of scale 1/8 is beyond this with probability e**-160
SECONDS = 600.0
AGES = [20 + i % 60 for i in range(ROWS)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[servers.Cluster]:
    reason = servers.no_spark()
    if reason is not None:
        pytest.skip(reason)
    servers.load_client()
    found = servers.Cluster(tmp_path)
    yield found
    found.close()


class Analyst(threading.Thread):
    """Asks one question after another, each a new one, and notes how far the answers are from the truth."""

    def __init__(self, connection: client.Connection) -> None:
        super().__init__(daemon=True)
        self.connection, self.errors = connection, []
        self.answered, self.failure = 0, None
        self.enough = threading.Event()

    errors: list[float]
    failure: BaseException | None

    def run(self) -> None:
        try:
            while not self.enough.is_set():
                self.errors.append(self._ask(self.answered))
                self.answered += 1
        except BaseException as e:  # noqa: BLE001
            self.failure = e

    def _ask(self, i: int) -> float:
        # Some constants give the same rows in another way: nothing that was counted before answers it.
        over, source = 20.0 + i / 16, self.connection.source("spark")
        value = Tally(Filter(source, Compare(">", Column(source, "age"), Lit.of(over))), (), None)
        (found,) = self.connection.release([Query(value, Laplace(EPS))])
        return abs(float(found) - sum(age > over for age in AGES))

    def wait_for(self, answers: int) -> None:
        end = time.monotonic() + SECONDS
        while self.answered < answers:
            assert self.failure is None, repr(self.failure)
            assert time.monotonic() < end, "the jail does not answer again"
            time.sleep(0.05)


def kill(cluster: servers.Cluster, i: int) -> None:
    """kill -9 of a worker or of the Connect server, in turns; another one takes its place."""
    if i % 2:
        cluster.server.kill()
        cluster.server.wait()
        cluster.server = cluster.connect()
    else:
        cluster.workers[0].kill()
        cluster.workers[0].wait()
        cluster.workers = [*cluster.workers[1:], cluster.worker()]


def serve(where: Path, address: str) -> tuple[Any, client.Connection]:
    limits = Limits(seconds_per_release=SECONDS)
    engines = EngineOptions(spark=address, seconds=SECONDS)
    running = start(where / "jail", Options(port=0, insecure_loopback=True, limits=limits, engines=engines))
    return running, client.connect(f"127.0.0.1:{running.port}", token=token(where), insecure_loopback=True)


def test_nothing_is_charged_twice_or_lost_when_workers_and_the_server_are_killed(
    tmp_path: Path, cluster: servers.Cluster
) -> None:
    make(tmp_path, "spark").ledger.close()
    running, connection = serve(tmp_path, cluster.address)
    analyst = Analyst(connection)
    try:
        analyst.start()
        analyst.wait_for(2)
        for i in range(KILLS):
            time.sleep(0.3 * (i % 4))  # at another moment of a release each time
            kill(cluster, i)
            analyst.wait_for(analyst.answered + 2)
        analyst.enough.set()
        analyst.join(SECONDS)
        spent = Fraction(connection.consumed()["spark"])
    finally:
        analyst.enough.set()
        connection.close()
        running.stop()

    assert analyst.failure is None
    assert spent == EPS * analyst.answered and analyst.answered >= 2 * KILLS
    assert max(analyst.errors) < FAR


def test_a_job_that_outlives_its_deadline_is_cancelled(cluster: servers.Cluster) -> None:
    patient, hasty = SparkStore(cluster.address, seconds=SECONDS), SparkStore(cluster.address, seconds=20)
    small = "SELECT sum(id) FROM range(0, 1000, 1, 4)"
    assert patient.run(small) == [(499_500,)]
    started = time.monotonic()

    with pytest.raises(EngineFailed, match="^the engine failed$"):
        hasty.run("SELECT sum(id % 7) FROM range(0, 4000000000000, 1, 4)")  # hours, on all cores of the cluster

    assert time.monotonic() - started < 60
    assert patient.run(small) == [(499_500,)]  # the cores are free again
    assert time.monotonic() - started < 300
