"""Synthetic tables: near the truth where much is paid, made of releases only, and honest about their errors."""

from __future__ import annotations

import json
import pickle
from itertools import combinations

import numpy
import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import session, synth
from privjail.errors import DPError
from privjail.session import jail
from privjail.synth.tree import Measured, conditional, dependence, joint, spanning_tree
from privjail.verify.checker import check

SCHEMA = {
    "age": {"type": "Int64", "range": [18, 90]},
    "pay": {"type": "Float64", "range": [0, 100]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "member": {"type": "boolean"},
    "seen": {"type": "Int64", "range": [0, 3]},
}


def people(n: int) -> pandas.DataFrame:
    """A chain: age → ward → pay, and ward → member; ``seen`` stands alone. Some wards are missing."""
    dice = numpy.random.default_rng(5)
    age = dice.integers(18, 90, n)
    ward = numpy.select([age < 35, age < 60], ["a", "b"], "c").astype(object)
    ward = numpy.where(dice.random(n) < 0.2, dice.choice(list("abc"), n), ward)
    pay = numpy.select([ward == "a", ward == "b"], [20, 50], 80) + dice.normal(0, 6, n)
    member = dice.random(n) < numpy.select([ward == "a", ward == "b"], [0.1, 0.5], 0.9)
    ward[dice.random(n) < 0.05] = None
    return pandas.DataFrame(
        {"age": age, "pay": numpy.clip(pay, 0, 100), "ward": ward, "member": member, "seen": dice.integers(0, 4, n)}
    )


DATA = people(6000)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    DATA.to_csv(folder / "people.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return str(folder / "people.csv"), str(folder / "schema.json")


def opened(files, budget):
    jail.cache_clear()
    return pd.read_csv(files[0], schema=files[1], budget=budget)


def shares(table: pandas.DataFrame, model: synth.Synthesizer, names: tuple[str, ...]):
    """The share of rows in each cell of the model's bins."""
    codes = [model.bins_[name].codes(table[name]) for name in names]
    sizes = [model.bins_[name].size for name in names]
    counts = numpy.bincount(numpy.ravel_multi_index(codes, sizes), minlength=int(numpy.prod(sizes)))
    return counts / len(table)


def apart(a, b) -> float:
    return float(numpy.abs(a - b).sum() / 2)


def test_marginals_are_near_the_truth_at_a_large_price(files):
    df = opened(files, pj.ZCDP(10**6))
    model = synth.Synthesizer(bins=8).fit(df, rho=10**5)
    made = model.sample()

    assert abs(len(made) - len(DATA)) <= 2 and list(made.columns) == list(SCHEMA)
    for name in SCHEMA:
        assert apart(shares(made, model, (name,)), shares(DATA, model, (name,))) < 0.01, name
    for pair in model.tree_:
        assert apart(shares(made, model, pair), shares(DATA, model, pair)) < 0.02, pair
    assert {frozenset(edge) for edge in model.tree_} >= {frozenset(("age", "ward")), frozenset(("ward", "pay"))}
    away = apart(shares(made, model, ("age", "pay")), shares(DATA, model, ("age", "pay")))
    alone = numpy.outer(shares(DATA, model, ("age",)), shares(DATA, model, ("pay",))).ravel()
    assert away < 0.15 < apart(alone, shares(DATA, model, ("age", "pay")))  # it follows from the chain


def test_values_lie_in_their_domains(files):
    made = synth.Synthesizer(bins=8).fit(opened(files, pj.PureDP(5)), eps=5).sample(3000, seed=1)

    ranges = {"age": (18, 90), "pay": (0, 100), "seen": (0, 3)}
    assert all(made[name].dropna().between(*ends).all() for name, ends in ranges.items())  # noise makes a few missing
    assert made[list(ranges)].isna().mean().max() < 0.05
    assert set(made["ward"].dropna()) == {"a", "b", "c"} and 0.01 < made["ward"].isna().mean() < 0.12
    assert str(made["age"].dtype) == "Int64" and str(made["member"].dtype) == "boolean"


@pytest.mark.parametrize(
    "budget, price",
    [
        (pj.PureDP(2), {"eps": 2}),
        (pj.ZCDP(0.1), {"rho": 0.1}),
        (pj.ApproxDP(1, 1e-5), {"eps": 1, "delta": 1e-5}),
    ],
)
def test_it_stays_in_budget_and_sees_nothing_but_releases(files, budget, price, monkeypatch):
    """The model is a function of what was released: the same answers, replayed without any data, give the same rows."""
    df = opened(files, budget)
    answers, whole = [], session.release
    monkeypatch.setattr(session, "release", lambda asks: answers.append(whole(asks)) or answers[-1])
    model = synth.Synthesizer(bins=6).fit(df, **price)
    spent = jail().ledger.accounts()[0]
    assert not spent.notion.exceeds(spent.total())
    assert [check(each).verdict for each in model.certificate] == ["ok"] * sum(map(len, answers))

    played = iter(answers)
    monkeypatch.setattr(session, "reserve", lambda asks: None)  # nothing is paid for a second time
    monkeypatch.setattr(session, "release", lambda asks: next(played))
    again = synth.Synthesizer(bins=6).fit(df, **price)
    assert again.sample(500).equals(model.sample(500)) and again.tree_ == model.tree_

    monkeypatch.undo()
    with pytest.raises(DPError):
        synth.Synthesizer(bins=6).fit(df, **price)  # nothing is left


def test_stated_errors_are_those_of_the_noise(files):
    df = opened(files, pj.ZCDP(1))
    model = synth.Synthesizer(bins=6).fit(df, rho=0.05)
    lines = model.errors_

    assert len(lines) == 5 + 10 and lines["in_model"].sum() == 5 + 4
    assert (lines["noise_per_count"] > 0).all()
    again = [model.bins_[n] for n in ("ward", "member")]
    expected = lines.loc["ward × member", "noise_per_count"] * (2 / numpy.pi) ** 0.5 * again[0].size * again[1].size
    assert lines.loc["ward × member", "noise_share"] == pytest.approx(expected / 2 / model.n_rows_)
    assert lines.loc["age × pay", "beyond_noise"] < 0.2 and "about" in repr(model)


def test_a_model_pickles_and_samples_the_same(files):
    model = synth.Synthesizer(bins=4).fit(opened(files, pj.PureDP(5))[["age", "ward"]], eps=5)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301

    assert again.sample(100, seed=3).equals(model.sample(100, seed=3))
    assert not model.sample(100, seed=4).equals(model.sample(100, seed=3))
    for n in (0, -1, 2.5):
        with pytest.raises(DPError):
            model.sample(n)


def test_what_cannot_be_made_is_refused_before_anything_is_charged(files):
    df = opened(files, pj.PureDP(5))
    with pytest.raises(DPError):
        synth.Synthesizer().fit(df[["age"]], eps=1)
    with pytest.raises(DPError):
        synth.Synthesizer().fit(df.assign(free=1 / df["pay"]), eps=1)
    with pytest.raises(DPError):
        synth.Synthesizer().sample(5)
    with pytest.raises(DPError):
        synth.Synthesizer().fit(df, eps=6)
    assert next(iter(pj.consumed_privacy_budget().values())) == 0


def test_the_tree_is_the_one_of_largest_dependence():
    weights = {("a", "b"): 1.0, ("a", "c"): 0.2, ("a", "d"): 0.9, ("b", "c"): 0.5, ("b", "d"): 0.8, ("c", "d"): 0.1}
    tree = spanning_tree(list("abcd"), weights)
    best = max(
        (sum(weights[e] for e in edges) for edges in combinations(weights, 3) if connects(edges)),
    )

    assert sum(weights[tuple(sorted(e))] for e in tree) == pytest.approx(best)
    assert [child for _, child in tree] == ["b", "d", "c"]


def connects(edges) -> bool:
    reached = {"a"}
    for _ in edges:
        reached |= {x for e in edges if set(e) & reached for x in e}
    return len(reached) == 4


def test_dependence_ignores_noise_and_sees_a_relation():
    half = numpy.array([0.5, 0.5])
    assert dependence(Measured(numpy.array([[260.0, 240.0], [245.0, 255.0]]), 10.0), half, half) == pytest.approx(0)
    assert dependence(Measured(numpy.array([[500.0, 0.0], [0.0, 500.0]]), 10.0), half, half) == pytest.approx(
        numpy.log(2)
    )


def test_nothing_but_noise_below_zero_is_no_dependence():
    one = numpy.array([1.0, 0.0])
    assert dependence(Measured(numpy.array([[-90.0, -1.0], [-1.0, -1.0]]), 0.1), one, one) == 0


def test_joint_chances_follow_the_path():
    chances = {"a": numpy.array([0.5, 0.5]), "b": numpy.array([0.5, 0.5]), "c": numpy.array([0.5, 0.5])}
    turn = conditional(numpy.array([[0.4, 0.1], [0.1, 0.4]]), chances["a"], chances["b"])
    given = {"b": turn, "c": turn}
    found = joint([("a", "b"), ("b", "c")], chances, given, "a", "c")

    assert found == pytest.approx(numpy.array([[0.34, 0.16], [0.16, 0.34]]))
