"""What pandas offers and a private table cannot, with the reason and what to do instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from privjail.errors import RefusedError


class RefusedAttribute(RefusedError, AttributeError):
    """A pandas method that has no private counterpart."""


_ALL_ROWS = "its result in one row depends on all rows above it, so one person could change every row"
_LOOK = "it would show rows of the data"
_LABELS = "rows have no public labels or positions"
_SHAPE = "which rows and columns the result has would depend on the data"
_RELEASE = 'release what you need of it: `df["a"].mean(eps=0.1)`, `df["g"].value_counts().reveal(eps=0.1)`'
_OCCUR = "which values occur is private"
_FORMULA = "code of the analyst does not run on private data"

# One line: on what (all, frame, series, groups, pd), the reason, what to type instead, and the names of pandas that it
# answers. What stands in `…` runs as it stands, on a table with the numbers a and b, the categories g and h, the
# dates t and the text s; tests/pandas/test_names.py runs it.
_TABLE: list[tuple[str, str, str, str]] = [
    ("all", "a private array holds numbers, true/false and categories, and some column here is of another type",
     'take the columns that are: `df[["a", "b"]].to_numpy()`', "values"),
    ("all", _ALL_ROWS, 'windows of fixed length work: `df["a"].rolling(7).sum()`; sum up what you release: '
     '`df.groupby("g")["a"].sum().reveal(eps=0.1).cumsum()`', "cumsum cumprod cummax cummin expanding ewm"),
    ("all", "the rank of one row depends on all other rows, so one person could change every rank",
     'shares of rows below a value are quantiles: `df["a"].quantile([0.1, 0.5, 0.9], eps=0.1)`; bands of about equal '
     'size: `pd.qcut(df["a"], 4, eps=0.1)`', "rank"),
    ("all", _ALL_ROWS, 'fill with a constant, `df["b"].fillna(0)`, a released mean, `df["b"].fillna('
     'df["b"].mean(eps=0.1))`, or the row above, `df["b"].fillna(df["b"].shift(1))`',
     "interpolate ffill bfill pad backfill"),
    ("all", _LABELS, 'filter by a condition, `df[df["a"] > 10]`, or take consecutive rows, `df.iloc[10:20]`',
     "index reindex reindex_like align at iat xs take squeeze axes droplevel swaplevel reorder_levels rename_axis "
     "truncate first_valid_index last_valid_index isetitem nth"),
    ("all", _LABELS, 'sort by a column: `df.sort_values("t")`', "sort_index"),
    ("all", _LABELS, 'choose by the dates of a column: `df[df["t"].dt.hour < 12]`, `df[df["t"] >= "2024-03-01"]`',
     "at_time between_time asof"),
    ("all", _LABELS, 'turn round what you release: `df.describe(eps=0.1).T`', "T transpose"),
    ("all", _FORMULA, 'compute with whole columns: `df["a"] / (df["b"] + 1)`, `df["a"].where(df["a"] > 10, 0)`, '
     '`df["g"].map({"x": 1, "y": 2})`', "transform combine select"),
    ("all", _LOOK, _RELEASE,
     "to_csv to_parquet to_dict to_list tolist to_json to_string to_markdown to_html to_excel to_sql "
     "to_pickle to_records to_latex to_xarray to_feather to_hdf to_orc to_stata to_xml to_iceberg to_clipboard "
     "array items iterrows itertuples iteritems item get pop style list struct sparse"),
    ("all", "rows take up memory in the jail, and how much is private", 'the types are public: `df.dtypes`',
     "info memory_usage nbytes"),
    ("all", "a private table has no notes or flags of its own", "keep them in a variable: `notes = {}`",
     "attrs flags set_flags"),
    ("all", "a plot shows rows of the data", 'plot what you release, e.g. `df["a"].hist(bins=10, eps=0.1)` or '
     '`df["g"].value_counts().reveal(eps=0.1)`; quartiles: `df["a"].describe(eps=0.1)`', "plot hist"),
    ("all", "a plot shows rows of the data", 'its quartiles can be released: `df["a"].describe(eps=0.1)`, '
     '`df.groupby("g")["a"].describe(eps=0.1)`', "boxplot"),
    ("all", "pandas itself has dropped it", 'compute it: `(df["a"] - df["a"].mean(eps=0.1)).abs().mean('
     'eps=0.1)`', "mad"),
    ("series", _OCCUR, 'which values are possible is public: `df["g"].cat.categories`, `df["a"].domain`; how many '
     'occur: `df["g"].nunique().reveal(eps=0.1)`; how often: `df["g"].value_counts().reveal(eps=0.1)`', "unique"),
    ("all", _OCCUR, 'use `df["g"].value_counts().reveal(eps=0.1)` or `df["g"].nunique().reveal(eps=0.1)`',
     "unique mode"),
    ("all", "whether a row repeats another depends on other rows", 'how many rows repeat a value of a column: '
     '`(df.shape[0] - df.drop_duplicates("a").shape[0]).reveal(eps=0.1)`', "duplicated is_unique"),
    ("series", "rows are dropped from tables, not from columns", 'the table without repeated values: '
     '`df.drop_duplicates("a")["a"]`', "drop_duplicates"),
    ("all", "numbers for the values that occur would show which do", 'numbers for all possible values: '
     '`df["g"].map({"x": 0, "y": 1})`', "factorize"),
    ("all", "one row decides it", 'release how many there are: `df["b"].isna().sum().reveal(eps=0.1)`, '
     '`df.shape[0].reveal(eps=0.1)`', "hasnans empty any all bool"),
    ("all", "one row decides it", 'count the steps upwards: `(df["a"].diff() > 0).sum().reveal(eps=0.1)`',
     "is_monotonic_increasing is_monotonic_decreasing"),
    ("all", "one row decides it", 'count where two columns differ: `(df["g"] != df["h"]).sum().reveal(eps=0.1)`',
     "equals compare"),
    ("all", "the position of a row is private", 'for its value use `df["a"].max(eps=0.1)`; for the largest group '
     '`df["g"].value_counts().idxmax(eps=0.1)`', "idxmax idxmin argmax argmin argsort searchsorted"),
    ("all", "one factor could change a product by any amount", 'sum logarithms: '
     '`(df["a"] + 1).log().sum().reveal(eps=0.1)`', "prod product"),
    ("frame", "a matrix product would mix rows", 'sums of products: `df["a"].dot(df["b"]).reveal(eps=0.1)`', "dot"),
    ("series", "it is a correlation of rows with shifted rows", 'ask for it as such: '
     '`df["a"].corr(df["a"].shift(1), eps=0.1)`', "autocorr"),
    ("all", "the two results go separate ways here", '`df["a"] // 10`, `df["a"] % 10`', "divmod rdivmod"),
    ("all", "a column in the exponent has no rule", '`(df["a"] * 0.1).exp()`', "rpow"),
    ("groups", "a sample is drawn from a table", 'draw it before the groups are made: '
     '`df.sample(frac=0.1).groupby("g")["a"].mean(eps=0.1)`', "sample"),
    ("all", _SHAPE, 'statistics of groups, one beside the other: `df.pivot_table("a", index="g", columns="h", '
     'eps=0.1)`; counts: `pd.crosstab(df["g"], df["h"]).reveal(eps=0.1)`',
     "pivot melt stack unstack lreshape wide_to_long from_dummies json_normalize"),
    ("all", "how many elements a row holds is private", 'ask for each word: '
     '`df["s"].str.contains("q").sum().reveal(eps=0.1)`', "explode repeat"),
    ("all", "rows have no public index of dates", 'name the column of dates: `df.resample("W", on="t").size()`; beside '
     'other keys: `df.groupby(["g", pd.Grouper(key="t", freq="W")]).size()`', "resample asfreq"),
    ("all", "periods and time zones are those of a column, not of an index", '`df["t"].dt.to_period("M")`',
     "to_period to_timestamp tz_convert tz_localize"),
    ("all", "rows of different tables are not put together: which rows they share is private",
     'fill from another column of the same table, `df["a"].fillna(df["b"])`; look up in a public table, '
     '`df.merge(table, on="g")`', "append combine_first update merge_asof merge_ordered"),
    ("all", "dates follow no rule that the data would have to show", 'choose the period: '
     '`df.resample("D", on="t").size()`', "infer_freq"),
    ("pd", "a private table is opened from a file or a frame by its curator", "use read_csv, read_parquet or "
     "from_frame, each with a schema: `pd.from_frame(table, \"public example\", {\"g\": {\"type\": \"string\"}})`",
     "read_clipboard read_excel read_feather read_fwf read_hdf read_html read_iceberg read_json read_orc read_pickle "
     "read_sas read_spss read_sql read_sql_query read_sql_table read_stata read_table read_xml ExcelFile ExcelWriter "
     "HDFStore"),
    ("all", "a private table is opened by read_csv, read_parquet or from_frame", "with a schema: `pd.from_frame(table, "
     "\"public example\", {\"g\": {\"type\": \"string\"}})`", "from_dict from_records from_arrow"),
    ("series", "a private column has no labels", 'filter by a condition, `df["a"][df["a"] > 10]`; name it, '
     '`df["a"].rename("c")`', "drop add_prefix add_suffix set_axis filter keys"),
    ("frame", "it is offered for one column at a time", 'take the column first: `df["a"].rolling(3).mean()`, '
     '`df["a"].between(0, 9)`, `df["a"].pct_change()`', "rolling between case_when dt str cat name dtype pct_change"),
    ("series", "this column holds no such values", 'convert it first: `df["a"].astype("string")`, '
     '`pd.to_datetime(df["s"])`', "dt str cat"),
    ("groups", _LOOK, 'a typical value of each group: `df.groupby("g")["a"].median(eps=0.1)`',
     "first last nth ohlc idxmax idxmin nlargest nsmallest take"),
    ("groups", "which rows lie in a group is private", 'the possible groups are public: '
     '`[key for key, group in df.groupby("g")]`; their sizes: `df.groupby("g").size().reveal(eps=0.1)`',
     "groups indices keys level ngroup names"),
    ("groups", "which groups are kept would depend on the data", 'release, then choose: '
     '`df.groupby("g").size().reveal(eps=0.1).loc[lambda n: n > 100]`', "filter"),
    ("groups", "in groups it has no rule", 'take one group: '
     '`df.groupby("g").get_group("x")["a"].rolling(3).mean()`; or each: `[group["a"].shift(1) for key, group in '
     'df.groupby("g")]`', "rolling shift diff pct_change expanding ewm tail"),
    ("groups", "periods are keys of groupby here", 'name both keys: '
     '`df.groupby(["g", pd.Grouper(key="t", freq="ME")]).size().reveal(eps=0.1)`', "resample"),
    ("groups", _ALL_ROWS, 'the first rows of each group: `df.groupby("g").head(3)`',
     "cumcount cumsum cumprod cummax cummin"),
    ("groups", "it would need all rows of a group at once", 'fill with the mean of the group: '
     '`df["b"].fillna(df.groupby("g")["b"].transform("mean", eps=0.1))`', "ffill bfill"),
    ("groups", "one row decides it", 'count them: `df.groupby("g")["a"].count().reveal(eps=0.1)`',
     "any all is_monotonic_increasing is_monotonic_decreasing"),
    ("groups", _OCCUR, '`df.groupby("g")["h"].value_counts().reveal(eps=0.1)`', "unique"),
    ("groups", "it is offered for columns, not for groups", 'ask for each group: `df.groupby("g").apply(lambda d: '
     'd["a"].corr(d["b"], eps=0.1))`; types are those of the table: `df.dtypes`', "corr cov corrwith dtype"),
    ("groups", "a statistic is put into rows for one column at a time", 'take the column first: '
     '`df.groupby("g")["a"].transform("mean", eps=0.1)`', "transform"),
]  # fmt: skip

KINDS = {
    "PrivDataFrame": "frame", "PrivSeries": "series", "PrivDataFrameGroupBy": "groups", "PrivSeriesGroupBy": "groups",
}  # fmt: skip
_REASONS: dict[tuple[str, str], tuple[str, str]] = {
    (where, name): (why, instead) for where, why, instead, names in _TABLE for name in names.split()
}


def reason(kind: str, name: str) -> tuple[str, str] | None:
    """Why a name of pandas is refused on a kind of object (frame, series, groups, pd), and what to type instead."""
    return _REASONS.get((kind, name)) or _REASONS.get(("all", name))


def refuse(owner: Any, name: str) -> NoReturn:
    """Explain why an attribute is not there."""
    kind = type(owner).__name__
    if name.startswith("_"):
        raise AttributeError(f"{kind} has no {name!r}")
    found = reason(KINDS.get(kind, "vector"), name) if kind in KINDS else None
    if found is not None:
        raise RefusedAttribute(f"{kind}.{name} is refused: {found[0]}", do=found[1])
    if kind in ("Deferred", "SensitiveSeries", "SensitiveDataFrame") and of_pandas(name):
        raise RefusedAttribute(
            f"{kind}.{name} is refused: what is released has no {name}",
            do='release it, and go on with pandas: `df["g"].value_counts().reveal(eps=0.1)`',
        )
    near = get_close_matches(name, [n for n in dir(owner) if not n.startswith("_")], n=3)
    raise RefusedAttribute(f"{kind} has no {name!r}", do=f"did you mean {', '.join(near)}?" if near else None)


def refuse_row_numbers(owner: Any) -> NoReturn:
    """reset_index() without drop=True: the row's number would become a column."""
    raise RefusedAttribute(
        f"{type(owner).__name__}.reset_index is refused: a row's number depends on all rows above it, so one person "
        "could change every number",
        do="use reset_index(drop=True)",
    )


def of_pandas(name: str) -> bool:
    import pandas

    return hasattr(pandas.Series, name) or hasattr(pandas.DataFrame, name)


#: What privjail.pandas hands on from pandas: types and makers of public values, which hold no private data.
_PUBLIC = """
    NA NaT Timestamp Timedelta Interval Period Categorical CategoricalDtype DataFrame Series Index MultiIndex
    CategoricalIndex IntervalIndex DatetimeIndex RangeIndex TimedeltaIndex PeriodIndex Int64Dtype Float64Dtype
    BooleanDtype StringDtype IntervalDtype DatetimeTZDtype PeriodDtype ArrowDtype SparseDtype Int8Dtype Int16Dtype
    Int32Dtype UInt8Dtype UInt16Dtype UInt32Dtype UInt64Dtype Float32Dtype DateOffset IndexSlice NamedAgg NamedFunc
    Flags array date_range bdate_range interval_range period_range timedelta_range option_context set_option
    get_option reset_option describe_option options set_eng_float_format show_versions api arrays errors offsets
    testing tseries util plotting compat core io col
"""
PUBLIC = frozenset(_PUBLIC.split())


def public_or_refused(name: str) -> Any:
    """A public name of pandas itself, or why a function of pandas is not in privjail.pandas."""
    if name.startswith("_"):
        raise AttributeError(name)
    if name in PUBLIC:
        import pandas

        if hasattr(pandas, name):
            return getattr(pandas, name)
    found = reason("pd", name)
    if found is not None:
        raise RefusedAttribute(f"pd.{name} is refused: {found[0]}", do=found[1])
    import privjail.pandas

    near = get_close_matches(name, privjail.pandas.__all__, n=3)
    raise RefusedAttribute(
        f"privjail.pandas has no {name!r}: it offers what works on private tables",
        do=f"did you mean {', '.join(near)}?" if near else "for public data, `import pandas` beside privjail.pandas",
    )
