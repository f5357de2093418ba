"""value_counts and groupby with private keys: what comes out, what it costs, what is refused."""

from __future__ import annotations

import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.verify.checker import check

TOWNS = ["Kobe"] * 400 + ["Osaka"] * 300 + [f"village {i}" for i in range(50)]
SCHEMA = {"who": {"type": "Int64"}, "town": {"type": "string"}, "n": {"type": "Int64"}}


def visits(name: str, budget: object = None, **options: object) -> pd.PrivDataFrame:
    rows = pandas.DataFrame({"who": range(len(TOWNS)), "town": TOWNS, "n": [len(t) for t in TOWNS]})
    twice = pandas.concat([rows, rows])  # each person has two rows
    return pd.from_frame(twice, name, SCHEMA, unit="who", budget=budget or pj.ApproxDP(100, 0.1), **options)


def test_keys_that_enough_persons_share_come_out() -> None:
    df = visits("keys that are shared")
    with pj.certify() as made:
        found = df["town"].value_counts(keys="private", eps=20, delta=1e-6)

    assert list(found.index) == ["Kobe", "Osaka"] and found.index.name == "town" and found.name == "count"
    assert abs(found["Kobe"] - 400) < 5, "persons, not rows"
    assert found.attrs["threshold"] == pj.key_threshold(eps=20, delta=1e-6) == 2
    assert pj.consumed_privacy_budget()["keys that are shared"] == (20, 1e-6)
    assert check(made.last).verdict == "ok"


def test_whole_numbers_without_bounds_are_keys() -> None:
    found = visits("numbers as keys")["n"].value_counts(keys="private", eps=20, delta=1e-6, min_persons=200)

    assert list(found.index) == [4, 5] and found.attrs["threshold"] == 200


def test_groups_of_private_keys_are_an_ordinary_groupby() -> None:
    df = visits("groups of private keys", max_rows_per_unit=2)
    sizes = df.groupby("town", keys="private", eps=20, delta=1e-6).size().reveal(eps=20)

    assert list(sizes.index) == ["Kobe", "Osaka"] and abs(sizes["Osaka"] - 600) < 5
    assert pj.consumed_privacy_budget()["groups of private keys"][0] == 40
    with pytest.raises(pj.PlanError, match="enough persons"):
        df.groupby("town", keys="private", eps=20, delta=1e-6, min_persons=5000)


def test_what_is_refused_before_anything_is_charged() -> None:
    pure, df = visits("pure keys", 5), visits("refused keys")
    with pytest.raises(pj.BudgetError, match="cannot be paid under pure"):
        pure["town"].value_counts(keys="private", eps=1, delta=1e-6)
    with pytest.raises(pj.PlanError, match="has a price"):
        df["town"].value_counts(keys="private", eps=1)
    with pytest.raises(pj.PlanError, match='"private"'):
        df["town"].value_counts(keys="public", eps=1, delta=1e-6)
    with pytest.raises(pj.PlanError, match="come with their counts"):
        df["town"].value_counts(normalize=True, keys="private", eps=1, delta=1e-6)
    with pytest.raises(pj.PlanError, match="costs nothing"):
        df.groupby("who", eps=1)
    with pytest.raises(pj.RefusedError):
        df.head(5)["town"].value_counts(keys="private", eps=1, delta=1e-6)
    assert pj.consumed_privacy_budget()["refused keys"] == (0, 0)
    assert pj.consumed_privacy_budget()["pure keys"] == 0


def test_a_forged_certificate_of_private_keys_is_refuted() -> None:
    with pj.certify() as made:
        visits("forged keys")["town"].value_counts(keys="private", eps=1, delta=1e-6, keys_per_person=2)
    good = made.last
    noise = good["release"]["noise"]
    for name, wrong in (("scale", "1"), ("threshold", str(int(noise["threshold"]) - 1)), ("sensitivity", "1")):
        assert check({**good, "release": {**good["release"], "noise": {**noise, name: wrong}}}).verdict == "refuted"
    other = {"kind": "laplace", "epsilon": "1"}
    assert check({**good, "release": {**good["release"], "mechanism": other}}).verdict == "refuted"
