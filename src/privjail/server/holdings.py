"""The rows of a jail's data sets, each with the engine that holds it; shared by all sessions."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from privjail.engines.choice import AUTO, check_engine, choose, in_memory
from privjail.engines.coins import Coins
from privjail.engines.engine import Engine
from privjail.errors import PlanError
from privjail.ops.rows.source import Dataset, Source
from privjail.server.ledger.state import DatasetEntry

if TYPE_CHECKING:
    from privjail.engines.files import HeldFiles


@dataclass(frozen=True)
class EngineOptions:
    """Which engine holds data sets whose entry names none, and where Spark is."""

    engine: str = "auto"
    spark: str | None = None  # the address of a Spark Connect server, sc://host:port
    spark_token: Path | None = None  # a file: the token itself is in no ledger, log or list of processes
    memory: int | None = None  # bytes that DuckDB may use
    seconds: float | None = None  # after which a job is cancelled


class Holdings:
    """Opens engines when a data set first needs them."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        self.options = options or EngineOptions()
        # What Polars holds. Rows that were replaced by an update go with the last plan that rests on them.
        self.frames: MutableMapping[Source, Any] = WeakKeyDictionary()
        self.coins = Coins()  # of random samples: the same for all sessions
        self._held_by: MutableMapping[Source, str] = WeakKeyDictionary()
        self._lock = threading.RLock()

    def engine(self, cache_bytes: int) -> Engine:
        """The engine of a session."""
        # Slow to import: a jail opens its port first.
        from privjail.engines.chosen import ChosenEngine
        from privjail.engines.polars.engine import PolarsEngine
        from privjail.engines.sql.engine import SqlEngine

        make = {
            "polars": lambda most: PolarsEngine(most, self.frames, self.coins),
            "duckdb": lambda most: SqlEngine(self._duckdb, most, self.coins),
            "spark": lambda most: SqlEngine(self._spark, most, self.coins),
        }
        return ChosenEngine(cache_bytes, make, self._held_by)

    def hold(self, source: Source, data: Any, wanted: str | None) -> None:
        """Rows that were loaded, or that stay in files which only Polars reads."""
        from privjail.engines.polars.disk import OnDisk

        name = wanted or self.options.engine
        if name == AUTO or isinstance(data, OnDisk) and wanted is None:
            name = "polars"
        self._hold(source, data, name)

    def hold_files(self, name: str, entry: DatasetEntry) -> Source:
        """Rows that were ingested: the files must be those whose digest the ledger has."""
        from privjail.engines.files import HeldFiles

        files = HeldFiles.read(Path(entry.origin["place"]))
        files.verify(entry.fingerprint)
        return self.hold_checked(name, entry, files, entry.origin["bytes"])

    def hold_checked(self, name: str, entry: DatasetEntry, files: HeldFiles, size: int) -> Source:
        """Rows in files whose hashes were checked; ``size``: about how much memory they would take."""
        from privjail.catalogue.ingest import domains_of
        from privjail.engines.files import in_polars

        source = Source(Dataset(name, name, tuple(domains_of(files).items()), entry.unit, epoch=entry.epoch))
        engine = choose(entry.engine or self.options.engine, size)
        held: Any = files
        if engine == "polars":
            held = in_polars(files, source.dataset)
            held = held.lazy().collect() if size <= in_memory() else held
        self._hold(source, held, engine)
        return source

    def _hold(self, source: Source, data: Any, engine: str) -> None:
        with self._lock:
            self.coins.renew(source)
            if engine == "polars":
                self.frames[source] = data
            else:
                (self._duckdb if engine == "duckdb" else self._spark).hold(source, data)
            self._held_by[source] = engine

    @cached_property
    def _duckdb(self) -> Any:
        check_engine("duckdb")
        from privjail.engines.sql.duckdb import DuckDBStore, open_database

        return DuckDBStore(open_database(self.options.memory), self.options.seconds, WeakKeyDictionary())

    @cached_property
    def _spark(self) -> Any:
        check_engine("spark")
        from privjail.engines.sql.spark import SparkStore

        if self.options.spark is None:
            raise PlanError("the address of Spark is missing", do="serve with --spark sc://host:port")
        return SparkStore(self.options.spark, self.options.spark_token, self.options.seconds)
