"""No silent fresh budget: who is in which account, known by keyed hashes.

Two accounts whose tables name the same persons give them two budgets. Only the curator can tell whether that is meant,
so it needs a reason, which is logged. What is compared are keyed hashes of the persons of every account, of all its
epochs: once somebody's budget was spent, her leaving the data does not give it back. The hashes and their key stay in
the jail's folder (mode 600). Without the key a hash tells nothing; with it, whether a known name is among the persons.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privjail.curator.intakes import check_disjoint, first_of
from privjail.curator.loading import Trial, tried, tried_table
from privjail.errors import DPError, PlanError
from privjail.server.ledger.entries import Intake
from privjail.server.ledger.state import DatasetEntry, State

KEY, HASHES = "persons.key", "persons.sqlite"
TABLES = (
    "persons (hash BLOB, account TEXT, PRIMARY KEY (hash, account)) WITHOUT ROWID",
    "noted (dataset TEXT PRIMARY KEY, epoch INTEGER)",  # all epochs up to this one
)
MOST = 0.5  # from this share on, "most" persons are in both
PATIENCE = 60.0  # seconds to wait for another decision about rows


@dataclass(frozen=True)
class Register:
    """The persons of all accounts, while one decision is made."""

    db: sqlite3.Connection
    jail: Path
    marks: list[tuple[str, str]] = field(default_factory=list)  # accounts and data that this decision brought so far


@contextlib.contextmanager
def register(folder: Any) -> Iterator[Register]:
    """Open the persons for one decision. What it notes is kept if the decision was written to the ledger, else not.

    It is committed after the ledger's entry: so a crash never leaves a note about rows that no entry brought. It may
    leave an entry without its note; then the rows are read again when they are next compared. The lock is taken before
    the ledger's, by everybody.
    """
    with _opened(folder.path) as db:
        yield Register(db, folder.path)
        if folder._dry:
            db.rollback()


def checked(
    known: Register, state: State, name: str, account: str, mark: str, trial: Trial, reason: str | None,
    intake: Intake | None = None,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """What the entry of a data set says of the persons that it shares with other accounts, and notes for the curator.

    Raises if there are some, and no reason is given now or was before; for accounts of which one is an intake of the
    other there is no reason. ``intake``: what is said of an account that is new.
    """
    shared, unknown = _shared(known, state, account, mark, trial)
    first = first_of(state, account) if intake is None else intake.of
    check_disjoint(name, first, state, shared, [other for other, _ in unknown])
    notes = [note for _, note in unknown if note]
    shared = {other: how for other, how in shared.items() if not _explained(state, account, other)}
    if shared and not (reason or "").strip():
        said = "; ".join(f"{how} {other!r}" for other, how in shared.items())
        raise PlanError(
            f"{name!r} would give the same people another budget: {said}",
            do="new rows of the same people: privjail dataset update NAME FILE; another table about them: "
            "--population; if it is meant, or they are other people: --overlap-reason '…', which is logged",
        )
    if not shared:
        return {}, notes
    told = [f"{how} {other!r}: the budgets add up for the same people" for other, how in shared.items()]
    return {"overlap": {"with": sorted(shared), "reason": reason}}, [*notes, *told]


def note(known: Register, name: str, account: str, mark: str, trial: Trial, epoch: int = 1) -> None:
    """Note the persons of a data set as those of its account: what the same decision brings next is compared, too."""
    known.marks.append((account, mark))
    _note(known.db, known.jail, account, name, epoch, trial.persons or [])


def _explained(state: State, a: str, b: str) -> bool:
    """Whether a reason was given before for two accounts about the same people."""
    pairs = ((e.population or e.name, e.entered.get("overlap", {}).get("with", ())) for e in state.datasets.values())
    return any(account == a and b in others or account == b and a in others for account, others in pairs)


def _shared(
    known: Register, state: State, account: str, mark: str, trial: Trial
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The other accounts that name some of the same persons, or hold the same data, and how many in words.

    And those whose persons cannot be read now, with a note for the curator.
    """
    found: dict[str, str] = {}
    unknown: list[tuple[str, str]] = []
    there = {account: "" for account, each in known.marks if each == mark}
    for entry in state.datasets.values():
        if mark in (entry.fingerprint, *entry.entered.get("former", ())):  # of its rows in all epochs
            there[entry.population or entry.name] = ""
    if mark:
        found = {other: "the same data is already in" for other in there if other != account}
    if not trial.persons:
        return found, unknown
    db, jail = known.db, known.jail
    for entry in state.datasets.values():
        note, other = _noted(db, jail, state, entry), entry.population or entry.name
        if note is not None and other != account:
            unknown.append((other, note))
    mine = _hashes(jail, trial.persons)
    here = {*state.datasets, *(each for each, _ in known.marks)}
    for other, count in _counts(db, mine).items():
        if other != account and other in here and other not in found:
            share = count / len(mine)
            how = "all of its persons are in" if share == 1 else "most" if share >= MOST else "some"
            found[other] = how if share == 1 else f"{how} of its persons are in"
    return found, unknown


def _noted(db: sqlite3.Connection, jail: Path, state: State, entry: DatasetEntry) -> str | None:
    """Note the persons of rows that another jail brought, or of which a crash left no note; says who is not known."""
    other = entry.population or entry.name
    if entry.is_population or _known_epoch(db, entry.name) >= entry.epoch:
        return None
    if entry.removed:
        return ""  # its file may be gone, and nothing can be done about that
    try:
        if entry.population is not None:
            found = tried_table(entry, state.datasets, jail, {})
        else:
            unit = (entry.unit.column, entry.unit.most_rows)
            found = tried(jail, entry.origin, entry.fingerprint, entry.schema, unit)
    except (DPError, OSError):
        return f"the persons of {entry.name!r} could not be compared: it cannot be loaded now"
    if not _note(db, jail, other, entry.name, entry.epoch, found.persons or []):
        return f"persons who were in {entry.name!r} before its last update could not be compared: {HASHES} lacks them"
    return None


@contextlib.contextmanager
def _opened(jail: Path) -> Iterator[sqlite3.Connection]:
    place = jail / HASHES
    os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
    db = sqlite3.connect(place, timeout=PATIENCE, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        with db:
            for table in TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            yield db
    finally:
        db.close()


def _note(db: sqlite3.Connection, jail: Path, account: str, dataset: str, epoch: int, persons: Iterable[str]) -> bool:
    """Note the persons of one epoch; whether those of all epochs before it are noted, too."""
    rows = ((each, account) for each in _hashes(jail, persons))
    db.executemany("INSERT OR IGNORE INTO persons VALUES (?, ?)", rows)
    complete = _known_epoch(db, dataset) >= epoch - 1
    if complete:
        db.execute("INSERT OR REPLACE INTO noted VALUES (?, ?)", (dataset, epoch))
    return complete


def _known_epoch(db: sqlite3.Connection, dataset: str) -> int:
    """Up to which epoch all persons of a data set are noted; 0: none."""
    found = db.execute("SELECT epoch FROM noted WHERE dataset = ?", (dataset,)).fetchone()
    return 0 if found is None else int(found[0])


def _counts(db: sqlite3.Connection, mine: list[bytes]) -> dict[str, int]:
    db.execute("DROP TABLE IF EXISTS temp.mine")
    db.execute("CREATE TEMP TABLE mine (hash BLOB)")
    db.executemany("INSERT INTO mine VALUES (?)", ((each,) for each in mine))
    return dict(db.execute("SELECT account, count(*) FROM mine JOIN persons USING (hash) GROUP BY account"))


def _hashes(jail: Path, persons: Iterable[str]) -> list[bytes]:
    key = _key(jail)
    texts = (each.encode("utf-8", "surrogatepass") for each in persons)
    return [hashlib.blake2b(text, key=key, digest_size=16).digest() for text in texts]


def _key(jail: Path) -> bytes:
    """The key of this jail; made when it is first needed."""
    place = jail / KEY
    with contextlib.suppress(FileExistsError):
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(32))
    key = place.read_bytes()
    if len(key) != 32:
        raise PlanError(f"{str(place)!r} is damaged", do=f"put it back from a backup, or remove it and {HASHES}")
    return key
