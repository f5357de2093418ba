"""The limits on what one analyst may ask of a jail."""

from __future__ import annotations

from dataclasses import dataclass

from privjail.errors import DPError


class LimitError(DPError):
    """A request that is over a limit of this jail, or took too long."""


class Busy(DPError):
    """Too many requests of one user at once. The client retries by itself."""


@dataclass(frozen=True)
class Limits:
    """Every limit. A request over one of them is refused before anything is charged, except for the last two."""

    message_bytes: int = 8 * 2**20
    nodes_per_request: int = 100_000
    nodes_per_session: int = 200_000  # alive nodes, including inputs of other nodes; also the most numbers for them
    depth: int = 10_000
    columns_per_step: int = 64  # keys of one table of counts, or of one sort
    plan_bytes_per_session: int = 256 * 2**20  # nodes and their facts, estimated
    cache_bytes_per_session: int = 256 * 2**20  # computed columns and selections of rows
    memory_bytes: int = 8 * 2**30  # all sessions together, without the data sets: see memory.py
    work_bytes_per_request: int = 512 * 2**20  # values that are held at once; at most a quarter of all_work_bytes
    columns_at_once: int = 256  # columns that are needed at the same time to compute another one
    grown_at_once: int = 16  # rows that joins make of one row of the data, where persons are not computed one by one
    grid_bits: int = 8_192  # how fine the grid of a value can be
    asks_per_request: int = 1_000
    elements_per_request: int = 1_000_000  # in all answers of a request together
    choices_per_request: int = 20_000_000  # elements that top-k looks at: k times their number
    charged_steps_per_request: int = 50_000  # steps in the paths of the cells that a request is charged to
    caps_per_request: int = 1_000
    sessions_per_user: int = 8
    sessions: int = 256
    requests_at_once_per_user: int = 4
    calls_per_user: int = 24  # open calls, including streams: each holds a thread
    calls: int = 768
    connections_per_user: int = 64
    unauthenticated_per_address: int = 64  # connections on which nobody has authenticated yet
    authentication_seconds: float = 10.0  # then such a connection is closed
    first_message_seconds: float = 30.0  # then a call without a message is cancelled
    idle_seconds: float = 3600.0
    kept_bytes_per_user: int = 2**30  # entries and answers in the ledger, which are never deleted
    failures_per_user: int = 3  # failures inside the engine, after the charge
    seconds_per_release: float = 120.0

    @property
    def plan_bytes(self) -> int:
        """For all plans together."""
        return self.memory_bytes // 2

    @property
    def all_work_bytes(self) -> int:
        """For the values of all running requests."""
        return self.memory_bytes // 4

    @property
    def work_bytes(self) -> int:
        """For the values of one request."""
        return min(self.work_bytes_per_request, self.all_work_bytes // 4)

    @property
    def all_cache_bytes(self) -> int:
        """For computed columns and selections of all sessions."""
        return self.memory_bytes // 4

    @property
    def cache_bytes(self) -> int:
        """For computed columns and selections of one session."""
        return min(self.cache_bytes_per_session, self.all_cache_bytes // 4)

    def check(self, what: str, amount: int, most: int, do: str | None = None) -> None:
        if amount > most:
            shown = amount if amount < 10**12 else "far too much"
            raise LimitError(f"{what}: {shown} is over this jail's limit of {most}", do=do)
