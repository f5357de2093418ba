"""Tables of one population: loading, one row per person, joins, and one account. Compared with pandas itself."""

from __future__ import annotations

import itertools

import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.errors import BudgetError, BudgetExceeded, PlanError, RefusedError, SchemaError
from privjail.ops.rows.per_person import PerPerson
from privjail.session import jail
from privjail.verify.checker import check

PATIENTS = pandas.DataFrame({"patient": [1, 2, 3, 4], "sex": ["F", "M", "F", None], "age": [30, 40, 90, 5]})
STAYS = pandas.DataFrame(
    {
        "stay": [10, 11, 20, 30, 31, 32],
        "patient": [2, 1, 1, 3, 3, 9],
        "ward": ["a", "b", "a", "b", "b", "a"],
        "cost": [5, 7, 1, 100, 4, 50],
    }
)
NOTES = pandas.DataFrame({"note": range(5), "stay": [11, 20, 20, 99, 30], "code": ["x", "y", "x", "x", "y"]})
SCHEMAS = {
    "patients": {
        "patient": {"type": "Int64"},
        "sex": {"type": "category", "categories": ["F", "M"]},
        "age": {"type": "Int64", "range": [0, 120]},
    },
    "stays": {
        "stay": {"type": "Int64"},
        "patient": {"type": "Int64"},
        "ward": {"type": "category", "categories": ["a", "b"]},
        "cost": {"type": "Int64", "range": [0, 100]},
    },
    "notes": {
        "note": {"type": "Int64"},
        "stay": {"type": "Int64"},
        "code": {"type": "category", "categories": ["x", "y"]},
    },
}
_numbers = itertools.count(1)


class Hospital:
    """Three tables of one population, opened anew for each test."""

    def __init__(self, budget=None):
        self.population = pj.population(f"hospital {next(_numbers)}", budget=budget)
        here = {"population": self.population}
        self.patients = pd.from_frame(
            PATIENTS, "patients", SCHEMAS["patients"], unit="patient", max_rows_per_unit=1, **here
        )
        self.stays = pd.from_frame(STAYS, "stays", SCHEMAS["stays"], unit="patient", key="stay", **here)
        self.notes = pd.from_frame(NOTES, "notes", SCHEMAS["notes"], link="stay=stays.stay", **here)


@pytest.fixture
def hospital():
    return Hospital()


def shown(frame):
    """The rows of a private table: what the engine holds, for comparison only."""
    if isinstance(frame, pd.PrivSeries):
        frame = frame.to_frame()
    found = jail().engine.table(frame._rows, dict(frame._exprs))
    columns = {}
    for name, values in found.items():
        labels = getattr(frame._exprs[name].domain, "categories", None)
        coded = labels is not None and frame._exprs[name].domain.dtype == "category"
        columns[name] = [None if v is None else labels[v] if coded else v for v in values]
    return pandas.DataFrame(columns)


def same(private, expected):
    mine, theirs = shown(private), expected.reset_index(drop=True)
    assert list(mine.columns) == list(theirs.columns)
    for name in mine:
        for a, b in zip(mine[name], theirs[name], strict=True):
            assert (pandas.isna(a) and pandas.isna(b)) or a == b, (name, mine, theirs)


# -- loading


def test_a_linked_table_gets_the_person_and_loses_rows_whose_link_is_broken(hospital):
    expected = NOTES.merge(STAYS[["stay", "patient"]], on="stay")
    same(hospital.notes, expected[[*NOTES.columns, "patient"]])


def test_a_key_of_two_persons_is_refused():
    stays = pandas.DataFrame({"stay": [1, 1], "patient": [1, 2]})
    with pytest.raises(SchemaError, match="more than one person"):
        pd.from_frame(stays, "stays", unit="patient", key="stay", population=pj.population("p"))


def test_of_rows_of_one_person_with_the_same_key_the_first_stays():
    stays = pandas.DataFrame({"stay": [1, 1, None, None], "patient": [1, 1, 1, 1], "x": ["a", "b", "c", "d"]})
    found = pd.from_frame(stays, "stays", unit="patient", key="stay", population=pj.population("p"))
    assert list(shown(found)["x"]) == ["a", "c", "d"]


def test_at_most_k_rows_of_each_person():
    people = pj.population("p")
    found = pd.from_frame(STAYS, "s", SCHEMAS["stays"], unit="patient", max_rows_per_unit=1, population=people)
    assert list(shown(found)["stay"]) == [10, 11, 30, 32]


def test_a_link_beside_a_person_must_be_one_of_the_same_person():
    people = pj.population("p")
    pd.from_frame(STAYS, "stays", unit="patient", key="stay", population=people)
    notes = pandas.DataFrame({"patient": [1, 2, 2], "stay": [11, 11, 10]})
    found = pd.from_frame(notes, "notes", unit="patient", link="stay=stays.stay", population=people)
    assert shown(found).values.tolist() == [["1", "11"], ["2", "10"]]


def test_links_point_to_keys_of_tables_that_are_there():
    people = pj.population("p")
    pd.from_frame(STAYS, "stays", unit="patient", population=people)
    for link in ("stay=stays.stay", "stay=other.stay", "stay", "stay=stays"):
        with pytest.raises(SchemaError, match="link"):
            pd.from_frame(NOTES, "notes", link=link, population=people)
    with pytest.raises(SchemaError, match="names its persons"):
        pd.from_frame(NOTES, "notes", population=people)
    with pytest.raises(PlanError, match="belong to a population"):
        pd.from_frame(STAYS, "stays", unit="patient", key="stay")


def test_a_table_has_the_budget_of_its_population():
    with pytest.raises(PlanError, match="budget is the population's"):
        pd.from_frame(STAYS, "s", unit="patient", population=pj.population("p"), budget=1)


def test_one_file_has_one_account(tmp_path):
    path = tmp_path / "stays.csv"
    STAYS.to_csv(path, index=False)
    pd.read_csv(path, SCHEMAS["stays"], unit="patient", key="stay", population=pj.population("p"))
    for population in (None, pj.population("q")):
        with pytest.raises(BudgetError, match="account"):
            pd.read_csv(path, SCHEMAS["stays"], unit="patient", population=population)


# -- one account


def test_whatever_table_is_asked_the_same_people_pay():
    hospital = Hospital(budget=1)
    name = hospital.population.name
    hospital.patients.shape[0].reveal(eps=0.25)
    hospital.stays.groupby("patient").head(2).shape[0].reveal(eps=0.25)
    assert pj.consumed_privacy_budget()[name] == 0.5
    with pytest.raises(BudgetExceeded):
        hospital.notes.groupby("patient").head(1).shape[0].reveal(eps=0.75)


def test_groups_of_persons_in_different_tables_cost_the_maximum():
    hospital = Hospital(budget=1)
    women = hospital.patients[hospital.patients["sex"] == "F"]
    men = hospital.patients[hospital.patients["sex"] == "M"]
    stays = hospital.stays.merge(hospital.patients, on="patient", how="left")
    women.shape[0].reveal(eps=0.5)
    stays[stays["sex"] == "M"].groupby("patient").size().clip(0, 9).sum().reveal(eps=0.5)
    hospital.notes.merge(men, on="patient").groupby("patient").size().clip(0, 9).sum().reveal(eps=0.25)
    of_women = hospital.stays[hospital.stays["patient"].isin(women["patient"])]
    of_women.groupby("patient").head(1).shape[0].reveal(eps=0.25)
    assert pj.consumed_privacy_budget()[hospital.population.name] == 0.75


def test_wards_of_stays_are_no_groups_of_persons():
    """A person has stays in both wards: what is released about both adds up."""
    hospital = Hospital()
    for ward in ("a", "b"):
        part = hospital.stays[hospital.stays["ward"] == ward]
        part.groupby("patient").size().clip(0, 9).sum().reveal(eps=0.5)
    assert pj.consumed_privacy_budget()[hospital.population.name] == 1


# -- one row per person


def test_aggregates_are_those_of_pandas(hospital):
    stays, plain = hospital.stays, STAYS.groupby("patient", sort=False)
    found = stays.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"), last=("ward", "last"))
    same(found, plain.agg(n=("cost", "size"), total=("cost", "sum"), last=("ward", "last")))
    assert found._rows.distance.value == 1
    same(stays.groupby("patient").size(), plain.size().to_frame("size"))
    for how in ("sum", "mean", "min", "max"):
        same(getattr(stays.groupby("patient")["cost"], how)(), getattr(plain["cost"], how)().to_frame())
        same(getattr(stays.groupby("patient")[["cost"]], how)(), getattr(plain[["cost"]], how)())
    for how in ("nunique", "first", "last", "count"):
        same(getattr(stays.groupby("patient")["ward"], how)(), getattr(plain["ward"], how)().to_frame())
        same(getattr(stays.groupby("patient")[["ward"]], how)(), getattr(plain[["ward"]], how)())
    dear, plainly = stays.assign(dear=stays["cost"] > 6), STAYS.assign(dear=STAYS["cost"] > 6)
    for how in ("any", "all"):
        mine, theirs = dear.groupby("patient")["dear"], plainly.groupby("patient", sort=False)["dear"]
        same(getattr(mine, how)(), getattr(theirs, how)().to_frame())
    same(stays.groupby("patient").agg({"cost": "sum"}), plain.agg({"cost": "sum"}))
    same(stays.groupby("patient")[["cost"]].agg("max"), plain[["cost"]].agg("max"))


def test_the_person_comes_back_as_a_column(hospital):
    totals = hospital.stays.groupby("patient")[["cost"]].sum()
    expected = STAYS.groupby("patient", sort=False)[["cost"]].sum().reset_index()
    same(totals.reset_index(), expected)
    same(hospital.stays.groupby("patient", as_index=False)[["cost"]].sum(), expected)


def test_transform_gives_the_persons_value_in_every_row(hospital):
    found = hospital.stays.groupby("patient")["cost"].transform("sum")
    same(found, STAYS.groupby("patient")["cost"].transform("sum").to_frame())
    assert found._rows is hospital.stays._rows


def test_only_text_names_aggregates(hospital):
    with pytest.raises(PlanError, match="named by a text"):
        hospital.stays.groupby("patient")["cost"].agg(lambda x: x.sum())
    with pytest.raises(PlanError, match="named results"):
        hospital.stays.groupby("patient").agg()


def test_by_another_column_groups_are_released_as_before(hospital):
    groups = hospital.stays.groupby("patient").head(2).groupby("ward")
    assert groups.size().reveal(eps=1000).round().tolist() == [3, 3]


# -- joins


def test_joins_are_those_of_pandas(hospital):
    stays, patients = hospital.stays, hospital.patients
    for how in ("left", "inner"):
        same(stays.merge(patients, on="patient", how=how), STAYS.merge(PATIENTS, on="patient", how=how))
    counts = stays.groupby("patient").agg(n=("cost", "size"), cost=("cost", "sum"))
    plain = STAYS.groupby("patient", sort=False).agg(n=("cost", "size"), cost=("cost", "sum"))
    same(patients.merge(counts, on="patient", how="left"), PATIENTS.merge(plain, on="patient", how="left"))
    same(stays.merge(counts, on="patient"), STAYS.merge(plain, on="patient"))
    same(
        stays.merge(counts, on="patient", suffixes=("", "_all")),
        STAYS.merge(plain, on="patient", suffixes=("", "_all")),
    )
    other, others = patients.rename(columns={"patient": "who"}), PATIENTS.rename(columns={"patient": "who"})
    same(stays.merge(other, left_on="patient", right_on="who"), STAYS.merge(others, left_on="patient", right_on="who"))
    assert stays.merge(patients, on="patient")._rows.edits is None
    assert patients.merge(counts, on="patient", how="left")._rows.distance.value == 1


@pytest.mark.parametrize("how", ["left", "inner"])
def test_joins_where_rows_meet_several_rows_are_those_of_pandas(hospital, how):
    """Rows, order, suffixes and indicator; the bounds of both tables multiply."""
    stays, notes = hospital.stays.groupby("patient").head(2), hospital.notes.groupby("patient").head(3)
    plain = NOTES.merge(STAYS[["stay", "patient"]], on="stay")
    options = {"on": "patient", "how": how, "suffixes": ("", "_noted"), "indicator": True}
    found, expected = stays.merge(notes, **options), STAYS.groupby("patient").head(2).merge(plain, **options)
    same(found, expected.astype({"_merge": str}))
    assert list(found.columns) == list(expected.columns)
    assert found._rows.distance.value == 6
    same(
        hospital.patients.merge(stays, on="patient", how=how),
        PATIENTS.merge(STAYS.groupby("patient").head(2), on="patient", how=how),
    )


def test_a_joined_row_can_be_grouped_by_its_person_again(hospital):
    met = hospital.stays.merge(hospital.notes.groupby("patient").head(3), on="patient", how="left")
    assert met._rows.distance.value is None
    totals = met.groupby("patient").agg(n=("note", "count"), most=("cost", "max"))
    plain = STAYS.merge(NOTES.merge(STAYS[["stay", "patient"]], on="stay"), on="patient", how="left")
    same(totals, plain.groupby("patient", sort=False).agg(n=("note", "count"), most=("cost", "max")))
    assert totals._rows.distance.value == 1


def test_tables_below_each_other_are_those_of_pandas(hospital):
    stays, patients = hospital.stays.groupby("patient").head(2), hospital.patients
    plain = STAYS.groupby("patient").head(2)
    dear, cheap = stays[stays["cost"] > 4], stays[stays["cost"] < 6]
    found = pd.concat([dear, cheap], ignore_index=True)
    same(found, pandas.concat([plain[plain["cost"] > 4], plain[plain["cost"] < 6]]))
    assert found._rows.distance.value == 4
    for join in ("outer", "inner"):
        same(pd.concat([stays, patients], join=join), pandas.concat([plain, PATIENTS], join=join))
    same(pd.concat([patients["age"], stays["cost"]]), pandas.concat([PATIENTS["age"], plain["cost"]]).to_frame(None))
    persons = pd.concat([stays, patients, stays]).groupby("patient").agg(n=("cost", "size"))
    same(persons, pandas.concat([plain, PATIENTS, plain]).groupby("patient", sort=False).agg(n=("cost", "size")))
    assert persons._rows.distance.value == 1
    women, men = (patients[patients["sex"] == key] for key in ("F", "M"))
    assert pd.concat([women, men])._rows.distance.value == 1


def test_tables_that_cannot_be_put_below_each_other(hospital):
    with pytest.raises(RefusedError, match="different populations"):
        pd.concat([hospital.stays, Hospital().stays])
    with pytest.raises(PlanError, match="private tables only"):
        pd.concat([hospital.stays, STAYS])
    with pytest.raises(PlanError, match="'cost': a column cannot hold both"):
        pd.concat([hospital.stays, hospital.stays.assign(cost="x")])
    with pytest.raises(PlanError, match="nothing to put together"):
        pd.concat([])
    with pytest.raises(PlanError, match="'outer' or 'inner'"):
        pd.concat([hospital.stays, hospital.stays], join="left")


def test_the_indicator_says_who_was_found(hospital):
    found = hospital.stays.merge(hospital.patients, on="patient", how="left", indicator=True)
    expected = STAYS.merge(PATIENTS, on="patient", how="left", indicator=True)
    assert list(shown(found)["_merge"]) == list(expected["_merge"])


def test_joins_on_a_link(hospital):
    found = hospital.notes.merge(hospital.stays, on="stay", how="left")
    expected = NOTES.merge(STAYS, on="stay")
    assert shown(found)[["note", "ward", "cost"]].values.tolist() == expected[["note", "ward", "cost"]].values.tolist()
    assert list(found.columns) == ["note", "stay", "code", "patient", "ward", "cost"]


def test_semi_joins(hospital):
    old = hospital.patients[hospital.patients["age"] > 35]
    among = hospital.stays["patient"].isin(old["patient"])
    plain = STAYS["patient"].isin(PATIENTS[PATIENTS["age"] > 35]["patient"])
    same(hospital.stays[among], STAYS[plain])
    same(hospital.stays[~among], STAYS[~plain])
    surgery = hospital.stays[hospital.stays["ward"] == "a"]
    seen = hospital.patients["patient"].isin(surgery["patient"])
    same(hospital.patients[seen], PATIENTS[PATIENTS["patient"].isin(STAYS[STAYS["ward"] == "a"]["patient"])])
    noted = hospital.notes["stay"].isin(surgery["stay"])
    assert list(shown(hospital.notes[noted])["note"]) == [1, 2]


def test_other_joins_are_refused(hospital):
    stays, patients, notes = hospital.stays, hospital.patients, hospital.notes
    with pytest.raises(RefusedError, match="joined on the person"):
        stays.merge(patients, left_on="cost", right_on="age")
    with pytest.raises(PlanError, match=r"any number of rows(.|\n)*groupby\(.patient.\).head"):
        patients.merge(stays, on="patient")
    with pytest.raises(PlanError, match="'left' or 'inner'"):
        stays.merge(patients, on="patient", how="outer")
    with pytest.raises(RefusedError, match="joined on the person"):
        stays.head(3).merge(patients, on="patient")
    with pytest.raises(RefusedError, match="populations"):
        stays.merge(Hospital().patients, on="patient")
    with pytest.raises(RefusedError, match="joined on the person"):
        stays["ward"].isin(notes["code"])


# -- the rest of the house


def test_certificates_of_joins_and_aggregates_are_checked(hospital):
    stays = hospital.stays.merge(hospital.patients, on="patient", how="left")
    women = hospital.patients[hospital.patients["sex"] == "F"]
    with pj.certify() as certificates:
        stays[stays["sex"] == "F"].groupby("patient")["cost"].sum().clip(0, 50).sum().reveal(eps=1)
        stays[stays["age"] > 35].groupby("patient").size().clip(0, 5).mean(eps=1)
        hospital.notes.merge(women, on="patient").groupby("patient").size().clip(0, 5).sum().reveal(eps=1)
        hospital.notes.merge(hospital.stays, on="stay").groupby("patient").head(2)["cost"].sum().reveal(eps=1)
    assert len(certificates) >= 4
    for each in certificates.all:
        report = check(each)
        assert report.verdict == "ok", report.problems


def test_a_rehearsal_prices_joins(hospital):
    with pj.rehearsal() as bill:
        totals = hospital.stays.merge(hospital.patients, on="patient").groupby("patient")["cost"].sum()
        totals.clip(0, 100).mean(eps=0.5)
    assert hospital.population.name in str(bill)
    assert pj.consumed_privacy_budget()[hospital.population.name] == 0


def test_answers_are_right_with_little_noise(hospital):
    stays = hospital.stays.merge(hospital.patients, on="patient")
    by_sex = stays.groupby("patient").agg(sex=("sex", "first"), n=("cost", "size"))
    assert by_sex.groupby("sex").size().reveal(eps=1000).round().tolist() == [2, 1]
    assert isinstance(by_sex._rows.base, PerPerson)
    assert round(float(by_sex["n"].clip(0, 5).sum().reveal(eps=1000))) == 5


def test_a_name_in_a_population_stands_for_one_table(tmp_path):
    """With another table under its name, a linked table's rows would get other owners, after the first have paid."""
    number = {"type": "Int64"}
    people = pj.population("h", budget=1)
    for file, rows in (("one.csv", "10,1\n12,2\n"), ("two.csv", "10,2\n12,1\n")):
        (tmp_path / file).write_text("stay,who\n" + rows)
    options = {"population": people, "unit": "who", "name": "stays", "key": "stay"}
    schema = {"stay": number, "who": number}
    pd.read_csv(tmp_path / "one.csv", schema, **options)
    pd.read_csv(tmp_path / "one.csv", schema, **options)

    with pytest.raises(PlanError, match="another table"):
        pd.read_csv(tmp_path / "two.csv", schema, **options)


@pytest.mark.parametrize(
    "ask", [lambda df: df.shape[0], lambda df: df["cost"].sum(), lambda df: df["ward"].value_counts()]
)
def test_where_rows_per_person_are_unlimited_the_error_says_what_to_do(ask):
    df = pd.from_frame(STAYS, "unlimited stays", SCHEMAS["stays"], unit="patient")

    for release in (dict(eps=1), dict(scale=1)):
        with pytest.raises(pj.util.DPError, match=r"nothing bounds how many rows one patient has") as refused:
            ask(df).reveal(**release)
        assert 'df.groupby("patient").head(5)' in str(refused.value)
    ask(df.groupby("patient").head(5)).reveal(eps=1)
