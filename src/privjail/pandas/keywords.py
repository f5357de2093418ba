"""Keyword arguments of pandas that have no effect on a private table, or cannot be supported.

Each has the values that change nothing here and are accepted, and for all others the reason and what to do instead.
An entry for one method ("groupby.observed") goes before the entry for the keyword in general.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ANY = object()


@dataclass(frozen=True)
class Keyword:
    """Which values are accepted without effect, and why others are not."""

    accepted: tuple[Any, ...]
    why: str
    instead: str

    def accepts(self, value: Any) -> bool:
        if ANY in self.accepted:
            return True
        return any(value is each or type(value) is type(each) and value == each for each in self.accepted)


_LABELS = "rows have no public labels"
_ROWS = "numbers of one row are combined by arithmetic"
_ENGINE = "the jail computes with an engine of its own"
_NO_CODE = "code of the analyst does not run on private data"

KEYWORDS: dict[str, Keyword] = {
    # no effect, whatever is given: said on the page of supported names
    "to_numpy.na_value": Keyword((None,), "missing numbers are filled before the array is made", "df.fillna(0)"),
    "copy": Keyword((ANY,), "private tables are never changed by others", "leave it out"),
    "deep": Keyword((ANY,), "private tables are never changed by others", "leave it out"),
    "ignore_index": Keyword((ANY,), _LABELS, "leave it out"),
    "verify_integrity": Keyword((ANY,), _LABELS, "leave it out"),
    "kind": Keyword((ANY,), "sorting is always stable", "leave it out"),
    "group_keys": Keyword((ANY,), "groups come back by their keys", "leave it out"),
    "engine": Keyword((ANY,), _ENGINE, "leave it out"),
    "engine_kwargs": Keyword((ANY,), _ENGINE, "leave it out"),
    "interpolation": Keyword((ANY,), "a quantile is chosen among public candidates", "leave it out"),
    "interval": Keyword((ANY,), "it concerns plots", "leave it out"),
    "verbose": Keyword((ANY,), "only public facts are shown", "leave it out"),
    "memory_usage": Keyword((ANY,), "only public facts are shown", "leave it out"),
    "show_counts": Keyword((ANY,), "counts are private", "release them: df.count().reveal(eps=0.1)"),
    "max_cols": Keyword((ANY,), "all columns are shown", "leave it out"),
    "buf": Keyword((None,), "the facts are printed", "leave it out"),
    # neutral values only
    "axis": Keyword((0, "index", None), "this works down the columns", "combine columns: df['a'] + df['b']"),
    "level": Keyword((None,), _LABELS, "group by columns: df.groupby('column')"),
    "skipna": Keyword((True, None), "missing values are always left out: whether there is one is private",
                      "leave out skipna=False"),
    "min_count": Keyword((0, -1, 1), "how many values there are is private", "release .count() beside it"),
    "numeric_only": Keyword((False, None), "this table has no columns of numbers to choose", "leave it out"),
    "fill_value": Keyword((None,), "missing values are replaced before", "use .fillna(value) first"),
    "limit": Keyword((None,), "which rows come first is no property of a value", "leave it out"),
    "limit_area": Keyword((None,), "rows around a row are private", "leave it out"),
    "method": Keyword((None, "pearson", "linear", "single", "average"), "only one method is offered", "leave it out"),
    "downcast": Keyword((None, False), "types come from the schema", 'use .astype("Int64")'),
    "freq": Keyword((None,), "shifting by a period needs row labels that are dates", "shift by a number of rows"),
    "suffix": Keyword((None,), "one column comes out", "rename it: .rename(name)"),
    "key": Keyword((None,), _NO_CODE, "add a column to sort by: df.assign(k=…).sort_values('k')"),
    "by_row": Keyword(("compat",), _NO_CODE, "leave it out"),
    "raw": Keyword((False,), _NO_CODE, "leave it out"),
    "result_type": Keyword((None,), _NO_CODE, "leave it out"),
    "args": Keyword(((),), _NO_CODE, "leave it out"),
    "na_action": Keyword((None, "ignore"), "missing values stay missing", "leave it out"),
    "regex": Keyword((False, None), "patterns are offered by .str only", "use .str.replace(old, new)"),
    "errors": Keyword(("raise", "coerce", "ignore"), "an error over data would show it", "leave it out"),
    "numeric": Keyword((None,), "types come from the schema", "leave it out"),
    "observed": Keyword((False, None), "which groups occur is private", "leave out observed=True"),
    "squeeze": Keyword((False,), "the shape is public and fixed", "leave it out"),
    "ordered": Keyword((True, False, None), "the order of categories is public", "leave it out"),
    "duplicates": Keyword(("raise",), "edges are public: they must rise", "leave out equal edges"),
    "retbins": Keyword((False,), "the edges are those you gave", "use them as they are"),
    "precision": Keyword((3,), "edges are kept exactly", "leave it out"),
    "center": Keyword((False, None), "a window ends at its row", "shift the result: .shift(-k)"),
    "win_type": Keyword((None,), "all rows of a window weigh the same", "leave it out"),
    "on": Keyword((None,), "windows go by rows, not by dates", "sort by the date, and roll over rows"),
    "closed": Keyword((None,), "windows include their last row only", "leave it out"),
    "step": Keyword((None, 1), "every n-th row has no bounded distance", "leave it out"),
    "min_periods": Keyword((None,), "how many values are there is private", "leave it out"),
    "try_cast": Keyword((False,), "types come from the schema", "leave it out"),
    "names": Keyword((None,), _LABELS, "leave it out"),
    "index": Keyword((None,), _LABELS, "name the columns: columns="),
    "bool_only": Keyword((False, None), "conditions are true/false columns already", "leave it out"),
    "nunique.dropna": Keyword((True,), "missing values are not counted", "count them: `df['b'].isna().sum()`"),
    "mode.dropna": Keyword((True,), "the mode is one of the possible values", "`df['h'].fillna('missing')` first"),
    "keep": Keyword(("first",), "of equal values the first rows are kept", "leave it out"),
    "how": Keyword((None, "any"), "a column has one value in each row", "leave it out"),
    "fill_method": Keyword((None,), "missing values stay missing", "use .fillna(value) first"),
    "name": Keyword((None,), "the result has the name of the column", "rename it: `df['a'].rename('c')`"),
    "reset_index.name": Keyword((ANY,), _LABELS, "use reset_index(drop=True)"),
    "cov.ddof": Keyword((1,), "covariances of groups divide by n - 1", "leave it out"),
    "drop": Keyword((False, True), "columns without a partner are left out", "leave it out"),
    "lsuffix": Keyword(("",), "columns of the same name are refused", "rename them first: `df.add_prefix('left_')`"),
    "rsuffix": Keyword(("",), "columns of the same name are refused", "rename them first: `df.add_prefix('left_')`"),
    "join": Keyword(("outer", "inner"), "all parts have the same rows", "leave it out"),
    "keys": Keyword((None,), "columns have one level of names", "rename them: `df.add_prefix('left_')`"),
    "levels": Keyword((None,), "columns have one level of names", "leave it out"),
    "union_categories": Keyword((ANY,), "categories come from the schema", "leave it out"),
    "parser": Keyword(("pandas",), "queries have one grammar", "leave it out"),
    "local_dict": Keyword((None,), "a query sees the variables around it by @name", "write @name in the query"),
    "global_dict": Keyword((None,), "a query sees the variables around it by @name", "write @name in the query"),
    "resolvers": Keyword((None,), "a query sees columns and variables", "leave it out"),
    "filter.arg": Keyword((None,), "columns are chosen by their names", "use items=, like= or regex="),
    "filter.cond": Keyword((None,), "rows are chosen by a condition", "`df[df['a'] > 10]`"),
    "filter.na": Keyword((None,), "rows are chosen by a condition", "`df[df['a'] > 10]`"),
    "data": Keyword((None,), "the table is the one before the dot", "leave it out"),
    "by": Keyword((None,), "a histogram for each group is asked of the groups",
                  "`df.groupby('g')['a'].hist(bins=10, eps=0.1)`"),
    "filepath_or_buffer": Keyword((), "the name of the file comes first", "pd.read_csv('patients.csv', schema=…)"),
    "read_csv.delimiter": Keyword((None,), "it has one name here", "use sep=',' for it"),
    "read_csv.header": Keyword((0, "infer"), "the first line of a file names its columns", "leave it out"),
    "read_csv.index_col": Keyword((None, False), _LABELS, "leave it out: it stays a column"),
    "nrows": Keyword((None,), "all rows are read: the budget counts for the whole file", "`df.head(1000)` afterwards"),
    "skiprows": Keyword((None, 0), "all rows are read, and the budget is that of all", "`df.iloc[10:]` afterwards"),
    "skipfooter": Keyword((0,), "all rows are read", "`df.iloc[:-10]` afterwards"),
    "na_values": Keyword((None,), "marks for missing values stand in the schema", 'in the schema: "na_value": ["?"]'),
    "converters": Keyword((None,), _NO_CODE, "compute with columns afterwards: `df['a'] * 2`"),
    "thousands": Keyword((None,), "numbers are read as they stand", "remove the marks before the file is added"),
    "decimal": Keyword((".",), "numbers have a decimal point", "write them so before the file is added"),
    "encoding": Keyword((None, "utf-8", "utf8", "UTF-8"), "files are in UTF-8", "save the file as UTF-8"),
    "compression": Keyword((None, "infer"), "files are not packed", "unpack the file, or use pd.read_parquet"),
    "lineterminator": Keyword((None,), "lines end as in CSV", "leave it out"),
    "quotechar": Keyword(('"',), "text is quoted as in CSV", "leave it out"),
    "quoting": Keyword((0,), "text is quoted as in CSV", "leave it out"),
    "doublequote": Keyword((True,), "text is quoted as in CSV", "leave it out"),
    "escapechar": Keyword((None,), "text is quoted as in CSV", "leave it out"),
    "comment": Keyword((None,), "every line is a row", "remove comments before the file is added"),
    "dialect": Keyword((None,), "files are CSV", "leave it out"),
    "chunksize": Keyword((None,), "files are read as a whole; large ones stay on disk", "leave it out"),
    "iterator": Keyword((False,), "files are read as a whole; large ones stay on disk", "leave it out"),
    "columns": Keyword((None,), "columns are chosen afterwards", "`df[['a', 'b']]`"),
    "filters": Keyword((None,), "rows are chosen afterwards", "`df[df['a'] > 10]`"),
    "fillna.method": Keyword((None,), "the last value before a row can be any number of rows away",
                             'take the row above: `df["b"].fillna(df["b"].shift(1))`'),
    "dropna.axis": Keyword((0, "index"), "which columns have missing values is private",
                           'name them: `df.drop(columns=["b"])`'),
    "inplace": Keyword((False,), "a column is changed in its table",
                       'give the column its new values: `df["b"] = df["b"].fillna(0)`'),
    "col_level": Keyword((0,), "columns have one level of names", "leave it out"),
    "col_fill": Keyword(("",), "columns have one level of names", "leave it out"),
    "allow_duplicates": Keyword((False,), "names of columns are unique", "choose another name"),
    "left_index": Keyword((False,), _LABELS, "join on columns: on="),
    "right_index": Keyword((False,), _LABELS, "join on columns: on="),
    "sort": Keyword((ANY,), "groups come in the order of the domain", "leave it out"),
    "indicator": Keyword((False,), "which rows found a partner is a column of the public table",
                         "add a column to the public table before"),
    "validate": Keyword((None, "m:1", "many_to_one", "1:1", "one_to_one"), "keys of the public table are unique",
                        "leave it out"),
    "suffixes": Keyword((("_x", "_y"),), "columns of the same name are refused", "rename them first"),
    "include_groups": Keyword((ANY,), "keys are constants inside their group", "leave it out"),
    "target": Keyword((None,), "f takes the table first", "leave it out"),
    "func": Keyword((None,), _NO_CODE, "name a statistic: 'mean'"),
    "dtype": Keyword((None,), "types come from the schema", 'use .astype("Int64") before'),
}  # fmt: skip

_NO_EFFECT = {
    "how a plot looks, where numbers are released": "grid xlabelsize xrot ylabelsize yrot ax sharex sharey figsize "
    "layout backend legend",
    "which types are guessed, where the schema says them": "infer_objects convert_string convert_integer "
    "convert_boolean convert_floating dtype_backend",
    "how text is read, where the schema says what it means": "true_values false_values skipinitialspace "
    "keep_default_na na_filter skip_blank_lines date_format dayfirst cache_dates "
    "encoding_errors on_bad_lines "
    "low_memory memory_map float_precision storage_options filesystem to_pandas_kwargs",
}
for _why, _names in _NO_EFFECT.items():
    for _name in _names.split():
        KEYWORDS.setdefault(_name, Keyword((ANY,), f"it says {_why}", "leave it out"))
