"""What pandas offers and a private table cannot, with the reason and what to do instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from privjail.errors import RefusedError


class RefusedAttribute(RefusedError, AttributeError):
    """A pandas method that has no private counterpart."""


_OTHER_ROWS = "its result in one row depends on all other rows, so one person could change every row"
_LOOK = "it would show rows of the data"
_LABELS = "rows have no public labels or positions"
_SHAPE = "the shape of the result would depend on the data"

# One line: the reason, what to do instead, and the names of pandas that it answers.
_TABLE: list[tuple[str, str, str]] = [
    (_OTHER_ROWS, "use rolling(w), shift(k) or diff(k), which look at a fixed number of rows",
     "cumsum cumprod cummax cummin cumcount expanding ewm rank pct_change ngroup"),
    (_OTHER_ROWS, "use .fillna(constant)",
     "interpolate ffill bfill pad backfill"),
    (_LABELS, "filter by a condition on a column, or take iloc[a:b], head(n), tail(n)",
     "set_index index reindex reindex_like sort_index align T transpose at iat xs take squeeze axes "
     "droplevel swaplevel reorder_levels rename_axis truncate first_valid_index last_valid_index at_time between_time "
     "asof isetitem indices groups level nth names"),
    ("code of the analyst does not run on private data", "use arithmetic, comparisons, .map(dict), .where(…), "
     ".str and .dt", "apply applymap transform eval combine select"),
    ("each aggregate is released on its own, so that its noise and its price are known",
     "call .sum(), .count(), .size() or .mean(eps=…) one by one", "agg aggregate ohlc"),
    (_LOOK, "release counts, sums or means with a mechanism: .sum().reveal(eps=…), .mean(eps=…)",
     "to_csv to_parquet to_dict to_list tolist to_json to_string to_markdown to_html to_excel to_sql "
     "to_pickle to_records to_latex to_xarray to_feather to_hdf to_orc to_stata to_xml to_iceberg to_clipboard "
     "array items iterrows itertuples iteritems item info memory_usage nbytes style first last get keys pop explode "
     "repeat to_period to_timestamp attrs flags set_flags sparse list struct"),
    ("a plot shows rows of the data", "plot what you release: .hist(eps=…), .value_counts(sort=False).reveal(eps=…)",
     "plot boxplot"),
    ("which values occur is private", "use .value_counts(sort=False) or .nunique(), and release them",
     "unique duplicated drop_duplicates mode factorize searchsorted is_unique is_monotonic_increasing "
     "is_monotonic_decreasing empty equals hasnans compare"),
    ("the position of a row is private", "use .max(eps=…), .quantile(q, eps=…), or .idxmax(eps=…) on counts",
     "idxmax idxmin argmax argmin argsort nlargest nsmallest"),
    ("its sensitivity is unbounded, or has no rule yet", "sum bounded products, e.g. (df.a * df.b).sum(), release the "
     "sums, and combine the public values",
     "corr cov corrwith skew kurt kurtosis sem prod product autocorr dot divmod rdivmod rpow"),
    ("one row decides it", "release the count: .sum() of the true/false column", "any all bool"),
    ("a random sample is not offered yet", "work on all rows: it costs no more budget", "sample"),
    (_SHAPE, "use groupby on columns with finite domains, or pd.crosstab",
     "pivot melt stack unstack pivot_table resample asfreq lreshape wide_to_long from_dummies get_dummies "
     "json_normalize"),
    ("the bins would depend on the data", "use pd.cut with public bins", "qcut"),
    ("rows of different tables are not put together: which rows they share is private",
     "add the counts or sums of the two tables; for a public table use .merge(table, on=…)",
     "append combine_first update concat join merge_asof merge_ordered"),
    ("types come from the schema: guessing them would make them an output of the data",
     'use .astype("Int64"), or declare the type in the schema',
     "convert_dtypes infer_objects infer_freq to_datetime to_timedelta tz_convert tz_localize"),
    ("a private table is opened from a file or a frame by its curator", "use read_csv, read_parquet or from_frame, "
     "each with a schema",
     "from_dict from_records from_arrow read_clipboard read_excel read_feather read_fwf read_hdf read_html "
     "read_iceberg read_json read_orc read_pickle read_sas read_spss read_sql read_sql_query read_sql_table read_stata "
     "read_table read_xml ExcelFile ExcelWriter HDFStore"),
    ("a private column has no rows to drop by label, and no labels to name", "filter by a condition, or use "
     ".rename(name)", "drop add_prefix add_suffix set_axis filter insert"),
    ("it is offered for one column at a time", 'take the column first: df["a"]',
     "rolling map between case_when dt str cat name dtype dtypes"),
    ("in groups it has no rule yet", "iterate over the groups, for key, group in df.groupby(…), or use get_group(key): "
     "exclusive groups cost no more than one", "describe hist nunique tail shift diff"),
]  # fmt: skip

REASONS: dict[str, tuple[str, str]] = {name: (why, instead) for why, instead, names in _TABLE for name in names.split()}

#: Other names for reasons, where a kind of object refuses something for a reason of its own.
VECTOR_REASON = (
    "a private vector computes with + - * / abs, max, min and sum, and has no rule for this",
    "release it with .reveal(eps=…): the result is an ordinary pandas object, on which everything works",
)


def refuse(owner: Any, name: str) -> NoReturn:
    """Explain why an attribute is not there."""
    kind = type(owner).__name__
    if name.startswith("_"):
        raise AttributeError(f"{kind} has no {name!r}")
    if kind.startswith("Sensitive"):
        if _of_pandas(name):
            raise RefusedAttribute(f"{kind}.{name} is refused: {VECTOR_REASON[0]}", do=VECTOR_REASON[1])
    elif name in REASONS:
        why, instead = REASONS[name]
        raise RefusedAttribute(f"{kind}.{name} is refused: {why}", do=instead)
    near = get_close_matches(name, [n for n in dir(owner) if not n.startswith("_")], n=3)
    raise RefusedAttribute(f"{kind} has no {name!r}", do=f"did you mean {', '.join(near)}?" if near else None)


def refuse_row_numbers(owner: Any) -> NoReturn:
    """reset_index() without drop=True: the row's number would become a column."""
    raise RefusedAttribute(
        f"{type(owner).__name__}.reset_index is refused: a row's number depends on all rows above it, so one person "
        "could change every number",
        do="use reset_index(drop=True)",
    )


def _of_pandas(name: str) -> bool:
    import pandas

    return hasattr(pandas.Series, name) or hasattr(pandas.DataFrame, name)


#: What privjail.pandas hands on from pandas: types and makers of public values, which hold no private data.
_PUBLIC = """
    NA NaT Timestamp Timedelta Interval Period Categorical CategoricalDtype DataFrame Series Index MultiIndex
    CategoricalIndex IntervalIndex DatetimeIndex RangeIndex TimedeltaIndex PeriodIndex Int64Dtype Float64Dtype
    BooleanDtype StringDtype IntervalDtype DatetimeTZDtype PeriodDtype ArrowDtype SparseDtype Int8Dtype Int16Dtype
    Int32Dtype UInt8Dtype UInt16Dtype UInt32Dtype UInt64Dtype Float32Dtype DateOffset IndexSlice NamedAgg NamedFunc
    Grouper Flags date_range bdate_range interval_range period_range timedelta_range option_context set_option
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
    if name in REASONS:
        why, instead = REASONS[name]
        raise RefusedAttribute(f"pd.{name} is refused: {why}", do=instead)
    raise RefusedAttribute(
        f"privjail.pandas has no {name!r}: it offers what works on private tables",
        do="for public data, import pandas itself beside privjail.pandas",
    )
