"""Folders and ledgers of older layouts, made new. Each step goes from one layout to the next."""

from __future__ import annotations

import json
import os
from pathlib import Path

from privjail.curator.backup import Head, backup
from privjail.curator.folder import LAYOUT, JailFolder
from privjail.server.rotation import rotate_certificate


def layout_of(folder: JailFolder) -> int:
    return int(folder.config.get("layout", 1))


def upgrade(folder: JailFolder, keep: Path) -> tuple[int, Head | None]:
    """Bring a jail to the newest layout, after a backup to ``keep``. Returns the layout that it had, and the backup.

    It is safe to stop at any moment and to do it again. Jails that share a ledger are upgraded one by one.
    """
    before = layout_of(folder)
    if before >= LAYOUT:
        return before, None
    folder.check()  # what is not whole is not touched
    head = backup(folder, keep)
    STEPS[before](folder)
    folder._decide(lambda state: {"type": "upgrade", "from": before, "to": LAYOUT})
    config = {**folder.config, "layout": LAYOUT}
    new = folder.path / "jail.json.new"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(config, file, indent=1)
    os.replace(new, folder.path / "jail.json")
    folder.config = config
    return before, head


def _from_1(folder: JailFolder) -> None:
    """The pinned certificate becomes the authority of the one that is shown, and the security log gets its folder."""
    if not (folder.path / "server.pem").is_file():
        rotate_certificate(folder.path)
    (folder.path / "security").mkdir(mode=0o700, exist_ok=True)


STEPS = {1: _from_1}
