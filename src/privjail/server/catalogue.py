"""The data sets of a jail, loaded by name from the places that the curator gave."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Dataset, Source
from privjail.server.ledger.ledger import DurableLedger

log = logging.getLogger("privjail.jail")


class Catalogue:
    """Opens data sets, each once; the frames are shared by all sessions."""

    def __init__(self, ledger: DurableLedger, folder: Path) -> None:
        self._ledger, self._folder = ledger, folder
        self._lock = threading.RLock()
        self._open: dict[str, Source] = {}
        self.frames: dict[Source, Any] = {}

    def names(self, user: str) -> list[str]:
        self._ledger.refresh()
        state = self._ledger.state
        return sorted(name for name in state.datasets if state.allowed(user, name))

    def source(self, name: str, user: str) -> Source:
        """A data set that this user may use. The error is the same whether it is forbidden or does not exist."""
        if not self._ledger.state.allowed(user, name):
            self._ledger.refresh()
            if not self._ledger.state.allowed(user, name):
                raise PlanError(f"there is no data set {name[:100]!r} for you", do="ask the curator for a grant")
        opened = self._open.get(name)
        if opened is not None:  # without the lock, which is held while another data set is loaded
            return opened
        with self._lock:
            if name not in self._open:
                self._open[name] = self._load(name)
            return self._open[name]

    def _load(self, name: str) -> Source:
        # The engine is slow to import: a jail opens its port first.
        from privjail.catalogue.load import enforce
        from privjail.catalogue.origins import fetch, fingerprint
        from privjail.catalogue.schema import read_schema

        entry = self._ledger.state.datasets[name]
        if fingerprint(entry.origin) != entry.fingerprint:
            raise SchemaError(
                f"the data of {name!r} has changed since it was added",
                do="the curator adds changed data under a new name, with a budget of its own",
            )
        try:
            frame, domains = enforce(fetch(entry.origin, self._folder), read_schema(entry.schema), entry.unit)
        except Exception as e:  # it could be loaded when it was added; only the curator is told what is wrong now
            log.error("data set %r cannot be loaded: %s", name, type(e).__name__)
            raise SchemaError(f"the data set {name!r} cannot be opened now", do="tell the curator") from None
        source = Source(Dataset(name, name, tuple(domains.items()), entry.unit))
        self.frames[source] = frame
        return source
