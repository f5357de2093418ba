"""pj.error, pj.interval and pj.plot: the same questions to a number, a vector or a table."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.prisoner import Prisoner


def interval(x: Any, confidence: float = 0.95) -> Any:
    """Where the true number lies, with this probability: (low, high), or a table of them for a vector.

    >>> low, high = pj.interval(df.shape[0].reveal(eps=1))
    """
    return _released(x).interval(confidence)


def error(x: Any, confidence: float = 0.95) -> Any:
    """How far a released number, vector or table may be off, with this probability.

    >>> pj.error(df.shape[0].reveal(eps=0.1))
    30.0
    """
    return _released(x).error(confidence)


def plot(x: Any, confidence: float = 0.95, **options: Any) -> Any:
    """Draw what was released as bars with intervals; returns matplotlib's axes.

    >>> axes = pj.plot(df["ward"].value_counts(sort=False).reveal(eps=1))
    """
    from privjail.answers.plot import plot

    return plot(_released(x), confidence, **options)


def _released(x: Any) -> Any:
    if isinstance(x, Prisoner):
        raise PlanError("a private value has an error once it is released", do="x.reveal(eps=…), or x.error(eps=…)")
    if not hasattr(x, "interval"):
        raise PlanError(
            f"a plain {type(x).__name__} does not know its error",
            do="ask what the release returned, before computing with it: an error is not that of a sum or a ratio",
        )
    return x
