"""Bars with their intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd
from privjail.answers.answer import Answer
from privjail.answers.released import ReleasedFrame, ReleasedSeries
from privjail.errors import PlanError


def plot(x: Any, confidence: float = 0.95, ax: Any = None, **options: Any) -> Any:
    """Draw what was released as bars, with the interval of each number; returns matplotlib's axes.

    >>> axes = pj.plot(df["ward"].value_counts(sort=False).reveal(eps=1))
    """
    numbers: Any
    if isinstance(x, Answer):
        low, high = x.interval(confidence)
        numbers, ends = pd.Series([float(x)], index=[""]), [[(float(x) - low, high - float(x))]]
    elif isinstance(x, ReleasedSeries):
        numbers = x.to_plain()
        ends = [_reaches(numbers, x.interval(confidence))]
    elif isinstance(x, ReleasedFrame):
        numbers = x.to_plain()
        found = x.interval(confidence)
        ends = [_reaches(numbers.iloc[:, j], found.iloc[:, 2 * j : 2 * j + 2]) for j in range(x.shape[1])]
    else:
        raise PlanError(
            f"a {type(x).__name__} carries no error to draw",
            do="plot what a release returned, before computing with it",
        )
    errors = [[[low for low, _ in each], [high for _, high in each]] for each in ends]
    axes = _bars(numbers, errors, ax, options)
    first = axes.flat[0] if hasattr(axes, "flat") else axes  # with subplots=True there are several
    title = f"bars: released; lines: where the truth is, with {confidence:.0%} probability"
    first.set_title(first.get_title() or title)
    return axes


def _reaches(numbers: Any, interval: Any) -> list[tuple[float, float]]:
    """How far each line goes down and up from its bar's end."""
    rows = zip(numbers.tolist(), interval.to_numpy().tolist(), strict=True)
    return [(max(x - low, 0.0), max(high - x, 0.0)) for x, (low, high) in rows]


def _bars(numbers: Any, errors: Any, ax: Any, options: dict[str, Any]) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise PlanError("plots need matplotlib: it is not installed", do="pip install 'privjail-dp[plots]'") from None
    if ax is None and not options.get("subplots"):
        _, ax = plt.subplots()
    given = {"capsize": 3, **options}
    if isinstance(numbers, pd.Series):
        given.setdefault("legend", False)
        return numbers.plot.bar(ax=ax, yerr=errors[0], **given)
    return numbers.plot.bar(ax=ax, yerr=errors, **given)


class Plots:
    """What ``x.plot`` is: called it draws bars with intervals; its methods are those of pandas."""

    def __init__(self, released: Any) -> None:
        self._released = released

    def __call__(self, *args: Any, **options: Any) -> Any:
        if args or "kind" in options:
            return self._released.to_plain().plot(*args, **options)
        return plot(self._released, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._released.to_plain().plot, name)
