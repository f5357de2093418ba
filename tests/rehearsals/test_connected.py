"""A rehearsal beside a jail: the schema is the jail's, the ledger does not move."""

from __future__ import annotations

from pathlib import Path

import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.rehearsals.run import main

from ..server.jails import make_jail, serving


def program(df: pd.PrivDataFrame) -> None:
    df.shape[0].reveal(eps=0.5)
    df.groupby("sex")["age"].median(eps=0.25)
    pj.noisy_max(df["sex"].value_counts(sort=False), eps=0.125)


def test_the_rehearsal_of_a_connected_program_costs_nothing_and_tells_the_price(tmp_path: Path) -> None:
    make_jail(tmp_path, grant=2)
    with serving(tmp_path):
        pj.connect(tmp_path / "ann.privjail")
        try:
            with pj.rehearsal(rows=300) as inside:
                program(pd.read_csv("census"))
            df = pd.read_csv("census")
            with pj.rehearsal(rows=300) as bill:
                program(df)
                assert pj.consumed_privacy_budget() == {"census": pytest.approx(0.875)}
            assert pj.consumed_privacy_budget()["census"] == 0 and pj.budget_left()["census"] == 2
            program(df)
            assert pj.consumed_privacy_budget()["census"] == bill.total["census"] == inside.total["census"] == 0.875
            assert pj.budget_left()["census"] == 1.125 and bill.left["census"] == 2 and bill.fits
            with pj.rehearsal() as again:
                program(df)
                program(df)
            assert not again.fits and "TOO MUCH" in repr(again)
            answer = df["age"].mean(eps=0.25)
            assert answer.error() > 0 and pj.history()["answer"].iloc[-1] == float(answer)
        finally:
            pj.disconnect()


PROGRAM = """
import sys
import privjail as pj
from privjail import pandas as pd

pj.connect(sys.argv[1])
pd.read_csv("census").shape[0].reveal(eps=3)
pj.disconnect()
"""


def test_the_command_says_that_a_program_costs_more_than_the_jail_has_left(tmp_path: Path, capsys) -> None:
    make_jail(tmp_path, grant=2)
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    with serving(tmp_path):
        assert main([str(tmp_path / "program.py"), str(tmp_path / "ann.privjail")]) == 0
    assert "total for census: 3 of 2 left: TOO MUCH" in capsys.readouterr().out


def test_a_plan_released_after_the_connection_has_ended_is_refused_and_not_charged(tmp_path: Path) -> None:
    make_jail(tmp_path, grant=2)
    (tmp_path / "small.csv").write_text("a\n1\n", encoding="utf-8")
    with serving(tmp_path):
        pj.connect(tmp_path / "ann.privjail")
        count = pd.read_csv("census").shape[0]
        pj.disconnect()
        with pytest.raises(pj.DPError, match="nothing was charged"):
            count.reveal(eps=1)
        with pj.rehearsal():
            rehearsed = pd.read_csv(tmp_path / "small.csv", schema={"a": {"type": "int64", "range": [0, 1]}}).shape[0]
        pj.connect(tmp_path / "ann.privjail")
        try:
            assert pj.budget_left()["census"] == 2
        finally:
            pj.disconnect()
    with pytest.raises(pj.DPError, match="nothing was charged"):
        rehearsed.reveal(eps=1)
