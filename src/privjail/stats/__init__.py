"""Tests and intervals that people publish, from released numbers only: an ordinary program at the client, not trusted.

>>> from privjail import stats
>>> stats.ttest(df, "cost", by="sex", eps=1).pvalue <= 1
True
"""

from typing import NoReturn

from privjail.stats.chi2 import chi2_test
from privjail.stats.compare import ab_test, ttest
from privjail.stats.regression import linear_regression, logistic_regression
from privjail.stats.result import Comparison, Independence, Regression
from privjail.stats.words import not_offered

__all__ = [
    "Comparison", "Independence", "Regression", "ab_test", "chi2_test", "linear_regression", "logistic_regression",
    "ttest",
]  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    not_offered(name, __all__)
