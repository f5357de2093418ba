"""Private histograms: release once, then answer every range query from the released numbers."""

from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Law

__all__ = ["Law", "PrivateHistogram"]
