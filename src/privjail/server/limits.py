"""How much one analyst may ask of a jail."""

from __future__ import annotations

from dataclasses import dataclass

from privjail.errors import DPError


class LimitError(DPError):
    """A request that is larger than this jail takes, or that took too long."""


class Busy(DPError):
    """Too many requests of one user at once; the client tries again by itself."""


@dataclass(frozen=True)
class Limits:
    """Every limit; a request over one of them is refused before anything is charged, but for the last two."""

    message_bytes: int = 8 * 2**20
    nodes_per_request: int = 100_000
    nodes_per_session: int = 200_000  # that are alive, by whatever number or through other nodes; and numbers of nodes
    depth: int = 10_000
    columns_per_step: int = 64  # keys of one table of counts, or of one sort
    plan_bytes_per_session: int = 256 * 2**20  # an estimate, of nodes and their facts
    cache_bytes_per_session: int = 256 * 2**20  # of columns and selections of rows that were computed
    memory_bytes: int = 8 * 2**30  # of all sessions together, besides the data sets: see memory.py
    work_bytes_per_request: int = 512 * 2**20  # of values that are held at once; at most a quarter of all work's
    columns_at_once: int = 256  # that are needed at the same time to compute another one
    grid_bits: int = 8_192  # how fine the grid of a value can be
    asks_per_request: int = 1_000
    elements_per_request: int = 1_000_000  # in all answers of a request together
    choices_per_request: int = 20_000_000  # elements that noisy max looks at: k times their number
    charged_steps_per_request: int = 50_000  # of the paths of cells that a request is charged to
    caps_per_request: int = 1_000
    sessions_per_user: int = 8
    sessions: int = 256
    requests_at_once_per_user: int = 4
    calls_per_user: int = 24  # open at once, streams included: each holds a thread
    calls: int = 768
    connections_per_user: int = 64
    unauthenticated_per_address: int = 64  # connections on which nobody has authenticated yet
    authentication_seconds: float = 10.0  # after which such a connection is closed
    first_message_seconds: float = 30.0  # after which a call without one is cancelled
    idle_seconds: float = 3600.0
    kept_bytes_per_user: int = 2**30  # entries and answers in the ledger, which keeps them for ever
    failures_per_user: int = 3  # inside the engine, after the charge
    seconds_per_release: float = 120.0

    @property
    def plan_bytes(self) -> int:
        """Of all plans together."""
        return self.memory_bytes // 2

    @property
    def all_work_bytes(self) -> int:
        """Of the values of all requests that run."""
        return self.memory_bytes // 4

    @property
    def work_bytes(self) -> int:
        """Of the values of one request."""
        return min(self.work_bytes_per_request, self.all_work_bytes // 4)

    @property
    def all_cache_bytes(self) -> int:
        """Of what was computed, in all sessions."""
        return self.memory_bytes // 4

    @property
    def cache_bytes(self) -> int:
        """Of what was computed, in one session."""
        return min(self.cache_bytes_per_session, self.all_cache_bytes // 4)

    def check(self, what: str, amount: int, most: int) -> None:
        if amount > most:
            shown = amount if amount < 10**12 else "far too much"
            raise LimitError(f"{what}: {shown} is over this jail's limit of {most}")
