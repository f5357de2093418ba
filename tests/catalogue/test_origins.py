"""Where the rows of a data set come from."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from privjail.catalogue.origins import fingerprint, origin_of


def test_fingerprints_have_256_bits_v60(tmp_path: Path) -> None:
    """Whoever finds two files of one fingerprint can put one in the other's place unnoticed."""
    for name, content in (("a.csv", "x\n1\n"), ("b.csv", "x\n2\n"), ("c.csv", "x\n1\n")):
        (tmp_path / name).write_text(content)
    one, other, same = (fingerprint(origin_of(str(tmp_path / f"{name}.csv"), None, None)) for name in "abc")

    assert one != other and one == same and len(one) * 4 == 256
    sqlite3.connect(tmp_path / "db").close()
    assert len(fingerprint({"kind": "sqlite", "place": str(tmp_path / "db"), "query": "SELECT 1"})) * 4 == 256
