"""Updates of data sets: one release reads one epoch, spent stays spent, groups of two epochs add up."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import threading
import time
from dataclasses import replace
from fractions import Fraction
from urllib.request import urlopen

import pytest

from privjail import session
from privjail import pandas as pd
from privjail.client import connect
from privjail.curator.folder import JailFolder
from privjail.curator.updates import Given, update
from privjail.curator.views import details
from privjail.errors import BudgetExceeded, DPError, PlanError, SchemaError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column, Source
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.server.ledger.checkpoint import pack, sha256, unpack

from .jails import ENV, PRIVJAIL, SCHEMA, Served, count, free_port, make_jail, serving
from .test_population import SCHEMAS, file, furnished

MUCH = 10**4  # ε at which noise is far below one row


def rows_of(where, name, rows, sex="F"):
    (where / name).write_text("age,sex\n" + f"30,{sex}\n" * rows, encoding="utf-8")
    return str(where / name)


def women(connection, key="F"):
    source = connection.source("census")
    return Filter(source, Compare("==", Column(source, "sex"), Lit.of(key)))


def asked(connection, rows, eps):
    return Query(Tally(rows, (), None), Laplace(eps))


def test_what_was_spent_stays_and_programs_go_on_with_the_new_rows(served, tmp_path):
    folder, ann = JailFolder(tmp_path / "jail"), served.connect()
    plan = asked(ann, ann.source("census"), 1)
    before = replace(plan, mechanism=Laplace(500))
    assert round(ann.release([before])[0]) == 200
    done = update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50))])
    assert done.epochs == {"census": 2}
    assert round(ann.release([before], request=b"0" * 16)[0]) == 50, "the same plan, on the new rows"
    assert ann.consumed() == {"census": 1000.0}
    with pytest.raises(BudgetExceeded):
        ann.release([plan])
    ann.close()


def test_groups_of_two_epochs_add_up(served, tmp_path):
    """A person may have been among the women, and be among the men after a correction: she pays for both."""
    folder, ann = JailFolder(tmp_path / "jail"), served.connect()
    ann.release([asked(ann, women(ann, "F"), 1)])
    update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50))])
    ann.release([asked(ann, women(ann, "M"), 1)])
    assert ann.consumed() == {"census": 2.0}
    ann.release([asked(ann, women(ann, "F"), 1)])
    assert ann.consumed() == {"census": 2.0}, "in one epoch, groups exclude each other"
    ann.close()


def test_a_request_that_comes_again_gets_the_answer_that_was_kept(served, tmp_path):
    folder, ann = JailFolder(tmp_path / "jail"), served.connect()
    number, query = b"r" * 16, asked(ann, women(ann), 1)
    first = ann.release([query], request=number)
    update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50))])
    assert ann.release([query], request=number) == first
    assert ann.consumed() == {"census": 1.0}
    second = ann.release([query], request=b"s" * 16)
    update(folder, [Given("census", rows_of(tmp_path, "third.csv", 60))])
    assert ann.release([query], request=b"s" * 16) == second and ann.consumed() == {"census": 2.0}
    with pytest.raises(PlanError, match="for another request"):
        ann.release([asked(ann, women(ann, "M"), 1)], request=number)
    ann.close()


def test_a_request_that_was_charged_before_an_update_is_not_answered_from_the_new_rows(jail, tmp_path):
    """It was charged to groups of the old rows: read from new ones, its answer could be about other people."""
    folder = JailFolder(tmp_path / "jail")
    ledger, source = folder.ledger, cell_source()
    cells = Filter(source, Compare("==", Column(source, "sex"), Lit.of("F"))).cells
    charges = [(cells[0], (Fraction(1),))]
    ledger.charge("ann", "ab", "digest", {}, charges, {}, epochs=[("census", 1)])
    ledger.charge("ann", "ab", "digest", {}, charges, {}, epochs=[("census", 1)])
    update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50))])
    for again in (ledger, JailFolder(tmp_path / "jail").ledger):
        with pytest.raises(DPError, match="updated after this request was charged"):
            again.charge("ann", "ab", "digest", {}, charges, {}, epochs=[("census", 2)])
    with pytest.raises(DPError, match="was updated|were updated"):
        ledger.charge("ann", "cd", "digest", {}, charges, {}, epochs=[("census", 1)])
    assert ledger.state.total(("user", "ann", "census")) == (1,)


def cell_source():
    from privjail.ops.rows.source import Dataset, Unit
    from privjail.plan.domain import CategoryDomain, IntDomain

    columns = (("age", IntDomain(True, 0, 120)), ("sex", CategoryDomain(True, ("F", "M"), False)))
    return Source(Dataset("census", "census", columns, Unit()))


def test_the_ledger_charges_what_the_worst_person_loses_over_two_epochs():
    """All ways to be in two epochs (F, M or absent in each), against all sets of questions about groups and wholes."""
    from privjail.budget.ledger import CostTree

    first = cell_source()
    questions = [
        (epoch, key, (rows if key is None else Filter(rows, Compare("==", Column(rows, "sex"), Lit.of(key)))).cells[0])
        for epoch, rows in enumerate((first, Source(replace(first.dataset, epoch=2))))
        for key in ("F", "M", None)
    ]
    for chosen in itertools.product((0, 1, 2), repeat=len(questions)):  # how often each is asked, for 1 each
        tree = CostTree((Fraction(0),))
        for times, (_, _, cell) in zip(chosen, questions, strict=True):
            tree.add(cell.address, (Fraction(times),))
        asked = list(zip(chosen, questions, strict=True))
        worst = max(
            sum(times for times, (epoch, key, _) in asked if person[epoch] is not None and key in (None, person[epoch]))
            for person in itertools.product(("F", "M", None), repeat=2)
        )
        assert tree.total == (worst,)


def test_a_checkpoint_keeps_epochs_and_the_log_says_what_changed(jail, tmp_path):
    folder = JailFolder(tmp_path / "jail")
    update(
        folder, [Given("census", rows_of(tmp_path, "new.csv", 50), {**SCHEMA, "age": {"type": "Int64"}})], "a census"
    )
    charges = [(cell_source().cells[0], (Fraction(1),))]
    folder.ledger.charge("ann", "ab", "digest", {}, charges, {}, epochs=[("census", 2)])
    state = folder.state
    packed = pack(state)
    again = unpack(packed, {"sha256": sha256(packed)})
    assert again.datasets == state.datasets and again.datasets["census"].epoch == 2
    assert again.requests == state.requests and again.requests["ann", "ab"].epochs == (("census", 2),)
    entry = folder.events()[-2].body
    told = details(entry, state)
    assert "census epoch 2: 200 → 50 rows" in told and "another schema" in told and told.endswith("because a census")
    folder.check()


def test_a_changed_schema_is_told_to_plans_that_rest_on_the_old_one(served, tmp_path):
    folder, ann = JailFolder(tmp_path / "jail"), served.connect()
    old = asked(ann, ann.source("census"), 500)
    ann.release([old])
    wide = {"age": {"type": "Int64", "range": [0, 200]}, "sex": {"type": "category", "categories": ["F", "M", "X"]}}
    update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50, "X"), wide)])
    with pytest.raises(PlanError, match="schema of 'census' has changed"):
        ann.release([old])
    assert ann.consumed() == {"census": 500.0}
    source = ann.source("census")
    assert source.dataset.epoch == 2 and dict(source.dataset.columns)["age"].upper == 200
    assert round(ann.release([asked(ann, source, 500)])[0]) == 50
    ann.close()


def test_an_update_says_what_it_does_not_do(jail, tmp_path):
    folder = JailFolder(tmp_path / "jail")
    with pytest.raises(PlanError, match="nothing has changed"):
        update(folder, [Given("census", str(tmp_path / "census.csv"))])
    (tmp_path / "other.csv").write_text("weight\n3\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="columns that the data lacks"):
        update(folder, [Given("census", str(tmp_path / "other.csv"))])
    with pytest.raises(PlanError, match="no data set 'none'"):
        update(folder, [Given("none", str(tmp_path / "census.csv"))])
    new = rows_of(tmp_path, "new.csv", 5)
    with pytest.raises(PlanError, match="named twice"):
        update(folder, [Given("census", new), Given("census", new)])
    assert folder.state.datasets["census"].epoch == 1
    folder.remove_dataset("census")
    with pytest.raises(PlanError, match="was removed"):
        update(folder, [Given("census", new)])


def test_tables_that_link_to_an_updated_one_get_their_persons_anew(tmp_path):
    """Stay 10 was patient 1's, and is patient 3's: so are the notes about it, and joins read one state of all tables."""
    folder = furnished(tmp_path)
    jail = Served(tmp_path).start()
    try:
        session.connect(tmp_path / "ann.privjail")
        notes = pd.read_csv("notes")

        def of_three():
            return notes[notes["patient"] == 3].groupby("patient").head(9).shape[0].reveal(eps=MUCH)

        folder.raise_budget("hospital", [100 * MUCH], "a test")
        folder.grant("ann", "hospital", [100 * MUCH], False, "a test")
        assert round(float(of_three())) == 0
        (tmp_path / "corrected.csv").write_text("stay,patient,cost\n10,3,5\n11,1,7\n12,2,1\n", encoding="utf-8")
        done = update(folder, [Given("stays", file(tmp_path, "corrected"))])
        assert done.epochs == {"stays": 2, "notes": 2} and folder.state.datasets["patients"].epoch == 1
        assert round(float(of_three())) == 1
    finally:
        session.disconnect()
        jail.stop()


def test_linked_tables_are_updated_in_one_moment_or_not_at_all(tmp_path):
    folder = furnished(tmp_path)
    (tmp_path / "s2.csv").write_text("stay,patient,cost\nA,1,5\n", encoding="utf-8")
    (tmp_path / "n2.csv").write_text("stay,code\nA,x\n", encoding="utf-8")
    text = {**SCHEMAS["stays"], "stay": {"type": "string"}}
    for name, schema in (("s2", text), ("n2", {**SCHEMAS["notes"], "stay": {"type": "string"}})):
        (tmp_path / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")
    stays = Given("stays", file(tmp_path, "s2"), tmp_path / "s2.json")
    with pytest.raises(SchemaError, match="compares different types"):
        update(folder, [stays])
    assert folder.state.datasets["stays"].epoch == 1
    done = update(folder, [stays, Given("notes", file(tmp_path, "n2"), tmp_path / "n2.json")])
    assert done.epochs == {"stays": 2, "notes": 2}


def test_the_command_updates_and_the_list_tells_the_epoch(jail, tmp_path):
    rows_of(tmp_path, "new.csv", 50)
    run = [*PRIVJAIL, "dataset", "update", "census", "new.csv", "--jail", str(tmp_path / "jail")]
    done = subprocess.run(run, capture_output=True, text=True, env=ENV, cwd=tmp_path, check=True)
    assert "census: epoch 2; what was spent stays spent" in done.stdout
    wrong = subprocess.run([*run, "--also", "x"], capture_output=True, text=True, env=ENV, cwd=tmp_path, check=False)
    assert wrong.returncode == 1 and "--also NAME=FILE" in wrong.stderr


def test_under_load_no_answer_mixes_two_epochs_and_every_answer_is_charged_once(tmp_path):
    """Every epoch has one number of rows and one value: a sum and a count of different epochs would show."""
    users = tuple(f"u{i}" for i in range(4))
    folder = make_jail(tmp_path, budget=10**6, users=users, grant=10**6)
    sizes = {k: 100 + 10 * k for k in range(1, 9)}  # epoch → rows; all ages are the epoch's number

    def write(epoch):
        path = tmp_path / f"epoch{epoch}.csv"
        path.write_text("age,sex\n" + f"{epoch},F\n" * sizes[epoch], encoding="utf-8")
        return str(path)

    narrow = {**SCHEMA, "age": {"type": "Int64", "range": [0, 10]}}
    update(folder, [Given("census", write(1), narrow)])  # epoch 2 of the ledger
    seen, wrong, stop = [], [], threading.Event()

    def ask(user):
        mine = connect(tmp_path / f"{user}.privjail")
        source = mine.source("census")
        age = Column(source, "age")
        queries = [asked(mine, source, 50), Query(Tally(source, (), age), Laplace(300)), asked(mine, women(mine), 50)]
        try:
            while not stop.is_set():
                rows, total, again = (round(float(x)) for x in mine.release(queries))
                seen.append((user, rows))
                time.sleep(0.005)
                if rows not in sizes.values() or again != rows or total != rows * (rows - 100) // 10:
                    wrong.append((rows, total, again))
        except Exception as e:  # noqa: BLE001
            wrong.append(e)
        finally:
            mine.close()

    with serving(tmp_path):
        threads = [threading.Thread(target=ask, args=(user,)) for user in users]
        for thread in threads:
            thread.start()
        after = 0
        for epoch in range(2, 9):
            end = time.monotonic() + 20
            while len(seen) < after + 8 and not wrong and time.monotonic() < end:
                time.sleep(0.02)  # until some answers came from this epoch
            update(folder, [Given("census", write(epoch))])
            after = len(seen)
        time.sleep(1)
        stop.set()
        for thread in threads:
            thread.join(30)
    assert wrong == []
    assert len({rows for _, rows in seen}) >= 4, "several epochs were seen"
    assert all(rows == sizes[8] for _, rows in seen[after + len(users) :]), "after an update, its rows are read"
    state = JailFolder(tmp_path / "jail").state
    for user in users:
        answers = [rows for who, rows in seen if who == user]
        assert state.total(("user", user, "census")) == (400 * len(answers),), "each answer is charged, once"
    charges = [e.body for e in folder.events() if e.body["type"] in ("charge", "update")]
    epoch = 1
    for body in charges:  # the log's order says which rows were read
        epoch = body["changes"][0]["epoch"] if body["type"] == "update" else epoch
        assert body["type"] == "update" or body["epochs"] == [["census", epoch]]
    folder.check()


def test_the_rows_of_an_old_epoch_are_freed(jail, tmp_path):
    """Two sessions read the first epoch. One asks again after the update; the other's rows go, too."""
    port, folder = free_port(), JailFolder(tmp_path / "jail")

    def held():
        with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            return int(re.search(r"^privjail_held_datasets (\d+)$", page.read().decode(), re.M)[1])

    with serving(tmp_path, "--metrics-port", str(port)) as jail:
        clients = [jail.connect() for _ in range(2)]
        for each in clients:
            each.release([count(each, 1)])
        assert held() == 1
        update(folder, [Given("census", rows_of(tmp_path, "new.csv", 50))])
        clients[0].release([count(clients[0], 1)])
        end = time.monotonic() + 120
        while held() > 1 and time.monotonic() < end:
            time.sleep(0.2)  # until the next sweep
        assert held() == 1, "the other session was ended, too"
        clients[1].release([count(clients[1], 1)])
        for each in clients:
            each.close()
