"""One folder, one server: a second process on the same state would add and charge on its own."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from privjail.errors import DPError


class Lock:
    """Held until it is closed or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise DPError(f"another process serves {folder.name!r}", do="stop it first, or use its address") from None

    def close(self) -> None:
        os.close(self._file)
