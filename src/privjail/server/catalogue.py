"""The data sets of a jail, loaded by name from the places that the curator gave."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from privjail.engines.choice import stored_bytes
from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Dataset, Link, Source
from privjail.server.holdings import Holdings
from privjail.server.ledger.ledger import DurableLedger
from privjail.server.ledger.state import DatasetEntry

log = logging.getLogger("privjail.jail")


class Catalogue:
    """Opens data sets, each epoch of them once; the frames are shared by all sessions.

    The rows of an epoch that was replaced are freed when nothing refers to its source any more: the sessions whose
    plans rest on it end at their next request; releases that read it at this moment come to their end first.
    """

    def __init__(self, ledger: DurableLedger, folder: Path, holdings: Holdings | None = None) -> None:
        self._ledger, self._folder = ledger, folder
        self._lock = threading.RLock()
        self._open: dict[str, Source] = {}
        self._keys: dict[tuple[str, int], Any] = {}  # of tables that others link to, by name and epoch
        self.holdings = holdings or Holdings()
        self.frames = self.holdings.frames

    def names(self, user: str) -> list[str]:
        self._ledger.refresh()
        state = self._ledger.state
        return sorted(n for n, entry in state.datasets.items() if state.allowed(user, n) and not entry.is_population)

    def accounts(self, user: str) -> list[str]:
        """The names under which budgets are kept: of data sets, and of populations instead of their tables."""
        entries = self._ledger.state.datasets
        return sorted({entries[name].population or name for name in self.names(user)})

    def source(self, name: str, user: str) -> Source:
        """A data set that this user may use. The error is the same whether it is forbidden or does not exist."""
        if not self._ledger.state.allowed(user, name):
            self._ledger.refresh()
            if not self._ledger.state.allowed(user, name):
                raise PlanError(f"there is no data set {name[:100]!r} for you", do="ask the curator for a grant")
        opened = self._open.get(name)
        if opened is not None and self.newest(opened):  # without the lock, which is held while another one is loaded
            return opened
        with self._lock:
            opened = self._open.get(name)
            if opened is None or not self.newest(opened):
                opened = self._open[name] = self._load(name)
            return opened

    def newest(self, source: Source) -> bool:
        """Whether these are the newest rows of a data set, as far as this process knows."""
        entry = self._ledger.state.datasets.get(source.dataset.name)
        return entry is not None and entry.epoch == source.dataset.epoch

    def _load(self, name: str) -> Source:
        # The engine is slow to import: a jail opens its port first.
        from privjail.catalogue.held_copy import held_copy, is_copied
        from privjail.catalogue.load import enforce
        from privjail.catalogue.origins import ChangedRows, fetch, fingerprint
        from privjail.catalogue.schema import read_schema

        datasets = dict(self._ledger.state.datasets)  # as they are now: an update replaces entries
        entry = datasets[name]
        if entry.is_population:
            raise PlanError(f"{name!r} is a population: a budget for several data sets", do="open one of its data sets")
        if "query" not in entry.origin and fingerprint(entry.origin) != entry.fingerprint:
            raise _changed(name)
        try:
            if entry.origin["kind"] == "held":
                return self.holdings.hold_files(name, entry)
            if entry.population is not None:
                return self._load_table(entry, datasets)
            if is_copied(entry.origin):
                files = held_copy(self._folder, entry.origin, entry.fingerprint, entry.schema, entry.unit)
                return self.holdings.hold_checked(name, entry, files, stored_bytes(files.rows, len(files.types)))
            rows = fetch(entry.origin, self._folder, entry.fingerprint)
            frame, domains = enforce(rows, read_schema(entry.schema), entry.unit)
        except ChangedRows:
            raise _changed(name) from None
        except Exception as e:  # it could be loaded when it was added; only the curator is told what is wrong now
            log.error("data set %r cannot be loaded: %s", name, type(e).__name__)
            raise SchemaError(f"the data set {name!r} cannot be opened now", do="tell the curator") from None
        source = Source(Dataset(name, name, tuple(domains.items()), entry.unit, epoch=entry.epoch))
        self.holdings.hold(source, frame, entry.engine)
        return source

    def _load_table(self, entry: DatasetEntry, datasets: dict[str, DatasetEntry]) -> Source:
        """A table of a population. The tables that it links to must be as they were added, too."""
        from privjail.catalogue.origins import fingerprint
        from privjail.server.tables import load_table

        waiting = list(entry.links)  # a link may lead to the person over another link
        while waiting:
            target = datasets[Link.read(waiting.pop()).table]
            waiting += target.links
            if "query" not in target.origin and fingerprint(target.origin) != target.fingerprint:
                raise SchemaError("a table that this one links to has changed")
        known = {table: keys for (table, epoch), keys in self._keys.items() if datasets[table].epoch == epoch}
        rows, dataset = load_table(entry, datasets, self._folder, known)
        self._keys = {(table, datasets[table].epoch): keys for table, keys in known.items()}
        source = Source(dataset)
        self.holdings.hold(source, rows, entry.engine)
        return source


def _changed(name: str) -> SchemaError:
    return SchemaError(
        f"the data of {name!r} has changed since it was added",
        do="the curator says so: privjail dataset update; what was spent stays spent",
    )
