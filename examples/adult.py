"""Where the UCI Adult files lie, if they are here: in $PRIVJAIL_DATA, or in ../shared/data beside the project."""

from __future__ import annotations

import os
from pathlib import Path

FILES = ("adult_train.csv", "adult_test.csv", "adult.schema.json")
MISSING = "UCI Adult is not here: put adult_train.csv, adult_test.csv, adult.schema.json into $PRIVJAIL_DATA"


def files() -> tuple[str, str, str] | None:
    """Train data, test data and schema; None if they are not here."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PRIVJAIL_DATA") or beside)
    train, test, schema = (folder / name for name in FILES)
    return (str(train), str(test), str(schema)) if all(p.exists() for p in (train, test, schema)) else None
