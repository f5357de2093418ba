"""Which engine holds a data set: the curator's choice, or a rule by its size."""

from __future__ import annotations

import importlib.util

from privjail.engines.machine import of_machine
from privjail.errors import PlanError

ENGINES = ("polars", "duckdb", "spark")
AUTO = "auto"
BYTES_PER_VALUE = 8
SHARE = 8  # of the machine's memory, for one data set: half is for sessions, and there are several data sets


def stored_bytes(rows: int, columns: int) -> int:
    """About how much memory a data set takes that is held as a whole: a power of two, which does not tell the rows."""
    return 1 << (rows * columns * BYTES_PER_VALUE).bit_length()


def in_memory() -> int:
    """Bytes of a data set that Polars holds in memory; larger ones are read from disk each time.

    The power of two that is nearest to an eighth of the memory there is (half way up counts as up). A machine's memory
    is never quite the number on its label, and sizes of data sets are powers of two.
    """
    return 1 << max(0, (of_machine() * 3 // (2 * SHARE)).bit_length() - 1)


def choose(wanted: str | None, size: int | None) -> str:
    """The engine of a data set.

    ``size``: ``stored_bytes`` of data that was ingested; None for other data, which Polars reads as it is. What leaves
    room in this machine's memory is held there by Polars; larger data is left to DuckDB, which reads files in place.
    """
    if wanted not in (None, AUTO):
        return str(wanted)
    if size is None or size <= in_memory() or importlib.util.find_spec("duckdb") is None:
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
