"""How much one analyst may ask of a jail."""

from __future__ import annotations

from dataclasses import dataclass

from privjail.errors import DPError


class LimitError(DPError):
    """A request that is larger than this jail takes. Nothing was charged."""


@dataclass(frozen=True)
class Limits:
    """Every limit; a request over one of them is refused before anything is computed."""

    message_bytes: int = 16 * 2**20
    nodes_per_request: int = 100_000
    nodes_per_session: int = 1_000_000
    depth: int = 10_000
    literal_bytes: int = 64 * 2**10
    fields_per_node: int = 250_000
    asks_per_request: int = 1_000
    elements_per_request: int = 2_000_000
    cache_bytes_per_session: int = 512 * 2**20
    sessions_per_user: int = 8
    sessions: int = 256
    idle_seconds: float = 3600.0
    seconds_per_release: float = 120.0

    def check(self, what: str, amount: int, most: int) -> None:
        if amount > most:
            raise LimitError(f"{what}: {amount} is over this jail's limit of {most}")
