"""What pandas offers and a private table cannot, with the reason and what to do instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from privjail.errors import RefusedError


class RefusedAttribute(RefusedError, AttributeError):
    """A pandas method that has no private counterpart."""


_OTHER_ROWS = "its result in one row depends on all other rows, so one person could change every row"
_LOOK = "it would show rows of the data"
_CODE = "code of the analyst does not run on private data"

REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "expanding", "ewm", "rank", "pct_change"),
                    (_OTHER_ROWS, "use rolling(w), shift(k) or diff(k), which look at a fixed number of rows")),
    **dict.fromkeys(("interpolate", "ffill", "bfill", "pad", "backfill"),
                    (_OTHER_ROWS, "use .fillna(constant)")),
    **dict.fromkeys(("reset_index", "set_index", "index", "reindex", "sort_index", "align", "T", "transpose", "at",
                     "iat", "xs", "take", "squeeze"),
                    ("rows have no public labels or positions", "filter by a condition on a column")),
    **dict.fromkeys(("apply", "applymap", "agg", "aggregate", "transform", "eval"),
                    (_CODE, "use arithmetic, comparisons, .map(dict), .where(…), .str and .dt")),
    **dict.fromkeys(("to_csv", "to_parquet", "to_dict", "to_list", "tolist", "to_numpy", "to_json", "to_string",
                     "to_markdown", "to_html", "to_excel", "to_sql", "to_pickle", "to_records", "to_latex",
                     "to_xarray", "to_feather", "to_hdf", "to_orc", "to_stata", "values", "array", "items", "iterrows",
                     "itertuples", "iteritems", "item", "info", "memory_usage", "plot", "boxplot", "explode", "first",
                     "last", "get", "to_clipboard"),
                    (_LOOK, "release counts, sums or means with a mechanism")),
    **dict.fromkeys(("unique", "duplicated", "drop_duplicates", "mode", "factorize", "searchsorted", "is_unique",
                     "is_monotonic_increasing", "is_monotonic_decreasing", "empty", "equals", "hasnans"),
                    ("which values occur is private", "use .value_counts(sort=False) or .nunique(), and release them")),
    **dict.fromkeys(("idxmax", "idxmin", "argmax", "argmin", "argsort", "nlargest", "nsmallest"),
                    ("the position of a row is private",
                     "use .max(eps=…), .quantile(q, eps=…), or .idxmax(eps=…) on counts")),
    **dict.fromkeys(("corr", "cov", "corrwith", "skew", "kurt", "kurtosis", "sem", "prod", "product", "autocorr"),
                    ("its sensitivity is unbounded", "combine .sum() of bounded products, released one by one")),
    **dict.fromkeys(("any", "all", "bool"),
                    ("one row decides it", "release the count: .sum() of the true/false column")),
    **dict.fromkeys(("sample",),
                    ("a random sample is not offered yet", "work on all rows: it costs no more budget")),
    **dict.fromkeys(("pivot", "melt", "stack", "unstack", "pivot_table", "resample", "asfreq", "asof"),
                    ("the shape of the result would depend on the data",
                     "use groupby on columns with finite domains, or pd.crosstab")),
    **dict.fromkeys(("append", "combine", "combine_first", "update", "concat"),
                    ("rows of different tables are not put together", "add the counts or sums of the two tables")),
    **dict.fromkeys(("qcut", "get_dummies"),
                    ("the bins or columns would depend on the data", "use pd.cut with public bins, or comparisons")),
}  # fmt: skip


def refuse(owner: Any, name: str) -> NoReturn:
    """Explain why an attribute is not there."""
    kind = type(owner).__name__
    if name in REASONS and not name.startswith("_"):
        why, instead = REASONS[name]
        raise RefusedAttribute(f"{kind}.{name} is refused: {why}", do=instead)
    near = get_close_matches(name, [n for n in dir(type(owner)) if not n.startswith("_")], n=3)
    raise RefusedAttribute(f"{kind} has no {name!r}", do=f"did you mean {', '.join(near)}?" if near else None)


def refuse_function(name: str) -> NoReturn:
    """Explain why a function of pandas is not in privjail.pandas."""
    if name.startswith("_"):
        raise AttributeError(name)
    if name in REASONS:
        why, instead = REASONS[name]
        raise RefusedAttribute(f"pd.{name} is refused: {why}", do=instead)
    raise RefusedAttribute(f"privjail.pandas has no {name!r}", do="public data is handled by pandas itself")
