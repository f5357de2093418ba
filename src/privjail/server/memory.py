"""One limit on the memory of a jail, which all sessions share.

Half of it is for plans, a quarter for the values of running requests, and a quarter for computed columns and selections
that may be needed again. The data sets themselves are not counted, nor are the few columns or selections that one
computation holds: their size grows with the number of rows, which is private, so no request is refused because of them.

Which requests are refused depends on the requests alone, never on data: computed columns and selections are dropped to
make room, and no request is refused because of their size.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from typing import Any
from weakref import WeakSet

from privjail.errors import DPError
from privjail.server.limits import Busy, Limits

LEAST = 64 * 2**20  # bytes: the smallest limit that a curator may set
CHUNK = 2**20  # bytes by which the share of a session grows
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parsed(text: str) -> int:
    """A number of bytes, as a curator writes it: 800M, 4GiB, 4G."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if match is None:
        raise DPError(f"{text!r} is no amount of memory", do="write a number with a unit, such as 800M or 4G")
    bytes_ = int(float(match[1]) * UNITS[match[2].upper()])
    if bytes_ < LEAST:
        raise DPError(f"{text!r} is too little", do=f"give at least {LEAST // 2**20}M")
    return bytes_


class Memory:
    """What the sessions of a jail hold together."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._shares: WeakSet[Any] = WeakSet()  # bytes for plans, by session
        self._at_work: Counter[str] = Counter()  # bytes of running requests, by user

    def grow(self, held: Any, bytes_: int) -> bool:
        """Enlarge the share of a session's plans, if there is memory left. No user gets more than half of the total."""
        wanted, most = -(-(held.bytes + bytes_) // CHUNK) * CHUNK, self._limits.plan_bytes
        with self._lock:
            self._shares.add(held)
            others = [each for each in self._shares if each is not held]
            mine = wanted + sum([each.share for each in others if each.user == held.user])
            if mine > most // 2 or wanted + sum([each.share for each in others]) > most:
                return False
            held.share = wanted
            return True

    def reserve(self, user: str, bytes_: int) -> None:
        """Reserve memory for the values of one request, until give_back. No user gets more than half of the total."""
        most = self._limits.all_work_bytes
        with self._lock:
            mine = self._at_work[user] + bytes_
            if self._at_work.total() + bytes_ > most or (mine > most // 2 and mine > bytes_):
                raise Busy("the memory for running requests is in use", do="wait, or ask for less at once")
            self._at_work[user] = mine

    def give_back(self, user: str, bytes_: int) -> None:
        with self._lock:
            self._at_work[user] -= bytes_
            if self._at_work[user] <= 0:
                del self._at_work[user]

    def make_room(self, session: Any, others: list[Any]) -> None:
        """Set the size of a session's cache; to make room, drop the caches of idle sessions, the oldest first.

        A session that runs a request may fill its cache up to its limit. One whose request waits holds what it held:
        counted like one that runs, fifty waiting requests would drop every cache as soon as it is idle. Where sessions
        are many, each that starts takes a quarter of what is left, so that those beside it keep theirs.
        """
        limits = self._limits
        share, own = limits.all_cache_bytes, limits.cache_bytes
        least = share // 16
        if (1 + len(others)) * own <= share:
            return
        used = {each: each.engine.cache.limit if each.running else each.engine.cache.used for each in others}
        room = share - sum(used.values())
        for each in sorted(others, key=lambda other: other.used) if room < least else ():
            if used[each] and each.lock.acquire(blocking=False):
                try:
                    each.forget_computed()
                    room += used[each]
                finally:
                    each.lock.release()
            if room >= least:
                break
        session.engine.cache.limit = max(least, min(own, room // 4))


def resident() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
