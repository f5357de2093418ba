"""Certificates: what a release writes down about itself, in process and over the wire."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.mechanisms.laplace import Laplace
from privjail.plan.node_table import NodeTable
from privjail.release import Query
from privjail.verify.certificate import HOLE, of, schema_hash
from privjail.verify.checker import check
from tests.server.wire_fixtures import Held, connected, make_jail, people, quick_folder, served

from .test_audit import command

SCHEMA: dict[str, Any] = {
    "age": {"type": "Int64", "range": [0, 120]},
    "city": {"type": "category", "categories": ["Kobe", "Nara"]},
    "note": {"type": "string"},
}
SECRET = "a-secret-that-only-the-data-holds"


@pytest.fixture
def df() -> Any:
    frame = pandas.DataFrame({"age": [30, 77, 113], "city": ["Kobe", "Nara", "Nara"], "note": [SECRET, "b", None]})
    return pd.from_frame(frame, "people", SCHEMA)


def test_nothing_is_kept_unless_asked_for(df: Any) -> None:
    df.shape[0].reveal(eps=1)

    assert session.witnesses == []


def test_each_release_has_its_certificate(df: Any) -> None:
    with pj.certify() as certificates:
        df.shape[0].reveal(eps=1)
        pj.noisy_max(df["city"].value_counts(sort=False), eps=1)
        df["age"].mean(eps=1)

    assert len(certificates) == 4  # a mean is two releases
    assert {check(c).verdict for c in certificates.all} == {"ok"}
    assert certificates.last["release"]["mechanism"]["kind"] == "laplace"
    assert session.witnesses == []


def test_a_refused_release_has_none(df: Any) -> None:
    with pj.certify() as certificates, pytest.raises(pj.DPError):
        df["age"].astype("Float64").log().sum().reveal(eps=1)

    assert len(certificates) == 0
    with pytest.raises(pj.DPError, match="nothing was released"):
        certificates.last  # noqa: B018


def test_no_value_of_the_data_is_in_it(df: Any, tmp_path: Path) -> None:
    """The same program on other data gives the same certificates, to the letter."""
    other = pd.from_frame(pandas.DataFrame({"age": [], "city": [], "note": []}, dtype=object), "people", SCHEMA)
    told = []
    for table in (df, other):
        with pj.certify() as certificates:
            table[table["note"].str.contains("b")]["age"].sum().reveal(eps=1)
            table["city"].value_counts(sort=False).reveal(eps=1)
        told.append(json.dumps(certificates.all))

    assert told[0] == told[1]
    assert SECRET not in told[0] and "113" not in told[0] and "answer" not in told[0]


def test_files_and_the_command(df: Any, tmp_path: Path) -> None:
    with pj.certify(tmp_path / "out"):
        df.shape[0].reveal(eps=1)
        df["age"].head(5).sum().reveal(eps=0.5)
    files = sorted((tmp_path / "out").iterdir())

    assert [f.name for f in files] == ["0001-laplace.json", "0002-laplace.json"]
    assert all(f.stat().st_size < 10_000 for f in files)
    good = command("check", *map(str, files), cwd=tmp_path)
    made = json.loads(files[1].read_text())
    made["release"]["noise"]["sensitivity"] = "1"
    files[1].write_text(json.dumps(made))
    bad = command("check", *map(str, files), "--json", cwd=tmp_path)
    files[0].write_text("nothing")
    none = command("check", str(files[0]), cwd=tmp_path)

    assert good.returncode == 0, good.stdout + good.stderr
    assert good.stdout.count("ok") == 2
    assert bad.returncode == 1 and [line["verdict"] for line in json.loads(bad.stdout)] == ["ok", "refuted"]
    assert none.returncode == 1 and "no certificate" in none.stderr


def test_the_schema_hash_tells_schemas_apart(df: Any) -> None:
    with pj.certify() as certificates:
        df.shape[0].reveal(eps=1)
    told = certificates.last["data sets"][0]
    public = {"columns": told["columns"], "unit": told["unit"]}

    assert told["schema"] == schema_hash(public)
    assert schema_hash({**public, "unit": ["age", 2]}) != told["schema"]


@pytest.mark.parametrize("notion", ["pure", "approx", "zcdp", "renyi"])
def test_over_the_wire(notion: str) -> None:
    """The client writes them, since it holds the plan."""
    budget = (1000,) if notion in ("pure", "zcdp") else (1000, 0.01)
    with quick_folder() as folder:
        files = make_jail(folder / "jail", {"people": Held(people(), notion=notion, budget=budget)})
        with served(folder / "jail") as running:
            session._connection = connected(running, files["ann"])
            try:
                df = pd.read_csv("people")
                with pj.certify() as certificates:
                    df[df["city"] == "Kobe"].shape[0].reveal(eps=1)
            finally:
                session.disconnect()
    report = check(certificates.last)

    assert report.verdict == "ok", report.problems


def test_a_certificate_made_again_is_the_same_and_text_of_a_program_is_no_part_of_its_form(
    df: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said of a node is kept as text, with holes for the numbers of its inputs: also where little is kept."""
    odd = df[df["note"].isin([HOLE, '"]}}', "\\"])]
    query = Query((odd["age"] * 2).sum()._value, Laplace(Fraction(1)))
    first, again = of(query), of(query)
    first["nodes"][0]["claims"].clear()
    assert of(query) == again != first
    assert check(again).verdict == "ok" and HOLE in json.dumps(again).replace('\\"', '"')
    for name, most in (("MOST_TEXTS", 1), ("LONGEST_TEXT", 10)):
        monkeypatch.setattr(f"privjail.verify.certificate.{name}", most)
        monkeypatch.setattr("privjail.verify.certificate._TEXTS", NodeTable())
        assert of(query) == again
