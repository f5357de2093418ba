"""Where frequencies can lie: none below 0, all adding up to 1."""

from __future__ import annotations

import numpy as np

from privjail.local.channel import Floats


def project(point: Floats) -> Floats:
    """The nearest point of the simplex: subtract one number from all, cut off at 0."""
    falling = np.sort(point)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(point - excess[last], 0), dtype=np.float64)
