"""Parquet files that are too large to hold: read anew, in batches, whenever they are asked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from privjail.engines.files import Stamp, stamp
from privjail.errors import SchemaError
from privjail.ops.polars_types import named

BATCH = 1 << 20  # rows, where the file's own groups are smaller


@dataclass(frozen=True)
class Part:
    """One file: its rows as they are, and where its groups of rows begin."""

    path: Path
    stamp: Stamp
    groups: tuple[int, ...]  # rows of each group

    @staticmethod
    def of(path: Path) -> Part:
        import pyarrow.parquet

        before = stamp(path)
        sizes: tuple[int, ...] | None = None
        with contextlib.suppress(pyarrow.ArrowException), pyarrow.parquet.ParquetFile(path) as file:
            sizes = tuple(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))
        if sizes is None:  # raised out here: the text of the first error may quote the file
            raise SchemaError(f"{path.name!r} cannot be read as Parquet")
        return Part(path, before, sizes)

    def check(self) -> None:
        """Refuse a file that has changed; asked before a part of it is read, and after."""
        if stamp(self.path) != self.stamp:
            # Columns of the old rows beside columns of new ones would pair rows that do not belong together.
            raise SchemaError(f"{self.path.name!r} has changed since it was opened")

    def lazy(self) -> pl.LazyFrame:
        self.check()
        return pl.scan_parquet(self.path, glob=False)

    def spans(self, most: int) -> Iterator[tuple[int, int]]:
        """(first row, number of rows) of each batch: whole groups where they are small enough."""
        start, length = 0, 0
        for group in self.groups:
            if length and length + group > BATCH:
                yield start, length
                start, length = start + length, 0
            length += group
            while length > most:
                yield start, most
                start, length = start + most, length - most
        if length:
            yield start, length


@dataclass(frozen=True)
class OnDisk:
    """The rows of Parquet files, one after another; ``shaped`` makes them keep what the schema promises."""

    parts: tuple[Part, ...]
    shaped: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows

    @staticmethod
    def of(paths: Sequence[Path]) -> OnDisk:
        return OnDisk(tuple(Part.of(path) for path in paths))

    def lazy(self) -> pl.LazyFrame:
        return pl.concat([self.shaped(part.lazy()) for part in self.parts], how="vertical")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows in their order, a batch at a time: the held form, for engines that read Arrow."""
        import pyarrow

        schema = self.lazy().head(0).collect().to_arrow().schema
        batches = (batch for read in self.batches((), BATCH) for batch in read().to_arrow().to_batches())
        return pyarrow.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested_schema)

    def reshaped(self, shaped: Callable[[pl.LazyFrame], pl.LazyFrame]) -> OnDisk:
        return replace(self, shaped=shaped)

    @cached_property
    def height(self) -> int:
        return int(self._checked(self.lazy().select(pl.len()).collect(engine="streaming")).item())

    def select(self, columns: Sequence[Any], rows: tuple[int, int] | None = None) -> pl.DataFrame:
        """Some columns, held as a whole, or only some of their rows: from which one on, and how many."""
        lazy = self.lazy() if rows is None else self.lazy().slice(*rows)
        return self._checked(lazy.select(columns).collect())

    def _checked(self, read: pl.DataFrame) -> pl.DataFrame:
        for part in self.parts:
            part.check()
        return read

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Callable[[], pl.DataFrame]]:
        """Functions that read some columns of a batch of rows each."""
        wanted = [named(c) for c in columns]
        for part in self.parts:
            rows = part.lazy()
            for start, length in part.spans(most):
                batch = self.shaped(rows.slice(start, length)).select(wanted or pl.all())
                yield partial(_read, batch, part)


def _read(batch: pl.LazyFrame, part: Part) -> pl.DataFrame:
    try:
        return batch.collect()
    finally:
        part.check()
