"""No silent fresh budget: who is in another account already is noticed; and ranges that are found privately."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading

import pytest

from privjail.curator import overlap
from privjail.curator.backup import backup
from privjail.curator.folder import JailFolder
from privjail.curator.private_draft import draft, price
from privjail.curator.updates import Given, update
from privjail.curator.views import Filter, details, search
from privjail.errors import DPError, PlanError

PERSON = {"patient": {"type": "Int64"}}


@pytest.fixture
def folder(tmp_path):
    made = JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:1", None)
    made.add_population("hospital", [3], "pure")
    write(tmp_path, "patients", range(1, 11))
    made.add_table("patients", str(tmp_path / "patients.csv"), PERSON, "hospital", ("patient", 1), [], [])
    return made


def write(where, name, persons, column="patient"):
    file = where / f"{name}.csv"
    file.write_text(f"{column},x\n" + "".join(f"{p},{i}\n" for i, p in enumerate(persons)), encoding="utf-8")
    return str(file)


def added(folder, name, file, column="patient", schema=None, **more):
    return folder.add_dataset(name, file, schema or {}, [1], "pure", (column, 1), **more)


@pytest.mark.parametrize(
    ("persons", "said"),
    [(range(1, 11), "all of"), (range(4, 14), "most of"), (range(10, 90), "some of")],
)
def test_persons_of_another_account_are_noticed(folder, tmp_path, persons, said):
    file = write(tmp_path, "again", persons, "person")
    with pytest.raises(PlanError, match=f"another budget: {said} its persons are in 'hospital'") as refused:
        added(folder, "again", file, "person")
    assert "--overlap-reason" in str(refused.value) and "dataset update" in str(refused.value)
    assert "again" not in folder.state.datasets
    notes = added(folder, "again", file, "person", overlap_reason="a study of its own")
    assert any("'hospital'" in note for note in notes)
    body = folder.events()[-1].body
    assert body["overlap"] == {"with": ["hospital"], "reason": "a study of its own"}
    assert details(body, folder.state).endswith("the same people as in hospital because a study of its own")
    update(folder, [Given("again", write(tmp_path, "more", [*persons, 500], "person"))])  # the reason was given
    update(folder, [Given("patients", write(tmp_path, "patients2", [*persons, 500]))])
    assert [name for name, entry in folder.state.datasets.items() if entry.epoch == 2] == ["patients", "again"]


def test_other_persons_and_tables_of_the_same_account_are_not(folder, tmp_path):
    added(folder, "others", write(tmp_path, "others", range(100, 110)))
    stays = write(tmp_path, "stays", [1, 1, 2])
    folder.add_table("stays", stays, PERSON, "hospital", ("patient", None), [], [])
    assert all("overlap" not in event.body for event in folder.events())


def test_a_person_is_the_same_in_every_type_of_column(folder, tmp_path):
    words = {"patient": {"type": "category", "categories": [str(i) for i in range(5, 200)]}}
    for name, schema in (("words", words), ("text", {"patient": {"type": "string"}}), ("none", {})):
        with pytest.raises(PlanError, match="'hospital'"):
            added(folder, name, write(tmp_path, name, [5, 150]), schema=schema)


def test_the_person_can_be_the_key_of_a_table(folder, tmp_path):
    """Red before: a table whose key is its column of persons was a traceback."""
    folder.add_table("again", str(tmp_path / "patients.csv"), PERSON, "hospital", ("patient", 1), ["patient"] * 2, [])
    stays = write(tmp_path, "stays", [1, 1, 2], "who")
    folder.add_table("stays", stays, {"who": {"type": "Int64"}}, "hospital", (None, None), [], ["who=again.patient"])
    update(folder, [Given("again", write(tmp_path, "again2", range(1, 5)))])
    for name in ("again", "stays"):  # both have a new epoch, and the log says so whichever one looks for
        (found,) = search(folder, Filter(what="update", dataset=name), None, 5)
        assert folder.state.datasets[name].epoch == 2 and found.line.who == "again"


def test_one_update_does_not_bring_equal_rows_into_two_accounts(folder, tmp_path):
    """Red before: files of the same update were not compared with each other."""
    for name in ("a", "b"):
        folder.add_dataset(name, write(tmp_path, name, [name]), {}, [1], "pure", (None, 1))
    same, first = [write(tmp_path, name, [5]) for name in ("c", "d")], str(tmp_path / "a.csv")
    for files in (same, [same[0], first]):  # also the rows that another account has until then
        with pytest.raises(PlanError, match="'b' would give the same people another budget: the same data"):
            update(folder, [Given("a", files[0]), Given("b", files[1])])
    update(folder, [Given("a", same[0]), Given("b", same[1])], overlap_reason="a test")
    assert folder.events()[-1].body["overlap"]["of"] == {"b": ["a"]}


UPDATING = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")  # as in an update of millions of persons: what is not committed is in the file
for said in ("there", "begun"):
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO persons VALUES (?, 'hospital')", ((os.urandom(16),) for _ in range(20_000)))
    if said == "there":
        db.commit()
print(said, flush=True)
sys.stdin.readline()
db.commit()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_backup_during_an_update_has_whole_persons(folder, tmp_path, killed):
    """Red before: the bytes of the file were copied, in the middle of a transaction or of one that a crash left."""
    place, copy = tmp_path / "jail" / overlap.HASHES, tmp_path / "copy.sqlite"
    updating = subprocess.Popen([sys.executable, "-c", UPDATING, str(place)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert updating.stdout.readline() == b"begun\n"
        if killed:
            updating.kill()
            updating.wait()
            updating.stdin.close()
        else:
            threading.Timer(0.5, updating.stdin.close).start()
        backup(folder, tmp_path / "a.backup")
    finally:
        updating.kill()
        updating.wait()
        updating.stdout.close()
    with tarfile.open(tmp_path / "a.backup") as tar:
        copy.write_bytes(tar.extractfile(overlap.HASHES).read())
    with contextlib.closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM persons").fetchone() == (20_010 if killed else 40_010,)


def test_who_left_is_still_known_and_updates_are_looked_at(folder, tmp_path):
    update(folder, [Given("patients", write(tmp_path, "later", range(20, 30)))])
    with pytest.raises(PlanError, match="'hospital'"):
        added(folder, "early", write(tmp_path, "early", [1, 2]))
    added(folder, "others", write(tmp_path, "others", range(100, 110)))
    with pytest.raises(PlanError, match="some of its persons are in 'others'"):
        update(folder, [Given("patients", write(tmp_path, "mixed", [*range(20, 30), 100]))])
    assert folder.state.datasets["patients"].epoch == 2
    mixed = [Given("patients", write(tmp_path, "mixed", [*range(20, 30), 100]))]
    assert update(folder, mixed, overlap_reason="a move").epochs == {"patients": 3}
    assert folder.events()[-1].body["overlap"] == {
        "with": ["others"],
        "of": {"hospital": ["others"]},
        "reason": "a move",
    }
    update(folder, [Given("others", write(tmp_path, "others2", range(100, 120)))])
    folder.remove_dataset("others")
    with pytest.raises(PlanError, match="'others'"):
        added(folder, "back", write(tmp_path, "back", [101]))


def test_the_same_file_in_two_populations_needs_a_reason(folder, tmp_path):
    folder.add_population("clinic", [3], "pure")
    file = str(tmp_path / "patients.csv")
    with pytest.raises(PlanError, match="the same data is already in 'hospital'"):
        folder.add_table("copy", file, PERSON, "clinic", ("patient", 1), [], [])
    with pytest.raises(PlanError, match="the same data is already in 'hospital'"):
        folder.add_dataset("rows", file, {}, [1], "pure", (None, 1))
    folder.add_table("copy", file, PERSON, "clinic", ("patient", 1), [], [], overlap_reason="an experiment")


def test_the_hashes_are_keyed_and_nobody_else_can_read_them(folder, tmp_path):
    for name in (overlap.KEY, overlap.HASHES):
        assert stat.S_IMODE((tmp_path / "jail" / name).stat().st_mode) == 0o600
    other = JailFolder.init(tmp_path / "other", ["localhost"], "127.0.0.1:1", None)
    assert overlap._hashes(folder.path, ["1"]) != overlap._hashes(other.path, ["1"])
    added(folder, "names", write(tmp_path, "names", ["Adalbert Stifter"]), schema={"patient": {"type": "string"}})
    assert b"Stifter" not in (tmp_path / "jail" / overlap.HASHES).read_bytes()


def test_persons_of_data_sets_from_before_are_looked_up(folder, tmp_path):
    (tmp_path / "jail" / overlap.HASHES).unlink()
    with pytest.raises(PlanError, match="'hospital'"):
        added(folder, "again", write(tmp_path, "again", [3]))
    (tmp_path / "jail" / overlap.HASHES).unlink()
    (tmp_path / "patients.csv").unlink()
    notes = added(folder, "again", write(tmp_path, "again", [3]))
    assert any("persons of 'patients' could not be compared" in note for note in notes)


# -- ranges that are found privately

OPEN = {"cost": {"type": "Float64"}, "age": {"type": "Int64", "range": [0, 120]}, "days": {"type": "Int64"}}


@pytest.fixture
def costs(tmp_path):
    made = JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:1", None)
    rows = "".join(f"{10 + i % 90},{i % 80},{i % 30}\n" for i in range(3000))
    (tmp_path / "costs.csv").write_text("cost,age,days\n" + rows, encoding="utf-8")
    made.add_dataset("costs", str(tmp_path / "costs.csv"), OPEN, [5], "pure", (None, 1))
    return made


def test_ranges_are_found_for_a_price_that_is_known_before(costs, tmp_path):
    asked = price(costs, "costs", 2)
    assert asked.columns == ("cost", "days") and "1 each, 2 in all, from the budget of costs" in str(asked)
    assert costs.state.total(("dataset", "", "costs")) == (0,)
    with pytest.raises(PlanError, match="needs a reason"):
        draft(costs, asked, None)
    found = draft(costs, asked, "no ranges are known")
    assert found["cost"]["range"][1] == 128.0 and found["days"]["range"] == [0, 32] and found["age"] == OPEN["age"]
    assert costs.state.total(("dataset", "", "costs")) == (2,)
    done = update(costs, [Given("costs", str(tmp_path / "costs.csv"), found)])
    assert done.epochs == {"costs": 2} and costs.state.total(("dataset", "", "costs")) == (2,)
    with pytest.raises(PlanError, match="no numbers without a range"):
        price(costs, "costs", 1)


def test_a_draft_that_is_too_dear_pays_nothing(costs):
    with pytest.raises(DPError, match="limit"):
        draft(costs, price(costs, "costs", 6), "a test")
    assert costs.state.total(("dataset", "", "costs")) == (0,)


def test_the_command_shows_the_price_and_asks(costs, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from privjail.curator.cli.root import app

    monkeypatch.chdir(tmp_path)
    costs.ledger.close()
    args = ["schema", "draft", "costs", "--private", "--eps", "2", "--reason", "none known", "--jail", "jail"]
    said = CliRunner().invoke(app, args, input="n\n")
    assert said.exit_code != 0 and "2 in all, from the budget of costs" in said.stderr
    assert JailFolder(tmp_path / "jail").state.total(("dataset", "", "costs")) == (0,)
    done = CliRunner().invoke(app, [*args, "--yes", "--json"])
    assert json.loads(done.stdout)["schema"]["days"]["range"] == [0, 32], done.output
    assert JailFolder(tmp_path / "jail").state.total(("dataset", "", "costs")) == (2,)


def test_the_same_file_is_known_after_an_update_where_each_row_is_a_person(folder, tmp_path):
    one, two = write(tmp_path, "one", range(50)), write(tmp_path, "two", range(50, 99))
    folder.add_dataset("a", one, {}, [1], "pure", (None, None))
    update(folder, [Given("a", two)])
    for file in (one, two):
        with pytest.raises(PlanError, match="the same data is already in 'a'"):
            folder.add_dataset("b", file, {}, [1], "pure", (None, None))


def test_a_reason_for_one_account_excuses_no_other_one_and_a_refused_update_notes_nobody(folder, tmp_path):
    for name, start in (("a", 100), ("b", 200), ("c", 300)):
        added(folder, name, write(tmp_path, name, range(start, start + 5)))
    shares = [Given("a", write(tmp_path, "a2", [100, 300])), Given("b", write(tmp_path, "b2", [200, 207]))]
    update(folder, shares, overlap_reason="a follow-up")
    update(folder, [Given("a", write(tmp_path, "a3", [100, 301]))])  # the reason was given
    with pytest.raises(PlanError, match="'c'"):
        update(folder, [Given("c", write(tmp_path, "c2", [400, 401])), Given("b", write(tmp_path, "b3", [301]))])
    added(folder, "new", write(tmp_path, "new", [400, 401]))  # they never were in c
