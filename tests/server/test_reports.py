"""What was spent reads the same in process, through a jail, and in the curator's views, for every notion."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.budget.notions import NOTIONS, Cost, Loss, name_of, unlimited
from privjail.curator.cli.root import app
from privjail.errors import BudgetExceeded

from .wire_fixtures import SCHEMA, Held, as_csv, connected, make_jail, people, served

BUDGETS: dict[str, tuple[Any, ...]] = {
    "pure": (3,), "approx": (3, Fraction(1, 10**6)), "zcdp": (2,), "renyi": (3, Fraction(1, 10**6)),
}  # fmt: skip


def program(**opened: Any) -> tuple[list[Any], str]:
    """What is reported before and after each release, and what is said when the budget does not suffice."""
    df = pd.read_csv("people", **opened)
    reports = [pj.consumed_privacy_budget()]
    for eps in (0.25, 0.1, Fraction(1, 3)):
        df[df["age"] > 17].shape[0].reveal(eps=eps)
        reports.append(pj.consumed_privacy_budget())
    with pytest.raises(BudgetExceeded) as refused:
        df.shape[0].reveal(eps=100)
    return reports, str(refused.value)


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jail of this process that has spent nothing, and the data set under the same name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people").write_text(as_csv(people()))
    session.jail.cache_clear()


def test_every_notion_has_a_budget_here() -> None:
    assert set(BUDGETS) == set(NOTIONS)


@pytest.mark.parametrize("name", NOTIONS)
def test_a_spend_reads_the_same_in_process_and_through_a_jail(name: str, in_process: None, tmp_path: Path) -> None:
    here, said_here = program(schema=SCHEMA, budget=NOTIONS[name](*BUDGETS[name]))
    path = tmp_path / "jail"
    files = make_jail(path, {"people": Held(people(), notion=name, budget=BUDGETS[name])})
    with served(path) as running:
        session._connection = connected(running, files["ann"])
        try:
            there, said_there = program()
        finally:
            pj.disconnect()
    shown = CliRunner().invoke(app, ["budget", "--json", "--jail", str(path)])
    rows = {row["scope"]: row for row in json.loads(shown.stdout)}

    assert here == there
    assert here[-1]["people"] != here[0]["people"]
    last = here[-1]["people"]
    spelled = ", ".join(f"{x:.10g}" for x in (last if isinstance(last, tuple) else (last,)))
    limit = ", ".join(f"{float(x):.10g}" for x in BUDGETS[name])
    assert {(row["spent_words"], row["limit_words"]) for row in rows.values()} == {(spelled, limit)}
    assert f"limit of {limit};" in said_here and f"({limit});" in said_there


def test_a_renyi_spend_is_an_epsilon_and_a_delta() -> None:
    """Mironov 2017, prop. 3: divergence D at order α is (D + log(1/δ)/(α - 1), δ)."""
    notion = NOTIONS["renyi"](3, Fraction(1, 10**6))
    order, delta = notion.parameters()
    spent: Cost = (Fraction(107, 1000),)

    eps, shown_delta = notion.report(spent)

    assert eps == pytest.approx(0.107 + math.log(1e6) / (float(order) - 1)) and shown_delta == float(delta) == 1e-6


@pytest.mark.parametrize("name", NOTIONS)
def test_a_notion_without_its_limit_reports_and_prices_the_same(name: str) -> None:
    notion = NOTIONS[name](*BUDGETS[name])
    known = unlimited(name_of(notion), notion.parameters())
    loss = Loss(pure=Fraction(1, 3))

    assert known.limit is None and not known.exceeds(tuple(10**6 for _ in notion.zero()))
    assert known.cost(loss) == notion.cost(loss)
    assert known.report(known.cost(loss)) == notion.report(notion.cost(loss))
