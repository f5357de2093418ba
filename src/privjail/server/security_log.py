"""What a security officer wants to see: refusals, failed logins, limits that were hit; as JSON lines in a file.

One file for each kind of process (the jail, the console), in the folder ``security``. It is rotated by size and kept
for a number of days. It never holds data, an answer, a token, or a program.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privjail.faults import FILES

EVERY, MOST = 60.0, 20  # seconds, and lines of one kind and user in them: a stranger must not fill the disk
LARGEST = 16 * 2**20  # bytes of one file
KEEP_DAYS = 400
LONGEST = 300  # characters of one text


class SecurityLog:
    """Appends lines; leaves out repetitions, and says how many."""

    def __init__(self, folder: Path | None, part: str, keep_days: int = KEEP_DAYS, largest: int = LARGEST) -> None:
        """``folder``: the jail's; without it nothing is written."""
        self._folder, self._part = (folder or Path()) / "security", part
        self._off = folder is None
        self._keep, self._largest = keep_days, largest
        self._lock = threading.Lock()
        self._since: dict[tuple[str, Any], float] = {}
        self._count: dict[tuple[str, Any], int] = {}
        self.failed: str | None = None  # why the newest line could not be written

    @property
    def path(self) -> Path:
        return self._folder / f"{self._part}.jsonl"

    def write(self, kind: str, **facts: Any) -> None:
        """One line. A full disk must not stop the jail: what could not be written is remembered in ``failed``."""
        if self._off:
            return
        with self._lock:
            key = (kind, facts.get("user") or facts.get("source"))
            left_out = self._left_out(key)
            if left_out is None:
                return
            line: dict[str, Any] = {"at": _now(), "part": self._part, "kind": kind}
            line |= {name: _short(value) for name, value in facts.items() if value is not None}
            if left_out:
                line["left_out"] = left_out
            try:
                self._append(json.dumps(line, default=str) + "\n")
                self.failed = None
            except OSError as e:
                self.failed = FILES.get(e.errno or 0, (e.strerror or "cannot be written", None))[0]

    def _left_out(self, key: tuple[str, Any]) -> int | None:
        """How many lines like this one were left out before it; None if this one is left out, too."""
        now, before = time.monotonic(), 0
        if now - self._since.get(key, -EVERY) >= EVERY:
            before = max(0, self._count.get(key, 0) - MOST)
            if len(self._since) > 10_000:
                self._since.clear()
                self._count.clear()
            self._since[key], self._count[key] = now, 0
        self._count[key] += 1
        return None if self._count[key] > MOST else before

    def _append(self, line: str) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_size + len(line) > self._largest:
                self._rotate()
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def _rotate(self) -> None:
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%f")
        os.replace(self.path, self._folder / f"{self._part}-{stamp}.jsonl")
        old = time.time() - self._keep * 86_400
        for each in self._folder.glob(f"{self._part}-*.jsonl"):
            if each.stat().st_mtime < old:
                each.unlink()


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """All lines of all parts, oldest first. A line that a crash cut short is left out."""
    found = []
    for file in sorted((folder / "security").glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):
            for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
                with contextlib.suppress(ValueError):
                    read_line = json.loads(line)
                    if isinstance(read_line, dict):
                        found.append(read_line)
    yield from sorted(found, key=lambda line: str(line.get("at")))


def _short(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else value


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
