"""Populations in the console: one account for several tables, shown, limited and frozen where it pays."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail import session
from privjail import pandas as pd
from privjail.curator import house_rules
from privjail.errors import BudgetExceeded, PlanError
from privjail.server.ledger.rules import Rule
from tests.server.jails import serving
from tests.server.test_population import furnished

from .served import Person, add, console


def test_pages_limits_and_freezing_of_a_population(tmp_path):
    folder = furnished(tmp_path)
    token = add(folder, "maria")
    for wrong in (
        lambda: house_rules.freeze(folder, "stays", "x"),
        lambda: house_rules.set_rule(folder, "stays", Rule()),
    ):
        with pytest.raises(PlanError, match="a table of the population 'hospital'"):
            wrong()
    with serving(tmp_path):
        session.connect(tmp_path / "ann.privjail")
        try:
            stays = pd.read_csv("patients")
            stays.shape[0].reveal(eps=0.5)
            house_rules.set_rule(folder, "hospital", Rule(per_request=Fraction(1, 10), noise=Fraction(2)))
            with pytest.raises(BudgetExceeded, match="at most 0.1|must have noise"):
                stays.shape[0].reveal(eps=0.7)
            stays.shape[0].reveal(eps=0.1)
            house_rules.freeze(folder, "hospital", "a test")
            with pytest.raises(PlanError, match="'hospital' is frozen"):
                stays.shape[0].reveal(eps=0.1)
        finally:
            session.disconnect()
    with console(tmp_path / "jail") as url:
        maria = Person(url, token)
        for path in ("/", "/people", "/log", "/epsilon", "/data/hospital", "/data/stays", "/requests"):
            answer = maria.get(path)
            assert answer.status_code == 200, path
        shown = maria.get("/data/hospital").text
        assert "0.6</strong> of 3 spent" in shown and "frozen: a test" in shown
