"""Loading keeps what the schema promises, and never fails over, nor speaks of, what a row holds."""

from __future__ import annotations

import datetime
import json
import traceback

import numpy
import polars
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.engines.polars.disk import OnDisk
from privjail.catalogue.load import enforce
from privjail.catalogue.schema import read_schema
from privjail.ops.rows.source import Unit
from tests.pandas.seen import seen

CANARY = "canary-51f0"


def load(tmp_path, text, schema=None, name="data.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return pd.read_csv(path, schema, **options)


def column(tmp_path, values, **declared):
    text = "v\n" + "\n".join(values) + "\n"
    out = seen(load(tmp_path, text, {"v": declared})["v"])
    return [None if pandas.isna(v) else v for v in out]


def silent(error: BaseException) -> None:
    """An error that says nothing of the data, and has nothing behind it."""
    assert error.__cause__ is None and (error.__context__ is None or CANARY not in str(error.__context__))
    assert CANARY not in str(error) + repr(error) + "".join(traceback.format_exception(error))


NUMBERS = ["5", " 7 ", "-3", "200", "", "?", "NaN", "inf", "-inf", "1e400", "3.0", "3.5", "x", "99999999999999999999",
           "-99999999999999999999", "+4", "1_000", "0x1F"]  # fmt: skip


def test_whole_numbers_are_clipped_to_the_range(tmp_path):
    """V-16: NaN, ±inf, fractions, text and numbers beyond 64 bits have one rule each."""
    found = column(tmp_path, NUMBERS, type="Int64", range=[0, 120], na_value="?")
    assert found[:16] == [5, 7, 0, 120, None, None, None, 120, 0, 120, 3, None, None, 120, 0, 4]
    assert all(v is None for v in found[16:])


def test_whole_numbers_outside_become_missing_if_the_schema_says_so(tmp_path):
    found = column(tmp_path, NUMBERS, type="Int64", range=[0, 120], outside="null", na_value="?")
    assert found[:16] == [5, 7, None, None, None, None, None, None, None, None, 3, None, None, None, None, 4]


def test_numbers_are_finite_or_missing(tmp_path):
    """V-16"""
    found = column(tmp_path, NUMBERS, type="Float64", range=[0, 120])
    assert found[:13] == [5, 7, 0, 120, None, None, None, 120, 0, 120, 3, 3.5, None]
    free = column(tmp_path, NUMBERS, type="Float64")
    assert free[7:10] == [None, None, None] and free[3] == 200


def test_half_open_ranges(tmp_path):
    assert column(tmp_path, ["-5", "5"], type="Int64", range=[0, None]) == [0, 5]
    assert column(tmp_path, ["-5", "5"], type="Float64", range=[None, 0], outside="null") == [-5, None]


def test_unknown_categories_are_missing(tmp_path):
    """V-20: a value that the schema does not name has no group."""
    found = column(tmp_path, ["a", "b", " a", "A", "", "zzz"], type="category", categories=["a", "b"])
    assert found == ["a", "b", "a", None, None, None]
    spaced = column(tmp_path, [" a", "a"], type="category", categories=[" a"])
    assert spaced == [" a", None]
    assert column(tmp_path, ["1", "2", "1.0"], type="category", categories=[1, 2]) == [1, 2, None]


def test_marks_for_missing_values(tmp_path):
    assert column(tmp_path, ["?", " ?", "NA", "x"], type="string", na_value=["?", "NA"]) == [None, None, None, "x"]
    assert column(tmp_path, ["-9", "9"], type="Int64", na_value="-9") == [None, 9]
    assert column(tmp_path, ["-9", "9"], type="Int64", na_value=-9) == [None, 9]
    assert column(tmp_path, ["?", "a"], type="category", categories=["a", "?"], na_value="?") == [None, "a"]


def test_fill_leaves_nothing_missing(tmp_path):
    df = load(tmp_path, "v\n1\n?\nx\n", {"v": {"type": "Int64", "range": [0, 5], "fill": 2}})
    assert seen(df["v"]).tolist() == [1, 2, 2] and not df.domains["v"].nullable
    assert column(tmp_path, ["?"], type="category", categories=["a", "b"], fill="b") == ["b"]
    assert column(tmp_path, ["?"], type="boolean", fill=False) == [False]
    assert column(tmp_path, ["?"], type="datetime", fill="2001-02-03") == [pandas.Timestamp("2001-02-03")]
    assert column(tmp_path, ["?"], type="string", na_value="?", fill="none") == ["none"]


def test_truth_values(tmp_path):
    texts = ["true", "False", "1", "0", "YES", "no", " True ", "2", "x", ""]
    assert column(tmp_path, texts, type="boolean") == [True, False, True, False, True, False, True, None, None, None]


def test_moments_also_before_1970(tmp_path):
    """V-10: dates before 1970 are negative numbers of microseconds."""
    texts = ["1969-07-20 20:17:40", "1900-01-01", "2020-02-29T12:30", "2020-02-30", "x", "", "0001-01-01"]
    found = column(tmp_path, texts, type="datetime")
    assert found[:3] == [datetime.datetime(1969, 7, 20, 20, 17, 40), datetime.datetime(1900, 1, 1),
                         datetime.datetime(2020, 2, 29, 12, 30)]  # fmt: skip
    assert found[3:6] == [None, None, None]
    clipped = column(tmp_path, texts[:3], type="datetime", range=["1950-01-01", "2000-01-01"])
    assert clipped == [datetime.datetime(1969, 7, 20, 20, 17, 40), datetime.datetime(1950, 1, 1),
                       datetime.datetime(2000, 1, 1)]  # fmt: skip
    dropped = column(tmp_path, texts[:3], type="datetime", range=["1950-01-01", "2000-01-01"], outside="null")
    assert dropped[1:] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfa,b\n1,x\n2,y\n",
        b"a,b\r\n1,x\r\n2,y\r\n",
        b"a,b\n1,x\n2,y",
        b'"a","b"\n"1","x"\n"2","y"\n',
        b"a,b\n1,x,extra,more\n2,y\n",
        b"a,b\n 1 ,x\n2 , y\n",
    ],
    ids=["BOM", "CRLF", "no last newline", "quoted", "ragged", "spaces"],
)
def test_spellings_of_the_same_file(tmp_path, text):
    df = load(tmp_path, text, {"a": {"type": "Int64"}, "b": {"type": "category", "categories": ["x", "y"]}})
    assert seen(df["a"]).tolist() == [1, 2] and seen(df["b"]).tolist() == ["x", "y"]


def test_quoted_commas_and_newlines(tmp_path):
    df = load(tmp_path, 'a,b\n"x, y","two\nlines"\n"say ""hi""",z\n')
    assert seen(df["a"]).tolist() == ["x, y", 'say "hi"'] and seen(df["b"]).tolist() == ["two\nlines", "z"]


def test_short_lines_and_bad_bytes_do_not_decide_whether_a_file_opens(tmp_path):
    """V-24: one person's odd row must not be an exception."""
    df = load(tmp_path, b"a,b\n1\n2,\xff\xfe\n3,z,,,\n")
    assert seen(df["a"]).tolist() == ["1", "2", "3"]
    assert seen(df["b"]).isna().tolist() == [True, False, False]


def test_another_separator(tmp_path):
    assert seen(load(tmp_path, "a;b\n1;2\n", sep=";")["b"]).tolist() == ["2"]


def test_a_header_without_rows(tmp_path):
    df = load(tmp_path, "a,b\n", {"a": {"type": "Int64", "range": [0, 9]}})
    assert list(df.columns) == ["a", "b"] and len(seen(df["a"])) == 0
    df["a"].mean(eps=1)
    df.groupby("a").size().reveal(eps=1)


@pytest.mark.parametrize(
    ("text", "schema", "words"),
    [
        ("", None, "header"),
        (f"a,a\n{CANARY},1\n", None, "two columns of the same name"),
        (f"a\n{CANARY}\n", {"b": {"type": "Int64"}}, "lacks"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int32"}}, "unknown type"),
        (f"a\n{CANARY}\n", {"a": {"typ": "Int64"}}, "unknown keys"),
        (f"a\n{CANARY}\n", {"a": "Int64"}, "expected a table"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int64", "range": [5, 1]}}, "lower"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int64", "range": [0, 1.5]}}, "whole numbers"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int64", "range": [0]}}, "lower, upper"),
        (f"a\n{CANARY}\n", {"a": {"type": "Float64", "range": [0, float("inf")]}}, "finite"),
        (f"a\n{CANARY}\n", {"a": {"type": "string", "range": [0, 1]}}, "no range"),
        (f"a\n{CANARY}\n", {"a": {"type": "category"}}, "list of categories"),
        (f"a\n{CANARY}\n", {"a": {"type": "category", "categories": ["1", 1]}}, "written the same"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int64", "outside": "drop"}}, "outside"),
        (f"a\n{CANARY}\n", {"a": {"type": "Int64", "range": [0, 1], "fill": 7}}, "outside the range"),
        (f"a\n{CANARY}\n", {"a": {"type": "category", "categories": ["x"], "fill": "y"}}, "does not fit"),
        (f"a\n{CANARY}\n", {"a": {"type": "datetime", "range": ["soon", "later"]}}, "no date"),
    ],
)
def test_a_wrong_schema_or_file_has_a_clear_error(tmp_path, text, schema, words):
    with pytest.raises(pj.SchemaError) as caught:
        load(tmp_path, text, schema)
    assert words in str(caught.value)
    silent(caught.value)


def test_a_missing_file(tmp_path):
    for read in (pd.read_csv, pd.read_parquet):
        with pytest.raises(pj.SchemaError, match="there is no file 'nowhere'"):
            read(tmp_path / "nowhere")
    with pytest.raises(pj.SchemaError, match="cannot be read"):
        load(tmp_path, "a\n1\n", tmp_path / "no schema.json")


def test_what_is_no_parquet_file_is_not_quoted(tmp_path):
    """V-24: the engine's own message, which may quote data, is dropped with its context."""
    (tmp_path / "x.parquet").write_text(CANARY * 100)
    with pytest.raises(pj.SchemaError, match="cannot be read as Parquet") as caught:
        pd.read_parquet(tmp_path / "x.parquet")
    silent(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "odd", [[object()], [[1, 2]], [{"a": CANARY}], [b"\xff"], [complex(1, 2)], [numpy.datetime64("NaT")]]
)
def test_odd_objects_in_a_frame_load_or_fail_silently(odd):
    """V-24"""
    frame = pandas.DataFrame({"v": pandas.Series([*odd, CANARY], dtype=object)})
    for declared in ("Int64", "Float64", "boolean", "datetime", "string"):
        try:
            pd.from_frame(frame, "odd", {"v": {"type": declared}})
        except pj.SchemaError as e:
            silent(e)
    nested = polars.DataFrame({"v": [[CANARY], None]})
    try:
        pd.from_frame(nested, "nested", {"v": {"type": "Int64"}})
    except pj.SchemaError as e:
        silent(e)
        assert e.__context__ is None


def test_schemas_in_json_toml_and_dicts_say_the_same(tmp_path):
    given = {"age": {"type": "Int64", "range": [0, 120], "na_value": "?"},
             "sex": {"type": "category", "categories": ["F", "M"]}, "on": {"type": "datetime"}}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps(given))
    (tmp_path / "s.toml").write_text(
        '[age]\ntype = "Int64"\nrange = [0, 120]\nna_value = "?"\n[sex]\ntype = "category"\ncategories = ["F", "M"]\n'
        '[on]\ntype = "datetime"\n'
    )
    text = "age,sex,on\n7,F,2020-01-01\n?,X,\n"
    tables = [load(tmp_path, text, s) for s in (given, tmp_path / "s.json", str(tmp_path / "s.toml"))]
    assert len({str(t.domains) for t in tables}) == 1
    for broken in ("{", "[age"):
        (tmp_path / "b.json").write_text(broken)
        with pytest.raises(pj.SchemaError, match="not valid"):
            load(tmp_path, text, tmp_path / "b.json")


def test_a_column_without_a_schema_is_untyped(tmp_path):
    """V-19: nothing is guessed; such a column is a number where it is used as one, and text where it is not."""
    whole = load(tmp_path, "v\n1\n2\n", name="whole.csv")
    mixed = load(tmp_path, "v\nx\n2.5\n", name="mixed.csv")
    assert whole.domains == mixed.domains and whole.dtypes["v"] == "untyped"
    assert seen(mixed["v"] + 1).tolist() == [pandas.NA, 3.5]
    assert seen(mixed["v"] == "x").tolist() == [True, False]
    assert seen(mixed["v"] > 2).tolist() == [pandas.NA, True]
    assert seen(mixed["v"].fillna(0)).tolist() == [0, 2.5]
    assert seen(whole["v"].isin([1])).tolist() == [True, False]
    assert seen(whole["v"].map({1: 10})).tolist() == [10, pandas.NA]
    with pytest.raises(pj.DPError, match="unbounded"):
        whole["v"].sum()
    assert whole["v"].clip(0, 5).sum().max_distance == 5


def test_parquet_and_frames_of_both_libraries(tmp_path):
    frame = polars.DataFrame({"a": [1, None, 3], "b": ["x", "y", None], "c": [True, None, False]})
    frame.write_parquet(tmp_path / "f.parquet")
    schema = {"a": {"type": "Int64", "range": [0, 2]}, "b": {"type": "category", "categories": ["x", "y"]}}
    for df in (pd.read_parquet(tmp_path / "f.parquet", schema), pd.from_frame(frame, "f", schema),
               pd.from_frame(frame.to_pandas(), "g", schema | {"c": {"type": "boolean"}})):  # fmt: skip
        assert seen(df["a"]).tolist() == [1, pandas.NA, 2]
        assert [None if pandas.isna(v) else v for v in seen(df["b"])] == ["x", "y", None]
        assert [None if pandas.isna(v) else v for v in seen(df["c"])] == [True, None, False]
    with pytest.raises(pj.SchemaError, match="frame is needed"):
        pd.from_frame([1, 2], "list")
    with pytest.raises(pj.SchemaError, match="same name"):
        pd.from_frame(pandas.DataFrame([[1, 2]], columns=["a", "a"]), "twice")


FRAMES = {
    "int": lambda v: pandas.array(v, dtype="Int64"),
    "float": lambda v: pandas.array(v, dtype="Float64"),
    "numpy float": lambda v: numpy.array([numpy.nan if x is None else x for x in v], dtype=float),
    "arrow": lambda v: pandas.array(v, dtype="int64[pyarrow]"),
    "object": lambda v: numpy.array(v, dtype=object),
    "string": lambda v: pandas.array([None if x is None else str(x) for x in v], dtype="string"),
    "category": lambda v: pandas.Categorical(v),
    "small": lambda v: pandas.array(v, dtype="Int8"),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    "declared", [{"type": "Int64", "range": [0, 9]}, {"type": "category", "categories": [1, 2, 3]}]
)
def test_numbers_in_every_container(kind, declared):
    frame = pandas.DataFrame({"v": FRAMES[kind]([1, None, 3])}, index=[7, 7, 7])
    found = seen(pd.from_frame(frame, kind, {"v": declared})["v"])
    assert [None if pandas.isna(x) else x for x in found] == [1, None, 3]


@pytest.mark.parametrize("kind", FRAMES)
def test_the_type_of_an_undeclared_column_is_that_of_its_container(kind):
    """V-19: all missing, huge or ordinary values give the same domain."""
    domains = set()
    for values in ([1, 2, 3], [None, None, None], [100, None, -100], []):
        made = pandas.DataFrame({"v": pandas.Series(FRAMES[kind](values))})
        domains.add(str(pd.from_frame(made, kind).domains))
    assert len(domains) == 1


def test_moments_of_frames():
    frame = pandas.DataFrame(
        {
            "naive": pandas.to_datetime(["1969-12-31 23:59:59", None, "2020-01-01 00:00:00"]),
            "zoned": pandas.to_datetime(["1969-12-31 23:59:59", None, "2020-01-01 00:00:00"]).tz_localize("Asia/Tokyo"),
            "text": ["1969-12-31 23:59:59", None, "2020-01-01 00:00:00"],
            "dates": [datetime.date(1969, 12, 31), None, datetime.date(2020, 1, 1)],
        }
    )
    df = pd.from_frame(frame, "times", {name: {"type": "datetime"} for name in frame.columns})
    assert seen(df["naive"]).equals(seen(df["text"]).rename("naive"))
    assert seen(df["zoned"])[0] == pandas.Timestamp("1969-12-31 14:59:59")
    assert seen(df["dates"])[0] == pandas.Timestamp("1969-12-31")
    assert seen(df["naive"].dt.year).tolist() == [1969, pandas.NA, 2020]


def held_and_left(tmp_path, series, declared):
    """A column as it is loaded from memory, and read from disk."""
    from privjail.catalogue import files
    from privjail.engines.polars.disk import OnDisk
    from privjail.catalogue.load import enforce
    from privjail.catalogue.schema import read_schema
    from privjail.ops.rows.source import Unit

    frame = polars.DataFrame({"v": series})
    frame.write_parquet(tmp_path / "v.parquet")
    schema = read_schema({} if declared is None else {"v": declared})
    assert files.HELD_BYTES > 0
    disk = OnDisk.of([tmp_path / "v.parquet"])
    return [lambda given=given: enforce(given, schema, Unit())[0].lazy().collect()["v"] for given in (frame, disk)]


@pytest.mark.parametrize("declared", [None, {"type": "string"}, {"type": "Int64"}, {"type": "datetime"}])
@pytest.mark.parametrize("value", [b"5", b"\xff\xfe", None])
def test_bytes_are_refused_by_their_type_whatever_they_hold(tmp_path, value, declared):
    """V-24: on disk they would be looked at only after a release was charged."""
    for load_it in held_and_left(tmp_path, polars.Series([value], dtype=polars.Binary()), declared):
        with pytest.raises(pj.errors.SchemaError, match="cannot be read here"):
            load_it()


@pytest.mark.parametrize("dtype", [polars.Datetime("ms"), polars.Datetime("us"), polars.Datetime("ns"), polars.Date()])
@pytest.mark.parametrize("declared", [{"type": "string"}, {"type": "category", "categories": ["a"]}, {"type": "boolean"},
                                      {"type": "datetime", "na_value": "?"}])  # fmt: skip
def test_moments_beyond_the_calendar_do_not_stop_loading(tmp_path, dtype, declared):
    far = [2**31 - 1, -(2**31)] if dtype == polars.Date() else [2**63 - 1, -(2**63) + 1]
    series = polars.Series([0, None, *far], dtype=polars.Int64()).cast(dtype)
    first, second = (load_it().to_physical().to_list() for load_it in held_and_left(tmp_path, series, declared))
    assert first == second and (first[0] is not None) == (declared["type"] in ("string", "datetime"))


def test_types_that_are_no_moments_are_missing_ones(tmp_path):
    import decimal

    for series in (polars.Series([decimal.Decimal("1.5")]), polars.Series([datetime.time(1)]), polars.Series([True])):
        assert [f().to_list() for f in held_and_left(tmp_path, series, {"type": "datetime"})] == [[None], [None]]


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("on_disk", [False, True])
def test_no_unit_has_more_rows_than_it_may(most, on_disk, tmp_path):
    """V-18: rows beyond the bound, and rows without an owner, are dropped; whoever has fewer keeps them, in order."""
    owners = ["a", "b", "a", None, "a", "c", "b", "a", None, "c"]
    frame = polars.DataFrame({"u": owners, "x": list(range(10))})
    held = frame
    if on_disk:
        frame.write_parquet(tmp_path / "rows.parquet")
        held = OnDisk.of([tmp_path / "rows.parquet"])
    kept, _ = enforce(held, read_schema({"x": {"type": "Int64", "range": [0, 9]}}), Unit("u", most))

    seen_so_far: dict[str, int] = {}
    expected = []
    for row in zip(owners, range(10), strict=True):
        seen_so_far[row[0]] = seen_so_far.get(row[0], 0) + 1
        if row[0] is not None and seen_so_far[row[0]] <= most:
            expected.append(row)
    assert kept.rows() == expected and max(seen_so_far.values()) == 4


def test_without_a_bound_only_rows_without_an_owner_are_dropped():
    frame = polars.DataFrame({"u": ["a", None, "a"], "x": [1, 2, 3]})
    kept, _ = enforce(frame, read_schema({"x": {"type": "Int64", "range": [0, 9]}}), Unit("u", None))

    assert kept.rows() == [("a", 1), ("a", 3)]


@pytest.mark.parametrize("dtype", [polars.String, polars.Decimal(38, 3)])
def test_two_persons_never_become_one_when_their_numbers_are_read(dtype):
    """Numbers of persons pass through no float: beyond 2**53 two of them would be one."""
    given = ["9007199254740993.0", "9007199254740992", "12.500", "12"]
    frame = polars.DataFrame({"u": polars.Series(given).cast(dtype), "x": [1, 2, 3, 4]})

    held, _ = enforce(frame, read_schema({"u": {"type": "Int64"}}), Unit("u", 1))

    assert held["u"].to_list() == [9007199254740993, 9007199254740992, 12]
    more = polars.DataFrame({"u": ["4.99999999999999999", "5", "+6", "1e3", " 7. "], "x": [1, 2, 3, 4, 5]})
    held, _ = enforce(more, read_schema({"u": {"type": "Int64"}}), Unit("u", 1))
    assert held["u"].to_list() == [5, 6, 7]
