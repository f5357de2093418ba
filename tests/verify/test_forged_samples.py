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
