"""Private histograms: release once, then answer every range query from the released numbers.

One module for each algorithm, each with ``release(counts, epsilon)``; ``block_tree`` is the one to take. What may be
done to released numbers afterwards (``smooth``, ``nonnegative``, ``consistent``) costs no budget.
"""

from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Law
from privjail.histograms.postprocess import block_sums, consistent, nonnegative, smooth

__all__ = ["Law", "PrivateHistogram", "block_sums", "consistent", "nonnegative", "smooth"]
