"""Questions about persons as people type them; each answer is that of pandas on the same rows."""

from __future__ import annotations

import warnings

import pandas
import pytest

from privjail import pandas as pd
from privjail.errors import DPError
from tests.pandas.test_people import NOTES, PATIENTS, STAYS, Hospital

E = 4 * 10**4
KNOWN = STAYS[STAYS["patient"].isin([1, 2, 3])]  # patient 9 has a stay and is in no other table


@pytest.fixture(scope="module")
def names():
    hospital = Hospital(budget=10**6)
    return {"patients": hospital.patients, "stays": hospital.stays, "notes": hospital.notes, "pd": pd, "E": E}


#: what is typed, and the number that pandas has
LINES = [
    ('stays["patient"].value_counts().clip(0, 10).sum().reveal(eps=E)', len(STAYS)),
    ('(stays["patient"].value_counts() > 1).sum().reveal(eps=E)', (STAYS["patient"].value_counts() > 1).sum()),
    ('(stays["patient"].value_counts() > 1).mean(eps=E)', (STAYS["patient"].value_counts() > 1).mean()),
    ('stays.groupby("patient")["cost"].sum().reset_index()["cost"].clip(0, 500).sum().reveal(eps=E)', STAYS["cost"].sum()),
    ('stays.groupby("patient").size().reset_index(name="n")["n"].clip(0, 9).sum().reveal(eps=E)', len(STAYS)),
    ('stays.groupby("patient", as_index=False)["cost"].max()["cost"].sum().reveal(eps=E)',
     STAYS.groupby("patient")["cost"].max().sum()),
    ('stays.groupby("patient")["cost"].agg(["min", "max"]).assign(d=lambda t: t["max"] - t["min"])["d"].sum().reveal(eps=E)',
     (STAYS.groupby("patient")["cost"].max() - STAYS.groupby("patient")["cost"].min()).sum()),
    ('stays.groupby("patient")["cost"].agg(total="sum", n="count")["n"].clip(0, 9).sum().reveal(eps=E)', len(STAYS)),
    ('stays.groupby("patient").agg(most=pd.NamedAgg("cost", "max"))["most"].sum().reveal(eps=E)',
     STAYS.groupby("patient")["cost"].max().sum()),
    ('stays.assign(high=stays["cost"] > 40).groupby("patient")["high"].max().sum().reveal(eps=E)',
     STAYS.assign(high=STAYS["cost"] > 40).groupby("patient")["high"].max().sum()),
    ('stays.assign(high=stays["cost"] > 4).groupby("patient")["high"].min().sum().reveal(eps=E)',
     STAYS.assign(high=STAYS["cost"] > 4).groupby("patient")["high"].min().sum()),
    ('patients["patient"].map(stays["patient"].value_counts()).clip(0, 9).sum().reveal(eps=E)', len(KNOWN)),
    ('patients["patient"].map(stays.groupby("patient")["cost"].max()).sum().reveal(eps=E)',
     PATIENTS["patient"].map(STAYS.groupby("patient")["cost"].max()).sum()),
    ('patients["patient"].map(stays.groupby("patient").size()).isna().sum().reveal(eps=E)', 1),
    ('stays.groupby("patient").head(3)["patient"].map(patients.set_index("patient")["age"]).sum().reveal(eps=E)',
     STAYS["patient"].map(PATIENTS.set_index("patient")["age"]).sum()),
    ('stays.groupby("patient").head(3).join(patients.set_index("patient"), on="patient")["age"].sum().reveal(eps=E)',
     STAYS.join(PATIENTS.set_index("patient"), on="patient")["age"].sum()),
    ('notes.groupby("patient").head(5)["stay"].map(stays.set_index("stay")["cost"]).sum().reveal(eps=E)',
     NOTES["stay"].map(STAYS.set_index("stay")["cost"]).sum()),
    ('patients.set_index("sex").groupby(level=0).size().reveal(eps=E)["F"]', 2),
]  # fmt: skip


@pytest.mark.parametrize("typed, expected", LINES, ids=[line for line, _ in LINES])
def test_a_line_means_what_it_means_to_pandas(typed, expected, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert float(eval(typed, names)) == pytest.approx(float(expected), abs=0.4)  # noqa: S307


REFUSED = """
stays["patient"].map(stays.set_index("patient")["cost"])
stays["ward"].map(patients.set_index("sex")["age"])
stays.groupby("patient").agg({"cost": ["sum", "mean"]})
stays.groupby("patient").agg(span=("cost", lambda c: c.max() - c.min()))
stays.merge(patients, on="patient", how="outer")
patients.groupby(["sex", "age"], keys="private", eps=1, delta=1e-6)
patients.set_index("sex").groupby()
stays["cost"].map(3)
stays["cost"].reset_index()
""".strip().splitlines()


@pytest.mark.parametrize("typed", REFUSED)
def test_what_has_no_answer_says_what_to_type(typed, names):
    with pytest.raises(DPError, match="do:"):
        eval(typed, names)  # noqa: S307


def test_the_advice_for_several_results_runs(names):
    with pytest.raises(DPError) as caught:
        names["stays"].groupby("patient").agg({"cost": ["sum", "mean"]})
    advice = str(caught.value).split("do:")[1].strip()
    assert list(eval(f'stays.groupby("patient").{advice}', names).columns) == ["cost_sum", "cost_mean"]  # noqa: S307


def test_numeric_only_chooses_columns_of_persons(names):
    found = names["stays"][["patient", "cost", "ward"]].groupby("patient")[["cost", "ward"]].max(numeric_only=True)
    assert list(found.columns) == ["cost"]
    assert found["cost"].sum().reveal(eps=E) == pytest.approx(STAYS.groupby("patient")["cost"].max().sum(), abs=0.4)


def test_a_new_column_is_set_in_some_rows_and_missing_in_the_others():
    plain = pandas.DataFrame({"a": [1, 5, 9, None], "b": [2, 2, 2, 2]})
    df = pd.from_frame(plain, "new columns", {c: {"type": "Int64", "range": [0, 9]} for c in "ab"}, budget=10**6)
    df.loc[df["a"] > 3, "c"] = 100
    df.loc[df["a"] > 3, "d"] = df["b"] * 2
    df.loc[df["a"] <= 3, "c"] = 7
    plain.loc[plain["a"] > 3, "c"] = 100
    plain.loc[plain["a"] > 3, "d"] = plain["b"] * 2
    plain.loc[plain["a"] <= 3, "c"] = 7
    for name in "cd":
        assert df[name].sum().reveal(eps=E) == pytest.approx(plain[name].sum(), abs=0.4)
        assert df[name].isna().sum().reveal(eps=E) == pytest.approx(plain[name].isna().sum(), abs=0.4)
    with pytest.raises(DPError, match="do:"):
        df.loc[df["a"] > 3, "e"] = None


def test_the_mean_of_a_row_is_as_bounded_as_its_columns():
    """The quotient by a number of values that might be 0 had no bound, and could not be averaged."""
    plain = pandas.DataFrame({"a": [1, 5, 9, None], "b": [2, 4, None, None]})
    schema = {"a": {"type": "Int64", "range": [0, 9]}, "b": {"type": "Int64", "range": [-3, 5]}}
    found = pd.from_frame(plain, "row means", schema, budget=10**6).mean(axis=1)
    assert found.domain.range == (-3.0, 9.0)
    assert found.sum().reveal(eps=E) == pytest.approx(plain.mean(axis=1).sum(), abs=0.4)


def test_a_step_after_the_release_says_that_it_takes_released_numbers(names):
    counts = names["patients"].groupby("sex").size()
    with pytest.raises(DPError, match=r"release each.*a\.reveal"):
        counts.div(names["patients"].shape[0])
    with pytest.raises(DPError, match=r"release each.*a\.reveal"):
        names["patients"].groupby("sex")["age"].sum().div(counts)


@pytest.mark.parametrize(
    "name, kind", [("int32", "Int64"), ("uint8", "Int64"), ("float32", "Float64"), ("int64", "Int64")]
)
def test_types_of_other_sizes_are_known(names, name, kind):
    assert names["patients"]["age"].astype(name).dtype == kind
