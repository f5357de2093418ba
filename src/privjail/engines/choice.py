"""Which engine holds a data set: the curator's choice, or a rule by its size."""

from __future__ import annotations

import importlib.util

from privjail.errors import PlanError

ENGINES = ("polars", "duckdb", "spark")
AUTO = "auto"
BYTES_PER_VALUE = 8
IN_MEMORY = 2**30  # bytes of a data set that Polars holds in memory; larger ones are read from disk each time


def stored_bytes(rows: int, columns: int) -> int:
    """About how much memory a data set takes that is held as a whole: a power of two, which does not tell the rows."""
    return 1 << (rows * columns * BYTES_PER_VALUE).bit_length()


def choose(wanted: str | None, size: int | None) -> str:
    """The engine of a data set.

    ``size``: ``stored_bytes`` of data that was ingested; None for other data, which Polars reads as it is. What fits
    into memory is fastest there, with Polars; larger data is left to DuckDB, which reads the files in place.
    """
    if wanted not in (None, AUTO):
        return str(wanted)
    if size is None or size <= IN_MEMORY or importlib.util.find_spec("duckdb") is None:
        return "polars"
    return "duckdb"


def check_engine(name: str | None) -> None:
    """Refuse an engine that is unknown or not installed."""
    if name in (None, AUTO, "polars"):
        return
    if name not in ENGINES:
        raise PlanError(f"there is no engine {name!r}", do=f"use one of {', '.join(ENGINES)}")
    if importlib.util.find_spec({"duckdb": "duckdb", "spark": "pyspark"}[str(name)]) is None:
        raise PlanError(f"the engine {name} is not installed", do=f'pip install "privjail-dp[{name}]"')
