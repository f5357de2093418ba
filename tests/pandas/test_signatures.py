"""Keyword arguments that everybody types: each is honoured, or refused in our words with its reason."""

from __future__ import annotations

import inspect

import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.pandas.keywords import KEYWORDS
from tests.pandas.seen import opened, pair, random_frame, same, seen, without_noise
from tests.pandas.signatures import PLAIN, differences, methods


#: Where the first arguments have other names, and mean the same; or, for read_parquet, another thing: a schema.
OTHER_NAMES = {
    ("DataFrame", "filter"),
    ("DataFrame", "hist"),
    ("DataFrame", "resample"),
    ("Series", "map"),
    ("pandas", "read_csv"),
    ("pandas", "read_parquet"),
}


def test_every_argument_of_pandas_is_taken_or_answered():
    lost = [f"{d.owner}.{d.method}({d.argument}=)" for d in differences() if d.rule is None]
    assert not lost, lost


def test_what_both_take_without_a_name_comes_in_the_same_order():
    """A value typed without a name never lands in another argument than in pandas."""
    wrong = []
    for owner, name, mine, his in methods():
        ours = [p.name for p in mine.parameters.values() if p.kind in PLAIN and p.name != "self"]
        theirs = [p.name for p in his.parameters.values() if p.kind in PLAIN and p.name != "self"]
        if any(a != b for a, b in zip(ours, theirs, strict=False)) and (owner, name) not in OTHER_NAMES:
            wrong.append(f"{owner}.{name}: {ours} against {theirs}")
    assert not wrong, wrong


def test_every_reason_is_said():
    for name, rule in KEYWORDS.items():
        assert len(rule.why) > 10 and len(rule.instead) > 8, name


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (lambda d: d["i"].sum(skipna=False), "private"),
        (lambda d: d["i"].fillna(0, inplace=True), 'df["b"] = '),
        (lambda d: d["i"].fillna(method="ffill"), "shift(1)"),
        (lambda d: d.dropna(axis=1), "drop(columns="),
        (lambda d: d["i"].mean(eps=1, axis=1), "combine columns"),
        (lambda d: d.sort_values("i", key=abs), "code of the analyst"),
        (lambda d: d["i"].mean(epsilon=1), "did you mean eps"),
        (lambda d: d["i"].round(1, 2, 3), "at most"),
        (lambda d: d.merge(), "missing"),
        (lambda d: d["i"].clip(0, 5, eps=1), "costs nothing"),
        (lambda d: d["x"].rolling(3, center=True), "shift"),
        (lambda d: pd.to_numeric(d["s"], errors="raise"), "coerce"),
        (lambda d: d["i"].sum(eps=1, min_count=5), "count"),
    ],
)
def test_an_argument_that_is_not_offered_is_answered_in_our_words(program, says):
    with pytest.raises(pj.DPError) as caught:
        program(pair(0)[1])
    assert says in str(caught.value)


def test_arguments_that_change_nothing_are_taken():
    frame, private = pair(0)
    same(private.sort_values("i", kind="quicksort", ignore_index=True), frame.sort_values("i", kind="stable"))
    same(private["i"].fillna(0, axis=0), frame["i"].fillna(0))
    same(private.drop("i", axis=1, errors="raise"), frame.drop("i", axis=1))
    with without_noise():
        assert private["x"].mean(axis=0, skipna=True, numeric_only=False, eps=1) == pytest.approx(frame["x"].mean())
        assert private["x"].std(ddof=0, eps=1) == pytest.approx(frame["x"].std(ddof=0), rel=1e-6)
        assert private.mean(numeric_only=True, eps=1).index.tolist() == ["i", "j", "x", "b"]
        assert private["i"].sum(eps=1) == frame["i"].sum()
        assert private.shape[0].reveal(1) == len(frame)
        assert private["c"].value_counts(sort=False).reveal(1).tolist() == frame["c"].value_counts(sort=False).tolist()


def test_inplace_changes_the_table_and_returns_nothing():
    frame = random_frame(3)
    private = opened(frame)
    assert private.dropna(subset=["i"], inplace=True) is None
    assert private.rename(columns={"i": "n"}, inplace=True) is None
    assert private.drop(columns=["s"], inplace=True) is None
    assert private.sort_values("n", inplace=True) is None
    expected = frame.dropna(subset=["i"]).rename(columns={"i": "n"}).drop(columns=["s"]).sort_values("n", kind="stable")
    assert seen(private)["n"].tolist() == expected["n"].tolist() and list(private.columns) == list(expected.columns)


def test_signatures_are_kept_for_editors():
    assert list(inspect.signature(pd.PrivSeries.quantile).parameters) == ["self", "q", "eps"]
