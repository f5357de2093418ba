"""sample(frac=…) as people type it: what it means, what it costs, what is refused."""

from __future__ import annotations

import math

import pandas
import pytest

import privjail as pj
from privjail import numpy as pnp
from privjail import pandas as pd
from privjail.budget.notions import ZCDP
from privjail.errors import DPWarning, PlanError
from privjail.verify.checker import check

SCHEMA = {"a": {"type": "Int64", "range": [0, 100]}, "g": {"type": "category", "categories": ["x", "y"]}}


@pytest.fixture
def df(request):
    frame = pandas.DataFrame({"a": [i % 101 for i in range(4000)], "g": ["x", "y"] * 2000})
    return pd.from_frame(frame, request.node.name, SCHEMA, budget=1e6)


def left():
    return next(iter(pj.budget_left().values()))


def spent(name):
    return pj.session._reported(pj.session.jail())[name]


def test_about_a_tenth_of_the_rows_is_drawn(df):
    count = float(df.sample(frac=0.1).shape[0].reveal(eps=1000))

    assert 400 - 6 * 19 < count < 400 + 6 * 19


def test_statistics_of_a_sample_are_those_of_its_rows(df):
    s = df.sample(frac=0.5, random_state=3)

    assert abs(float(s["a"].mean(eps=1000)) - 50) < 8
    by = s.groupby("g").size().reveal(eps=1000)
    assert abs(by.sum() - float(s.shape[0].reveal(eps=1000))) < 1


def test_a_seed_names_the_sample(df):
    one, two = (df.sample(frac=0.3, random_state=1)._rows for _ in range(2))
    assert one is two
    assert df.sample(frac=0.3, random_state=2)._rows is not one
    assert df.sample(frac=0.3)._rows is not df.sample(frac=0.3)._rows
    assert df["a"].sample(frac=0.3, random_state=1)._rows is one
    assert df[["a"]].to_numpy().sample(0.3, random_state=1)._rows is one
    assert pnp is not None


def test_a_sample_costs_less_than_its_table(df, request):
    df.sample(frac=0.1, random_state=1)["a"].sum().reveal(eps=1)

    assert spent(request.node.name) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)), abs=1e-12)


def test_a_training_set_of_many_small_samples_costs_little(df, request):
    for step in range(20):
        df.sample(frac=0.01, random_state=step)["a"].sum().reveal(eps=1)

    assert spent(request.node.name) == pytest.approx(20 * math.log(1 + 0.01 * (math.e - 1)), abs=1e-9)


def test_what_is_refused_says_what_to_type(df):
    for wrong in ({"n": 5}, {}, {"frac": 0.1, "replace": True}, {"frac": 0.1, "weights": "a"}, {"frac": 2}):
        with pytest.raises(PlanError) as error:
            df.sample(**wrong)
        assert "df.sample(frac=0.1)" in str(error.value)
    with pytest.raises(PlanError, match="random_state"):
        df.sample(frac=0.1, random_state="seed")
    with pytest.raises(PlanError, match="sample first"):
        df.head(10).sample(frac=0.1)


def test_a_table_of_people_with_several_rows_says_that_a_sample_costs_as_much():
    frame = pandas.DataFrame({"a": [1, 2, 3], "g": ["x", "y", "x"], "who": ["p", "p", "q"]})
    schema = {**SCHEMA, "who": {"type": "string"}}
    people = pd.from_frame(frame, "people with rows", schema, unit="who", max_rows_per_unit=2)
    with pytest.warns(DPWarning, match="as much as all rows"):
        people.sample(frac=0.5)


def test_other_notions_say_that_a_sample_costs_as_much():
    frame = pandas.DataFrame({"a": [1, 2], "g": ["x", "y"]})
    other = pd.from_frame(frame, "a zcdp table", SCHEMA, budget=ZCDP(1))
    with pytest.warns(DPWarning, match="pure ε"):
        other.sample(frac=0.5)


def test_certificates_of_samples_are_checked_and_forged_ones_refuted(df):
    with pj.certify() as made:
        df[df["g"] == "x"].sample(frac=0.1, random_state=1).head(5)["a"].sum().reveal(eps=1)
    right = made.last
    assert check(right).verdict == "ok"

    place = next(i for i, cell in enumerate(right["cells"]) if "sample" in cell)
    for key, value in (("rate", "1/1000"), ("tag", "seed 2"), ("sample", 0)):
        forged = {**right, "cells": [dict(cell) for cell in right["cells"]]}
        forged["cells"][place][key] = value
        assert check(forged).verdict == "refuted", key


def test_a_sample_of_people_with_several_rows_cannot_be_certified_as_a_cell(df):
    """V-47: with two rows of a person her chance to be in the sample is not the rate."""
    with pj.certify() as made:
        df.sample(frac=0.1, random_state=1).shape[0].reveal(eps=1)
    forged = made.last
    forged["data sets"][0]["unit"] = ["g", 2]
    import hashlib
    import json

    public = {key: forged["data sets"][0][key] for key in ("columns", "unit")}
    forged["data sets"][0]["schema"] = hashlib.sha256(json.dumps(public, sort_keys=True).encode()).hexdigest()
    for node in forged["nodes"]:
        node["claims"] = {k: "2" if v == "1" and k not in ("grid",) else v for k, v in node["claims"].items()}
    answer = check(forged)
    assert answer.verdict == "refuted" and "at most one row" in answer.problems[0], answer
