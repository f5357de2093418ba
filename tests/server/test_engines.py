"""A jail whose data sets are held by different engines: equal answers, one ledger, and nothing of an engine's words."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privjail as pj
from privjail import client
from privjail.catalogue.ingest import ingest
from privjail.curator.folder import JailFolder
from privjail.engines.files import HeldFiles
from privjail.errors import EngineFailed, EngineGap, SchemaError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.text import Text
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.source import Column, Unit
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.server.holdings import EngineOptions
from privjail.server.server import Options, start

from .jails import free_port

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "note": {"type": "string"},
}
ROWS = 2_000


def make(where: Path, *engines: str) -> JailFolder:
    """A jail with the same data once for each engine, under the engine's name."""
    lines = "".join(f"{20 + i % 60},{'FM'[i % 3 == 0]},n{i % 7}\n" for i in range(ROWS))
    (where / "data.csv").write_text("age,sex,note\n" + lines, encoding="utf-8")
    folder = JailFolder.init(where / "jail", ["127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    origin = {"kind": "csv", "place": str(where / "data.csv")}
    ingest(origin, SCHEMA, Unit(), where / "held", part_rows=300)
    (where / "ann.json").write_text(json.dumps(folder.add_user("ann", 30)))
    for engine in engines:
        folder.add_dataset(
            engine, str(where / "held"), None, [10**6], "pure", (None, 1), engine=engine, overlap_reason="a test"
        )
        folder.grant("ann", engine, [10**6], False, None)
    return folder


def serve(where: Path, **options: Any) -> tuple[Any, client.Connection]:
    running = start(where / "jail", Options(port=0, insecure_loopback=True, engines=EngineOptions(**options)))
    return running, client.connect(f"127.0.0.1:{running.port}", token=token(where), insecure_loopback=True)


def token(where: Path) -> str:
    return str(json.loads((where / "ann.json").read_text())["token"])


def asked(connection: client.Connection, name: str, value: Any = None) -> list[Query]:
    source = connection.source(name)
    sex, age = Column(source, "sex"), Column(source, "age")
    values = [
        Tally(source, (), None),
        Tally(source, (sex,), age),
        Tally(Filter(source, Compare(">", age, Lit.of(40))), (sex,), None),
    ]
    return (
        [Query(each, Laplace(Fraction(10_000))) for each in values]
        if value is None
        else [Query(value(source), Laplace(Fraction(1)))]
    )


def test_every_engine_answers_from_the_same_files_at_the_same_cost(tmp_path: Path) -> None:
    make(tmp_path, "polars", "duckdb").ledger.close()
    running, connection = serve(tmp_path)
    try:
        found = {name: connection.release(asked(connection, name)) for name in ("polars", "duckdb")}
        rounded = {
            name: repr([[round(x) for x in (a if isinstance(a, list) else [a])] for a in answers])
            for name, answers in found.items()
        }
        assert rounded["polars"] == rounded["duckdb"]
        spent = connection.consumed()
        assert spent["polars"] == spent["duckdb"]
    finally:
        connection.close()
        running.stop()


def test_what_an_engine_lacks_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    make(tmp_path, "polars", "duckdb").ledger.close()
    running, connection = serve(tmp_path)

    def lowered(source: Any) -> Any:
        return Tally(Filter(source, Compare("==", Text("lower", Column(source, "note"), ()), Lit.of("n1"))), (), None)

    try:
        with pytest.raises(EngineGap, match="str.lower on free text does not run on DuckDB"):
            connection.release(asked(connection, "duckdb", lowered))
        assert connection.consumed()["duckdb"] == 0
        connection.release(asked(connection, "polars", lowered))
    finally:
        connection.close()
        running.stop()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_files_with_another_digest_are_refused(tmp_path: Path, engine: str) -> None:
    make(tmp_path, engine).ledger.close()
    part = HeldFiles.read(tmp_path / "held").paths[1]
    body = bytearray(part.read_bytes())
    body[len(body) // 2] ^= 1
    part.write_bytes(bytes(body))
    running, connection = serve(tmp_path)
    try:
        with pytest.raises(SchemaError):
            connection.source(engine)
    finally:
        connection.close()
        running.stop()


def test_a_failure_of_the_engine_says_nothing_and_is_charged_once(tmp_path: Path) -> None:
    make(tmp_path, "duckdb").ledger.close()
    running, connection = serve(tmp_path)
    try:
        connection.release(asked(connection, "duckdb"))
        for part in HeldFiles.read(tmp_path / "held").paths:
            part.unlink()
        with pytest.raises(EngineFailed) as caught:
            connection.release(
                asked(
                    connection,
                    "duckdb",
                    lambda s: Tally(Filter(s, Compare(">", Column(s, "age"), Lit.of(77))), (), None),
                )
            )
        assert str(caught.value) == "the engine failed on this request; it stays charged"
        assert caught.value.__cause__ is None or "parquet" not in str(caught.value.__cause__)
    finally:
        connection.close()
        running.stop()


def test_a_file_that_was_replaced_since_it_was_opened_answers_nothing(tmp_path: Path) -> None:
    """DuckDB reads whatever lies there: rows of another file, under the digest of the old ones."""
    make(tmp_path, "duckdb").ledger.close()
    running, connection = serve(tmp_path)
    over_77 = lambda s: Tally(Filter(s, Compare(">", Column(s, "age"), Lit.of(77))), (), None)  # noqa: E731
    try:
        connection.release(asked(connection, "duckdb"))
        parts = HeldFiles.read(tmp_path / "held").paths
        shutil.copyfile(parts[0], tmp_path / "other")
        (tmp_path / "other").replace(parts[1])
        with pytest.raises(EngineFailed):
            connection.release(asked(connection, "duckdb", over_77))
    finally:
        connection.close()
        running.stop()


def test_an_engine_that_is_unknown_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, "polars")
    with pytest.raises(pj.DPError, match="there is no engine 'oracle'"):
        folder.add_dataset("x", str(tmp_path / "held"), None, [1], "pure", (None, 1), engine="oracle")
    with pytest.raises(SchemaError, match="another schema or unit"):
        folder.add_dataset("x", str(tmp_path / "held"), None, [1], "pure", ("age", 2))
    folder.ledger.close()
