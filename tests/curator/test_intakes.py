"""Intakes: persons who entered at another time have a budget of their own, and nobody is in two."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from privjail.curator import overlap
from privjail.curator.cli.root import app
from privjail.curator.folder import JailFolder
from privjail.curator.intakes import families
from privjail.curator.updates import Given, update
from privjail.curator.views import details
from privjail.errors import DPError, PlanError, SchemaError
from privjail.plan.cells import Cell

SCHEMA = {"patient": {"type": "Int64"}, "year": {"type": "Int64", "range": [2020, 2030]}}
PERSON = ("patient", 1)


def write(where, name, persons, year):
    file = where / f"{name}.csv"
    file.write_text("patient,year\n" + "".join(f"{p},{year}\n" for p in persons), encoding="utf-8")
    return str(file)


@pytest.fixture
def folder(tmp_path):
    made = JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:1", None)
    made.add_dataset("patients", write(tmp_path, "p2026", range(10), 2026), SCHEMA, [2], "pure", PERSON)
    return made


def intake(folder, name, file, schema=SCHEMA, of="patients", entered="year=2027", budget=(1,), unit=PERSON, **more):
    return folder.add_dataset(name, file, schema, list(budget), "pure", unit, intake_of=of, entered=entered, **more)


def spend(folder, dataset, eps):
    whole = Cell(None, dataset, dataset)
    folder.ledger.charge("ann", f"{dataset} {eps}", "d", {}, [(whole, (Fraction(eps),))], {})


def test_new_persons_have_a_budget_of_their_own_and_pay_the_larger_one(folder, tmp_path):
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    intake(folder, "p2028", write(tmp_path, "p2028", range(20, 30), 2028), of="p2027", entered="year=2028", budget=(3,))
    (found,) = families(folder.state)
    assert found.accounts == ("patients", "p2027", "p2028") and found.limit == (3,)
    assert folder.state.datasets["p2028"].intake.of == "patients"  # of the first, whichever is named
    folder.add_user("ann", 1)
    for name in ("patients", "p2027"):
        folder.grant("ann", name, [2], False, "a test")
    for name, eps in (("patients", "3/2"), ("p2027", "1/2"), ("p2027", "1/4")):
        spend(folder, name, eps)
    (found,) = families(folder.state, "p2027")
    assert found.spent == (Fraction(3, 2),) == (max(folder.state.total(("dataset", "", n))[0] for n in found.accounts),)
    assert "she has paid at most" in str(found)
    assert families(folder.state, "patients") == [found] and "intake of patients (year = 2027)" in details(
        next(e.body for e in folder.events() if e.body.get("name") == "p2027"), folder.state
    )


@pytest.mark.parametrize("reason", [None, "we know what we do"])
def test_nobody_is_in_two_intakes_whatever_the_reason(folder, tmp_path, reason):
    both = write(tmp_path, "both", [9, 10, 11], 2027)
    with pytest.raises(PlanError, match="persons of 'p2027' are in 'patients' already.*a person enters once"):
        intake(folder, "p2027", both, overlap_reason=reason)
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    with pytest.raises(PlanError, match="'p2027' already"):  # between two intakes, and by an update of either
        intake(folder, "p2028", write(tmp_path, "p2028", [19], 2028), entered="year=2028", overlap_reason=reason)
    with pytest.raises(PlanError, match="'p2027' already"):
        update(folder, [Given("patients", write(tmp_path, "again", range(11), 2026))], overlap_reason=reason)
    with pytest.raises(PlanError, match="'patients' already"):
        update(folder, [Given("p2027", write(tmp_path, "more", range(5, 20), 2027))], overlap_reason=reason)
    assert [e.epoch for e in folder.state.datasets.values()] == [1, 1]
    update(folder, [Given("p2027", write(tmp_path, "more", range(10, 15), 2027))])
    with pytest.raises(PlanError, match="'p2027' already"):  # who left an intake was in it
        update(folder, [Given("patients", write(tmp_path, "left", [1, 19], 2026))], overlap_reason=reason)


def test_intakes_of_other_renyi_orders_are_compared_as_epsilon_and_delta(folder, tmp_path):
    """Red before: the divergence of the second, read at the order of the first, was said to be ε = 3.2, δ = 1e-6."""
    for name, budget, year in (("r", [1, Fraction("1e-6")], 2026), ("s", [5, Fraction("1e-4")], 2027)):
        more = {"intake_of": "r", "entered": "year=2027"} if name == "s" else {}
        persons = range(100 * year, 100 * year + 10)
        folder.add_dataset(name, write(tmp_path, name, persons, year), SCHEMA, budget, "renyi", PERSON, **more)
    (found,) = families(folder.state)
    assert found.limit == pytest.approx((5, 1e-4)) and found.spent == (0, 0)
    assert str(found).endswith("she has paid at most 0, 0, and can pay 5, 0.0001")


def test_one_update_of_two_intakes_brings_nobody_into_both(folder, tmp_path):
    """Red before: each file was compared with what had been there, and not with the other file of the same update."""
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    both = [Given("patients", write(tmp_path, "a", [*range(10), 77], 2026)),
            Given("p2027", write(tmp_path, "b", [*range(10, 20), 77], 2027))]  # fmt: skip
    with pytest.raises(PlanError, match="'patients' already.*a person enters once"):
        update(folder, both, overlap_reason="we know what we do")
    assert [e.epoch for e in folder.state.datasets.values()] == [1, 1]
    update(folder, [both[0]])  # what was refused left no trace
    intake(folder, "p2028", write(tmp_path, "c", [78], 2028), entered="year=2028")


def test_an_update_that_was_not_written_notes_nobody(folder, tmp_path, monkeypatch):
    """Red before: persons of an update that failed, or of a process that was killed, counted for ever."""
    more = [Given("patients", write(tmp_path, "more", [*range(10), 77], 2026))]

    def full(make, beside=None):
        make(folder.state)
        raise OSError(28, "no space left")

    monkeypatch.setattr(folder.ledger, "decide", full)
    with pytest.raises(OSError, match="no space"):
        update(folder, more)
    monkeypatch.undo()
    update(folder.acting("maria", "a try", dry=True), more)
    intake(folder, "p2027", write(tmp_path, "p2027", [77], 2027))
    with pytest.raises(PlanError, match="'p2027' already"):
        update(folder, more)


def test_a_crash_after_the_entry_of_an_update_forgets_nobody(folder, tmp_path):
    """The ledger has the update, the persons' file not yet: the rows are read again, before the next update as well."""
    hashes, before = tmp_path / "jail" / overlap.HASHES, tmp_path / "before"
    before.write_bytes(hashes.read_bytes())
    update(folder, [Given("patients", write(tmp_path, "second", [5, 77], 2026))])
    hashes.write_bytes(before.read_bytes())
    with pytest.raises(PlanError, match="'patients' already"):
        intake(folder, "p2027", write(tmp_path, "p2027", [77], 2027))
    hashes.write_bytes(before.read_bytes())
    update(folder, [Given("patients", write(tmp_path, "third", [5, 6], 2026))])
    with pytest.raises(PlanError, match="'patients' already"):
        intake(folder, "p2027", str(tmp_path / "p2027.csv"))
    intake(folder, "p2027", write(tmp_path, "p2027", [78], 2027))


def test_a_person_has_one_spelling_in_all_intakes(folder, tmp_path):
    """Red before: 007, +7 and 7.0 in a column that no schema declares were not the 7 of another intake."""
    year = {"year": SCHEMA["year"]}
    for each in ("7", "007", "+7", "7.0", " 7 "):
        with pytest.raises(PlanError, match="'patients' already"):
            intake(folder, "p2027", write(tmp_path, "odd", [each], 2027), year)
    intake(folder, "p2027", write(tmp_path, "names", ["-7", "7.5", "70", "Ren\u00e9"], 2027), year)
    with pytest.raises(PlanError, match="'p2027' already"):
        intake(folder, "p2028", write(tmp_path, "accent", ["Rene\u0301"], 2028), year, entered="year=2028")


def test_the_column_of_an_intake_stays(folder, tmp_path):
    """Red before: an update without the column that says when persons entered was taken."""
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    (tmp_path / "bare.csv").write_text("patient\n10\n99\n")
    with pytest.raises(PlanError, match="no column 'year'"):
        update(folder, [Given("p2027", str(tmp_path / "bare.csv"), {"patient": {"type": "Int64"}})])


def test_a_removed_intake_keeps_its_persons(folder, tmp_path):
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    folder.remove_dataset("p2027")
    with pytest.raises(PlanError, match="'p2027' already"):
        intake(folder, "p2028", write(tmp_path, "p2028", [19], 2028), entered="year=2028")
    (tmp_path / "jail" / overlap.HASHES).unlink()
    with pytest.raises(PlanError, match="the persons of 'p2027' cannot all be compared"):
        intake(folder, "p2028", write(tmp_path, "p2028", [19], 2028), entered="year=2028")


def test_what_cannot_be_compared_is_refused(folder, tmp_path):
    (tmp_path / "jail" / overlap.HASHES).unlink()
    (tmp_path / "p2026.csv").rename(tmp_path / "away.csv")
    with pytest.raises(PlanError, match="the persons of 'patients' cannot all be compared"):
        intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))
    (tmp_path / "away.csv").rename(tmp_path / "p2026.csv")
    intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027))


def test_persons_who_left_are_known_or_nothing_is_added(folder, tmp_path):
    """Another jail on the same ledger, or one that lost its hashes, sees the newest rows only."""
    update(folder, [Given("patients", write(tmp_path, "later", range(5, 10), 2026))])
    new = write(tmp_path, "p2027", [0, 20], 2027)  # 0 was among the patients
    with pytest.raises(PlanError, match="'patients' already"):
        intake(folder, "p2027", new)
    hashes = tmp_path / "jail" / overlap.HASHES
    hashes.rename(tmp_path / "kept")
    for _ in range(2):  # what is looked up for the first try does not make the second one pass
        with pytest.raises(PlanError, match="the persons of 'patients' cannot all be compared"):
            intake(folder, "p2027", new)
    update(folder, [Given("patients", write(tmp_path, "last", range(6, 10), 2026))])
    with pytest.raises(PlanError, match="the persons of 'patients' cannot all be compared"):
        intake(folder, "p2027", new)
    (tmp_path / "kept").replace(hashes)  # of before the last update, whose rows are still there
    with pytest.raises(PlanError, match="'patients' already"):
        intake(folder, "p2027", new)
    intake(folder, "p2027", write(tmp_path, "p2027", [20], 2027))


def test_every_row_says_when_its_person_entered(folder, tmp_path):
    file = tmp_path / "mixed.csv"
    for rows in ("10,2027\n11,2026\n", "10,2027\n11,\n"):
        file.write_text("patient,year\n" + rows, encoding="utf-8")
        with pytest.raises(SchemaError, match="not every row of 'the data' has 'year' = '2027'"):
            intake(folder, "p2027", str(file))
    words = {**SCHEMA, "year": {"type": "category", "categories": ["2026", "2027"]}}
    intake(folder, "words", write(tmp_path, "words", [50], 2027), words)
    intake(folder, "text", write(tmp_path, "text", [51], 2027), {**SCHEMA, "year": {"type": "string"}})
    with pytest.raises(SchemaError, match="not every row of 'the data'"):
        update(folder, [Given("text", write(tmp_path, "text2", [51], 2026))])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"entered": None}, "go together"),
        ({"of": None}, "go together"),
        ({"entered": "year"}, "COLUMN=VALUE"),
        ({"entered": "month=5"}, "no column 'month'"),
        ({"entered": "year=x"}, "no value of the column"),
        ({"schema": {"patient": {"type": "Int64"}}}, "cannot say when"),
        ({"of": "nothing"}, "no data set 'nothing'"),
        ({"of": "rows"}, "nobody knows who is in 'rows'"),
        ({"unit": (None, 1)}, "names the person"),
    ],
)
def test_what_is_no_intake_is_refused(folder, tmp_path, given, said):
    folder.add_dataset("rows", write(tmp_path, "rows", range(500, 510), 2026), SCHEMA, [1], "pure", (None, 1))
    with pytest.raises(DPError, match=said):
        intake(folder, "p2027", write(tmp_path, "p2027", range(10, 20), 2027), **given)
    assert "p2027" not in folder.state.datasets


def test_populations_have_intakes_with_all_their_tables(folder, tmp_path):
    for name, years in (("people", None), ("people27", 2027)):
        more = {} if years is None else {"intake_of": "people", "entered": "year=2027"}
        folder.add_population(name, [1], "pure", **more)
    folder.add_table("a", write(tmp_path, "a", range(100, 110), 2026), SCHEMA, "people", PERSON, [], [])
    with pytest.raises(SchemaError, match="not every row of 'b' has 'year'"):
        folder.add_table("b", write(tmp_path, "b", range(110, 120), 2026), SCHEMA, "people27", PERSON, [], [])
    folder.add_table("b", write(tmp_path, "b", range(110, 120), 2027), SCHEMA, "people27", PERSON, [], [])
    (tmp_path / "stays.csv").write_text("patient,cost\n110,1\n105,2\n")
    with pytest.raises(PlanError, match="persons of 'stays' are in 'people' already"):
        folder.add_table("stays", str(tmp_path / "stays.csv"), {}, "people27", ("patient", None), [], [],
                         overlap_reason="no")  # fmt: skip
    (tmp_path / "stays.csv").write_text("patient,cost\n110,1\n111,2\n")
    folder.add_table("stays", str(tmp_path / "stays.csv"), {}, "people27", ("patient", None), [], [])
    with pytest.raises(PlanError, match="is a table of 'people27'"):
        folder.add_population("more", [1], "pure", intake_of="b", entered="year=2028")
    with pytest.raises(PlanError, match="another notion"):
        folder.add_population("more", [1], "zcdp", intake_of="people", entered="year=2028")


def test_the_commands(tmp_path):
    run = CliRunner()
    jail = ["--jail", str(tmp_path / "jail")]

    def told(*words):
        done = run.invoke(app, [*words, *jail])
        return done.exit_code, " ".join(done.output.split())

    JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:1", None)
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    common = ["--unit", "patient", "--rows-per-unit", "1", "--schema", str(schema)]
    assert told("dataset", "add", "p", write(tmp_path, "p", [1], 2026), "--budget", "1", *common)[0] == 0
    more = ["--intake-of", "p", "--entered", "year=2027"]
    code, said = told("dataset", "add", "q", write(tmp_path, "q", [1], 2027), "--budget", "2", *common, *more)
    assert code == 1 and "a person enters once" in said
    assert told("dataset", "add", "q", write(tmp_path, "q", [2], 2027), "--budget", "2", *common, *more)[0] == 0
    listed = json.loads(run.invoke(app, ["dataset", "list", "--json", *jail]).output)
    assert [(each["name"], each["intake_of"]) for each in listed] == [("p", None), ("q", "p")]
    assert "each person is in one of p, q: she has paid at most" in told("budget")[1]
    assert told("population", "add", "r", "--budget", "1", *more)[0] == 0
    code, said = told("dataset", "add", "s", "x.csv", "--population", "r", "--person", "patient", *more)
    assert code == 1 and "privjail population add" in said
