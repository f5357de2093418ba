"""Python's cycle collector, which a program that builds large plans needs less often than others."""

from __future__ import annotations

import gc

USUAL = (700, 2_000)  # thresholds that versions of Python start with
RAISED = 20_000


def raise_gc_threshold() -> None:
    """Let Python's garbage collector look for reference cycles less often, in the whole process.

    Plans are thousands of small objects. Reference counting frees most of them; frequent cycle collection wastes about
    20 % of the time. Nothing calls this for you, because it changes the whole process: cycles of other libraries are
    freed later too. A threshold that was set before, or a collector that is turned off, is left as it is.

    >>> import privjail as pj
    >>> pj.raise_gc_threshold()
    """
    first, *later = gc.get_threshold()
    if first in USUAL:
        gc.set_threshold(RAISED, *later)
