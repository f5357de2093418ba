"""A copy of a large CSV file in the held form, in the jail's folder: made when it is added, read at every start.

Reading a CSV file and enforcing its schema takes minutes; the held form takes seconds. The copy is named after what
it was made of (a hash of the file, the schema, the unit), so a copy of anything else is never taken for it; the file
itself is still hashed at every start, so changed data is noticed as before. A damaged copy is made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from privjail.catalogue.ingest import Progress, ingest
from privjail.catalogue.origins import fingerprint
from privjail.engines.files import HeldFiles
from privjail.errors import SchemaError
from privjail.ops.rows.source import Unit

FOLDER = "held"
LARGE = 2**24  # bytes of a CSV file from which on it is copied; smaller ones are read in a moment


def is_copied(origin: dict[str, Any]) -> bool:
    """Whether the rows of an origin are copied."""
    return origin["kind"] == "csv" and Path(origin["place"]).stat().st_size >= LARGE


def held_copy(
    jail: Path, origin: dict[str, Any], mark: str, schema: dict[str, Any], unit: Unit,
    progress: Progress = lambda rows: None,
) -> HeldFiles:  # fmt: skip
    """The copy of an origin with this fingerprint; made now if there is none, or if it is damaged."""
    place = _place(jail, mark, schema, unit)
    place.parent.mkdir(mode=0o700, exist_ok=True)  # the rows are in it
    with _alone(place):
        try:
            files = HeldFiles.read(place)
            files.verify(files.digest)
        except SchemaError:
            shutil.rmtree(place, ignore_errors=True)
            files = _made(place, origin, mark, schema, unit, progress)
    return files


def _made(
    place: Path, origin: dict[str, Any], mark: str, schema: dict[str, Any], unit: Unit, progress: Progress
) -> HeldFiles:
    """A new copy. One that could not be finished, or whose file changed meanwhile, is not kept."""
    try:
        files = ingest(origin, schema, unit, place, progress)
        if fingerprint(origin) != mark:
            raise SchemaError("the file changed while it was read", do="try again when it is complete")
    except SchemaError:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return files


class MadeOf(Protocol):
    """What a copy is made of: the entry of a data set has it."""

    fingerprint: str
    schema: dict[str, Any]
    unit: Unit


def drop_other_copies(jail: Path, kept: Iterable[MadeOf]) -> None:
    """Remove all copies but those of these data sets."""
    places = {_place(jail, each.fingerprint, each.schema, each.unit) for each in kept}
    found = list((jail / FOLDER).iterdir()) if (jail / FOLDER).is_dir() else []
    for place in {each for each in found if each.is_dir()} - places:
        with _alone(place):
            shutil.rmtree(place, ignore_errors=True)
        place.with_suffix(".lock").unlink(missing_ok=True)


def _place(jail: Path, mark: str, schema: dict[str, Any], unit: Unit) -> Path:
    made_of = json.dumps([mark, schema, unit.column, unit.most_rows], sort_keys=True)
    return jail / FOLDER / hashlib.sha256(made_of.encode()).hexdigest()[:32]


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Other processes wait: a command and a jail may need the same copy at once."""
    fd = os.open(place.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
