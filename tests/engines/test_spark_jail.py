"""A jail whose rows Spark holds: the token stays in its file, other files are refused, and nobody hears Spark's words."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from privjail import client
from privjail.engines.files import HeldFiles
from privjail.engines.sql.spark import LOGGERS, SparkStore
from privjail.errors import EngineFailed, EngineGap, SchemaError
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.text import Text
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column
from privjail.plan.node import Lit
from tests.engines.spark_servers import load_client, no_sail
from tests.server.jails import Served
from tests.server.test_engines import asked, make, serve, token

SECRET = "t0ken-5f1c=="  # with signs that mean something in an address
WORDS = "w0rds-of-spark"
SECONDS = 8.0  # after which a release fails


def local(address: str) -> str:
    """The same server under the name that Spark's client sends a token to without TLS."""
    return address.replace("127.0.0.1", "localhost")


def over(age: int) -> Any:
    return lambda s: Tally(Filter(s, Compare(">", Column(s, "age"), Lit.of(age))), (), None)


def lowered(source: Any) -> Any:
    return Tally(Filter(source, Compare("==", Text("lower", Column(source, "note"), ()), Lit.of("n1"))), (), None)


class Listener(grpc.GenericRpcHandler):
    """Notes with which token it is called, and knows no method."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def service(self, handler_call_details: Any) -> None:
        found = dict(handler_call_details.invocation_metadata)
        self.given.append(str(found.get("authorization")))


@pytest.fixture
def listener() -> Iterator[tuple[Listener, str]]:
    reason = no_sail()
    if reason is not None:
        pytest.skip(reason)
    load_client()
    found, server = Listener(), grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((found,))
    port = server.add_secure_port("localhost:0", grpc.local_server_credentials())
    server.start()
    yield found, f"sc://localhost:{port}"
    server.stop(None)


@pytest.mark.parametrize("secret", ["plain", SECRET, "a;b=c%2F+d/?#"])
def test_spark_is_given_the_token_that_the_file_holds_now(
    secret: str, listener: tuple[Listener, str], tmp_path: Path
) -> None:
    heard, address = listener
    file = tmp_path / "token"
    for each in (secret, secret[::-1]):
        file.write_text(each + "\n", encoding="utf-8")
        with pytest.raises(EngineFailed, match="^the engine failed$") as caught:
            SparkStore(address, file, seconds=2).run("SELECT 1")
        assert each not in "".join(traceback.format_exception(caught.value))

        assert set(heard.given) == {f"Bearer {each}"}
        heard.given.clear()


def everything_written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def list_of_processes() -> bytes:
    """Command lines and environments of all processes that can be seen, this one's memory apart."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                found.append((process / name).read_bytes())
            except OSError:  # another user's, or gone
                continue
    return b"".join(found)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc to list processes from")
def test_the_token_is_in_no_ledger_log_error_or_list_of_processes(sail: str, tmp_path: Path) -> None:
    make(tmp_path, "spark").ledger.close()
    file = tmp_path / "spark-token"
    file.write_text(SECRET, encoding="utf-8")
    served = Served(tmp_path, "--engine", "spark", "--spark", local(sail), "--spark-token-file", str(file)).start()
    errors: list[str] = []
    try:
        assert served.process is not None
        address = f"127.0.0.1:{served.args[served.args.index('--port') + 1]}"
        connection = client.connect(address, token=token(tmp_path), insecure_loopback=True)
        assert len(connection.release(asked(connection, "spark"))) == 3
        with pytest.raises(EngineGap) as caught:
            connection.release(asked(connection, "spark", lowered))
        errors.append("".join(traceback.format_exception(caught.value)))
        file.unlink()
        processes = list_of_processes()
        connection.close()
    finally:
        shown = "".join(served.stop())

    assert str(file).encode() in processes  # this jail's line was among them
    for place in (everything_written(tmp_path), processes, shown.encode(), *(e.encode() for e in errors)):
        assert SECRET.encode() not in place


def test_files_with_another_digest_are_refused_before_spark_sees_them(sail: str, tmp_path: Path) -> None:
    make(tmp_path, "spark").ledger.close()
    part = HeldFiles.read(tmp_path / "held").paths[1]
    body = bytearray(part.read_bytes())
    body[len(body) // 2] ^= 1
    part.write_bytes(bytes(body))
    running, connection = serve(tmp_path, spark=sail, seconds=SECONDS)
    try:
        with pytest.raises(SchemaError, match="cannot be opened now"):
            connection.source("spark")
        assert "_spark" not in vars(running.service.catalogue.holdings)  # no session of Spark was opened
    finally:
        connection.close()
        running.stop()


def test_a_failure_of_spark_says_nothing_and_is_charged_once(
    sail: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, "spark").ledger.close()
    running, connection = serve(tmp_path, spark=sail, seconds=SECONDS)
    try:
        with caplog.at_level(logging.DEBUG):
            connection.release(asked(connection, "spark", over(50)))
            for part in HeldFiles.read(tmp_path / "held").paths:
                part.unlink()
            with pytest.raises(EngineFailed) as caught:
                connection.release(asked(connection, "spark", over(77)))
        spent = connection.consumed()["spark"]
    finally:
        connection.close()
        running.stop()

    assert str(caught.value) == "the engine failed on this request; it stays charged"
    assert spent == 2  # of two releases at 1
    shown = capfd.readouterr()
    said = "".join(traceback.format_exception(caught.value)) + caplog.text + shown.out + shown.err
    for word in ("parquet", "held0", "Exception in", "SELECT", str(tmp_path / "held")):
        assert word not in said


def test_the_loggers_of_sparks_client_are_silent(
    sail: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert SparkStore(sail, seconds=20).run("SELECT 1") == [(1,)]
    with caplog.at_level(logging.DEBUG):
        for name in LOGGERS:
            logging.getLogger(name).error(WORDS)

    shown = capfd.readouterr()
    assert WORDS not in caplog.text + shown.out + shown.err


@pytest.mark.parametrize(
    "statement", [f"SELECT raise_error('{WORDS}')", f"SELECT `{WORDS}`", f"SELECT {WORDS} FROM ("], ids=str
)
def test_what_spark_says_of_a_statement_is_dropped(
    statement: str, sail: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    store = SparkStore(sail, seconds=2)
    with caplog.at_level(logging.DEBUG), pytest.raises(EngineFailed, match="^the engine failed$") as caught:
        store.run(statement)

    shown = capfd.readouterr()
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    for text in (caplog.text, shown.out, shown.err, str(caught.value)):
        assert WORDS not in text
