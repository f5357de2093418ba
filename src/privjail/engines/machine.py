"""How much memory there is for this process: a fact about the machine, and about no data set."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def of_machine() -> int:
    """The memory that this process may use: the smallest limit of the machine, the container and the process."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CGROUPS:
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*found, own]) if own != resource.RLIM_INFINITY else min(found)
