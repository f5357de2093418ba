"""Reading files and frames as they are: text, or columns of a type that the container declares.

Nothing a row holds can make reading fail, and no message quotes what was read (V-24): what the engine says
about a line it cannot read is dropped, not even kept as the context of the error.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from privjail.engines.polars.disk import OnDisk
from privjail.errors import SchemaError

T = TypeVar("T")
HELD_BYTES = 2**30  # larger tables stay on disk
BYTES_PER_VALUE = 8


def quietly(act: Callable[[], T], otherwise: str) -> T:
    """Run what may fail with a message about data; if it fails, say only the given words."""
    try:
        return act()
    except SchemaError:
        raise
    except Exception:  # noqa: BLE001
        pass
    # Outside the except block, so that the error has no __context__ to look into.
    raise SchemaError(otherwise)


def read_csv_text(path: Path, separator: str = ",") -> pl.DataFrame:
    """All columns of a CSV file as text: no type is guessed from the data.

    The header is public. Fields beyond it are dropped, missing ones are missing values, and bytes that are no
    UTF-8 are replaced: one person's odd row must not decide whether the data set can be opened.
    """
    _check_header(path, separator)
    return quietly(
        lambda: pl.read_csv(
            path, separator=separator, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True
        ),
        f"{path.name!r} cannot be read as CSV",
    )


def scan_csv_text(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    """The same in batches, in the order of the file."""
    _check_header(path, ",")
    wrong = f"{path.name!r} cannot be read as CSV"
    scan = pl.scan_csv(path, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True)
    yield quietly(lambda: scan.head(0).collect(), wrong)
    batches = quietly(lambda: iter(scan.collect_batches(chunk_size=rows, maintain_order=True)), wrong)
    while (batch := quietly(lambda: next(batches, None), wrong)) is not None:
        yield batch


def _check_header(path: Path, separator: str) -> None:
    _need_file(path)
    names = quietly(lambda: _header(path, separator), f"{path.name!r} cannot be read as CSV")
    if not names:
        raise SchemaError(f"{path.name!r} is empty: it needs a header line with the names of the columns")
    _distinct(names, path.name)


def _header(path: Path, separator: str) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return next(csv.reader(file, delimiter=separator), [])


def read_parquet_frame(path: Path) -> pl.DataFrame:
    _need_file(path)
    return quietly(lambda: pl.read_parquet(path), f"{path.name!r} cannot be read as Parquet")


def open_parquet(*paths: Path) -> pl.DataFrame | OnDisk:
    """The rows of one or more Parquet files; they stay on disk where they would fill too much memory."""
    for path in paths:
        _need_file(path)
    disk = quietly(lambda: OnDisk.of(paths), f"{paths[0].name!r} cannot be read as Parquet")
    types = quietly(lambda: disk.lazy().collect_schema(), "the files of the folder do not have the same columns")
    if sum(sum(part.groups) for part in disk.parts) * len(types) * BYTES_PER_VALUE > HELD_BYTES:
        return disk
    return quietly(lambda: disk.lazy().collect(), f"{paths[0].name!r} cannot be read as Parquet")


def _need_file(path: Path) -> None:
    if not path.is_file():
        raise SchemaError(f"there is no file {path.name!r}", do="check the path")


def _distinct(names: list[str], where: str) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SchemaError(f"{where!r} has two columns of the same name: {twice}", do="rename one of them")


def frame_of(given: Any) -> pl.DataFrame:
    """A pandas or Polars frame as a Polars frame. Row labels are dropped: they are no data."""
    if isinstance(given, pl.DataFrame):
        return given
    if type(given).__name__ != "DataFrame" or not hasattr(given, "iloc"):
        raise SchemaError(f"a pandas or Polars frame is needed, not {type(given).__name__}")
    names = [str(name) for name in given.columns]
    _distinct(names, "the frame")
    columns = {
        name: quietly(lambda i=i: _column(given.iloc[:, i]), f"column {name!r} of the frame cannot be read")  # type: ignore[misc]
        for i, name in enumerate(names)
    }
    return pl.DataFrame(columns)


def _column(column: Any) -> pl.Series:
    """A pandas column. Its type is decided by the pandas dtype alone, never by the values."""
    kind = getattr(column.dtype, "kind", "O")
    if kind == "M":
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return pl.Series(column.astype("datetime64[us]").to_numpy(), dtype=pl.Datetime("us"))
    types: dict[str, Any] = {"b": pl.Boolean(), "i": pl.Int64(), "u": pl.UInt64(), "f": pl.Float64()}
    if kind in types and type(column.dtype).__name__ != "CategoricalDtype":
        values = [None if missing else value for missing, value in zip(column.isna(), column.tolist(), strict=True)]
        return pl.Series(values, dtype=types[kind], strict=False)
    texts = [None if missing else _text(value) for missing, value in zip(column.isna(), column, strict=True)]
    return pl.Series(texts, dtype=pl.String(), strict=False)


def _text(value: Any) -> str:
    """A value as a file would spell it; whole floats like whole numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
