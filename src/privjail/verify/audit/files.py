"""Tables of an audit as files."""

from __future__ import annotations

import csv
from pathlib import Path

from privjail.verify.audit.data import Row, Table


def read_table(path: Path) -> Table:
    """The rows of a CSV or Parquet file, as text."""
    if path.suffix in (".parquet", ".pq"):
        import polars as pl

        frame = pl.read_parquet(path)
        return frame.columns, [["" if x is None else str(x) for x in row] for row in frame.iter_rows()]
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        names, *rows = list(csv.reader(file)) or [[]]
    return names, [row for row in rows if row]


def write_table(path: Path, names: list[str], rows: list[Row]) -> None:
    """Write rows as a CSV or Parquet file of text."""
    if path.suffix in (".parquet", ".pq"):
        import polars as pl

        columns = {n: [row[i] or None for row in rows] for i, n in enumerate(names)}
        pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String())).write_parquet(path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
