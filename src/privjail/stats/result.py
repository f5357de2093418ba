"""What a test gives: the numbers to publish, and how to print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

import pandas
from privjail.errors import UnknownName


def _no_statistic() -> UnknownName:
    return UnknownName("a comparison has no statistic of a known law", do="use .difference, .interval and .pvalue")


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

    @property
    def statistic(self) -> float:
        """As scipy names it: there is none, since the error of the difference is simulated and has no standard law."""
        raise _no_statistic()

    def __iter__(self) -> Any:
        raise _no_statistic()

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


@dataclass(frozen=True, eq=False)
class Regression:
    """A table of coefficients. Intervals and p-values account for sampling and for the noise of the release."""

    what: str
    table: pandas.DataFrame  # coefficient, low, high, pvalue; one line for each coefficient
    rows: float
    confidence: float
    reliable: bool  # False: too few rows for the noise; intervals are all that is possible, and p-values 1
    bill: Any = None  # what was asked for, and at which price

    @staticmethod
    def of(
        what: str, names: list[str], numbers: tuple[Any, Any, Any, Any], rows: float, confidence: float, bill: Any
    ) -> Regression:
        named = dict(zip(("coefficient", "low", "high", "pvalue"), numbers, strict=True))
        return Regression(what, pandas.DataFrame(named, index=pandas.Index(names)), rows, confidence, True, bill)

    @staticmethod
    def unreliable(what: str, names: list[str], rows: float, confidence: float, bill: Any) -> Regression:
        ends = [numpy.full(len(names), x) for x in (numpy.nan, -numpy.inf, numpy.inf, 1.0)]
        named = dict(zip(("coefficient", "low", "high", "pvalue"), ends, strict=True))
        return Regression(what, pandas.DataFrame(named, index=pandas.Index(names)), rows, confidence, False, bill)

    def summary(self) -> Regression:
        """The same: it prints as a table."""
        return self

    @property
    def params(self) -> Any:
        """The coefficients, as statsmodels names them."""
        return self.table["coefficient"]

    @property
    def pvalues(self) -> Any:
        """The p-values, as statsmodels names them."""
        return self.table["pvalue"]

    def conf_int(self) -> pandas.DataFrame:
        """The two ends of each interval, as statsmodels names them."""
        return self.table[["low", "high"]]

    @property
    def certificate(self) -> list[dict[str, Any]]:
        """The certificates of the releases: what they claim, for others to check."""
        found: list[dict[str, Any]] = self.bill.certificates()
        return found

    def __repr__(self) -> str:
        shown = self.table.to_string(float_format=lambda x: f"{x:.4g}")
        head = f"{self.what}; {self.confidence:.0%} intervals, about {max(self.rows, 0):.0f} rows"
        return f"{head}\n{shown}" + ("" if self.reliable else "\n  unreliable: too few rows for this price")
