"""What a test gives: the numbers to publish, and how to print them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """The difference of two groups, second less first. Interval and p-value account for sampling and for the noise."""

    what: str
    groups: tuple[str, str]
    means: tuple[float, float]
    counts: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    confidence: float
    pvalue: float
    reliable: bool  # False: too few rows for the noise; the interval is all that is possible, and the p-value 1

    def __repr__(self) -> str:
        low, high = self.interval
        lines = [
            f"{self.what}: {self.groups[1]} less {self.groups[0]}",
            f"  difference {self.difference:.4g}, {self.confidence:.0%} interval [{low:.4g}, {high:.4g}], "
            f"p = {self.pvalue:.3g}",
            *(f"  {g}: mean {m:.4g} of about {max(n, 0):.0f} rows"
              for g, m, n in zip(self.groups, self.means, self.counts, strict=True)),
        ]  # fmt: skip
        return "\n".join([*lines, *([] if self.reliable else ["  unreliable: too few rows for this eps"])])


@dataclass(frozen=True)
class Independence:
    """Whether two columns depend on each other."""

    what: str
    statistic: float
    pvalue: float
    rows: float
    reliable: bool  # False: an expected count is below 5, or below the noise; the p-value is 1

    def __repr__(self) -> str:
        shown = (
            f"{self.what}: statistic {self.statistic:.4g}, p = {self.pvalue:.3g}, about {max(self.rows, 0):.0f} rows"
        )
        return shown if self.reliable else shown + "\n  unreliable: too few rows for this eps"
