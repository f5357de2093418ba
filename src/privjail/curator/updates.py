"""New epochs: other rows under the same name, about the same persons, paid from the same account.

What was spent stays spent; users, grants and rules stay. Nothing here lowers a cost: groups of two epochs are groups of
two partitions, whose costs add up (docs/decisions/0209-epochs.md). Several tables can be updated at once, in one entry:
tables that link to each other are then never seen half old and half new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from privjail.catalogue.held_copy import drop_other_copies
from privjail.catalogue.origins import fingerprint, origin_of, remarks
from privjail.curator import overlap
from privjail.curator.checks import check_open
from privjail.curator.folder import JailFolder
from privjail.curator.given import schema_dict
from privjail.curator.loading import Trial, ingested, tried, tried_table
from privjail.errors import PlanError
from privjail.server.ledger.entries import linked_to
from privjail.server.ledger.state import DatasetEntry, State


@dataclass(frozen=True)
class Given:
    """New rows of a data set, as a curator names them. Without a schema, the old one goes on."""

    name: str
    file: str
    schema: Any = None
    kind: str | None = None
    query: str | None = None


@dataclass(frozen=True)
class Updated:
    """What was done: the new epoch of each data set, also of those that link to an updated one; and warnings."""

    epochs: dict[str, int]
    notes: list[str]


def update(
    folder: JailFolder, given: list[Given], reason: str | None = None, overlap_reason: str | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Updated:  # fmt: skip
    """Bring new rows under old names. They are loaded once, with the tables that link to them, to see that they fit."""
    before = dict(folder.state.datasets)
    entries = {each.name: _new_entry(folder, each, before) for each in given}
    if len(entries) < len(given):
        raise PlanError("a data set is named twice")
    after = {**before, **entries}
    others = {name for name in linked_to(before, entries) if not before[name].removed}
    trials = _trials(folder, [*entries, *sorted(others)], after, progress)
    notes = [note for name in entries for note in (*remarks(entries[name].origin), *trials[name].notes)]
    body = {
        "type": "update",
        "name": given[0].name,
        "tables": [_said(entry, trials[name]) for name, entry in entries.items()],
        "changes": [_change(before[name], entry, trials[name]) for name, entry in entries.items()],
        "links": sorted(others),
        "reason": reason,
    }

    def make(state: State) -> dict[str, Any]:
        shared: dict[str, set[str]] = {}
        accounts = {name: after[name].population or name for name in (*entries, *others)}
        for name in (*entries, *others):
            if check_open(state, name).epoch != before[name].epoch:
                raise PlanError(f"{name!r} was updated by somebody else meanwhile", do="look at it, then try again")
            mark = after[name].fingerprint if name in entries else ""
            said, more = overlap.checked(known, state, name, accounts[name], mark, trials[name], overlap_reason)
            overlap.note(known, name, accounts[name], mark, trials[name], before[name].epoch + 1)
            if said:
                shared.setdefault(accounts[name], set()).update(said["overlap"]["with"])
            notes.extend(more)
        if not shared:
            return body
        of = {account: sorted(others) for account, others in shared.items()}
        return {**body, "overlap": {"with": sorted(set().union(*of.values())), "of": of, "reason": overlap_reason}}

    with overlap.register(folder) as known:
        folder._decide(make)
    if not folder._dry:
        # The rows before may still be read, by a jail that answers a request now: their copy goes with the next update.
        drop_other_copies(folder.path, [e for e in (*before.values(), *after.values()) if not e.removed])
    return Updated({name: before[name].epoch + 1 for name in (*entries, *sorted(others))}, notes)


def _new_entry(folder: JailFolder, given: Given, before: dict[str, DatasetEntry]) -> DatasetEntry:
    old = check_open(folder.state, given.name)
    if old.is_population:
        raise PlanError(f"{given.name!r} is a population: it has no rows of its own", do="name its tables")
    origin = origin_of(given.file, given.kind, given.query)
    schema = old.schema if given.schema is None else _plain(given.schema)
    if origin["kind"] == "held":
        if old.population is not None:
            raise PlanError("ingested data cannot be a table of a population yet", do="name the file itself")
        unit = (old.unit.column, old.unit.most_rows)
        schema = ingested(origin, None if given.schema is None else schema, unit)
    mark = fingerprint(origin)
    if mark == old.fingerprint and schema == old.schema and ("query" not in origin or origin == old.origin):
        raise PlanError(f"{given.name!r} has these rows already: nothing has changed")
    return replace(old, origin=origin, schema=schema, fingerprint=mark, epoch=old.epoch + 1)


def _trials(
    folder: JailFolder, names: list[str], after: dict[str, DatasetEntry], progress: Callable[[int], None]
) -> dict[str, Trial]:
    """Load these data sets. A table that would no longer fit the ones that it links to makes this fail."""
    known: dict[str, Any] = {}
    found = {}
    for name in names:
        entry = after[name]
        if entry.population is not None:
            found[name] = tried_table(entry, after, folder.path, known)
        else:
            unit = (entry.unit.column, entry.unit.most_rows)
            found[name] = tried(
                folder.path, entry.origin, entry.fingerprint, entry.schema, unit, progress, entry.intake
            )
    return found


def _said(entry: DatasetEntry, trial: Trial) -> dict[str, Any]:
    return {"name": entry.name, "origin": entry.origin, "schema": entry.schema, "fingerprint": entry.fingerprint,
            "columns": trial.columns, "rows": trial.rows}  # fmt: skip


def _change(old: DatasetEntry, new: DatasetEntry, trial: Trial) -> dict[str, Any]:
    """What the log says of an update: for curators, never for analysts."""
    return {"name": old.name, "epoch": new.epoch, "rows": [old.entered.get("rows"), trial.rows],
            "hash": [old.fingerprint, new.fingerprint], "schema": old.schema != new.schema}  # fmt: skip


def _plain(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else schema_dict(schema)
