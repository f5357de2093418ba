"""pj.error, pj.interval and pj.plot: the same questions to a number, a vector or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from privjail.answers.answer import Answer
from privjail.answers.laws import Interval
from privjail.errors import PlanError
from privjail.prisoner import Prisoner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    import pandas
    from privjail.answers.released import ReleasedFrame, ReleasedSeries


@overload
def interval(x: Answer, confidence: float = 0.95) -> Interval: ...
@overload
def interval(x: ReleasedSeries | ReleasedFrame, confidence: float = 0.95) -> pandas.DataFrame: ...
def interval(x: Any, confidence: float = 0.95) -> Interval | pandas.DataFrame:
    """Where the true number lies, with this probability: (low, high), or a table of them for a vector.

    >>> low, high = pj.interval(df.shape[0].reveal(eps=1))
    """
    found: Interval | pandas.DataFrame = _released(x).interval(confidence)
    return found


@overload
def error(x: Answer, confidence: float = 0.95) -> float: ...
@overload
def error(x: ReleasedSeries, confidence: float = 0.95) -> pandas.Series[float]: ...
@overload
def error(x: ReleasedFrame, confidence: float = 0.95) -> pandas.DataFrame: ...
def error(x: Any, confidence: float = 0.95) -> float | pandas.Series[float] | pandas.DataFrame:
    """How far a released number, vector or table may be off, with this probability.

    >>> pj.error(df.shape[0].reveal(eps=0.1))
    30.0
    """
    found: float | pandas.Series[float] | pandas.DataFrame = _released(x).error(confidence)
    return found


def plot(x: Any, confidence: float = 0.95, **options: Any) -> Axes:
    """Draw what was released as bars with intervals; returns matplotlib's axes.

    >>> axes = pj.plot(df["ward"].value_counts(sort=False).reveal(eps=1))
    """
    from privjail.answers.plot import plot

    axes: Axes = plot(_released(x), confidence, **options)
    return axes


def _released(x: Any) -> Any:
    if isinstance(x, Prisoner):
        raise PlanError("a private value has an error once it is released", do="x.reveal(eps=…), or x.error(eps=…)")
    if not hasattr(x, "interval"):
        raise PlanError(
            f"a plain {type(x).__name__} does not know its error",
            do="ask what the release returned, before computing with it: an error is not that of a sum or a ratio",
        )
    return x
