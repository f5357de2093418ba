"""Backups: one file with the ledger, the certificates and the settings of a jail, made while it runs.

The ledger in it is a copy as of one moment, in the same form whether it came from SQLite or PostgreSQL. A copy that is
not the newest would let spent budget be spent again. So a restore looks at what is left of the jail: its anchors name
the newest entry that was written. If they do not show that the copy is the newest, it needs a reason, and every data
set is frozen until the curator has thought about what may be missing. An entry that somebody noted elsewhere shows
which backup is meant, but not that nothing was written after it.

A restore is made beside its place, frozen and logged there, and moved as a whole: there is no moment in which a
half-restored jail could answer. One that was interrupted is begun again with the same command.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.curator.checks import need_reason
from privjail.curator.folder import JailFolder, read_config
from privjail.errors import DPError, PlanError
from privjail.server.ledger.anchor import Anchor, Note
from privjail.server.ledger.events import Event, LedgerError, checked
from privjail.server.ledger.store import TABLES, Store, open_store

FORMAT = 1
LEDGER, MANIFEST = "ledger.sqlite", "manifest.json"
FILES = ("jail.json", "jail.key", "jail.crt", "users.key", "users.crt", "server.pem", "chain.pem", "alerts.json",
         "persons.key")  # fmt: skip
PERSONS = "persons.sqlite"


@dataclass(frozen=True)
class Head:
    """The newest entry of a ledger."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def backup(folder: JailFolder, file: Path) -> Head:
    """Write a backup. Others go on using the jail meanwhile."""
    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".privjail-backup-") as name:
        work = Path(name)
        _copy_ledger(folder, work / LEDGER)
        folder.ledger.refresh()  # syncs what was copied: the jail must not lose a charge that its backup has
        head = head_of(work / LEDGER)
        for each in FILES:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(folder.path / each, work / each)
        if (folder.path / PERSONS).is_file():
            _copied(folder.path / PERSONS, work / PERSONS, "rw")
        kept = [each for each in (LEDGER, PERSONS, *FILES) if (work / each).is_file()]
        manifest = {
            "privjail backup": FORMAT, "at": _now(), "head": str(head),
            "files": {each: _digest(work / each) for each in kept},
        }  # fmt: skip
        (work / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        packed = work / "packed"
        with open(os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            with tarfile.open(fileobj=out, mode="w:gz", compresslevel=3) as tar:
                for each in (MANIFEST, *kept):
                    tar.add(work / each, each, filter=_plain)
            out.flush()
            os.fsync(out.fileno())
        os.replace(packed, file)
    return head


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _copy_ledger(folder: JailFolder, to: Path) -> None:
    """A copy as of one moment: by SQLite's own backup, or from one snapshot of PostgreSQL."""
    if folder.config.get("ledger_url") is None:
        _copied(folder.path / LEDGER, to, "ro")
        return
    with contextlib.closing(sqlite3.connect(to)) as copy:
        for statement in TABLES:
            copy.execute(statement)
        with copy:
            copy.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", _rows(folder.config["ledger_url"]))
    os.chmod(to, 0o600)


def _copied(database: Path, to: Path, mode: str) -> None:
    """A database as it is between two transactions: a copy of the bytes could be half of one.

    ``mode``: rw, if a transaction that a crash interrupted must be taken back first.
    """
    source = sqlite3.connect(f"{database.absolute().as_uri()}?mode={mode}", uri=True, timeout=60)
    with contextlib.closing(source), contextlib.closing(sqlite3.connect(to)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
    os.chmod(to, 0o600)


def _rows(url: str) -> Iterator[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(url, connect_timeout=10) as db:
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with db.cursor(name="backup") as rows:
            rows.itersize = 1000
            rows.execute("SELECT seq, hash, body, answer, subject FROM privjail_events ORDER BY seq")
            yield from rows


def head_of(ledger: Path) -> Head:
    """The newest entry of a copy; all of its chain is checked."""
    last: Event | None = None
    with contextlib.closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as db:
        try:
            for row in db.execute("SELECT seq, hash, body FROM events ORDER BY seq"):
                last = checked(last, *row)
        except sqlite3.Error as e:
            name = getattr(e, "sqlite_errorname", type(e).__name__)
            raise LedgerError(f"the ledger of the backup is damaged ({name})", do="use another backup") from None
    if last is None:
        raise LedgerError("the ledger of the backup is empty", do="use another backup")
    return Head(last.seq, last.hash)


def restore(
    file: Path, path: Path, reason: str | None = None, expect: str | None = None, ledger_url: str | None = None
) -> tuple[JailFolder, bool]:  # fmt: skip
    """Make a jail from a backup. Returns it, and whether the backup is known to be the newest state."""
    parent = path.absolute().parent
    with _unused(_left(path)), tempfile.TemporaryDirectory(dir=parent, prefix=".privjail-restore-") as name:
        work = Path(name)
        os.chmod(work, 0o700)
        head = _unpacked(file, work)
        newest = _is_newest(head, path, expect, reason)
        place = work / "jail"
        place.mkdir(0o700)
        for each in (LEDGER, PERSONS, *FILES):
            with contextlib.suppress(FileNotFoundError):
                os.rename(work / each, place / each)
        aside = _aside_of(path)
        _decided(place, head, newest, reason, aside)
        if ledger_url is not None:
            _into_postgres(place, ledger_url, head)
        if aside is not None:
            os.rename(path, aside)
        os.rename(place, path)
    return JailFolder(path), newest


@contextlib.contextmanager
def _unused(left: Path) -> Iterator[None]:
    """Nobody may use what is replaced: a jail that runs would go on charging the old ledger, which nobody reads again.

    Whoever has a ledger in WAL mode open holds a shared lock of its file. One that is damaged cannot be asked.
    """
    with contextlib.ExitStack() as held:
        if (left / LEDGER).is_file():
            db = sqlite3.connect(f"{(left / LEDGER).absolute().as_uri()}?mode=rw", uri=True, timeout=2)
            held.enter_context(contextlib.closing(db))
            try:
                db.execute("PRAGMA locking_mode=EXCLUSIVE")
                db.execute("BEGIN EXCLUSIVE")
                db.rollback()
            except sqlite3.Error as e:
                if getattr(e, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                    raise PlanError(
                        f"another process uses the jail in {str(left)!r}: it would go on charging the old ledger",
                        do="stop the jail and its console, then restore",
                    ) from None
        yield


def _left(path: Path) -> Path:
    """What is left of a jail that is to be restored: its folder, or where a restore put it aside."""
    return path if path.is_dir() else max(path.parent.glob(f"{path.name}.before-*"), default=path)


def _decided(place: Path, head: Head, newest: bool, reason: str | None, aside: Path | None) -> None:
    """Enter the restore, and freeze everything unless this is the newest state; before anybody can use the jail."""
    _set_ledger(place, None)
    _renewed(open_store(place, None))
    folder = JailFolder(place)
    why = reason or "the anchors show that it is the newest"
    body = {"type": "restored", "head": str(head), "newest": newest, "reason": why}
    folder._decide(lambda state: body if aside is None else {**body, "aside": aside.name})
    if not newest:
        _freeze_all(folder, f"restored from a backup that may not be the newest: {reason}")
    folder.ledger.close()


def _set_ledger(place: Path, url: str | None) -> None:
    config = json.loads((place / "jail.json").read_text(encoding="utf-8"))
    (place / "jail.json").write_text(json.dumps({**config, "ledger_url": url}, indent=1), encoding="utf-8")


def _renewed(store: Store) -> None:
    store.renew_anchor()
    store.close()


def _freeze_all(folder: JailFolder, reason: str) -> None:
    from privjail.curator.house_rules import freeze

    state = folder.state
    for dataset, entry in list(state.datasets.items()):
        if not entry.removed and entry.population is None and dataset not in state.frozen:
            freeze(folder, dataset, reason)


def _unpacked(file: Path, work: Path) -> Head:
    """Check a backup and unpack it. Only files that a backup has are taken, whatever else is in it."""
    try:
        with tarfile.open(file, "r:gz") as tar:
            manifest = json.loads(_member(tar, MANIFEST))
            if manifest["privjail backup"] != FORMAT or not set(manifest["files"]) <= {LEDGER, PERSONS, *FILES}:
                raise PlanError(f"{file.name!r} was made by another version of privjail", do="install that version")
            for each, digest in manifest["files"].items():
                with open(os.open(work / each, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                    found = tar.extractfile(each)
                    if found is None:
                        raise KeyError(each)
                    shutil.copyfileobj(found, out)
                if _digest(work / each) != digest:
                    raise LedgerError(f"{each} in the backup is damaged", do="use another backup")
    except (tarfile.TarError, KeyError, ValueError, TypeError, EOFError):
        raise PlanError(f"{file.name!r} is no backup of a jail, or is damaged", do="use another backup") from None
    head = head_of(work / LEDGER)
    if str(head) != manifest["head"]:
        raise LedgerError("the ledger in the backup is not the one that was backed up", do="use another backup")
    return head


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    found = tar.extractfile(name)
    return b"" if found is None else found.read(2**20)


def _is_newest(head: Head, path: Path, expect: str | None, reason: str | None) -> bool:
    """Whether the backup is known to hold the newest entry; if it is not, a reason is needed.

    Only the anchors of the jail's own folder show that, and only if nobody else wrote to its ledger: jails that share a
    PostgreSQL ledger note their own entries, not those of others.
    """
    if expect is not None and expect != str(head):
        raise LedgerError(f"the backup ends at {head}, not at the entry that you gave", do="use the newest backup")
    left = _left(path)
    notes = [note for note in Anchor(left).both() if isinstance(note, Note)] if left.is_dir() else []
    written = max((note.event.seq for note in notes), default=None)
    if written is not None and written > head.seq:
        need_reason(
            reason,
            f"the backup ends at entry {head.seq}, but entry {written} was written: what was spent in between would be "
            "forgotten. A restore of it",
        )
        return False
    alone = False
    with contextlib.suppress(DPError):  # what is left may be damaged: then it shows nothing
        alone = read_config(left).get("ledger_url") is None
    same = any(note.event.seq == head.seq and note.event.hash == head.hash for note in notes)
    if not (same and alone):
        need_reason(
            reason,
            "nothing shows that this backup is the newest: only the anchors in what is left of the jail could, "
            "and not for a ledger that is shared. A restore of it",
        )
    return same and alone


def _aside_of(path: Path) -> Path | None:
    """The name under which what is left of a jail is kept."""
    if not path.exists():
        return None
    if not path.is_dir() or (any(path.iterdir()) and not (path / "jail.json").is_file()):
        raise PlanError(f"{str(path)!r} exists and is no jail", do="name a folder that does not exist yet")
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
    return path.with_name(f"{path.name}.before-{stamp}")


def _into_postgres(place: Path, url: str, head: Head) -> None:
    """Put the entries into an empty database, all at once; or go on with a restore that ended after that."""
    import psycopg

    from privjail.server.ledger.postgres import TABLES as SHARED
    from privjail.server.ledger.postgres import PostgresStore

    with psycopg.connect(url, connect_timeout=10) as db:
        db.execute(SHARED)
        if db.execute("SELECT count(*) FROM privjail_events").fetchone() == (0,):
            with contextlib.closing(sqlite3.connect(place / LEDGER)) as copy, db.cursor() as rows:
                each = copy.execute("SELECT seq, hash, body, answer, subject FROM events ORDER BY seq")
                rows.executemany("INSERT INTO privjail_events VALUES (%s, %s, %s, %s, %s)", each)
        elif not _interrupted(db, head):
            raise DPError("the database has a ledger already", do="name an empty database, or put that one away first")
    for name in (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", "anchor.0", "anchor.1"):
        (place / name).unlink(missing_ok=True)
    _set_ledger(place, url)
    _renewed(PostgresStore(url, place))


def _interrupted(db: Any, head: Head) -> bool:
    """Whether a database holds this backup and what a restore enters, and nothing else."""
    found = db.execute("SELECT hash FROM privjail_events WHERE seq = %s", (head.seq,)).fetchone()
    if found != (head.hash,):
        return False
    later = db.execute("SELECT body FROM privjail_events WHERE seq > %s ORDER BY seq", (head.seq,)).fetchall()
    kinds = [json.loads(body)["type"] for (body,) in later]
    return "restored" in kinds and set(kinds) <= {"lost", "restored", "freeze", "checkpoint"}


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
