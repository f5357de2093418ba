"""Memory that a server got stays with it: batches of many megabytes come and go, and getting new pages for each takes
longer than adding it up."""

from __future__ import annotations

import contextlib
import ctypes

# Of glibc's malloc.h. Where there is no mallopt, all works the same, only slower.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE = 1 << 30


def keep() -> None:
    """Ask the C library to use freed memory again, for this process. Called once, by a server that starts."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in ((M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, LARGE), (M_ARENA_MAX, 1)):
            mallopt(parameter, value)
