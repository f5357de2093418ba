"""Python's search for cycles of objects, which a program that builds plans needs less often than others."""

from __future__ import annotations

import gc

USUAL = (700, 2_000)  # new objects after which the versions of Python look for cycles, unless told otherwise
SELDOM = 20_000


def raise_gc_threshold() -> None:
    """A plan is thousands of small objects that are freed without any search; to look anyway costs a fifth of the time.

    A program that has set its own pace, or has turned the search off, keeps what it chose.
    """
    first, *later = gc.get_threshold()
    if first in USUAL:
        gc.set_threshold(SELDOM, *later)
