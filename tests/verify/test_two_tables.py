"""The checker on rows that are made from two tables: true claims pass, each claim made smaller is refuted."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from privjail.budget.notions import PureDP
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.slice import Slice
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.verify import certificate
from privjail.verify.checker import check
from tests.ops.people import NOTES, PATIENTS, STAYS

from .test_forged import signed


def made(value: Tally) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(certificate.of(Query(value, Laplace(Fraction(1))), {STAYS.source.cells[0]: PureDP()}))
    )
    return found


def join(how: str = "left") -> dict[str, Any]:
    """Two stays of each person, each with her notes; a sum over the pairs."""
    heads = GroupHead(STAYS.source, STAYS.column("who"), 2)
    pairs = Pairs(heads, (heads.owner(),), NOTES.source, (NOTES.column("who"),), how)  # type: ignore[arg-type]
    stay = Paired(pairs, NOTES.column("stay"))
    kept = Filter(pairs, Compare(">", Carried(pairs, Carried(heads, STAYS.column("cost"))), Lit.of(0)))
    return made(Tally(kept, (), stay))


def append() -> dict[str, Any]:
    """Women below the notes, and a sum over both."""
    women = Filter(PATIENTS.source, Compare("==", PATIENTS.column("sex"), Lit.of("F")))
    rows = Append(NOTES.source, women)
    return made(Tally(rows, (), Appended(rows, NOTES.column("stay"), PATIENTS.column("age"))))


def capped() -> dict[str, Any]:
    """The first stay below the patients: rows without an owner, of which one may go out for another."""
    head = Slice(STAYS.source, None, 1)
    rows = Append(PATIENTS.source, head)
    return made(Tally(rows, (), Appended(rows, PATIENTS.column("age"), Carried(head, STAYS.column("cost")))))


def node(given: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in given["nodes"] if each["kind"] == kind)
    return found


@pytest.mark.parametrize("make", [join, append, capped, lambda: join("inner")])
def test_true_claims_pass(make: Any) -> None:
    report = check(make())

    assert report.verdict == "ok", report.problems


@pytest.mark.parametrize("fact", ["factor", "inserted", "distance", "edits"])
@pytest.mark.parametrize(("make", "kind"), [(join, "pairs"), (append, "append")])
def test_smaller_claims_are_refuted(make: Any, kind: str, fact: str) -> None:
    given = make()
    claims = node(given, kind)["claims"]
    claims[fact] = str(Fraction(claims[fact]) - 1)

    assert check(given).verdict == "refuted"


@pytest.mark.parametrize("fact", ["cap", "inserted", "deleted", "edits", "most"])
def test_smaller_constants_are_refuted(fact: str) -> None:
    given = capped()
    claims = node(given, "append")["claims"]
    claims[fact] = "1" if claims[fact] is None else str(Fraction(claims[fact]) - 1)

    assert check(given).verdict == "refuted"


def test_missing_partners_must_be_claimed() -> None:
    given = join()
    for each in given["nodes"]:
        if each["kind"] == "paired":
            each["claims"]["domain"]["null"] = False
    assert check(given).verdict == "refuted"


@pytest.mark.parametrize("ends", [["0", "5"], ["1", "9"]])
def test_the_domain_of_both_columns_must_be_claimed(ends: list[str]) -> None:
    given = append()
    node(given, "appended")["claims"]["domain"]["range"] = ends

    assert check(given).verdict == "refuted"


def test_the_cells_of_both_tables_must_be_claimed() -> None:
    given = append()
    women = next(i for i, cell in enumerate(given["cells"]) if "of" in cell)
    for kind in ("append", "tally"):
        node(given, kind)["claims"]["cells"] = [women]
    given["release"]["charges"] = [[women, ["1"]]]

    assert check(given).verdict == "refuted"


def test_owners_must_be_compared() -> None:
    notes = NOTES.source
    keys = (NOTES.column("who"), NOTES.column("stay"))
    given = made(Tally(Pairs(notes, keys, notes, keys, "inner"), (), None))
    assert check(given).verdict == "ok"
    pairs = node(given, "pairs")
    for i in (1, 3):
        del pairs["fields"][i][0]

    assert check(given).verdict == "refuted"


def test_other_populations_are_refuted() -> None:
    for make in (join, append):
        given = make()
        for each in given["data sets"][1:]:
            del each["population"]
        assert check(signed(given)).verdict == "refuted"


def test_any_number_of_partners_is_refuted() -> None:
    """A join with a table without a bound on the rows of a person, whatever is claimed of it."""
    given = join()
    index = next(i for i, each in enumerate(given["data sets"]) if each["unit"][1] == 2)
    given["data sets"][index]["unit"][1] = None
    for source in given["nodes"]:
        if source["kind"] == "source" and source["fields"] == [index]:
            source["claims"] |= {"factor": None, "edits": None, "inserted": None, "distance": None}

    assert check(signed(given)).verdict == "refuted"


@pytest.mark.parametrize("first", [True, False])
def test_a_bounded_table_beside_an_unbounded_one_claims_nothing_that_is_refuted(first: bool) -> None:
    parts = [Slice(NOTES.source, None, 1), STAYS.source]
    below = Append(*(parts if first else parts[::-1]))

    assert check(made(Tally(Slice(below, -1, None), (), None))).verdict == "ok"
