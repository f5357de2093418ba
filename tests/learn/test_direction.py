"""Few rows for many columns: one bound on the length of rows, in place of a price for each column."""

from __future__ import annotations

import numpy
import pytest

import pandas
import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.learn import additive, scaler
from privjail.learn.direction import line
from privjail.learn.lengths import bound_of, summed
from privjail.learn.spending import Spending
from privjail.verify.checker import check

NAMES = [f"x{i}" for i in range(24)]
SCHEMA = {name: {"type": "Float64", "range": [0, 10]} for name in NAMES}
SCHEMA |= {
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "kind": {"type": "category", "categories": ["no", "yes"]},
}
PRICES = [
    (pj.PureDP(1), {"eps": 1}),
    (pj.ZCDP(0.05), {"rho": 0.05}),
    (pj.ApproxDP(1, 1e-5), {"eps": 1, "delta": 1e-5}),
]
NOTIONS = ["pure", "rho", "eps and delta"]


def rows(n: int, seed: int = 0) -> pandas.DataFrame:
    """Each number tells a little about the class, and so does the ward; numbers lie at 2 of 10, 1 apart."""
    dice = numpy.random.default_rng(seed)
    yes = dice.random(n) < 0.6
    shift = numpy.linspace(-0.7, 0.7, len(NAMES))
    values = numpy.clip(2 + numpy.outer(2 * yes - 1, shift) + dice.normal(0, 1, (n, len(NAMES))), 0, 10)
    ward = numpy.where(dice.random(n) < 0.5, numpy.where(yes, "a", "b"), "c")
    return pandas.DataFrame(values, columns=NAMES).assign(ward=ward, kind=numpy.where(yes, "yes", "no"))


TEST = rows(3000, 9)


@pytest.mark.parametrize(("budget", "price"), PRICES, ids=NOTIONS)
def test_a_direction_is_found_in_few_rows_for_no_more_than_the_price(budget, price, request):
    df = pd.from_frame(rows(700), request.node.name, SCHEMA, budget=budget)
    model = learn.LogisticRegression().fit(df[[*NAMES, "ward"]], df["kind"], **price)

    assert [line["what"] for line in model.bill] == [
        "rows", "rows and mean by class", "rows by length", "direction", "curve",
    ]  # fmt: skip
    assert model.score(TEST, TEST["kind"]) > 0.85
    chances = model.predict_proba(TEST)[:, 1]
    right = (TEST["kind"] == "yes").to_numpy()
    assert chances[right].mean() > 0.6 > 0.5 > chances[~right].mean()
    assert [check(each).verdict for each in model.certificate] == ["ok"] * sum(line["values"] for line in model.bill)
    spent = pj.consumed_privacy_budget()[request.node.name]
    wanted = price.get("rho", price.get("eps"))
    assert 0.9 * wanted < (spent[0] if "delta" in price else spent) <= wanted


def test_many_rows_get_tables(request):
    df = pd.from_frame(rows(700), request.node.name, SCHEMA, budget=pj.PureDP(300))
    some = df[NAMES[-4:]]
    assert "direction" not in repr(learn.LogisticRegression().fit(some, df["kind"], eps=100).bill)
    assert "direction" not in repr(learn.LogisticRegression(rounds=1).fit(some, df["kind"], eps=1).bill)
    assert "direction" in repr(learn.LogisticRegression().fit(df[NAMES], df["kind"], eps=0.3).bill)


def test_missing_values_and_categories_alone_are_fitted(request, monkeypatch):
    monkeypatch.setattr(additive, "FEW", 0)
    gaps = rows(400).assign(x0=lambda t: t["x0"].where(t["x1"] > 2))
    df = pd.from_frame(gaps, request.node.name, SCHEMA, budget=4)
    model = learn.LogisticRegression().fit(df[["x0", "ward"]], df["kind"], eps=0.5)
    assert "direction" in repr(model.bill) and len(model.coef_["x0"]) == model.bins_["x0"].known + 1
    assert model.coef_["x0"][-1] == 0  # a missing number counts as the middle
    alone = learn.LogisticRegression().fit(df[["ward"]], df["kind"], eps=0.4)
    assert "direction" in repr(alone.bill) and set(alone.predict(TEST)) <= {"no", "yes"}


@pytest.mark.parametrize("price", [{"eps": 1}, {"rho": 0.1}], ids=["pure", "rho"])
def test_the_bound_is_exceeded_by_about_as_many_rows_as_the_rule_says(price, request):
    """And the noise of the sums is that of the bound, not of the public ranges."""
    given = rows(4000)
    df = pd.from_frame(given, request.node.name, SCHEMA, budget=pj.PureDP(2) if "eps" in price else pj.ZCDP(2))
    spending = Spending.of(price.get("eps"), None, price.get("rho"), df._rows)
    array = df[NAMES].to_numpy()
    order = 1 if "eps" in price else 2
    bound = bound_of(array, spending, 0.1, 0.5, "lengths")
    lengths = numpy.linalg.norm(given[NAMES].to_numpy(), ord=order, axis=1)
    wanted = spending.deviation(0.5) * len(NAMES) ** (1 / order)
    assert (lengths > bound * 1.16).sum() <= wanted * 1.5 + 50
    assert (lengths > bound / 1.16).sum() >= wanted / 1.5 - 50
    assert bound < array.row_norm(order)
    sums, noise = summed(array, bound, spending, 0.5, "sums")
    assert noise == pytest.approx(spending.deviation(0.5) * bound)
    scale = numpy.minimum(1, bound / lengths)[:, None]
    assert numpy.abs(sums - (given[NAMES].to_numpy() * scale).sum(axis=0)).max() < 8 * noise


def test_a_line_has_even_odds_where_classes_part():
    edges = numpy.linspace(-4, 4, 33)
    middle = (edges[1:] + edges[:-1]) / 2
    chance = 1 / (1 + numpy.exp(-2 * (middle - 1)))
    counts = 1000 * numpy.column_stack([1 - chance, chance])
    intercept, slope = line(edges, counts, 1.0)
    assert slope == pytest.approx(2, rel=0.05) and -intercept / slope == pytest.approx(1, abs=0.13)
    assert numpy.isfinite(line(edges, -counts, 1.0)).all()  # noise alone


def errors_of_scales(given, name, budget, price):
    """How far the scales of three fits are from the truth (in logarithms): the middle one, and the last model."""
    errors = []
    for i in range(3):
        df = pd.from_frame(given, f"{name} {i}", SCHEMA, budget=budget)
        model = learn.StandardScaler().fit(df[NAMES], **price)
        errors.append(float(numpy.abs(numpy.log(model.scale_ / given[NAMES].std())).mean()))
    return sorted(errors)[1], model


@pytest.mark.parametrize(("budget", "price"), PRICES, ids=NOTIONS)
def test_a_scaler_of_many_columns_pays_for_the_length_of_rows(budget, price, request, monkeypatch):
    given = rows(700)
    truth = given[NAMES]
    error, model = errors_of_scales(given, request.node.name, budget, price)

    assert numpy.abs((model.mean_ - truth.mean()) / truth.std()).mean() < 1.5
    assert error < 1
    assert [check(each).verdict for each in model.certificate] == ["ok"] * sum(line["values"] for line in model.bill)
    spent = pj.consumed_privacy_budget()[f"{request.node.name} 2"]
    wanted = price.get("rho", price.get("eps"))
    assert 0.9 * wanted < (spent[0] if "delta" in price else spent) <= wanted
    monkeypatch.setattr(scaler, "MANY", 1000)
    assert errors_of_scales(given, f"{request.node.name} again", budget, price)[0] > error


def test_a_bound_is_not_chosen_from_noise(request):
    """Far above all rows, sums of noise over many bins exceed what is wanted now and then: one bound in eight was chosen so."""
    given = rows(700)
    lengths = numpy.linalg.norm(given[NAMES].to_numpy(), ord=1, axis=1)
    above = 0
    for i in range(60):
        df = pd.from_frame(given, f"{request.node.name} {i}", SCHEMA, budget=1)
        spending = Spending.of(1, None, None, df._rows)
        above += bound_of(df[NAMES].to_numpy(), spending, 0.05, 0.35, "lengths") > 1.3 * lengths.max()
    assert above <= 2


def test_a_scaler_is_refused_before_anything_is_charged(request):
    df = pd.from_frame(rows(100), request.node.name, SCHEMA, budget=1)
    with pytest.raises(pj.errors.DPError, match="nothing was charged"):
        learn.StandardScaler().fit(df[NAMES], eps=1.5)
    assert pj.consumed_privacy_budget()[request.node.name] == 0


def test_noisy_numbers_are_drawn_together_by_as_much_as_is_noise():
    values = numpy.array([1.0, 2.0, 3.0, 6.0])
    same, kept = scaler.drawn_together(values, 0.0)
    assert kept == 1 and same == pytest.approx(values)
    one, kept = scaler.drawn_together(values, 100.0)
    assert kept == 0 and one == pytest.approx(numpy.full(4, 3.0))
    noise = values.var() / 4
    some, kept = scaler.drawn_together(values, float(numpy.sqrt(noise)))
    left = values.var() - noise * (1 + 0.5**0.5)
    assert kept == pytest.approx(left / (left + noise)) and some == pytest.approx(3 + (values - 3) * kept)
