"""A population in a jail: its tables are granted and paid together, joined by their persons, and closed one by one."""

from __future__ import annotations

import json
import subprocess

import pytest

from privjail import session
from privjail import pandas as pd
from privjail.curator.folder import JailFolder
from privjail.curator.views import budgets
from privjail.errors import BudgetExceeded, DPError, PlanError, SchemaError

from .jails import ENV, PRIVJAIL, Served, free_port

PATIENTS = "patient,sex\n1,F\n2,M\n3,F\n"
STAYS = "stay,patient,cost\n10,1,5\n11,1,7\n12,2,1\n13,9,3\n"
NOTES = "stay,code\n10,x\n11,y\n12,x\n99,x\n"
SCHEMAS = {
    "patients": {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}},
    "stays": {
        "stay": {"type": "Int64"},
        "patient": {"type": "Int64"},
        "cost": {"type": "Int64", "range": [0, 10]},
    },
    "notes": {"stay": {"type": "Int64"}, "code": {"type": "category", "categories": ["x", "y"]}},
}


def furnished(where):
    """A jail with a population of three tables, and one user who may spend 2."""
    for name, text in (("patients", PATIENTS), ("stays", STAYS), ("notes", NOTES)):
        (where / f"{name}.csv").write_text(text, encoding="utf-8")
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    folder.add_population("hospital", [3], "pure")
    folder.add_table("patients", file(where, "patients"), SCHEMAS["patients"], "hospital", ("patient", 1), [], [])
    folder.add_table("stays", file(where, "stays"), SCHEMAS["stays"], "hospital", ("patient", None), ["stay"], [])
    folder.add_table("notes", file(where, "notes"), SCHEMAS["notes"], "hospital", (None, None), [], ["stay=stays.stay"])
    made = folder.add_user("ann", 30) | {"insecure_loopback": True}
    (where / "ann.privjail").write_text(json.dumps(made), encoding="utf-8")
    folder.grant("ann", "hospital", [2], False, None)
    return folder


def cli(arguments):
    """What a curator's command says; it must succeed."""
    done = subprocess.run([*PRIVJAIL, *arguments], capture_output=True, text=True, env=ENV, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def file(where, name):
    return str(where / f"{name}.csv")


def test_the_tables_of_a_population_are_served_with_one_budget(tmp_path):
    folder = furnished(tmp_path)
    jail = Served(tmp_path).start()
    try:
        session.connect(tmp_path / "ann.privjail")
        patients, stays, notes = (pd.read_csv(name) for name in ("patients", "stays", "notes"))
        assert list(notes.columns) == ["stay", "code", "patient"]
        joined = stays.merge(patients, on="patient")
        per_person = joined.groupby("patient").agg(sex=("sex", "first"), total=("cost", "sum"))
        per_person["total"].clip(0, 20).sum().reveal(eps=0.5)
        assert session.consumed_privacy_budget() == {"hospital": 0.5}
        women = notes.merge(stays, on="stay").merge(patients, on="patient")
        women[women["sex"] == "F"].groupby("patient").size().clip(0, 9).sum().reveal(eps=0.5)
        patients[patients["sex"] == "M"].shape[0].reveal(eps=0.5)
        assert session.consumed_privacy_budget() == {"hospital": 1.0}
        with pytest.raises(BudgetExceeded):
            notes.groupby("patient").head(1).shape[0].reveal(eps=1.5)
        with pytest.raises(PlanError, match="is a population"):
            pd.read_csv("hospital")
        folder.remove_dataset("patients")
        with pytest.raises(PlanError, match="no data set 'patients'"):
            per_person["total"].clip(0, 20).sum().reveal(eps=0.1)
        assert session.consumed_privacy_budget() == {"hospital": 1.0}
    finally:
        session.disconnect()
        jail.stop()


def test_what_a_curator_may_not_do(tmp_path):
    folder = furnished(tmp_path)
    for act in (
        lambda: folder.grant("ann", "stays", [1], False, None),
        lambda: folder.raise_budget("stays", [9], "why not"),
        lambda: folder.add_table("more", file(tmp_path, "notes"), {}, "stays", ("stay", None), [], []),
        lambda: folder.add_table("stays", file(tmp_path, "stays"), {}, "hospital", ("patient", None), [], []),
        lambda: folder.add_population("stays", [1], "pure"),
    ):
        with pytest.raises(DPError):
            act()
    with pytest.raises(SchemaError, match="points to no table"):
        folder.add_table("more", file(tmp_path, "notes"), {}, "hospital", (None, None), [], ["stay=other.stay"])
    (tmp_path / "twice.csv").write_text("stay,patient\n1,1\n1,2\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="more than one person"):
        folder.add_table("twice", file(tmp_path, "twice"), {}, "hospital", ("patient", None), ["stay"], [])


def test_the_commands(tmp_path):
    furnished(tmp_path)
    where = ["--jail", str(tmp_path / "jail")]
    said = cli(["population", "add", "customers", "--budget", "1.0", *where])
    assert "population customers" in said
    orders = tmp_path / "orders.csv"
    orders.write_text("customer,order\n1,1\n", encoding="utf-8")
    said = cli(["dataset", "add", "orders", str(orders), "--population", "customers", "--person", "customer",
                "--key", "order", "--overlap-reason", "customers have numbers of their own", *where])  # fmt: skip
    assert "a table of the population customers" in said
    assert "customers" in cli(["dataset", "list", *where])


def test_the_budget_of_a_table_is_that_of_its_population(tmp_path):
    state = furnished(tmp_path).state
    accounts = [("hospital", "dataset"), ("hospital", "user")]
    assert [(b.dataset, b.scope) for b in budgets(state)] == accounts, "tables have no account of their own"
    assert [(b.dataset, b.scope) for b in budgets(state, "stays")] == accounts
