"""Spark, through Spark Connect: Spark 4, Databricks and Sail alike. This process runs no JVM and holds no rows."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent import futures
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from privjail.engines.files import HeldFiles
from privjail.engines.held import Held
from privjail.engines.sql.compiler import Stored
from privjail.engines.sql.engine import SqlEngine
from privjail.engines.sql.spark_dialect import SparkDialect
from privjail.engines.sql.store import FilesInPlace, stored_batches
from privjail.errors import EngineFailed
from privjail.ops.rows.source import Source

CACHE_BYTES = 2 * 2**30
PATIENCE = 60.0  # seconds in which a lost server may come back, where no deadline is set
PAUSE = 0.5
RETRIES = 3  # of one call by Spark's own client, within a second; then the session is opened anew
SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # nothing that a row holds may make a job fail
}
PLANNING = {  # for speed only: Databricks without servers of one's own refuses most settings
    # Else Spark's planner computes the columns of rows that the jail sent: by itself, one row at a time, and once for
    # each part of a statement.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    # What Spark's parser notes about statements it keeps for ever, about 7 KB for each state: a hundred of our long
    # statements fill a driver of 1 GB, which then does little but collect garbage.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "20000",
}
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark", "pyspark.sql.connect.client.logging")
_TYPES = {"int64": "BIGINT", "int32": "INT", "double": "DOUBLE", "bool": "BOOLEAN", "string": "STRING"}
_NUMBERS = count()


class SparkStore:
    """A session of a Spark Connect server. It is opened anew, and knows its tables again, when the server was lost.

    A job only reads. So running it a second time changes nothing, and what it gives is exact: noise is drawn later.
    """

    def __init__(self, address: str, token: Path | None = None, seconds: float | None = None) -> None:
        self._address, self._token, self._seconds = address, token, seconds
        self._tables: dict[Source, Callable[[Any], None]] = {}  # how to make a session know a data set
        self._stored: dict[Source, Stored] = {}
        self._files = FilesInPlace()
        self._session: Any = None
        self._lock = threading.RLock()
        self._running = futures.ThreadPoolExecutor(32, "spark")
        self.jobs = 0  # statements that were run

    @property
    def stored(self) -> dict[Source, Stored]:
        return self._stored

    def dialect(self) -> SparkDialect:
        return SparkDialect()

    def hold(self, source: Source, data: Held | HeldFiles) -> None:
        name = f"held{next(_NUMBERS):d}"
        if isinstance(data, HeldFiles):
            paths, rows = [str(path) for path in data.paths], data.rows
            self._files.note(name, data.paths)

            def known(session: Any) -> None:
                session.read.parquet(*paths).createOrReplaceTempView(name)

        else:
            import pyarrow as pa

            schema, batches = stored_batches(source.dataset, data)
            table = pa.Table.from_batches(list(batches), schema)
            rows = table.num_rows
            types = ", ".join(f"{each.name} {_TYPES[str(each.type)]}" for each in schema)

            def known(session: Any) -> None:
                made = session.createDataFrame(table) if rows else session.createDataFrame([], types)
                made.createOrReplaceTempView(name)

        self._within(lambda session: known(session))
        with self._lock:
            self._tables[source] = known
            self._stored[source] = Stored(name, rows)

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        self.jobs += 1
        found = self._within(lambda session: session.sql(statement).toArrow())
        if self._files.changed(statement):
            raise EngineFailed("the engine failed")
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    # -- one statement, until the deadline

    def _within(self, act: Callable[[Any], Any]) -> Any:
        """Run something with a session: again if the server was lost, and not beyond the deadline."""
        end = time.monotonic() + (self._seconds or PATIENCE)
        failed = False
        while not failed:
            session = None
            try:
                session, tag = self._opened(end), f"privjail-{next(_NUMBERS):d}"
                return self._tagged(session, tag, act, end)
            except futures.TimeoutError:
                failed = True
            except Exception as e:  # noqa: BLE001
                failed = not _is_lost(e) or time.monotonic() + PAUSE > end
                self._forget(session)
            if not failed:
                time.sleep(PAUSE)
        # Outside the except block: what Spark said may speak of data.
        raise EngineFailed("the engine failed")

    def _tagged(self, session: Any, tag: str, act: Callable[[Any], Any], end: float) -> Any:
        def run() -> Any:
            session.addTag(tag)
            try:
                return act(session)
            finally:
                session.removeTag(tag)

        job = self._running.submit(run)
        try:
            return job.result(max(0.0, end - time.monotonic()))
        except futures.TimeoutError:
            self._running.submit(session.interruptTag, tag)
            raise

    def _opened(self, end: float) -> Any:
        with self._lock:
            if self._session is None:
                opening = self._running.submit(self._open)
                self._session = opening.result(max(0.0, end - time.monotonic()))
            return self._session

    def _open(self) -> Any:
        with warnings.catch_warnings():  # about versions of pandas, which is not used here
            warnings.simplefilter("ignore")
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession

            for name in LOGGERS:  # they would write statements, and what a job said of data, to the jail's log
                logging.getLogger(name).disabled = True

            session = SparkSession(self._url())
        # Spark's own client would wait up to a minute between two attempts: longer than most servers need to come back.
        session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
        for name, value in {**SETTINGS, **PLANNING}.items():
            try:
                session.conf.set(name, value)
            except Exception as e:
                if name in SETTINGS or _is_lost(e):
                    raise
        for known in list(self._tables.values()):
            known(session)
        return session

    def _url(self) -> str:
        """The address, with the token from its file: in no log, ledger or list of processes."""
        if self._token is None:
            return self._address
        token = Path(os.fspath(self._token)).read_text(encoding="utf-8").strip()
        # Quoted: a token often ends with '=', and ';' would begin another setting of the connection.
        return f"{self._address.rstrip('/')}/;token={quote(token, safe='')}"

    def _forget(self, session: Any) -> None:
        with self._lock:
            if session is self._session:
                self._session = None


def _is_lost(error: BaseException) -> bool:
    """Whether a server or a worker was lost, so that asking again may help: everything but what a server refused.

    Some is named in the message only, by Sail's planner or Databricks; nobody but these lines sees it.
    """
    refused = ("AnalysisException", "ParseException", "IllegalArgumentException")
    said = ("Error during planning", "CONFIG_NOT_AVAILABLE")
    return type(error).__name__ not in refused and not any(words in str(error) for words in said)


class SparkEngine(SqlEngine):
    """An engine on a Spark Connect server."""

    def __init__(self, store: SparkStore, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(store, cache_bytes)
