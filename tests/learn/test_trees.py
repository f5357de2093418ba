"""Trees on few rows: splits are chosen by report noisy max, for no more than the price."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

import pandas
import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.learn import trees
from privjail.learn.spending import Spending
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.plan.value import Value
from privjail.release import Query
from privjail.session import release

COLUMNS = ["a", "b", "ward", "old"]
SCHEMA = {
    "a": {"type": "Float64", "range": [-3, 3]},
    "b": {"type": "Int64", "range": [0, 40]},
    "ward": {"type": "category", "categories": ["x", "y", "z"]},
    "old": {"type": "boolean"},
    "kind": {"type": "category", "categories": ["no", "yes"]},
    "three": {"type": "category", "categories": ["p", "q", "r"]},
}


def rows(n: int, seed: int = 0) -> pandas.DataFrame:
    """yes where a > 0 in ward x, where b > 20 elsewhere; three: p in ward x, else q or r by old."""
    rng = numpy.random.default_rng(seed)
    a, b = rng.uniform(-3, 3, n), rng.integers(0, 41, n)
    ward, old = rng.choice(["x", "y", "z"], n), rng.random(n) < 0.5
    kind = numpy.where(numpy.where(ward == "x", a > 0, b > 20), "yes", "no")
    three = numpy.where(ward == "x", "p", numpy.where(old, "q", "r"))
    return pandas.DataFrame({"a": a, "b": b, "ward": ward, "old": old, "kind": kind, "three": three})


TEST = rows(4000, 9)
BUDGETS = [
    (pj.PureDP(1), {"eps": 1}),
    (pj.ZCDP(1), {"rho": 0.1}),
    (pj.ZCDP(1), {"eps": 1, "delta": 1e-5}),
    (pj.ApproxDP(1, 1e-5), {"eps": 1, "delta": 1e-5}),
]


@pytest.mark.parametrize(("budget", "price"), BUDGETS, ids=["pure", "rho", "eps and delta as rho", "eps and delta"])
@pytest.mark.parametrize("target", ["kind", "three"])
def test_splits_are_found_in_few_rows_for_no_more_than_the_price(budget, price, target, request):
    df = pd.from_frame(rows(2000), request.node.name, SCHEMA, budget=budget)
    model = learn.DecisionTreeClassifier().fit(df[COLUMNS], df[target], **price)

    assert any(line["what"].startswith("splits") for line in model.bill)
    assert model.score(TEST, TEST[target]) > (0.7 if target == "kind" else 0.6)
    spent = pj.consumed_privacy_budget()[request.node.name]
    if isinstance(budget, pj.ApproxDP):
        spent, delta = spent
        assert delta == 0  # noisy max and Laplace noise
    most = price.get("rho") or (price["eps"] if not isinstance(budget, pj.ZCDP) else float(learn.rho_for(1, 1e-5)))
    assert 0.9 * most < spent <= most


@pytest.mark.parametrize("eps", [0.5, 50])
def test_a_delta_never_adds_noise(eps):
    """With δ a tree has the splits and levels of pure ε; Gaussian noise comes in where it is the smaller one."""
    pure, both = Spending(Fraction(eps)), Spending(Fraction(eps), Fraction(1, 10**5))
    for number in (1, 5, 30, 200):
        laplace = pure.deviation_of_all(number, 0.2)
        assert both.deviation_of_all(number, 0.2) <= laplace
        assert (both.deviation_of_all(number, 0.2) < laplace) == (number >= 30)
    assert both.of_choice(0.5) == pure.of_choice(0.5)


def test_few_vectors_get_laplace_noise_and_many_gaussian_noise_under_eps_and_delta(request):
    budget = pj.ApproxDP(1, 1e-5)
    df = pd.from_frame(rows(1000), request.node.name, SCHEMA, budget=budget)
    few = learn.RandomForestClassifier(2, 3).fit(df[COLUMNS], df["kind"], eps=0.5, delta=5e-6)
    many = learn.RandomForestClassifier(40, 3).fit(df[COLUMNS], df["kind"], eps=0.5, delta=5e-6)
    assert "Laplace" in repr(few.bill) and "Gaussian" in repr(many.bill)
    assert pj.consumed_privacy_budget()[request.node.name] == pytest.approx((1, 5e-6))


def test_all_splits_of_a_leaf_need_one_sum_for_each_column(request):
    df = pd.from_frame(rows(50), request.node.name, SCHEMA, budget=1)
    value, _ = _value(df, "three")
    seen: set[Value] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        todo += [x for x in each.inputs if x not in seen]
        seen.add(each)
    assert sum(isinstance(each, Tally) for each in seen) == len(COLUMNS) * 2  # two classes besides the first


def test_scores_are_what_they_say(request):
    """Against the plain sums, for every split and class."""
    given = rows(60)
    df = pd.from_frame(given, request.node.name, SCHEMA, budget=10**6)
    value, tests = _value(df, "three")
    bins = {each: trees.bins_of(each, df[each]._expr, 4) for each in COLUMNS}
    expected = []
    for label, share in (("q", 19 / 64), ("r", 13 / 64)):
        more = (given["three"] == label) - share
        expected += [abs(more[numpy.isin(bins[name].codes(given[name]), left)].sum()) for name, left in tests]
    assert release([Query(value, Laplace(10**6))])[0] == pytest.approx(expected, abs=0.01)


def test_the_depth_follows_from_the_number_of_rows(request):
    depths = []
    for n in (40, 400, 40_000):
        df = pd.from_frame(rows(n), f"{request.node.name} {n}", SCHEMA, budget=1)
        model = learn.DecisionTreeClassifier(max_depth=5).fit(df[COLUMNS], df["kind"], eps=0.5)
        depths.append(sum(line["what"].startswith("counts, level") for line in model.bill) - 1)
    assert depths[0] <= 1 and depths == sorted(depths) and depths[-1] > depths[0]


def test_one_row_moves_a_score_by_less_than_one():
    """The claim of ``scores``, against every table with one row less."""
    given = rows(25)
    whole = _scores(given, "whole")
    for i in range(len(given)):
        away = numpy.abs(numpy.array(_scores(given.drop(index=i), f"without {i}")) - whole)
        assert away.max() < 1


def _scores(given: pandas.DataFrame, name: str) -> list[float]:
    df = pd.from_frame(given, f"scores {name}", SCHEMA, budget=10**6)
    value, _ = _value(df, "kind", (0.3, 0.7))
    assert value.joint.linf < 1
    return release([Query(value, Laplace(10**6))])[0]


def _value(df, target: str, chances=(0.5, 0.3, 0.2)) -> tuple[Value, list]:
    bins = {each: trees.bins_of(each, df[each]._expr, 4) for each in COLUMNS}
    keys = {each: bins[each].key(df[each]._expr) for each in COLUMNS}
    tests = list(trees.candidates(bins))
    return trees.scores(df._rows, keys, df[target]._expr, tests, numpy.array(chances)), tests


@pytest.mark.parametrize("target", ["old", "few"])
def test_classes_may_be_true_and_false_or_small_numbers(target, request):
    schema = {**SCHEMA, "few": {"type": "Int64", "range": [0, 2]}}
    made = rows(1500).assign(few=lambda t: t["ward"].map({"x": 0, "y": 1, "z": 2}))
    df = pd.from_frame(made, request.node.name, schema, budget=1)
    columns = [each for each in COLUMNS if each != target]
    model = learn.DecisionTreeClassifier().fit(df[columns], df[target], eps=1)
    assert model.score(made, made[target]) > (0.4 if target == "old" else 0.6)


def test_columns_that_cannot_be_split_give_the_share_of_each_class(request):
    schema = {"one": {"type": "category", "categories": ["a"], "fill": "a"}, "kind": SCHEMA["kind"]}
    df = pd.from_frame(rows(300).assign(one="a")[["one", "kind"]], request.node.name, schema, budget=1)
    model = learn.DecisionTreeClassifier().fit(df[["one"]], df["kind"], eps=1)
    assert not model.tree_.splits and model.predict_proba(pandas.DataFrame({"one": ["a"]})).sum() == pytest.approx(1)
