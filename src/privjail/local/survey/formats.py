"""Lines in and out: CSV, JSON lines and Parquet, by the file's ending.

A file of answers has a column ``value`` (and may have ``theta`` and ``id``); a file of reports has
``report``, and ``theta`` only if parameters are public. Everything is read as text, so that the unary
report 0011 does not become 11.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privjail.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".json", ".jsonl", ".parquet")


def read_table(path: str) -> pd.DataFrame:
    """``-`` is standard input, as CSV. CSV is read as text; ``column`` turns all else into text."""
    import pandas as pd

    try:
        if path == "-":
            return pd.read_csv(sys.stdin, dtype=str, keep_default_na=False)
        ending = _ending(path)
        if ending == ".csv":
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        if ending == ".parquet":
            return pd.read_parquet(path)
        lines = not Path(path).read_text(encoding="utf-8").lstrip().startswith("[")  # or one list of records
        return pd.read_json(path, lines=lines, dtype=False)
    except (OSError, ValueError, ImportError) as wrong:
        # The parser's own words may quote a line of the file, so only its type is passed on.
        raise SchemaError(
            f"{path} cannot be read ({type(wrong).__name__})", do=f"give a {', '.join(ENDINGS)} file"
        ) from None


def read_json(path: Path | None) -> dict[str, Any] | None:
    """A JSON object, or None without a path."""
    if path is None:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise SchemaError(f"{path} is no JSON object", do="see docs/local.md")
    return found


def write_table(frame: pd.DataFrame, path: str) -> None:
    """``-`` is standard output, as CSV."""
    if path == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    ending = _ending(path)
    with writing(path):
        if ending == ".csv":
            frame.to_csv(path, index=False)
        elif ending == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_json(path, orient="records", lines=True, force_ascii=False)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """A file that cannot be written is an error of the caller, said in our words."""
    try:
        yield
    except (OSError, ValueError) as wrong:
        raise SchemaError(
            f"{path} cannot be written ({type(wrong).__name__})", do="check its folder and its ending"
        ) from None


def column(frame: pd.DataFrame, name: str) -> list[str]:
    if name not in frame.columns:
        raise SchemaError(f"the file has no column {name!r}", do=f"name one column {name!r}")
    missing = int(frame[name].isna().sum())
    if missing:  # as text they would be "None" or "nan", which may be somebody's answer
        raise SchemaError(f"{missing} of {len(frame)} rows have no {name!r}", do="leave these rows out")
    return frame[name].astype(str).tolist()


def _ending(path: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise SchemaError(f"no format is known for {path!r}", do=f"use one of: {', '.join(ENDINGS)}")
    return ending
