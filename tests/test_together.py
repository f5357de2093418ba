"""Statistics of several releases: all of one is charged, or nothing, and it is one request."""

from __future__ import annotations

import warnings

import pytest

import privjail as pj
from privjail import learn, session, together
from privjail import pandas as pd
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.release import Query
from tests.pandas.seen import opened, random_frame
from tests.pandas.test_aggregate import COSTS

MORE = {
    "medians": lambda d, e: d[["i", "j", "x"]].median(eps=e),
    "extremes": lambda d, e: d[["i", "x"]].max(eps=e),
    "deviations": lambda d, e: d.groupby("c")[["i", "x"]].std(eps=e),
    "describe": lambda d, e: d[["i", "j", "x"]].describe(eps=e),
    "histograms": lambda d, e: d[["i", "j"]].hist(bins=3, eps=e),
    "tree": lambda d, e: learn.DecisionTreeClassifier(max_depth=3).fit(d[["i", "j"]], d["c"], eps=e),
    "clusters": lambda d, e: learn.KMeans(n_clusters=2).fit(d[["i", "j"]], eps=e),
    "additive": lambda d, e: learn.AdditiveClassifier(rounds=3).fit(d[["i", "j"]], d["b"], eps=e),
}
ALL = COSTS | MORE
#: calls in which a later part is refused for another reason than the budget
UNFIT = {
    "agg of a column without bounds": lambda d, e: d.agg({"i": "mean", "t": "mean"}, eps=e),
    "agg of groups": lambda d, e: d.groupby("c").agg({"i": "mean", "t": "max"}, eps=e),
    "pivot": lambda d, e: d.pivot_table(["i", "t"], index="c", eps=e),
    "margins of two columns": lambda d, e: d.pivot_table(["i", "x"], index="c", columns="k", margins=True, eps=e),
    "too few labels": lambda d, e: pd.qcut(d["x"], 4, labels=["a", "b"], eps=e),
    "equal labels": lambda d, e: pd.qcut(d["x"], 2, labels=["a", "a"], eps=e),
    "labels that are none": lambda d, e: pd.qcut(d["x"], 2, labels=[object(), "a"], eps=e),
    "labels in a text": lambda d, e: pd.qcut(d["x"], 2, labels="ab", eps=e),
}


def spent(table) -> float:
    return pj.consumed_privacy_budget()[table._rows.base.dataset.name]


@pytest.mark.parametrize("name", ALL)
def test_what_the_budget_does_not_reach_for_costs_nothing(name):
    table = opened(random_frame(1), budget=1)
    asked = len(pj.history())
    with pytest.raises(pj.BudgetExceeded, match="nothing was charged"):
        ALL[name](table, 1.5)
    assert spent(table) == 0 and len(pj.history()) == asked
    ALL[name](table, 1)
    assert (0.3 if name in ("additive", "tree") else 0.99) < spent(table) <= 1  # some models may be done early


@pytest.mark.parametrize("name", UNFIT)
def test_what_is_refused_for_another_reason_costs_nothing(name):
    table = opened(random_frame(1), budget=1)
    table["t"] = table["i"].astype("str")
    with pytest.raises(pj.DPError):
        UNFIT[name](table, 0.5)
    assert spent(table) == 0


def test_several_releases_are_one_request_and_several_lines_of_history(monkeypatch):
    table, requests, asked = opened(random_frame(1), budget=1), [], len(pj.history())
    send = session.answered
    monkeypatch.setattr(session, "answered", lambda asks: requests.append(len(asks)) or send(asks))
    found = table.groupby("c").agg({"i": ["mean", "median"], "x": "sum"}, eps=1)
    assert len(requests) == 1 and requests[0] > 3
    history = pj.history().iloc[asked:]
    assert len(history) > 3 and history["answer"].notna().all()
    assert found.notna().all(axis=None)


def test_more_than_fits_into_one_request_is_priced_first(monkeypatch):
    monkeypatch.setattr(together, "MOST_ASKS", 5)
    table = opened(random_frame(1), budget=1)
    with pytest.raises(pj.BudgetExceeded, match="nothing was charged"):
        table[["i", "j", "x"]].describe(eps=1.5)
    assert spent(table) == 0
    table[["i", "j", "x"]].describe(eps=1)
    assert spent(table) == 1


def test_a_draft_warns_of_nothing_and_the_run_warns_once():
    table = opened(random_frame(1), budget=1)
    table["open"] = table["i"].astype("str").astype("Float64")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        table[["i", "open"]].median(eps=1)
    assert len([w for w in seen if "leaves out open" in str(w.message)]) == 1


def test_a_function_that_asks_by_its_answers_is_not_answered_wrongly():
    table = opened(random_frame(1), budget=1)
    count = Tally(table._rows, (), None)

    def by_answer():
        first = session.release([Query(count, Laplace(1))])[0]
        return session.release([Query(count, Laplace(2 if first == 1.0 else 3))])

    with pytest.raises(pj.DPError):
        together.at_once(by_answer)


def test_a_rehearsal_prices_the_same():
    table = opened(random_frame(1), budget=1)
    with pj.rehearsal() as bill:
        table[["i", "x"]].describe(eps=0.5)
        with pytest.raises(pj.BudgetExceeded):
            table[["i", "x"]].median(eps=0.6)
        learn.DecisionTreeClassifier(max_depth=2).fit(table[["i", "j"]], table["c"], eps=0.25)
        with pytest.raises(pj.BudgetExceeded, match="nothing was charged"):
            learn.DecisionTreeClassifier(max_depth=2).fit(table[["i", "j"]], table["c"], eps=0.3)
    total = bill.total[table._rows.base.dataset.name]
    assert 0.75 - 1e-6 < total <= 0.75 and spent(table) == 0


def test_a_check_of_the_ledger_spends_nothing():
    table = opened(random_frame(1), budget=1)
    ask = Query(Tally(table._rows, (), None), Laplace(1))
    session.reserve([ask])
    assert spent(table) == 0
    with pytest.raises(pj.BudgetExceeded):
        session.reserve([ask, ask])
    assert spent(table) == 0
