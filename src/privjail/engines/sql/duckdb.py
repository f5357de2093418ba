"""DuckDB, in this process: tables in memory, or the held form on disk, read anew for each statement."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import MutableMapping, Sequence
from itertools import count
from typing import Any
from weakref import ref

from privjail.engines.files import HeldFiles
from privjail.engines.held import Held
from privjail.engines.sql.compiler import Stored
from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.engine import SqlEngine
from privjail.engines.sql.store import FilesInPlace, stored_batches
from privjail.errors import EngineFailed
from privjail.ops.rows.source import Source

CACHE_BYTES = 2 * 2**30
SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "ieee_floating_point_ops": True,
    "order_by_non_integer_literal": True,  # rows may be sorted by a column that is the same in all of them
    "preserve_insertion_order": False,  # order is data: the stored position
}


FEW = 20  # rows that are inserted as bound values
_TYPES = {"int64": "BIGINT", "int32": "INT", "double": "DOUBLE", "bool": "BOOLEAN", "string": "VARCHAR"}
_NUMBERS = count()


def open_database(memory: int | None = None, threads: int | None = None) -> Any:
    """A new database in memory; it moves to a temporary folder what does not fit."""
    import duckdb

    limits: dict[str, Any] = {} if memory is None else {"memory_limit": f"{memory:d}B"}
    if threads is not None:
        limits["threads"] = threads
    return duckdb.connect(":memory:", config={**SETTINGS, **limits})


class DuckDBStore:
    """One database for all sessions of a jail; each statement runs on a cursor of its own."""

    def __init__(
        self, database: Any = None, seconds: float | None = None, stored: MutableMapping[Source, Stored] | None = None
    ) -> None:
        import duckdb

        self._failures: type[BaseException] = duckdb.Error
        self._database = open_database() if database is None else database
        self._seconds = seconds
        self._stored: MutableMapping[Source, Stored] = {} if stored is None else stored
        self._made: dict[str, ref[Source]] = {}  # tables, and whose rows they hold
        self._files = FilesInPlace()
        self._lock = threading.Lock()

    @property
    def stored(self) -> MutableMapping[Source, Stored]:
        return self._stored

    def _drop_unused(self) -> None:
        """Drop the rows of data sets that were updated, and that no plan rests on any more."""
        for name in [name for name, source in self._made.items() if source() is None]:
            with contextlib.suppress(self._failures):
                self._database.execute(f"DROP TABLE {name}")
            del self._made[name]

    def dialect(self) -> Dialect:
        return Dialect()

    def hold(self, source: Source, data: Held | HeldFiles) -> None:
        if isinstance(data, HeldFiles):
            self._read_in_place(source, data)
            return
        schema, batches = stored_batches(source.dataset, data)
        with self._lock:
            self._drop_unused()
            name = f"held{next(_NUMBERS):d}"
            self._made[name] = ref(source)
            cursor = self._database.cursor()
            columns = ", ".join(f"{each.name} {_TYPES[str(each.type)]}" for each in schema)
            cursor.execute(f"CREATE TABLE {name} ({columns})")
            rows = 0
            for batch in batches:
                rows += batch.num_rows
                self._append(cursor, name, batch)
            old = self._stored.get(source)
            self._stored[source] = Stored(name, rows)
            if old is not None:
                cursor.execute(f"DROP TABLE {old.relation}")
                self._made.pop(old.relation, None)
            cursor.close()

    def _append(self, cursor: Any, name: str, batch: Any) -> None:
        if batch.num_rows > FEW:
            cursor.register("arriving", batch)
            cursor.execute(f"INSERT INTO {name} SELECT * FROM arriving")
            cursor.unregister("arriving")
        elif batch.num_rows:  # the usual way takes milliseconds
            row = "(" + ", ".join("?" * batch.num_columns) + ")"
            values = [value for row_ in zip(*batch.to_pydict().values(), strict=True) for value in row_]
            cursor.execute(f"INSERT INTO {name} VALUES {', '.join([row] * batch.num_rows)}", values)

    def _read_in_place(self, source: Source, files: HeldFiles) -> None:
        """Files of the held form stay where they are; a statement reads the columns that it needs."""
        name = f"held{next(_NUMBERS):d}"
        with self._lock:
            paths = self._database.read_parquet([str(path) for path in files.paths])
            paths.create_view(name)
            self._files.note(name, files.paths)
            self._stored[source] = Stored(name, files.rows)

    def __del__(self) -> None:
        # The database may be shared by others, and outlive this.
        for name in getattr(self, "_made", {}):
            with contextlib.suppress(Exception):
                self._database.execute(f"DROP TABLE {name}")

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        cursor = self._database.cursor()
        timer = None if self._seconds is None else threading.Timer(self._seconds, cursor.interrupt)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            found: list[Any] = cursor.execute(statement).fetchall()
            if not self._files.changed(statement):
                return found
        except self._failures:
            pass
        finally:
            if timer is not None:
                timer.cancel()
            cursor.close()
        # Outside the except block: what DuckDB said may speak of data.
        raise EngineFailed("the engine failed")


class DuckDBEngine(SqlEngine):
    """An engine on a DuckDB database of its own, or on one that several engines share."""

    def __init__(self, cache_bytes: int = CACHE_BYTES, store: DuckDBStore | None = None) -> None:
        super().__init__(store or DuckDBStore(), cache_bytes)
