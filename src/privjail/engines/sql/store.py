"""What a SQL engine needs of a database: to hold rows with their positions, and to run a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from privjail.engines.files import HeldFiles, Stamp, stamp
from privjail.engines.held import Held
from privjail.engines.sql.compiler import POSITION, Stored
from privjail.engines.sql.dialect import Dialect
from privjail.errors import SchemaError
from privjail.ops.rows.source import Dataset, Source

_HELD = re.compile(r"\bheld\d+\b")


class Store(Protocol):
    """A database. It is shared by the sessions of a jail, which ask it from several threads."""

    @property
    def stored(self) -> Mapping[Source, Stored]:
        """The data sets that it holds."""

    def dialect(self) -> Dialect: ...

    def hold(self, source: Source, data: Held | HeldFiles) -> None: ...

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        """The rows that a statement gives. Fails with EngineFailed, which says nothing of what went wrong."""


class FilesInPlace:
    """Files that statements read where they are. Their hashes were compared once, when they were opened.

    A database reads what it finds: another file under the same name, and Sail takes a file that is gone for one
    without rows. So after each statement it is asked whether the files are still those that were opened.
    """

    def __init__(self) -> None:
        self._opened: dict[str, list[tuple[Path, Stamp]]] = {}

    def note(self, relation: str, paths: Sequence[Path]) -> None:
        self._opened[relation] = [(path, stamp(path)) for path in paths]

    def changed(self, statement: str) -> bool:
        """Whether a file has changed that a statement read."""
        try:
            return any(
                stamp(path) != opened
                for relation in set(_HELD.findall(statement))
                for path, opened in self._opened.get(relation, ())
            )
        except SchemaError:  # it is gone
            return True


def stored_batches(dataset: Dataset, held: Held) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of the stored form: ``position``, then c0, c1, …, with moments as microseconds.

    The position is the number of the row in the stream, which is the data set's order; it is given here and only here.
    """
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(held)
    names = [f"c{i}" for i in range(len(dataset.columns))]
    types = [_stored_type(field.type) for field in reader.schema]
    schema = pa.schema([pa.field(POSITION, pa.int64(), False), *map(pa.field, names, types)])

    def batches() -> Iterator[Any]:
        start = 0
        for batch in reader:
            position = pa.array(range(start, start + batch.num_rows), pa.int64())
            columns = [column.cast(kind) for column, kind in zip(batch.columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays([position, *columns], schema=schema)
            start += batch.num_rows

    return schema, batches()


def _stored_type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.int64()
    text = pa.types.is_large_string(kind) or pa.types.is_string(kind) or str(kind) == "string_view"
    return pa.string() if text else kind
