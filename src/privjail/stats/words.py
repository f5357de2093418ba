"""Calls that people make by habit of scipy and statsmodels: what to type instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from privjail.errors import BudgetError, PlanError, UnknownName
from privjail.prisoner import Prisoner

_TTEST = 'stats.ttest(df, "cost", by="sex", eps=1)'
_CHI2 = 'stats.chi2_test(df, "sex", "ward", eps=1)'
_INSTEAD: list[tuple[str, str]] = [
    (_TTEST, "ttest_ind ttest_rel ttest_1samp f_oneway anova_lm mannwhitneyu ks_2samp kruskal wilcoxon tukey_hsd"),
    (_CHI2, "chi2_contingency chisquare fisher_exact"),
    ('stats.ab_test(df, "bought", by="group", eps=1)', "proportions_ztest proportion_confint binomtest ztest"),
    ('df["a"].corr(df["b"], eps=1), or stats.linear_regression(df, "a", on="b", eps=1), which has a p-value',
     "pearsonr spearmanr kendalltau pointbiserialr"),
    ('stats.linear_regression(df, "y", on=["a", "b"], eps=1)', "linregress OLS ols WLS GLM glm"),
    ('stats.logistic_regression(df, "y", on=["a", "b"], eps=1)', "Logit logit"),
    ('(df["a"] - df["a"].mean(eps=1)) / df["a"].std(eps=1)', "zscore"),
    ('df["a"].describe(eps=1)', "describe iqr"),
]  # fmt: skip


def not_offered(name: str, ours: list[str]) -> NoReturn:
    """A name that is not in privjail.stats."""
    if name.startswith("_"):
        raise AttributeError(f"module 'privjail.stats' has no attribute {name!r}")
    do = next((do for do, names in _INSTEAD if name in names.split()), None)
    near = get_close_matches(name, ours, n=3)
    told = do or (f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(ours)}")
    raise UnknownName(f"privjail.stats has no {name!r}", do=told)


def need_table(what: str, df: Any, named: tuple[Any, ...], eps: Any, do: str) -> None:
    """A private table, the names of its columns, and a price."""
    if not isinstance(df, Prisoner) or not hasattr(df, "_exprs") or any(not isinstance(x, str) for x in named):
        raise PlanError(f"{what} takes a private table and the names of its columns", do=do)
    if eps is None:
        raise BudgetError(f"{what} releases something about the data, and that has a price: eps= is missing", do=do)


def ttest_called(df: Any, value: Any, by: Any, eps: Any) -> str:
    """The column that divides the rows, if the call is as it should be."""
    need_table("ttest", df, (value, by), eps, _TTEST)
    return str(by)


def chi2_called(df: Any, a: Any, b: Any, eps: Any) -> None:
    """A table, two columns of it and a price."""
    need_table("chi2_test", df, (a, b), eps, _CHI2)


def ab_called(df: Any, outcome: Any, by: Any, eps: Any) -> str:
    """The column that divides the rows, if the call is as it should be."""
    need_table("ab_test", df, (outcome, by), eps, 'stats.ab_test(df, "bought", by="group", eps=1)')
    return str(by)


def formula(df: Any, y: Any, on: Any) -> tuple[str, list[str]]:
    """The target and the columns: named one by one, or as "y ~ a + b"."""
    do = 'stats.linear_regression(df, "y", on=["a", "b"], eps=1), or "y ~ a + b"'
    if isinstance(y, str) and on is None and y.count("~") == 1:
        y, _, right = (part.strip() for part in y.partition("~"))
        on = [part.strip() for part in right.split("+")]
    names = [on] if isinstance(on, str) else list(on) if isinstance(on, (list, tuple)) else []
    need_table("a regression", df, (y, *names), 1, do)
    if on is None:
        raise PlanError("a regression needs the columns that explain", do=do)
    return y, names
