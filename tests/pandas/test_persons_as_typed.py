"""The rows of each person, and of each key: what works is what pandas answers, and what is refused says what runs."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager

import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.errors import DPError, RefusedError
from privjail.pandas.person_words import _TABLE
from privjail.verify.checker import check
from tests.pandas.test_people import NOTES, PATIENTS, STAYS, Hospital, shown

E = 10**4
CODE = re.compile(r"`([^`]+)`")
TIMES = pandas.DataFrame(
    {
        "patient": [1, 2, 1, 3, 1, 2, 2],
        "when": pandas.to_datetime([f"2024-01-0{d}" for d in (1, 2, 4, 5, 7, 8, 9)]),
        "cost": [1.0, 2.5, 4.0, 9.5, 4.0, None, 8.0],
    }
)


@contextmanager
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def names():
    hospital = Hospital(budget=10**6)
    times = pd.from_frame(
        TIMES,
        "times",
        {
            "patient": {"type": "Int64"},
            "when": {"type": "datetime", "range": ["2024-01-01", "2024-12-31"]},
            "cost": {"type": "Float64", "range": [0.0, 10.0]},
        },
        unit="patient",
        budget=10**6,
    )
    return {
        "patients": hospital.patients,
        "stays": hospital.stays.groupby("patient").head(9),
        "notes": hospital.notes,
        "times": times,
    }


def advised(error, names, table):
    """Run every piece of code of an advice, and give how many there were."""
    found = CODE.findall(error.do or "")
    assert found, error
    here = {**names, "df": names[table], "pd": pd}
    with no_warnings():
        for code in found:
            exec(code, here)  # noqa: S102
    return len(found)


@pytest.mark.parametrize("name", sorted({n for _, _, every in _TABLE for n in every.split()} - {"nth"}))
def test_what_the_rows_of_a_person_have_not_says_what_runs(name, names):
    for table, groups in [
        ("stays", names["stays"].groupby("patient")),
        ("stays", names["stays"].groupby("patient")["cost"]),
        ("stays", names["stays"].groupby("patient")["ward"]),
        ("times", names["times"].groupby("patient")["when"]),
        ("notes", names["notes"].groupby("patient")),
    ]:
        with pytest.raises(RefusedError) as caught:
            found = getattr(groups, name)
            found(0.5) if name in ("quantile", "get_group") else found(len) if name == "apply" else found()
        assert "rows of each patient is refused: " in caught.value.what
        advised(caught.value, names, table)


TYPED = """
stays.groupby("patient").nth(1)
stays.groupby("patient")["cost"].nth(-1)
stays.groupby("patient")["cost"].median()
stays.groupby("patient")["cost"].median(eps=1)
stays.groupby("patient").std(eps=1)
len(stays.groupby("patient"))
[key for key, group in stays.groupby("patient")]
stays.groupby("patient").get_group(1)
stays.groupby("patient").agg(middle=("cost", "median"))
stays.groupby("patient")["cost"].transform(lambda s: s - s.mean())
stays.groupby("patient").sum()
stays.groupby("patient").agg("mean")
stays.groupby("patient").transform("sum")
stays.groupby("patient").std()
stays.groupby("stay")["cost"].sum()
stays.groupby("stay")["cost"].sum().mean(eps=1)
stays.groupby("stay")[["cost"]].mean()
stays.groupby("stay").agg(n=("ward", "size"))
stays.groupby("stay", as_index=False)["cost"].sum()
stays.groupby(["stay", "ward"]).size()
stays["stay"].value_counts()
[group for key, group in stays.groupby("stay")]
len(stays.groupby("stay"))
stays.groupby(["patient", "stay"]).size()
stays.groupby(["patient", "ward"]).size()
stays.groupby(["ward", "patient"])["cost"].sum()
notes.groupby("stay").size()
notes.groupby("stay")["code"].count()
notes["stay"].value_counts()
stays.sum()
stays.mean(eps=1)
stays.agg("sum", eps=1)
stays.agg(["sum", "mean"], eps=1)
stays.groupby("ward").sum()
stays.groupby("ward").mean(eps=1)
stays.groupby("ward").agg("sum", eps=1)
stays.groupby(["ward"]).agg(["sum", "mean"], eps=1)
""".strip().splitlines()


@pytest.mark.parametrize("typed", TYPED)
def test_what_is_refused_says_what_runs(typed, names):
    with pytest.raises(DPError) as caught:
        eval(typed, names)  # noqa: S307
    assert advised(caught.value, names, re.match(r"\W*(?:len\(|.* in )?(\w+)", typed)[1])


def test_rows_of_a_key_are_refused_as_attributes_are(names):
    groups = names["stays"].groupby("stay")
    assert not hasattr(groups, "sum")
    assert groups.head(1).shape[0].reveal(eps=E) == pytest.approx(len(STAYS), abs=0.4)
    assert "private" in repr(groups)


def test_persons_of_sliced_rows_are_refused_with_what_runs(names):
    sliced = names["stays"].iloc[:5]
    assert sliced.groupby("patient").head(1).shape[0].reveal(eps=E) == pytest.approx(4, abs=1.4)
    for refused in (lambda: sliced.groupby("patient").size(), lambda: sliced["patient"].value_counts()):
        with pytest.raises(RefusedError, match="after a slice") as caught:
            refused()
        assert advised(caught.value, {"stays": sliced}, "stays")


def test_the_advice_for_a_key_answers_the_question(names):
    """cost of one stay, and notes of one stay, on average."""
    with pytest.raises(RefusedError) as caught:
        names["stays"].groupby("stay")["cost"].sum()
    make, average, _ = CODE.findall(caught.value.do)
    here = {"df": names["stays"]}
    exec(make, here)  # noqa: S102
    assert eval(average.replace("0.1", str(E)), here) == pytest.approx(STAYS["cost"].mean(), abs=0.1)  # noqa: S307
    with pytest.raises(RefusedError) as caught:
        names["notes"].groupby("stay").size()
    average = CODE.findall(caught.value.do)[0].replace("0.1", str(E))
    known = NOTES[NOTES["stay"].isin(STAYS["stay"])]
    expected = known.groupby("stay").size().mean()
    assert eval(average, {"df": names["notes"]}) == pytest.approx(expected, abs=0.1)  # noqa: S307


@pytest.mark.parametrize("how", ["var", "std"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_spread_of_each_person_is_that_of_pandas(how, ddof, names):
    for table, plain in (("stays", STAYS), ("times", TIMES)):
        mine = shown(getattr(names[table].groupby("patient")["cost"], how)(ddof=ddof))["cost"]
        theirs = getattr(plain.groupby("patient", sort=False)["cost"], how)(ddof=ddof)
        assert pandas.to_numeric(mine).tolist() == pytest.approx(theirs.tolist(), abs=1e-3, nan_ok=True)
        assert mine.isna().tolist() == theirs.isna().tolist()


def test_the_spread_of_each_person_has_bounds_and_comes_by_name_too(names):
    stays = names["stays"]
    groups = stays.groupby("patient")
    assert groups["cost"].var().domain.range == (0.0, 5000.0)
    assert groups["cost"].std().distance.value == 1
    per = groups.agg(v=("cost", "var"), s=("cost", "std"))
    expected = STAYS.groupby("patient")["cost"].agg(["var", "std"])
    for name, column in (("v", "var"), ("s", "std")):
        assert per[name].sum().reveal(eps=E) == pytest.approx(expected[column].sum(), abs=5)
    assert list(groups[["cost"]].std().columns) == ["cost"]
    assert groups["cost"].agg(["mean", "std"]).shape[1] == 2
    assert groups["cost"].transform("std").mean(eps=E) > 0
    with pytest.raises(DPError, match="ddof"):
        groups["cost"].var(ddof=2)
    with pytest.raises(DPError, match="unbounded"):
        names["notes"].groupby("patient")["note"].std()


def test_the_spread_of_each_person_is_certified(names):
    with pj.certify() as certificates:
        names["stays"].groupby("patient")["cost"].std().mean(eps=1)
        names["patients"].groupby("sex")["age"].nunique().reveal(eps=1)
    assert len(certificates) >= 2
    for each in certificates.all:
        assert check(each).verdict == "ok", check(each).problems


def test_a_table_is_transformed_column_by_column(names):
    stays = names["stays"].assign(more=names["stays"]["cost"] + 1)
    found = stays[["cost", "more"]] - stays.groupby("patient")[["cost", "more"]].transform("min")
    plain = STAYS.assign(more=STAYS["cost"] + 1)
    expected = plain[["cost", "more"]] - plain.groupby("patient")[["cost", "more"]].transform("min")
    assert shown(found).astype(float).to_numpy().tolist() == expected.astype(float).to_numpy().tolist()


def test_a_list_of_one_person_column_is_that_column(names):
    assert names["stays"].groupby(["patient"]).size().distance.value == 1


def test_the_first_row_of_each_person_is_nth_0(names):
    assert shown(names["stays"].groupby("patient").nth(0))["stay"].tolist() == [10, 11, 30, 32]
    assert shown(names["stays"].groupby("patient")["cost"].nth(0))["cost"].tolist() == [5, 7, 100, 50]


def test_any_and_all_of_a_table(names):
    flags = names["stays"].assign(high=names["stays"]["cost"] > 5)
    assert shown(flags.groupby("patient")[["high"]].any())["high"].tolist() == [False, True, True, True]
    assert shown(flags.groupby("patient")[["high"]].all())["high"].tolist() == [False, False, False, True]


def test_numeric_only_leaves_out_persons_keys_and_links(names):
    stays, notes = names["stays"], names["notes"]
    assert stays.sum(numeric_only=True).reveal(eps=E).index.tolist() == ["cost"]
    assert list(stays.mean(numeric_only=True, eps=E).index) == ["cost"]
    assert list(stays.groupby("ward").sum(numeric_only=True).reveal(eps=E).columns) == ["cost"]
    assert list(stays.groupby("patient").sum(numeric_only=True).columns) == ["cost"]
    assert list(stays.agg("sum", numeric_only=True, eps=E).index) == ["cost"]
    assert list(stays.groupby("ward").agg(["sum", "mean"], numeric_only=True, eps=E).columns) == [
        ("cost", "sum"),
        ("cost", "mean"),
    ]
    assert list(stays.groupby("patient").agg("max", numeric_only=True).columns) == ["cost"]
    with no_warnings():
        met = notes.merge(stays, on=["stay", "patient"])
    assert list(met[["patient", "stay", "cost"]]._numbers().columns) == ["cost"]
    moved = stays.assign(shifted=stays["stay"] * 2)  # what is computed from a key is a number like any other
    assert list(moved._numbers().columns) == ["cost", "shifted"]


def test_nunique_of_groups_is_private_without_a_price(names):
    patients = names["patients"]
    expected = PATIENTS.groupby("sex")["age"].nunique()
    column = patients.groupby("sex")["age"].nunique()
    assert column.reveal(eps=E).round().tolist() == expected.tolist()
    assert patients.groupby("sex")["age"].nunique(eps=E).round().tolist() == expected.tolist()
    table = patients.groupby("sex")[["age", "patient"]].nunique().reveal(eps=E).round()
    assert table.to_numpy().tolist() == PATIENTS.groupby("sex")[["age", "patient"]].nunique().to_numpy().tolist()
    flat = patients.groupby("sex", as_index=False)["age"].nunique().reveal(eps=E)
    assert list(flat.columns) == ["sex", "age"]
    two = patients.assign(old=patients["age"] > 50).groupby(["sex", "old"])
    assert two["age"].nunique().reveal(eps=E).round().tolist() == [1, 1, 1, 0]
    assert two[["age"]].nunique().reveal(eps=E).round()["age"].tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("typed", ["nunique().reveal(eps=0.5)", "nunique(eps=0.5)"])
def test_nunique_of_groups_costs_the_same_both_ways(typed, names):
    patients, account = names["patients"], names["patients"]._rows.source.dataset.account.name
    before = pj.consumed_privacy_budget()[account]
    eval(f'patients.groupby("sex")["age"].{typed}', {"patients": patients})  # noqa: S307
    assert pj.consumed_privacy_budget()[account] - before == pytest.approx(0.5)
