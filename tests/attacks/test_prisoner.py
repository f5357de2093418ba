"""V-29: a private value shows its facts, never itself; what would show it is refused, in clear words."""

from __future__ import annotations

import copy
import json
import logging
import operator
import pickle
import traceback

import numpy
import pytest
from pandas.api.typing import DataFrameGroupBy

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.prisoner import Prisoner
from privjail.sensitive import Sensitive

TEXT, NUMBER, PRICE = "canary-7fc1", 918273645, 5463.728191  # what must never come out
SCHEMA = {
    "n": {"type": "Int64", "range": [0, 10**9]},
    "p": {"type": "Float64", "range": [0, 10000]},
    "s": {"type": "string"},
    "c": {"type": "category", "categories": ["a", "b"]},
    "b": {"type": "boolean"},
}


@pytest.fixture(scope="module")
def df():
    rows = pandas.DataFrame(
        {"n": [NUMBER] * 7, "p": [PRICE] * 7, "s": [TEXT] * 7, "c": ["a"] * 7, "b": [True] * 7, "free": [TEXT] * 7}
    )
    return pd.from_frame(rows, "canaries", SCHEMA)


def prisoners(df) -> dict[str, Prisoner]:
    return {
        "frame": df, "series": df["n"], "text": df["s"], "bools": df["b"], "groups": df.groupby("c"),
        "int": df.shape[0],
        "float": df["p"].sum(), "vector": df.groupby("c").size(), "table": pd.crosstab(df["c"], df["b"]),
    }  # fmt: skip


KINDS = ["frame", "series", "text", "bools", "groups", "int", "float", "vector", "table"]


def clean(text: str) -> None:
    for canary in (TEXT, str(NUMBER), str(PRICE), str(NUMBER * 7), str(PRICE * 7)):
        assert canary not in text


ACTS = {
    "bool": bool, "if": lambda x: 1 if x else 0, "not": operator.not_, "and": lambda x: x and 1, "or": lambda x: x or 1,
    "float": float, "int": int, "complex": complex, "index": operator.index, "range": range,
    "list index": [1].__getitem__,
    "hash": hash, "set": lambda x: {x}, "dict key": lambda x: {x: 1}, "bytes": bytes, "format": format,
    "f-string": lambda x: f"{x}", "str.format": "{}".format, "f-string number": lambda x: f"{x:.2f}",
    "percent d": lambda x: operator.mod("%d", x), "percent f": lambda x: operator.mod("%f", x),
    "pickle": pickle.dumps, "copy": copy.copy,
    "deepcopy": copy.deepcopy, "asarray": numpy.asarray, "array": lambda x: numpy.array([x], dtype=float),
    "sin": numpy.sin, "mean": numpy.mean, "numpy sort": numpy.sort, "isfinite": numpy.isfinite,
    "numpy unique": numpy.unique,
    "reversed": lambda x: list(reversed(x)), "next": next, "getstate": lambda x: x.__getstate__(),
    "reduce": lambda x: x.__reduce_ex__(2), "dataframe": lambda x: x.__dataframe__(),
    "arrow": lambda x: x.__arrow_c_stream__(), "divmod": lambda x: divmod(x, 2), "matmul": lambda x: x @ x,
    "shift": lambda x: x << 1, "rshift": lambda x: 1 >> x, "pandas array": lambda x: pandas.array(x),
    "math": __import__("math").floor, "trunc": __import__("math").trunc,
}  # fmt: skip


#: Python or numpy replaces the refusal by a TypeError of its own, about the type alone.
PYTHONS_OWN = ("range", "numpy sort", "array", "percent d")
ROWS = ("frame", "series", "text", "bools")
ROW_BY_ROW = ("isfinite",)  # of rows: it builds a plan
PRODUCTS = [("matmul", "series"), ("matmul", "bools")]  # the sum of products of two columns is a private number


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (act, kind)
        for act in ACTS
        for kind in KINDS
        if (act not in ROW_BY_ROW or kind not in ROWS) and (act, kind) not in PRODUCTS
    ],
)
def test_what_would_show_a_private_value_is_refused(df, act, kind):
    """V-29: decisions, conversions, numpy, pickle, copies and formatting."""
    x = prisoners(df)[kind]
    with pytest.raises((pj.DPError, TypeError)) as caught:
        ACTS[act](x)
    assert isinstance(caught.value, pj.DPError) or act in PYTHONS_OWN
    clean(str(caught.value))
    clean("".join(traceback.format_exception(caught.value)))


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("act", ROW_BY_ROW)
def test_what_is_done_row_by_row_gives_private_rows(df, kind, act):
    """V-29"""
    x = prisoners(df)[kind]
    found = ACTS[act](x)
    assert type(found) is type(x) and isinstance(found, Prisoner)
    clean(repr(found) + str(found._plan()))


@pytest.mark.parametrize(("act", "kind"), PRODUCTS)
def test_a_product_of_columns_is_a_private_number(df, act, kind):
    """V-29"""
    found = ACTS[act](prisoners(df)[kind])
    assert isinstance(found, Sensitive) and isinstance(found, Prisoner)
    clean(repr(found) + str(found._plan()))


@pytest.mark.parametrize("kind", ["int", "float", "vector", "table"])
@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_private_numbers_are_not_compared(df, kind, compare):
    """V-29: == in an if."""
    x = prisoners(df)[kind]
    for other in (3, x, "a", None):
        with pytest.raises(pj.PrisonerError, match="above_threshold"):
            compare(x, other)
    with pytest.raises(pj.PrisonerError):
        sorted([x, x])
    with pytest.raises(pj.PrisonerError):
        max(x, 3)
    with pytest.raises(pj.PrisonerError):
        x in [1, 2]  # noqa: B015


ITERATES = [list, sum, sorted, max, min, any, all, iter, set, enumerate, tuple]


@pytest.mark.parametrize(
    ("act", "kind"), [(len, "frame"), *((act, kind) for act in (len, *ITERATES) for kind in ROWS[1:])]
)
def test_rows_are_not_counted_nor_iterated(df, act, kind):
    """V-29: len, iter and everything built on them; the words say what to use instead."""
    with pytest.raises(pj.PrisonerError) as caught:
        act(prisoners(df)[kind])
    assert "do:" in str(caught.value)
    clean(str(caught.value))


@pytest.mark.parametrize(
    "keep", [lambda d: d, lambda d: d[d["n"] < 0], lambda d: d.head(2)], ids=["all", "none", "two"]
)
def test_iterating_over_a_table_gives_its_column_names_and_nothing_else(df, keep):
    """V-29: as in pandas. The names are public, and the same whatever rows there are."""
    table, columns = keep(df), [*SCHEMA, "free"]
    assert [x for x in table] == list(iter(table)) == list(table) == columns  # noqa: C416
    assert tuple(table) == tuple(columns) and set(table) == set(columns)
    assert list(enumerate(table)) == list(enumerate(columns))
    assert (sorted(table), max(table), min(table)) == (sorted(columns), max(columns), min(columns))
    assert any(table) and all(table)


def test_len_says_what_to_use(df):
    with pytest.raises(pj.PrisonerError, match=r"shape\[0\]"):
        len(df)


def test_a_comparison_of_a_column_makes_no_decision(df):
    """V-29: df["n"] == 3 is a private column; used as a condition it is refused."""
    with pytest.raises(pj.PrisonerError):
        if df["n"] == NUMBER:
            pass
    with pytest.raises(pj.PrisonerError):
        bool((df["n"] > 3) & (df["p"] > 3))
    with pytest.raises(pj.PrisonerError):
        3 < df["n"] < 5  # noqa: B015
    with pytest.raises(pj.PrisonerError):
        TEXT in df["s"]  # noqa: B015


def test_json_and_numbers_in_text_show_nothing(df):
    for x in prisoners(df).values():
        with pytest.raises(TypeError) as caught:
            json.dumps(x)
        clean(str(caught.value))
        clean(str(x) + repr(x) + operator.mod("%s", x))


PAIRS = [
    ("frame", pandas.DataFrame), ("series", pandas.Series), ("groups", DataFrameGroupBy), ("vector", pandas.Series),
    ("table", pandas.DataFrame), ("int", int), ("float", float), ("text", pandas.Series), ("bools", pandas.Series),
]  # fmt: skip
PUBLIC_ANSWERS = {  # what may be public: names, sizes of public indexes, classes and texts made of facts
    "__class__", "__dir__", "__doc__", "__module__", "__dict__", "__weakref__", "__repr__", "__str__", "__sizeof__",
    "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__setattr__", "__delattr__",
    "__annotations__", "__pandas_priority__", "__array_priority__", "__getformat__", "__slots__", "__orig_bases__",
    "__parameters__", "__class_getitem__", "__getattr__",
}  # fmt: skip
ARGUMENTS = [(), (1,), (0.5,), ("a",), (None,), ([1, 2],), (numpy.add, "__call__", 1), ("a", 1), (2, 3)]


@pytest.mark.parametrize(("kind", "outside"), PAIRS)
def test_no_dunder_of_the_type_outside_shows_data(df, kind, outside):
    """V-29: every dunder of the corresponding type, with all kinds of arguments."""
    x = df.copy() if kind == "frame" else prisoners(df)[kind]  # __setitem__ and __delitem__ may change a table
    dunders = {n for n in {*dir(outside), *dir(type(x))} if n.startswith("__") and n.endswith("__")}
    for name in sorted(dunders - PUBLIC_ANSWERS):
        try:
            method = getattr(x, name)
        except AttributeError:
            continue  # not there at all: Python's own refusal
        for arguments in ARGUMENTS if callable(method) else []:
            try:
                answer = method(*arguments)
            except (pj.DPError, TypeError, AttributeError) as e:
                clean(str(e))
                continue
            assert harmless(answer, x), f"{kind}.{name}{arguments} gave {type(answer).__name__}"


def harmless(answer, x) -> bool:
    """A private value, nothing, or a size that the schema fixes."""
    if answer is None or answer is NotImplemented or isinstance(answer, Prisoner):
        return True
    if isinstance(answer, (bool, int)) and not isinstance(x, (pd.PrivSeries, pj.SensitiveInt, pj.SensitiveFloat)):
        return answer in (0, 1, 2)  # 'in' on public labels; the number of labels of "c"
    return type(answer).__name__ == "generator" or hasattr(answer, "__next__")


@pytest.mark.parametrize("kind", KINDS)
def test_texts_show_facts_and_no_data(df, kind):
    """V-29: repr, str, _repr_html_, dir, vars, plans."""
    x = prisoners(df)[kind]
    for text in (repr(x), str(x), getattr(x, "_repr_html_", str)(), str(dir(x)), str(vars(x)), str(x._plan())):
        clean(text)
    assert repr(x).startswith("Prisoner(<class '")


def test_the_texts_of_the_paper(df):
    assert str(df).splitlines()[0] == "Prisoner(<class 'pandas.core.frame.DataFrame'>, distance=1)"
    assert repr(df.shape[0]) == "Prisoner(<class 'int'>, distance=1)"
    page = df._repr_html_()
    for fact in ("unit of protection: a row", "cell: canaries", "Int64 [0, 1000000000]", "category of 2: a, b"):
        assert fact in str(df) and fact in page
    with pytest.raises(pj.DPError) as caught:
        df["free"].mean(eps=1)
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    assert "privjail.util.DPError: The domain is unbounded. Use clip()." in lines


def test_a_column_name_is_escaped_in_notebooks():
    df = pd.from_frame(pandas.DataFrame({"<script>": [1]}), "<b>")
    assert "<script>" not in df._repr_html_() and "&lt;script&gt;" in df._repr_html_()


FAULTY = [
    lambda d: d["nothing"], lambda d: d["s"].sum(), lambda d: d["free"].sum().reveal(eps=1), lambda d: d["n"] + d["s"],
    lambda d: d["n"].reveal(eps=1), lambda d: d.shape[0].reveal(eps=-1), lambda d: d.groupby("s").size(),
    lambda d: d["n"].apply(lambda v: 1 / 0), lambda d: d.to_csv(), lambda d: d.query("n >"), lambda d: d["n"].iloc[0],
    lambda d: d["n"].astype("category"), lambda d: pd.cut(d["n"], 3), lambda d: d["p"].quantile(2, eps=1),
]  # fmt: skip
CUT = 12


@pytest.mark.parametrize("i", range(len(FAULTY)))
def test_errors_tracebacks_logs_and_audit_show_no_data(df, i, caplog, capsys):
    """V-29: an error is an output; so are its causes, the log, what is printed and the audit."""
    with caplog.at_level(logging.DEBUG), pytest.raises(Exception) as caught:  # noqa: PT011, B017
        FAULTY[i](df)
    error: BaseException | None = caught.value
    warned = i == CUT and isinstance(error, pj.DPWarning)  # that pandas would take the range from the data
    assert isinstance(error, (pj.DPError, AttributeError)) or warned
    while error is not None:
        clean(str(error) + repr(error) + str(error.args) + str(vars(error)))
        error = error.__cause__ or error.__context__
    captured = capsys.readouterr()
    clean(caplog.text + captured.out + captured.err)


def test_the_audit_names_programs_and_never_values(df):
    """V-29"""
    df[df["s"].str.contains("x")]["n"].sum().reveal(eps=1)
    df["p"].mean(eps=1)
    clean(repr(session.jail().audit))
    assert "sum(n)" in repr(session.jail().audit)


def test_a_failure_inside_the_jail_tells_nothing(df, monkeypatch):
    """V-24, V-29: whatever an engine says about data stays inside, also as the context of the error."""

    def broken(value):
        raise ValueError(f"row 3 holds {TEXT}")

    monkeypatch.setattr(session.jail().engine, "evaluate", broken)
    with pytest.raises(pj.InternalError) as caught:
        df.shape[0].reveal(eps=0.5)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    clean("".join(traceback.format_exception(caught.value)))
