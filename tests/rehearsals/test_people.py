"""A rehearsal over a population: its tables are joined, the bill is the population's, and nothing of it is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import privjail as pj
from privjail import pandas as pd

from ..server.jails import Served
from ..server.test_population import SCHEMAS, furnished

# The columns of the served tables stand in other places than here: links must be followed, not be equal by luck.
NOTES = {"code": {"type": "category", "categories": ["x", "y"]}, "stay": {"type": "Int64"}}
STAYS = {"patient": {"type": "Int64"}, "cost": {"type": "Int64", "range": [0, 10]}, "stay": {"type": "Int64"}}


def program(patients: Any, stays: Any, notes: Any) -> list[float]:
    joined = stays.merge(patients, on="patient")
    each = joined.groupby("patient").agg(sex=("sex", "first"), total=("cost", "sum"))
    met = notes.merge(stays, on="stay").merge(patients, on="patient")
    women = met[met["sex"] == "F"].groupby("patient").size()
    few = stays.groupby("patient").head(2)
    return [
        float(answer)
        for answer in (
            each["total"].clip(0, 20).sum().reveal(eps=0.5),
            women.clip(0, 9).sum().reveal(eps=0.5),
            patients[patients["sex"] == "M"].shape[0].reveal(eps=0.5),
            met.groupby("patient").head(1).shape[0].reveal(eps=0.125),
            few[few["patient"].isin(patients["patient"])].shape[0].reveal(eps=0.125),
            pd.concat([few[["cost"]], few[["cost"]]])["cost"].sum().reveal(eps=0.125),
        )
    ]


def opened(people: Any, folder: Path) -> tuple[Any, Any, Any]:
    patients = pd.read_csv(
        folder / "patients.csv", SCHEMAS["patients"], population=people, unit="patient", max_rows_per_unit=1
    )
    stays = pd.read_csv(folder / "stays.csv", STAYS, population=people, unit="patient", key="stay")
    return patients, stays, pd.read_csv(folder / "notes.csv", NOTES, population=people, link="stay=stays.stay")


def test_a_program_over_a_served_population_is_billed_as_it_is_charged(tmp_path: Path) -> None:
    furnished(tmp_path)
    jail = Served(tmp_path).start()
    try:
        pj.connect(tmp_path / "ann.privjail")
        with pj.rehearsal(rows=300) as bill:
            program(*(pd.read_csv(name) for name in ("patients", "stays", "notes")))
        assert pj.consumed_privacy_budget()["hospital"] == 0
        assert bill.left == {"hospital": 2} and bill.fits and len(bill) == 6
        program(*(pd.read_csv(name) for name in ("patients", "stays", "notes")))
        assert pj.consumed_privacy_budget() == bill.total == {"hospital": 1.375}
        with pj.rehearsal(rows=300) as again:
            program(*(pd.read_csv(name) for name in ("patients", "stays", "notes")))
        assert not again.fits and "total for hospital: 1.375 of 0.625 left: TOO MUCH" in repr(again)
    finally:
        pj.disconnect()
        jail.stop()


def test_files_of_a_population_are_not_needed(tmp_path: Path) -> None:
    """Made-up rows have persons in all tables, keys of their own, and links that lead to rows of the same person."""
    with pj.rehearsal(rows=300) as bill:
        found = program(*opened(pj.population("hospital", budget=5), tmp_path))

    assert bill.total == {"hospital": 1.375}
    # About 100, 260 and 200, and 0 where links led nowhere; the noise moves none of them so far.
    assert found[3] > 30, "notes found their stays"
    assert found[1] > 100 and found[4] > 60


def test_a_rehearsal_leaves_the_tables_of_a_population_as_they_are(tmp_path: Path) -> None:
    """A table that is opened after it, and links to one that was open before, has all its rows."""
    (tmp_path / "stays.csv").write_text("patient,cost,stay\n" + "".join(f"{i},1,{i}\n" for i in range(400)))
    (tmp_path / "notes.csv").write_text("code,stay\n" + "".join(f"x,{i}\n" for i in range(400)))
    people = pj.population("hospital", budget=100)
    pd.read_csv(tmp_path / "stays.csv", STAYS, population=people, unit="patient", key="stay")
    with pj.rehearsal(rows=300):
        pd.read_csv(tmp_path / "stays.csv", STAYS, population=people, unit="patient", key="stay")
    notes = pd.read_csv(tmp_path / "notes.csv", NOTES, population=people, link="stay=stays.stay")

    assert notes.groupby("patient").size().shape[0].reveal(eps=50) > 390


def test_what_is_wrong_about_a_table_is_told_in_a_rehearsal(tmp_path: Path) -> None:
    people = pj.population("hospital", budget=5)
    with pj.rehearsal(rows=300):
        try:
            pd.read_csv(tmp_path / "notes.csv", NOTES, population=people, link="stay=stays.stay")
        except pj.DPError as e:
            assert "points to no key" in str(e)
        else:
            raise AssertionError(json.dumps("a link to nowhere was taken"))
