"""What an engine keeps between releases."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

OVERHEAD = 512  # bytes of an entry besides what it holds


class Cache:
    """What was computed before, up to a number of bytes; the least recently used goes first.

    Keys hold plan nodes, so a node stays alive while something computed for it is kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0
        self._held: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()

    def put(self, key: tuple[Any, ...], value: Any, size: int | None = None) -> None:
        size = OVERHEAD + (value.nbytes if size is None else size)
        self.used += size - self._held.pop(key, (None, 0))[1]
        self._held[key] = (value, size)
        while self.used > self.limit and len(self._held) > 1:
            _, (_, freed) = self._held.popitem(last=False)
            self.used -= freed

    def get(self, key: tuple[Any, ...]) -> Any:
        """What is kept under a key, or None."""
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._held

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        self._held.move_to_end(key)
        return self._held[key][0]
