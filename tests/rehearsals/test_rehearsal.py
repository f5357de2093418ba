"""A rehearsal charges nothing, touches no data, and its bill is the real one."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.engines.held import check_held
from privjail.ops.rows.source import Dataset, Unit
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
    UntypedDomain,
)
from privjail.rehearsals.rows import made_up
from privjail.rehearsals.stage import Stage, _frame

SCHEMA = {
    "patient": {"type": "string"},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "admitted": {"type": "datetime", "range": ["2025-01-01", "2025-12-31"]},
    "days": {"type": "Int64", "range": [0, 60]},
    "cost": {"type": "Float64", "range": [0, 20000]},
    "insured": {"type": "boolean"},
}
ROWS = pandas.DataFrame(
    {
        "patient": [f"p{i % 70}" for i in range(300)],
        "sex": ["F", "M", None] * 100,
        "ward": ["a", "b", "a"] * 100,
        "admitted": ["2025-03-04"] * 300,
        "days": [i % 9 for i in range(300)],
        "cost": [float(i) for i in range(300)],
        "insured": [True, False] * 150,
    }
)

#: programs of every kind of release; each takes a table
PROGRAMS: dict[str, Any] = {
    "count": lambda d: d.shape[0].reveal(eps=0.1),
    "filters": lambda d: [d[d["sex"] == s].shape[0].reveal(eps=0.1) for s in ("F", "M")],
    "groups": lambda d: [g["days"].median(eps=0.2) for _, g in d.groupby("ward")],
    "means": lambda d: d.groupby(["ward", "sex"])[["days", "cost"]].mean(eps=0.3),
    "sums": lambda d: d[["days", "cost"]].sum().reveal(eps=0.3),
    "describe": lambda d: d[["days", "cost"]].describe(eps=0.3),
    "choice": lambda d: pj.noisy_max(d["ward"].value_counts(sort=False), eps=0.1),
    "top": lambda d: pj.top_k(d["ward"].value_counts(sort=False), 2, eps=0.1),
    "exponential": lambda d: pj.exponential_mechanism({w: g["cost"].sum() for w, g in d.groupby("ward")}, eps=0.2),
    "threshold": lambda d: pj.above_threshold({w: g.shape[0] for w, g in d.groupby("ward")}, 40, eps=0.2),
    "order": lambda d: d.sort_values("cost").tail(50)["days"].mean(eps=0.2),
    "window": lambda d: d["cost"].rolling(3).mean().mean(eps=0.2),
    "dates": lambda d: d["admitted"].dt.month.value_counts(sort=False).reveal(eps=0.2),
    "crosstab": lambda d: pd.crosstab(d["ward"], d["insured"]).reveal(eps=0.2),
    "text": lambda d: d[d["patient"].str.startswith("p1")].shape[0].reveal(eps=0.2),
    "hist": lambda d: d["cost"].hist(bins=5, eps=0.2),
    "extremes": lambda d: (d["cost"].max(eps=0.2), d["days"].min(eps=0.2)),
    "merge": lambda d: d.merge(pandas.DataFrame({"ward": ["a", "b"], "floor": [1, 2]}), on="ward")["floor"].mean(eps=0.1),
    "limit": lambda d: _limited(d),
}  # fmt: skip


def _limited(d: Any) -> float:
    with pj.budget(0.5):
        return d.shape[0].reveal(eps=0.4)


def opened(name: str, budget: Any = 5) -> pd.PrivDataFrame:
    return pd.from_frame(ROWS, name, SCHEMA, budget=budget)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bill_is_what_the_program_costs(name: str) -> None:
    df = opened(name)
    with pj.rehearsal(rows=500) as bill:
        shown = PROGRAMS[name](df)
    assert pj.consumed_privacy_budget()[name] == 0, "a rehearsal charges nothing"
    before = len(pj.history())
    real = PROGRAMS[name](df)
    assert bill.total[name] == pytest.approx(pj.consumed_privacy_budget()[name], abs=1e-12)
    assert len(bill) == len(pj.history()) - before and type(shown) is type(real)
    assert bill.fits and bill.left[name] == 5


@pytest.mark.parametrize(
    "notion", [pj.ZCDP(2), pj.ApproxDP(2, 1e-6), pj.RenyiDP(3, 1e-6)], ids=["rho", "approx", "renyi"]
)
def test_bills_in_other_notions(notion: Any) -> None:
    name = type(notion).__name__
    df = opened(name, notion)
    price = {"eps": 0.5, "delta": 1e-7} if name == "ApproxDP" else {"rho": 0.125}
    with pj.rehearsal(rows=100) as bill:
        df.shape[0].reveal(**price)
    df.shape[0].reveal(**price)
    assert bill.total[name] == pytest.approx(pj.consumed_privacy_budget()[name])


def test_what_is_over_the_budget_is_refused_in_the_rehearsal_already() -> None:
    df = opened("small", 1)
    df.shape[0].reveal(eps=0.75)
    with pytest.raises(pj.BudgetExceeded), pj.rehearsal() as bill:
        df.shape[0].reveal(eps=0.2)
        df.shape[0].reveal(eps=0.2)
    assert bill.total["small"] == pytest.approx(0.2) and bill.left["small"] == 0.25
    assert pj.consumed_privacy_budget()["small"] == 0.75 and session.rehearsing() is None


def test_the_bill_says_which_line_asked_and_what_error_to_expect() -> None:
    df = opened("lines")
    with pj.rehearsal() as bill:
        for _ in range(3):
            df.shape[0].reveal(eps=0.1)
        df["days"].mean(eps=0.5)
    table = bill.table()
    assert table["program"].tolist() == ["df.shape[0].reveal(eps=0.1)"] * 3 + ['df["days"].mean(eps=0.5)']
    assert table["expected error"].tolist()[0] == df.shape[0].error(eps=0.1)
    assert bill.lines()["releases"].tolist() == [3, 1] and bill.lines()["eps"].sum() == pytest.approx(0.8)
    assert "total for lines: 0.8 of 5 left" in repr(bill) and "<table" in bill._repr_html_()


def test_no_data_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by Python, not by Polars: it may even hold no table at all."""
    path = tmp_path / "stays.csv"
    path.write_bytes(b"\x00\x01 no table")
    touched: list[str] = []

    def watched(event: str, arguments: Any) -> None:
        if event == "open" and str(arguments[0]).endswith("stays.csv"):
            touched.append(event)

    sys.addaudithook(watched)
    import polars

    monkeypatch.setattr(polars, "read_csv", lambda *a, **k: touched.append("polars"))
    with pj.rehearsal() as bill:
        df = pd.read_csv(path, schema=SCHEMA, budget=1)
        df["days"].mean(eps=0.5)
    assert bill.total == {str(path): 0.5} and touched == []
    assert str(path) not in pj.consumed_privacy_budget()
    with builtins.open(path, "rb") as file:  # the watch works
        file.read()
    assert touched


def test_a_file_without_a_schema_has_the_columns_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("age,sex\n1,F\n", encoding="utf-8")
    with pj.rehearsal() as bill:
        df = pd.read_csv(path)
        df["age"].clip(0, 120).mean(eps=0.1)
        with pytest.raises(pj.DPError, match="unbounded"):
            df["age"].mean(eps=0.1)
    assert bill.total == {str(path): 0.1}


DOMAINS = [
    IntDomain(True, 0, 10), IntDomain(False, None, None), IntDomain(True, -(2**63), 2**63 - 1), FloatDomain(True, -1.5, 2.5),
    FloatDomain(False, None, 3.0), FloatDomain(True, -1.7e308, 1.7e308), BoolDomain(True), TextDomain(True),
    UntypedDomain(True), CategoryDomain(True, ("x", "y", "z")), CategoryDomain(False, (1, 2.5)),
    TimeDomain(True, 0, 10**15), TimeDomain(True, None, None), IntDomain(False, 3, 3),
]  # fmt: skip


@pytest.mark.parametrize("unit", [Unit(), Unit("0", 2), Unit("0", None)], ids=str)
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_made_up_rows_fit_every_schema(rows: int, unit: Unit) -> None:
    owner = [TextDomain(True)] if unit.column else []
    columns = tuple((str(i), domain) for i, domain in enumerate([*owner, *DOMAINS]))
    dataset = Dataset("made-up", "made-up", columns, unit)
    check_held(dataset, _frame(dataset, made_up(dataset, rows)))


def test_rows_per_person() -> None:
    with pj.rehearsal(rows=300) as bill:
        df = pd.read_csv("people.csv", schema=SCHEMA, budget=3, unit="patient", max_rows_per_unit=4)
        df["days"].mean(eps=1)
        df.groupby("patient").head(2).shape[0].reveal(eps=1)
    assert bill.total == {"people.csv": 2.0}


def test_a_rehearsal_needs_neither_engine_nor_samplers(tmp_path: Path) -> None:
    """A thin install has no Polars, no Arrow and no OpenDP."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import sys
        for name in ("polars", "pyarrow", "opendp", "typer", "rich", "dp_accounting"):
            sys.modules[name] = None
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *a: None if sys.modules.get(name, 1) is None else find(name, *a)
        import privjail as pj
        from privjail import pandas as pd
        schema = {"ward": {"type": "category", "categories": ["a", "b"]}, "days": {"type": "Int64", "range": [0, 60]}}
        with pj.rehearsal(rows=200) as bill:
            df = pd.read_csv("none.csv", schema=schema, budget=3)
            df.shape[0].reveal(eps=0.1)
            df.groupby("ward")["days"].median(eps=0.5)
            df["days"].mean(eps=0.25)
            pj.noisy_max(df["ward"].value_counts(sort=False), eps=0.1)
        print(bill.total["none.csv"])
        """),
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(0.95)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.mark.parametrize("command", [["privjail.curator", "rehearse"], ["privjail.rehearsals"]], ids=["cli", "module"])
def test_the_command_runs_a_program_and_prints_its_bill(tmp_path: Path, command: list[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom privjail import pandas as pd\n"
        f"df = pd.read_csv('none.csv', schema={SCHEMA!r}, budget=1)\n"
        "df['days'].mean(eps=float(sys.argv[1]))\nassert __name__ == '__main__'\nsys.exit(int(sys.argv[2]))\n",
        encoding="utf-8",
    )
    for eps, code in (("0.5", 0), ("0.25", 3)):
        line = [sys.executable, "-m", *command, "--rows", "200", str(program), eps, str(code)]
        done = subprocess.run(line, capture_output=True, text=True, env=environment())
        assert done.returncode == code, done.stderr
        assert f"total for none.csv: {eps}" in done.stdout and "program.py:4" in done.stdout
    line = [sys.executable, "-m", *command, str(program), "2", "0"]
    done = subprocess.run(line, capture_output=True, text=True, env=environment())
    assert done.returncode == 1 and "BudgetExceeded" in done.stderr and "nothing would be released" not in done.stderr


def test_a_stage_leaves_no_trace_after_an_error() -> None:
    df = opened("trace")
    with pytest.raises(ZeroDivisionError), pj.rehearsal() as bill:
        df.shape[0].reveal(eps=0.5)
        1 / 0  # noqa: B018
    assert session.rehearsing() is None and bill.total == {"trace": 0.5}
    df.shape[0].reveal(eps=0.25)
    assert pj.consumed_privacy_budget()["trace"] == 0.25
    assert isinstance(Stage(10).rows, int)
