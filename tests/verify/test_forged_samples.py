"""Certificates that place a random sample elsewhere: its coins must decide at one place of the tree of costs."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pandas
import privjail as pj
import pytest
from privjail import pandas as pd
from privjail.budget.sampling import amplified
from privjail.verify.checker import check

SCHEMA: dict[str, Any] = {
    "age": {"type": "Int64", "range": [0, 120]},
    "city": {"type": "category", "categories": ["Kobe", "Nara", "Otsu"]},
    "height": {"type": "Float64", "range": [0, 3]},
}
CONDITIONS = {
    "one city": lambda df: df["city"] == "Kobe",
    "two cities": lambda df: df["city"].isin(["Kobe", "Nara"]),
    "one or the other": lambda df: (df["city"] == "Kobe") | (df["city"] == "Nara"),
    "all but one": lambda df: ~(df["city"] == "Kobe"),
    "no known city": lambda df: df["city"].isna(),
    "a threshold": lambda df: df["age"] > 40,
    "not a threshold": lambda df: ~(df["height"] > 1.5),
    "two conditions": lambda df: (df["city"] == "Kobe") & (df["height"] > 1.5),
    "two columns": lambda df: (df["city"] == "Kobe") | (df["age"] == 7),
    "one age": lambda df: df["age"] == 7,
    "one height": lambda df: df["height"] == 1.5,
    "many ages": lambda df: df["age"].isin(range(100)),
    "as many ages as are divided": lambda df: df["age"].isin(range(64)),
    "one age more": lambda df: df["age"].isin(range(65)),
    "all but a few ages, which are always known": lambda df: ~df["age"].fillna(0).isin([1, 2]),
    "all but one city, which is always known": lambda df: ~df["city"].fillna("Otsu").isin(["Otsu"]),
    "all but a few ages": lambda df: ~df["age"].isin([1, 2]),
}


@pytest.fixture
def df() -> Any:
    frame = pandas.DataFrame({"age": [30, 77], "city": ["Kobe", "Nara"], "height": [1.5, 1.7]})
    return pd.from_frame(frame, "people", SCHEMA)


def certificate(rows: Any) -> Any:
    with pj.certify() as certificates:
        rows.shape[0].reveal(eps=1)
    return certificates.last


def of(made: Any, kind: str) -> Any:
    return next(node for node in made["nodes"] if node["kind"] == kind)


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_place_of_the_library_is_the_only_one(df: Any, name: str) -> None:
    made = certificate(df[CONDITIONS[name](df)].sample(frac=0.1))
    assert check(made).verdict == "ok", check(made)

    wider = copy.deepcopy(made)  # the rows drawn from lie in the whole table: sound for them, not for a sample
    of(wider, "filter")["claims"]["cells"] = [0]
    assert check(wider).verdict == "refuted"


def drawn_from_all(made: Any) -> Any:
    """The same sample, with the same coins, as a part of the whole table instead of one city."""
    forged = copy.deepcopy(made)
    of(forged, "filter")["claims"]["cells"] = [0]
    place = next(i for i, cell in enumerate(forged["cells"]) if "sample" in cell)
    forged["cells"][place]["of"] = 0
    return forged


def test_one_sample_at_two_places_is_refuted(df: Any) -> None:
    made = certificate(df[df["city"] == "Kobe"].sample(frac=0.1))
    forged = drawn_from_all(made)

    assert check(made).verdict == "ok" and check(forged).verdict == "refuted"


def test_a_sample_that_is_said_to_lie_in_its_table_is_refuted(df: Any) -> None:
    made = certificate(df.sample(frac=0.1))
    wider = copy.deepcopy(made)
    for kind in ("sample", "tally"):
        of(wider, kind)["claims"]["cells"] = [0]
    wider["release"]["charges"][0][0] = 0

    assert check(made).verdict == "ok" and check(wider).verdict == "refuted"


def test_a_sample_in_more_cells_than_its_own_is_refuted(df: Any) -> None:
    made = certificate(df.sample(frac=0.1))
    of(made, "sample")["claims"]["cells"].append(0)

    assert check(made).verdict == "refuted"


def test_two_places_would_count_for_less() -> None:
    """Why: the charges of the two certificates above, each counted at its own place, are less than their true loss."""
    one, rate = Fraction(1), Fraction(1, 10)
    assert 2 * amplified(one, rate) < amplified(2 * one, rate)


@pytest.mark.filterwarnings("ignore")  # that such a sample costs as much as all rows
def test_a_sample_of_users_with_two_rows_lies_where_its_rows_do() -> None:
    frame = pandas.DataFrame({"age": [30, 77], "city": ["Kobe", "Nara"], "height": [1.5, 1.7], "who": ["a", "b"]})
    schema = {**SCHEMA, "who": {"type": "string"}}
    visits = pd.from_frame(frame, "visits", schema, unit="who", max_rows_per_unit=2)
    made = certificate(visits.sample(frac=0.1))

    assert not any("sample" in cell for cell in made["cells"])
    assert check(made).verdict == "ok"


@pytest.mark.filterwarnings("ignore")  # that such a sample costs as much as all rows
@pytest.mark.parametrize("most, verdict", [(1, "ok"), (2, "refuted")])
def test_a_sample_of_users_with_two_rows_is_no_cell(most: int, verdict: str) -> None:
    """Not even beside others: two coins decide about such a user, and the ledger would count one."""
    frame = pandas.DataFrame({"age": [30, 77], "city": ["Kobe", "Nara"], "height": [1.5, 1.7], "who": ["a", "b"]})
    schema = {**SCHEMA, "who": {"type": "string"}}
    visits = pd.from_frame(frame, "visits", schema, unit="who", max_rows_per_unit=most)
    made = certificate(visits)
    made["cells"].append({"of": 0, "sample": 0, "rate": "1/10", "tag": "any"})
    of(made, "tally")["claims"]["cells"].append(len(made["cells"]) - 1)

    assert check(made).verdict == verdict, check(made)


@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize("filters, has_a_part", [(63, True), (64, False), (65, False)])
def test_a_sample_below_the_deepest_cells_lies_where_its_rows_do(df: Any, filters: int, has_a_part: bool) -> None:
    """Each filter divides the cell of the one before; 64 deep is the end, for a sample too."""
    for i in range(filters):
        df = df[df["age"] > i]
    made = certificate(df.sample(frac=0.1))

    assert any("sample" in cell for cell in made["cells"]) is has_a_part
    assert check(made).verdict == "ok", check(made)


@pytest.fixture
def hospital() -> Any:
    people = pj.population("people of two tables")
    patients = pandas.DataFrame({"who": [1, 2], "age": [30, 77]})
    notes = pandas.DataFrame({"who": [1, 2], "code": ["a", "b"]})
    numbers, codes = {"type": "Int64", "range": [0, 120]}, {"type": "category", "categories": ["a", "b"]}
    one, two = {"who": {"type": "Int64"}, "age": numbers}, {"who": {"type": "Int64"}, "code": codes}
    return (
        pd.from_frame(patients, "patients", one, unit="who", max_rows_per_unit=1, population=people),
        pd.from_frame(notes, "notes", two, unit="who", max_rows_per_unit=1, population=people),
    )


@pytest.mark.parametrize("code", [None, "a"])
def test_rows_of_whoever_is_in_a_sample_are_not_a_part_of_that_sample(
    hospital: Any, code: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coins would decide once in the cells of the sample, and once in those of the rows that look into it."""
    patients, notes = hospital
    notes = notes if code is None else notes[notes["code"] == code]
    made = certificate(notes[notes["who"].isin(patients["who"])])
    assert check(made).verdict == "ok", check(made)

    monkeypatch.setattr("privjail.ops.rows.lookup.drawn", lambda rows: False)  # the library refuses this
    monkeypatch.setattr("privjail.ops.rows.filter._of_persons_in", drawn_again)
    forged = certificate(notes[notes["who"].isin(patients.sample(frac=0.1)["who"])])
    assert any("sample" in cell for cell in forged["cells"])
    assert check(forged).verdict == "refuted"


def drawn_again(rows: Any, found: Any) -> Any:
    """The cells of rows whose person is in a sample, as if the sample were a part of them."""
    (cell,), (drawn,) = rows.cells, found.other.cells
    return (type(cell)(cell, drawn.partition, drawn.key),)
