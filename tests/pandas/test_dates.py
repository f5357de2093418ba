"""Dates: every method compared with pandas' own on random rows, missing ones among them."""

from __future__ import annotations

import datetime

import numpy as np
import pandas.testing
import pytest

import pandas
from privjail import pandas as pd
from privjail.errors import DPError, PlanError

from .seen import opened, same, seen, without_noise

SCHEMA = {
    "t": {"type": "datetime", "range": ["1959-11-20", "1975-02-10"]},
    "u": {"type": "datetime", "range": ["1959-11-20", "1975-02-10"]},
    "x": {"type": "Int64", "range": [0, 9]},
    "w": {"type": "category", "categories": ["p", "q"]},
    "when": {"type": "string"},
    "label": {"type": "category", "categories": ["2024-02-29", "1969-12-31", "never"]},
}


def frame(seed: int, n: int = 120) -> pandas.DataFrame:
    """Moments around 1970, some of them at midnight, at ends of months and in the middle of hours."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("1959-11-20", "us")

    def moments():
        us = rng.integers(0, 15 * 365 * 86_400 * 10**6, n)
        us = np.where(rng.random(n) < 0.3, us // (86_400 * 10**6) * 86_400 * 10**6, us)
        us = np.where(rng.random(n) < 0.2, us // (1800 * 10**6) * 1800 * 10**6, us)
        found = pandas.Series(start + us.astype("timedelta64[us]"))
        ends = found.dt.to_period("M").dt.end_time.dt.floor("us")
        found = found.where(rng.random(n) < 0.8, ends)
        return found.mask(pandas.Series(rng.random(n) < 0.15))

    t = moments()
    return pandas.DataFrame(
        {
            "t": t,
            "u": moments(),
            "x": pandas.array(rng.integers(0, 10, n).tolist(), dtype="Int64"),
            "w": pandas.Categorical(rng.choice(["p", "q"], n)),
            "when": t.dt.strftime("%Y-%m-%d").astype("string"),
            "label": pandas.Categorical(rng.choice(["2024-02-29", "1969-12-31", "never"], n)),
        }
    )


@pytest.fixture(params=[0, 1], scope="module")
def both(request):
    public = frame(request.param)
    return public, opened(public, SCHEMA)


def plain(series):
    """What the tests compare: whole numbers and floats in nullable types, dates to the microsecond."""
    kind = series.dtype.kind if hasattr(series.dtype, "kind") else "O"
    if kind in "iu":
        return series.astype("Int64")
    if kind == "f":
        return series.astype("Float64")
    return series


PARTS = ["year", "quarter", "month", "day", "hour", "minute", "second", "microsecond", "dayofweek", "weekday",
         "day_of_week", "dayofyear", "day_of_year", "days_in_month", "daysinmonth"]  # fmt: skip
FLAGS = ["is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end", "is_year_start", "is_year_end",
         "is_leap_year"]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_parts(both, part):
    public, private = both
    now = {"dayofweek": "day_of_week", "weekday": "day_of_week", "dayofyear": "day_of_year"}
    name = {**now, "daysinmonth": "days_in_month"}.get(part, part)  # older names still work here
    same(getattr(private.t.dt, part), getattr(public.t.dt, name).astype("Float64").astype("Int64"))


@pytest.mark.parametrize("flag", FLAGS)
def test_flags(both, flag):
    public, private = both
    same(getattr(private.t.dt, flag), getattr(public.t.dt, flag))


def test_isocalendar(both):
    public, private = both
    same(private.t.dt.isocalendar(), public.t.dt.isocalendar().astype("Int64"))


@pytest.mark.parametrize("name", ["day_name", "month_name"])
def test_names(both, name):
    public, private = both
    found = seen(getattr(private.t.dt, name)()).astype(object)
    pandas.testing.assert_series_equal(found, getattr(public.t.dt, name)().astype(object), check_names=False)


@pytest.mark.parametrize("method", ["floor", "ceil", "round"])
@pytest.mark.parametrize("freq", ["D", "h", "30min", "min", "s", "6h"])
def test_rounding(both, method, freq):
    public, private = both
    found = getattr(private.t.dt, method)(freq)
    assert found.dtype == "datetime64[us]"
    same(found, getattr(public.t.dt, method)(freq).astype("datetime64[us]"))


def test_days(both):
    public, private = both
    same(private.t.dt.normalize(), public.t.dt.normalize().astype("datetime64[us]"))
    days = seen(private.t.dt.date)
    assert [None if d is pandas.NaT else d.date() for d in days] == [
        None if d is pandas.NaT else d for d in public.t.dt.date
    ]


@pytest.mark.parametrize("freq", ["D", "W", "W-WED", "M", "Q", "Y", "h", "Q-JAN"])
def test_periods(both, freq):
    public, private = both
    found = private.t.dt.to_period(freq)
    want = public.t.dt.to_period(freq)
    assert found.dtype == want.dtype.name
    same(found, want)
    same(found.dt.to_timestamp(), want.dt.to_timestamp().astype("datetime64[us]"))
    same(found.dt.end_time, want.dt.end_time.dt.floor("us").astype("datetime64[us]"))
    same(found.dt.year, want.dt.start_time.dt.year.astype("Float64").astype("Int64"))


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y-%m", "%B %Y", "%A", "%H", "%H:%M", "%b", "%Y", "%d.%m.%y", "%j", "W%V"]
)
def test_strftime(both, form):
    public, private = both
    want = public.t.dt.strftime(form).astype(object)
    found = seen(private.t.dt.strftime(form)).astype(object)
    assert found.where(found.notna(), None).tolist() == want.where(want.notna(), None).tolist()


CONSTANTS = ["1966-03-01", "1966-03", datetime.datetime(1966, 3, 1, 12), datetime.date(1970, 1, 1),
             pandas.Timestamp("1969-12-31 23:59:59"), np.datetime64("1972-02-29")]  # fmt: skip


@pytest.mark.parametrize("constant", CONSTANTS, ids=str)
@pytest.mark.parametrize("op", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_comparisons(both, op, constant):
    public, private = both
    there = public.t.notna().astype(bool)
    right = pandas.Timestamp(constant)
    for column, want in ((private.t, public.t), (private.t.dt.floor("D"), public.t.dt.floor("D"))):
        found = seen(getattr(column, op)(constant))
        assert found[there].tolist() == getattr(want, op)(right)[there].tolist()


def test_between_isin_clip_fillna_and_where(both):
    public, private = both
    days = ["1965-01-01", "1970-01-01"]
    there = public.t.notna().astype(bool)
    assert seen(private.t.between(*days))[there].tolist() == public.t.between(*days)[there].tolist()
    some = public.t.dropna().head(3)
    same(private.t.isin(list(some)), public.t.isin(list(some)))
    same(private.t.isin(some.astype(str).tolist()), public.t.isin(list(some)))
    low, high = map(pandas.Timestamp, days)
    same(private.t.clip(*days), public.t.clip(low, high).astype("datetime64[us]"))
    same(private.t.clip(lower="1970-01-01"), public.t.clip(lower=high).astype("datetime64[us]"))
    assert str(private.t.clip(*days).domain) == "datetime64[us] [1965-01-01 00:00:00, 1970-01-01 00:00:00]"
    same(private.t.fillna("1970-01-01"), public.t.fillna(high).astype("datetime64[us]"))
    same(private.t.where(private.x > 3, "1970-01-01"), public.t.where(public.x > 3, high).astype("datetime64[us]"))


def test_differences(both):
    public, private = both
    stay, want = private.t - private.u, public.t - public.u
    assert stay.dtype == "timedelta64[us]"
    same(stay, want.astype("timedelta64[us]"))
    for part in ("days", "seconds", "microseconds"):
        same(getattr(stay.dt, part), getattr(want.dt, part).astype("Float64").astype("Int64"))
    same(stay.dt.total_seconds(), want.dt.total_seconds().astype("Float64"))
    same(abs(stay), want.abs().astype("timedelta64[us]"))
    same(-stay, (-want).astype("timedelta64[us]"))
    since = pandas.Timestamp("1970-01-01")
    same(private.t - since, (public.t - since).astype("timedelta64[us]"))
    same(since - private.t, (since - public.t).astype("timedelta64[us]"))
    same((private.t - "1970-01-01").dt.days, (public.t - since).dt.days.astype("Float64").astype("Int64"))
    same(stay / pandas.Timedelta(days=1), (want / pandas.Timedelta(days=1)).astype("Float64"))
    same(stay // pandas.Timedelta("1h"), (want // pandas.Timedelta("1h")).astype("Float64").astype("Int64"))
    same(stay * 2, (want * 2).astype("timedelta64[us]"))
    same(stay.dt.floor("D"), want.dt.floor("D").astype("timedelta64[us]"))
    same(stay.dt.round("h"), want.dt.round("h").astype("timedelta64[us]"))
    same(stay.dt.ceil("h"), want.dt.ceil("h").astype("timedelta64[us]"))


def test_other_types(both):
    public, private = both
    months, want = private.t.dt.to_period("M"), public.t.dt.to_period("M")
    there = public.t.notna()
    assert seen(months.astype(str)).astype(object)[there].tolist() == want.astype(str)[there].tolist()
    assert (
        seen(private.t.dt.date.astype(str)).astype(object)[there].tolist()
        == public.t.dt.date[there].astype(str).tolist()
    )
    same(private.t.astype("datetime64[ns]"), public.t.astype("datetime64[us]"))
    same(private.when.astype("datetime64[us]"), pandas.to_datetime(public.when).astype("datetime64[us]"))
    same(private.t.astype("period[M]"), want)
    assert (
        seen(private.t.astype("int64"))[there].tolist()
        == public.t[there].astype("datetime64[us]").astype("int64").tolist()
    )
    stay = private.t - private.u
    same(stay.astype("timedelta64[s]"), (public.t - public.u).astype("timedelta64[us]"))
    for wrong in (
        lambda: private.t.astype(str),
        lambda: stay.astype(float),
        lambda: months.astype(int),
        lambda: private.x.astype("timedelta64[s]"),
    ):
        with pytest.raises(DPError):
            wrong()
    with without_noise():
        counts = private.groupby(months.astype(str)).size().reveal(eps=1)
        assert counts["1966-03"] == (want == "1966-03").sum()


def test_moved_dates(both):
    public, private = both
    step = pandas.Timedelta("36h")
    for delta in (step, step.to_pytimedelta(), step.to_timedelta64(), pandas.offsets.Hour(36)):
        same(private.t + delta, (public.t + step).astype("datetime64[us]"))
        same(private.t - delta, (public.t - step).astype("datetime64[us]"))
    same(private.t + pandas.DateOffset(days=1, hours=12), (public.t + step).astype("datetime64[us]"))
    same(delta + private.t, (public.t + step).astype("datetime64[us]"))
    days = pandas.to_timedelta(public.x.astype(int), unit="D")
    same(private.t + pd.to_timedelta(private.x, unit="D"), (public.t + days).astype("datetime64[us]"))
    same(private.u + (private.t - private.u), (public.u + (public.t - public.u)).astype("datetime64[us]"))


@pytest.mark.parametrize("op", ["__lt__", "__ge__", "__eq__", "__ne__"])
def test_spans_compare_as_in_pandas_also_where_missing(both, op):
    public, private = both
    stay, want = private.t - private.u, public.t - public.u
    for constant in (pandas.Timedelta(days=100), datetime.timedelta(0), "90 days"):
        same(getattr(stay, op)(constant), getattr(want, op)(pandas.Timedelta(constant)))
    periods, true = private.t.dt.to_period("Y"), public.t.dt.to_period("Y")
    same(getattr(periods, op)("1966"), getattr(true, op)(pandas.Period("1966", "Y")))


def check_series(found, want):
    """A released series beside pandas' own, which lists observed periods only."""
    found, want = found[found != 0], want[want != 0]
    assert [str(x) for x in found.index] == [str(x) for x in want.index]
    assert found.tolist() == want.tolist()
    assert type(found.index) is type(want.index) and found.index.name == want.index.name


@pytest.mark.parametrize("freq", ["D", "W", "ME", "MS", "QE", "YE", "YS", "W-WED", "12h", "QS"])
def test_resample_in_one_line(both, freq):
    public, private = both
    with without_noise():
        check_series(private.resample(freq, on="t").size().reveal(eps=1), public.resample(freq, on="t").size())
        check_series(
            private.set_index("t").resample(freq)["x"].sum().reveal(eps=1),
            public.set_index("t").resample(freq)["x"].sum(),
        )
        check_series(
            private.groupby(pd.Grouper(key="t", freq=freq)).size().reveal(eps=1),
            public.groupby(pandas.Grouper(key="t", freq=freq)).size(),
        )


@pytest.mark.parametrize("freq", ["2W", "10D", "2ME", "2QE", "2MS", "3YE", "2QS", "7h"])
def test_longer_periods_begin_with_the_declared_range(freq):
    """As in pandas if the first row lies on the first day of the range."""
    public = frame(3)
    public.loc[0, "t"] = pandas.Timestamp("1959-11-20")
    with without_noise():
        found = opened(public, SCHEMA).resample(freq, on="t").size().reveal(eps=1)
    check_series(found, public.resample(freq, on="t").size())


def test_groups_by_period(both):
    public, private = both
    with without_noise():
        key, true = private.t.dt.to_period("M"), public.t.dt.to_period("M")
        check_series(private.groupby(key).size().reveal(eps=1), public.groupby(true).size())
        found = private.groupby(key)["x"].mean(eps=1)
        want = public.groupby(true)["x"].mean()
        assert found.index.dtype == want.index.dtype
        assert np.allclose(found[want.index].to_numpy(), want.astype(float).to_numpy(), atol=1e-3)
        check_series(
            private.groupby(private.t.dt.floor("D")).size().reveal(eps=1), public.groupby(public.t.dt.floor("D")).size()
        )
        counts = private.t.dt.year.value_counts(sort=False).reveal(eps=1)
        assert counts.sum() == public.t.notna().sum() and list(counts.index) == list(range(1959, 1976))
        table = pd.crosstab(private.t.dt.to_period("Y"), private.w).reveal(eps=1)
        assert str(table.index[0]) == "1959" and table.to_numpy().sum() == public.t.notna().sum()


def test_groups_of_days_are_groups_of_their_own(both):
    public, private = both
    days = private.t.dt.to_period("Y")
    groups = private.groupby(days)
    assert groups.ngroups == 17 and pandas.Period("1966") in groups
    with without_noise():
        one = groups.get_group(pandas.Period("1966", "Y-DEC")).shape[0].reveal(eps=1)
        assert one == (public.t.dt.year == 1966).sum()
        keys = [key for key, _ in groups]
        assert keys[0] == pandas.Period("1959", "Y-DEC") and len(keys) == 17
        assert private[days == "1966"].shape[0].reveal(eps=1) == one


def test_rows_by_date_of_the_index(both):
    public, private = both
    table, true = private.set_index("t"), public.dropna(subset="t").set_index("t").sort_index()
    with without_noise():
        for key in (
            "1966",
            "1966-03",
            slice("1960-01", "1966-03-15"),
            slice("1970", None),
            slice(None, "1961-06-01 12:00"),
        ):
            assert table.loc[key].shape[0].reveal(eps=1) == len(true.loc[key]), key
        assert table.loc["1966", "x"].sum().reveal(eps=1) == true.loc["1966", "x"].sum()
    assert list(table.reset_index().columns) == list(public.columns)
    assert list(table.columns) == [c for c in public.columns if c != "t"]


def test_a_table_with_dates_as_its_index_shows_its_facts_and_its_columns_are_columns(both):
    public, private = both
    table = private.set_index("t")
    assert str(table).endswith("index: t") and repr(table) == str(table) and "distance=1" in str(table)
    assert table.max_distance == private.max_distance == 1
    with without_noise():
        assert (table["x"] > 1).sum().reveal(eps=1) == (public.x > 1).sum()
        assert table[table.x > 1].shape[0].reveal(eps=1) == (public.x > 1).sum()
        assert (2 * table.x + 1).sum().reveal(eps=1) == (2 * public.x + 1).sum()
        one = table["x"].resample("YE").sum().reveal(eps=1)
        assert one.sum() == public.dropna(subset="t").x.sum()


def test_cut_with_dates(both):
    public, private = both
    bins = pandas.date_range("1959-01-01", "1977-01-01", freq="2YS")
    for right in (True, False):
        found, want = pd.cut(private.t, bins, right=right), pandas.cut(public.t, bins, right=right)
        assert [None if x is None else x for x in seen(found).astype(object).where(lambda s: s.notna(), None)] == [
            None if pandas.isna(x) else str(x) for x in want
        ]
    named = pd.cut(private.t, ["1959-01-01", "1970-01-01", "1980-01-01"], labels=["before", "after"])
    with without_noise():
        assert named.value_counts(sort=False).reveal(eps=1)["before"] == (public.t <= "1970-01-01").sum()


def test_to_datetime(both):
    public, private = both
    same(pd.to_datetime(private.when), pandas.to_datetime(public.when).astype("datetime64[us]"))
    same(pd.to_datetime(private.t), public.t.astype("datetime64[us]"))
    found = seen(pd.to_datetime(private.label))
    want = pandas.to_datetime(public.label.astype(str), errors="coerce", format="%Y-%m-%d")
    assert found.dropna().tolist() == want.dropna().tolist() and found.isna().tolist() == want.isna().tolist()
    same(
        pd.to_datetime(private.x, unit="D"), pandas.to_datetime(public.x.astype(int), unit="D").astype("datetime64[us]")
    )
    assert pd.to_datetime("2024-01-31") == pandas.Timestamp("2024-01-31")
    assert len(pd.to_datetime(["2024-01-31", "2024-02-01"])) == 2


TEXTS = ["2024-02-29", "2023-02-29", "1969-12-31 23:59:59", "2024-01-31T07:05", "2024-13-01", "2024-00-10", "24-01-01",
         " 2024-01-01 ", "2024-01-01 24:00", "x", "", "2024-01-01 10:61", "0001-01-01", "9999-12-31", None]  # fmt: skip


def test_texts_that_are_no_dates_are_missing():
    table = opened(pandas.DataFrame({"s": pandas.array(TEXTS, dtype="string")}), {"s": {"type": "string"}})
    found = seen(pd.to_datetime(table.s)).tolist()
    want = [pandas.to_datetime(text, errors="coerce", format="ISO8601") for text in (t and t.strip() for t in TEXTS)]
    want[-1] = pandas.NaT
    assert [None if x is pandas.NaT else x for x in found] == [None if x is pandas.NaT else x for x in want]
    days = ["31/01/2024", "1/2/2024", "31/02/2024", "2024-01-31"]
    other = opened(pandas.DataFrame({"s": pandas.array(days, dtype="string")}), {"s": {"type": "string"}})
    read = seen(pd.to_datetime(other.s, format="%d/%m/%Y")).tolist()
    assert read[:2] == [pandas.Timestamp("2024-01-31"), pandas.Timestamp("2024-02-01")] and read[2:] == [pandas.NaT] * 2


def test_parse_dates(tmp_path):
    public = pandas.DataFrame({"day": ["2024-01-31", "2023-02-29", "2024-02-29"], "x": [1, 2, 3]})
    public.to_csv(tmp_path / "days.csv", index=False)
    for given in (["day"], [0]):
        table = pd.read_csv(tmp_path / "days.csv", {"x": {"type": "Int64", "range": [0, 9]}}, parse_dates=given)
        assert seen(table.day).tolist() == [pandas.Timestamp("2024-01-31"), pandas.NaT, pandas.Timestamp("2024-02-29")]
    with without_noise():
        table["day"] = table.day.clip("2024-01-01", "2024-03-31")
        assert table.resample("ME", on="day").size().reveal(eps=1).tolist() == [1, 1, 0]
    with pytest.raises(DPError):
        pd.read_csv(tmp_path / "days.csv", parse_dates=True)


def test_unbounded_and_far_dates_do_not_fail():
    far = pandas.DataFrame(
        {"t": np.array(["0001-01-01", "9999-12-31T23:59:59.999999", "1970-01-01"], dtype="datetime64[us]")}
    )
    table = opened(far, {"t": {"type": "datetime"}})
    assert seen(table.t.dt.to_period("Y").dt.year).tolist() == [1, 9999, 1970]
    assert seen((table.t + pandas.Timedelta(days=1)).dt.year).tolist()[2] == 1970
    assert seen((table.t - table.t).dt.days).tolist() == [0, 0, 0]
    with pytest.raises(DPError):
        table.resample("D", on="t")
    with pytest.raises(DPError):
        table.groupby(table.t.dt.date).size().reveal(eps=1)


@pytest.mark.parametrize(
    "line",
    [
        lambda d: d.t > "no date", lambda d: d.t > 5, lambda d: d.t + d.u, lambda d: d.t * 2, lambda d: d.x.dt.year,
        lambda d: d.t > pandas.Timestamp("1970-01-01", tz="UTC"), lambda d: (d.t - d.u) > 5, lambda d: (d.t - d.u).dt.year,
        lambda d: d.t.dt.days, lambda d: d.t.dt.floor("M"), lambda d: d.t.dt.to_period(), lambda d: d.t.dt.to_period("B"),
        lambda d: d.groupby("t"), lambda d: d.resample("W"), lambda d: d.resample("W", on="x"), lambda d: d.t == pandas.NaT,
        lambda d: d.t + pandas.DateOffset(months=1), lambda d: d.t.dt.strftime("%f"), lambda d: d.t.dt.tz_localize("UTC"),
        lambda d: (d.t - d.u).sum(), lambda d: d.t.sum(), lambda d: d.t.dt.to_period("M").sum(), lambda d: pd.cut(d.t, 5),
        lambda d: d.t.dt.isocalender(), lambda d: d.t.dt.week, lambda d: d.t.dt.time, lambda d: d.t > d.x,
        lambda d: d.t.dt.to_period("M") == d.t.dt.to_period("D"), lambda d: pd.to_datetime(d.t, utc=True),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused_in_our_words(both, line):
    with pytest.raises((PlanError, DPError)) as caught:
        line(both[1])
    assert type(caught.value).__module__.startswith("privjail")


def test_statistics_of_dates_and_spans_keep_their_type(both):
    public, private = both
    with without_noise():
        low, high = private.t.min(eps=1000), private.t.max(eps=1000)
        assert isinstance(low, pandas.Timestamp) and abs(low - public.t.min()) < pandas.Timedelta(days=200)
        assert abs(high - public.t.max()) < pandas.Timedelta(days=200)
        assert abs(private.t.median(eps=1000) - public.t.median()) < pandas.Timedelta(days=200)
        stay, want = private.t - private.u, public.t - public.u
        assert abs(stay.mean(eps=1000) - want.mean()) < pandas.Timedelta(days=5)
        assert abs(stay.median(eps=1000) - want.median()) < pandas.Timedelta(days=200)
        assert isinstance(stay.std(eps=1000), pandas.Timedelta)
