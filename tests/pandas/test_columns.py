"""Columns as people type them: functions of finitely many values, rounding, alignment, positions, queries."""

from __future__ import annotations

import math

import numpy as np
import pandas.testing
import pytest

import pandas
from privjail import pandas as pd
from privjail.errors import DPError

from .seen import opened, pair, random_frame, same, seen, without_noise


@pytest.fixture(params=[0, 1])
def both(request):
    return pair(request.param)


LINES = {
    "float mod": lambda d: d.x % 1.5,
    "float mod column": lambda d: d.x % d.j,
    "mod of negative": lambda d: d.x % -0.75,
    "rmod": lambda d: 7.5 % d.j,
    "floordiv": lambda d: d.x // 0.5,
    "round tens": lambda d: d.i.round(-1),
    "round tens of floats": lambda d: (d.x * 33.3).round(-1),
    "round hundreds": lambda d: (d.i * 25).round(-2),
    "clip lower": lambda d: d.i.clip(lower=0),
    "clip upper": lambda d: d.x.clip(upper=1.5),
    "between": lambda d: d.i.between(-3, 4, inclusive="left"),
    "isin set": lambda d: d.i.isin({1, 2, 3}),
    "isin array": lambda d: d.i.isin(np.array([1, 2])),
    "isin series": lambda d: d.i.isin(pandas.Series([4, 5])),
    "isin range": lambda d: d.i.isin(range(3)),
    "assign lambda": lambda d: d.assign(z=lambda f: f.i + f.j)["z"],
    "pipe": lambda d: d.pipe(lambda f: f.i * 2),
    "rename function": lambda d: d[["i", "j"]].rename(columns=str.upper)["I"],
    "where": lambda d: d.i.where(d.j > 2, 0),
    "mask": lambda d: d.i.mask(d.j > 2, 0),
    "case_when": lambda d: d.j.case_when([(d.j > 3, 9), (d.j < 2, 0)]),
    "iloc columns": lambda d: d.iloc[:, 1:3],
    "iloc column": lambda d: d.iloc[:, 0],
    "iloc last": lambda d: d.iloc[:, [-1, 0]],
    "iloc both": lambda d: d.iloc[5:20, :2],
    "loc columns": lambda d: d.loc[:, ["i", "x"]],
    "loc slice": lambda d: d.loc[:, "j":"b"],
    "loc to": lambda d: d.loc[:, :"x"],
    "loc truth": lambda d: d.loc[:, d.columns != "i"][["j"]],
    "columns by comprehension": lambda d: d[[c for c in d.columns if c in "ij"]],
    "list": lambda d: d[list(d)[:2]],
    "minus series": lambda d: d[["i", "j"]] - pandas.Series({"j": 1, "i": 2}),
    "over series": lambda d: (d[["i", "j"]] - pandas.Series({"i": 1, "j": 2})) / pandas.Series({"i": 2.0, "j": 4.0}),
    "minus dict": lambda d: d[["i", "j"]].sub(pandas.Series({"i": 1, "j": 2})),
    "minus array": lambda d: d[["i", "j"]] - np.array([1, 2]),
    "filter regex": lambda d: d.filter(regex="^[ij]$"),
}


@pytest.mark.parametrize("line", LINES)
def test_lines_are_as_in_pandas(both, line):
    public, private = both
    same(LINES[line](private), LINES[line](public), exact=False)


def test_functions_of_finitely_many_values_are_called_here(both):
    public, private = both
    calls = []

    def label(value):
        calls.append(value)
        return "low" if value < 3 else "high"

    found = private.j.map(label)
    assert calls == [1, 2, 3, 4, 5]
    assert found.domain.categories == ("low", "high")
    assert seen(found).tolist() == public.j.map(label).tolist()
    assert seen(private.j.apply(lambda v: v * v)).tolist() == (public.j * public.j).tolist()
    assert (
        seen(private.c.map(str.upper)).astype(object).tolist()[:5] == public.c.astype(object).str.upper().tolist()[:5]
    )
    same(private.i.map(lambda v: None if v == 0 else v / 2), public.i.mask(public.i == 0) / 2)
    same(private.b.map(lambda v: int(v)), public.b.astype("Int64"))
    bins = pd.cut(private.i, [-10, 0, 10])
    assert seen(bins.map(lambda interval: interval.mid)).dropna().isin([-5.0, 5.0]).all()
    same(private.j.map(pandas.Series({1: 10, 2: 20})), public.j.map({1: 10, 2: 20}).astype("Int64"))
    with pytest.raises(DPError, match="code of the analyst"):
        private.x.map(lambda v: v)
    with pytest.raises(ZeroDivisionError):
        private.i.map(lambda v: 1 / v)  # the values are public: the error is the function's own


def test_periods_are_mapped_too(both):
    public, private = both
    found = private.t.dt.to_period("Y").map(lambda period: period.year % 2 == 0)
    assert seen(found).dropna().tolist() == (public.t.dropna().dt.year % 2 == 0).tolist()


def test_codes_and_lists_of_categories(both):
    public, private = both
    same(private.c.cat.codes, public.c.cat.codes.astype("Int64"))
    assert private.c.cat.codes.domain.lower == -1
    same(private.c.cat.set_categories(["w", "u"]), public.c.cat.set_categories(["w", "u"]))
    same(private.c.cat.remove_categories("u"), public.c.cat.remove_categories("u"))
    same(private.c.cat.add_categories("z"), public.c.cat.add_categories("z"))
    for names in ({"u": "U"}, ["a", "b", "c"], str.upper):
        same(private.c.cat.rename_categories(names), public.c.cat.rename_categories(names))
    order = private.c.cat.reorder_categories(["w", "v", "u"], ordered=True)
    same(order, public.c.cat.reorder_categories(["w", "v", "u"], ordered=True))
    assert private.c.cat.as_ordered().cat.ordered and not private.c.cat.as_unordered().cat.ordered


def test_cut_with_infinite_edges(both):
    public, private = both
    for bins in ([-np.inf, 0, np.inf], [-math.inf, -3, 2.5], [0, 4, float("inf")]):
        for right in (True, False):
            want = pandas.cut(public.i, bins, right=right)
            found = pd.cut(private.i, bins, right=right)
            assert [str(x) for x in seen(found).cat.codes] == [str(x) for x in want.cat.codes]
    with without_noise():
        counts = pd.cut(private.i, [-np.inf, 0, np.inf]).value_counts(sort=False).reveal(eps=1)
    assert counts.tolist() == pandas.cut(public.i, [-np.inf, 0, np.inf]).value_counts(sort=False).tolist()
    assert [str(x) for x in counts.index] == ["(-inf, 0.0]", "(0.0, inf]"]
    assert not pd.cut(private.j, [-np.inf, 3, np.inf]).domain.nullable


def test_qcut_pays_for_its_edges():
    public = random_frame(2, 400)
    private = opened(public, budget=10)
    with without_noise():
        found = pd.qcut(private.x, 4, labels=["a", "b", "c", "d"], eps=1, duplicates="drop")
        counts = found.value_counts(sort=False).reveal(eps=1)
        want = pandas.qcut(public.x.astype(float), 4).value_counts(sort=False)
        assert abs(counts.to_numpy() - want.to_numpy()).max() < 60
        assert pd.qcut(private.x, [0, 0.5, 1], labels=False, eps=1).domain.categories == (0, 1)
    import privjail as pj

    assert float(pj.consumed_privacy_budget()[private._rows.source.dataset.name]) == pytest.approx(3, abs=1e-9)
    with pytest.raises(DPError, match="price"):
        pd.qcut(private.x, 4)
    with pytest.raises(DPError, match="equal another"):
        pd.qcut(private.j, 90, eps=5)


def test_queries_see_variables(both):
    public, private = both
    low, names, top = 2, ["u", "v"], 4  # noqa: F841
    for text in (
        "i > @low",
        "i > @low and j < @top",
        "c in @names",
        "c == @names",
        "i + j > @low",
        "(i - @low) < j",
        "not c in @names",
    ):
        same(private.query(text)["j"], public.query(text)["j"])
    same(private.query("s.str.len() > @low")["j"], public.query("s.str.len() > @low", engine="python")["j"])
    same(private.query("j.between(@low, @top)")["j"], public.query("j.between(@low, @top)", engine="python")["j"])
    same(private.query("t > '1980-01-01'")["j"], public.query("t > '1980-01-01'")["j"])
    unique = {1, 2}
    same(private.query("i in @unique")["j"], public[public.i.isin(unique)]["j"])
    with pytest.raises(DPError, match="no variable"):
        private.query("i > @nothing")
    with pytest.raises(DPError):
        private.query("i.map(@low)")


def test_centred_and_scaled_columns(both):
    public, private = both
    numbers = ["i", "x"]
    with without_noise():
        means, deviations = private[numbers].mean(eps=1), private[numbers].std(eps=1)
    found = (private[numbers] - means) / deviations
    want = (public[numbers].astype("Float64") - means) / deviations
    same(found, want, exact=False)
    with pytest.raises(DPError, match="'x'"):
        private[numbers] - pandas.Series({"i": 1})
    with pytest.raises(DPError, match="2 columns"):
        private[numbers] - [1, 2, 3]


def test_shifted_columns_stand_side_by_side(both):
    public, private = both
    private, public = private[["i", "j"]].copy(), public[["i", "j"]].copy()
    for d in (private, public):
        d["lag1"] = d["j"].shift(1)
        d["lag2"] = d["j"].shift(2)
        d["ahead"] = d["j"].shift(-1)
        d["change"] = d["j"].diff()
        d["mean3"] = d["j"].rolling(3).mean()
        d["lag3"] = d["lag1"].shift(2)
    public["mean3"] = public["mean3"].astype("Float64")
    same(private, public)
    assert private.distance.value == 2 * (3 + 1 + 1) - 1
    same(private[private.j > private.lag1], public[public.j > public.lag1])


def test_info_and_types(capsys):
    _, private = pair(0)
    private.info()
    shown = capsys.readouterr().out
    assert "Data columns (total 8 columns)" in shown and "-9 to 9" in shown and "3 categories" in shown
    assert "rows: private" in shown
    assert list(private) == list(private.columns) == [name for name in private]  # noqa: C416
    assert private.dtypes["t"] == "datetime64[us]" and (private.t - private.t).dtype == "timedelta64[us]"
    assert list(private.select_dtypes("datetime").columns) == ["t"]
    assert list(private.select_dtypes(include=["number"]).columns) == ["i", "j", "x"]
    assert list(private.select_dtypes(exclude=["number", "category"]).columns) == ["b", "s", "t"]
    assert len(private.columns) == 8 and "i" in private.columns


def test_combine_first(both):
    public, private = both
    same(private.i.combine_first(private.j), public.i.combine_first(public.j))


@pytest.mark.parametrize(
    "line",
    [
        lambda d: d.iloc[:, 99], lambda d: d.iloc[0, 0], lambda d: d.iloc[:, "i"], lambda d: d.loc[:, "i":"nothing"],
        lambda d: d.loc[:, [True]], lambda d: d.i.round(2.5), lambda d: d.i.round(-30), lambda d: d.nlargest(3, "i"),
        lambda d: d.i.nlargest(3), lambda d: d[{"i"}], lambda d: d.x.apply(math.sin), lambda d: d.s.map(len),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused_in_our_words(line):
    with pytest.raises(DPError):
        line(pair(0)[1])


def test_frames_compare_as_pandas_shows_them():
    pandas.testing.assert_index_equal(pair(0)[1].columns, pandas.Index(list("ijxbckst")))
