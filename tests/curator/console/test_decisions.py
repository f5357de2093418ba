"""Decisions in the console, over HTTP: each does what it says, and the ledger tells who decided it and why."""

from __future__ import annotations

import datetime
import html
import json
import re
from fractions import Fraction

import pytest

from privjail.curator.certificates import checked
from privjail.curator.console.actions import ACTIONS
from privjail.curator.console.pages import KINDS
from privjail.curator.folder import JailFolder
from privjail.curator.views import HIDDEN
from privjail.errors import DPError
from privjail.server.ledger.state import State
from privjail.server.security_log import MOST
from tests.server.jails import count, make_jail, serving

from .served import Person, add, console, token

WHO, WHY = "maria (console)", "agreed on Monday"


class House:
    """A jail with a console, and the people who use it."""

    def __init__(self, where, url):
        self.where, self.url, self._people = where, url, {}

    @property
    def folder(self):
        return JailFolder(self.where / "jail")

    def person(self, name):
        if name not in self._people:
            self._people[name] = Person(self.url, token(self.where / f"{name}.privjail"))
        return self._people[name]

    def decided(self, action, **form):
        """Maria decides: the body of the one entry that was written by it."""
        before = self.folder.ledger.entries
        maria = self.person("maria")
        maria.get("/people")
        shown = maria.post(f"/decide/{action}", reason=WHY, **form)
        assert shown.status_code == 200 and "Nothing is written yet" in shown.text, shown.text
        assert self.folder.ledger.entries == before  # a preview writes nothing
        answer = maria.post(f"/decide/{action}", reason=WHY, confirm="yes", **form)
        assert answer.status_code == 200, answer.text
        new = self.folder.events()[before:]
        assert len(new) == 1, [e.body for e in new]
        DECIDED.append(action)
        assert (new[0].body["by"], new[0].body["reason"]) == (WHO, WHY)
        page = maria.get(f"/log/{new[0].seq}").text
        assert f"<dd>{WHO}</dd>" in page and f"<dd>{WHY}</dd>" in page
        return new[0].body

    def wish(self, budget, reason, dataset="census", name="ann"):
        """An analyst asks: the number of her request."""
        asks = self.person(name)
        asks.get("/mine")
        answer = asks.post("/wish", dataset=dataset, budget=budget, reason=reason)
        assert answer.url.path == "/mine" and "Your request was sent to the curator." in answer.text
        folder = self.folder
        assert folder.events()[-1].body["type"] == "wish"
        return folder.ledger.entries


DECIDED = []  # the actions that the tests of this file have made, in their order


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    where = tmp_path_factory.mktemp("house")
    folder = make_jail(where, budget=5, users=("ann", "bob"), grant=1)
    (where / "maria.privjail").write_text(json.dumps({"token": add(folder, "maria")}))
    (where / "aude.privjail").write_text(json.dumps({"token": add(folder, "aude", "auditor")}))
    with serving(where), console(where / "jail", "--write") as url:
        yield House(where, url)


def limit_of(house, scope, who):
    return house.folder.state.limits.get((scope, who, "census"))


def released(house, name="ann", eps=Fraction(1, 100)):
    """Whether the jail answers, or what it says."""
    from privjail import client

    connection = client.connect(house.where / f"{name}.privjail")
    try:
        connection.release([count(connection, eps)])
        return "answered"
    except DPError as e:
        return str(e)
    finally:
        connection.close()


def test_a_wish_is_approved_and_the_limit_is_raised(house):
    assert limit_of(house, "user", "ann") == (1,)
    number = house.wish("2.5", "the second part of the study")
    maria = house.person("maria")
    waiting = maria.get("/requests").text
    assert "ann asks for 2.5 on census" in waiting and "the second part of the study" in waiting
    assert "ann" in maria.get("/").text
    assert "may spend 2.5" in maria.post("/decide/approve", wish=number, reason=WHY).text
    body = house.decided("approve", wish=number)
    assert body["type"] == "limit" and body["limit"] == ["5/2"] and body["wish"] == number
    assert (body["scope"], body["who"], body["dataset"]) == ("user", "ann", "census")
    assert limit_of(house, "user", "ann") == (Fraction(5, 2),)
    assert "Nobody is waiting for a decision." in maria.get("/requests").text
    assert re.search(r"<td>census</td><td>2.5</td>", house.person("ann").get("/mine").text)
    again = maria.post("/decide/approve", wish=number, reason=WHY, confirm="yes")
    assert again.status_code == 400 and "no open request" in again.text  # once
    assert released(house) == "answered"


def test_a_wish_is_declined_with_a_reason_that_the_analyst_reads(house):
    before = limit_of(house, "user", "bob")
    number = house.wish("4", "everything", name="bob")
    body = house.decided("decline", wish=number)
    assert body["type"] == "decline" and (body["wish"], body["who"], body["dataset"]) == (number, "bob", "census")
    assert limit_of(house, "user", "bob") == before
    told = house.person("bob").get("/mine").text
    assert f"<h3>Declined</h3><ul><li>census: {WHY}</li>" in told and "Not decided yet" not in told
    assert "Declined lately" in house.person("maria").get("/requests").text
    assert WHY not in house.person("ann").get("/mine").text  # it is bob's alone


def test_a_wish_for_data_that_is_not_there_can_only_be_declined(house):
    number = house.wish("1", "please", dataset="secret")
    maria = house.person("maria")
    assert "there is no data set of this name" in maria.get("/requests").text
    assert maria.post("/decide/approve", wish=number, reason=WHY, confirm="yes").status_code == 400
    assert house.decided("decline", wish=number)["dataset"] == "secret"


def test_without_a_reason_nothing_is_decided(house):
    number, before = house.wish("3", "more"), house.folder.ledger.entries
    for action in ("approve", "decline"):
        answer = house.person("maria").post(f"/decide/{action}", wish=number, reason=" ", confirm="yes")
        assert answer.status_code == 400 and "reason" in answer.text
    assert house.folder.ledger.entries == before
    house.decided("decline", wish=number)


def test_users_are_added_and_revoked(house):
    body = house.decided("add-user", name="eve", days="30", role="auditor")
    assert (body["type"], body["name"], body["role"]) == ("user", "eve", "auditor") and len(body["token"]) == 64
    ends = datetime.datetime.fromisoformat(body["expires"]) - datetime.datetime.now(datetime.UTC)
    assert 29 <= ends.days <= 30 and house.folder.state.users["eve"].role == "auditor"
    body = house.decided("revoke-user", name="eve")
    assert (body["type"], body["who"], body["dataset"]) == ("revoke", "eve", None)
    assert house.folder.state.users["eve"].revoked


def test_groups_and_grants(house):
    body = house.decided("set-group", name="team", members=["ann", "bob"])
    assert (body["type"], body["name"], body["members"]) == ("group", "team", ["ann", "bob"])
    body = house.decided("grant", who="group:team", dataset="census", budget="3")
    assert (body["type"], body["scope"], body["who"], body["limit"]) == ("limit", "group", "team", ["3"])
    assert limit_of(house, "group", "team") == (3,)
    body = house.decided("revoke-grant", who="user:bob", dataset="census", widen="yes")
    assert (body["type"], body["scope"], body["who"], body["dataset"]) == ("revoke", "user", "bob", "census")
    assert body["widens"] == ["bob"]  # his own limit of 1 no longer binds, and the group's 3 does
    assert limit_of(house, "user", "bob") is None
    house.decided("grant", who="user:bob", dataset="census", budget="1")
    house.decided("revoke-grant", who="group:team", dataset="census", widen="yes")
    assert limit_of(house, "group", "team") is None and released(house, "bob") == "answered"


def test_rights_are_not_widened_by_taking_some_away_unless_she_says_so(house):
    house.decided("set-group", name="duo", members=["bob"])
    house.decided("grant", who="group:duo", dataset="census", budget="0.5")
    maria, form = house.person("maria"), {"name": "duo", "members": [], "reason": WHY}
    before = house.folder.ledger.entries
    shown = maria.post("/decide/set-group", **form)  # bob would be free of the group's limit
    assert "although somebody could then spend more" in shown.text
    assert maria.post("/decide/set-group", confirm="yes", **form).status_code == 400
    assert house.folder.ledger.entries == before
    maria.post("/decide/set-group", confirm="yes", widen="yes", **form)
    assert house.folder.events()[-1].body["widens"] == ["bob"]


def test_the_budget_of_a_data_set_is_raised_and_lowered(house):
    body = house.decided("budget", dataset="census", budget="9")
    assert (body["type"], body["scope"], body["limit"]) == ("limit", "dataset", ["9"])
    body = house.decided("budget", dataset="census", budget="6")
    assert body["limit"] == ["6"] and limit_of(house, "dataset", "") == (6,)
    below = house.person("maria").post("/decide/budget", dataset="census", budget="0.001", reason=WHY, confirm="yes")
    assert below.status_code == 400 and limit_of(house, "dataset", "") == (6,)  # less than what is spent


def test_a_frozen_data_set_answers_nobody_until_it_is_unfrozen(house):
    body = house.decided("freeze", dataset="census")
    assert (body["type"], body["name"], body["frozen"]) == ("freeze", "census", True)
    assert "is frozen" in released(house)
    assert f"frozen: {WHY}" in house.person("maria").get("/data/census").text
    body = house.decided("unfreeze", dataset="census")
    assert body["frozen"] is False and released(house) == "answered"


def test_limits_beside_the_budget(house):
    body = house.decided("rule", dataset="census", who="user:ann", per_request="0.05", requests_per_day="1000")
    assert (body["type"], body["scope"], body["who"]) == ("rule", "user", "ann")
    rule = house.folder.state.rules["user", "ann", "census"]
    assert (rule.per_request, rule.requests_per_day) == (Fraction(1, 20), 1000)
    assert released(house, eps=Fraction(1, 10)) != "answered" and released(house) == "answered"
    assert "ann: " in house.person("maria").get("/data/census").text
    house.decided("rule", dataset="census", who="user:ann")  # an empty rule lifts it
    assert house.folder.state.rules == {} and released(house, eps=Fraction(1, 10)) == "answered"


def test_a_user_whose_requests_failed_is_pardoned(house):
    folder = house.folder
    for i in range(3):
        folder.ledger.record({"type": "failed", "user": "bob", "request": f"{i:032x}"})
    assert house.folder.state.failures["bob"] == 3 and "bob" in house.person("maria").get("/people").text
    body = house.decided("pardon", name="bob")
    assert (body["type"], body["name"]) == ("pardon", "bob") and house.folder.state.failures["bob"] == 0


def test_each_action_was_decided_once_above(house):
    """Runs after the others: an action that is added needs a test of its own here."""
    if len(set(DECIDED)) < 5:
        pytest.skip("the tests of single actions were not run")
    assert set(ACTIONS) == set(DECIDED)


def test_decisions_are_in_the_security_log_too(house):
    """As many of one kind and one person as it takes in a minute; the ledger has all of them."""
    if not DECIDED:
        house.decided("set-group", name="solo", members=["ann"])
    lines = [json.loads(x) for x in (house.where / "jail" / "security" / "console.jsonl").read_text().splitlines()]
    made = {(x["user"], x["decision"], x["reason"]) for x in lines if x["kind"] == "decision"}
    assert {("maria", ACTIONS[action].title, WHY) for action in DECIDED[: MOST // 2]} <= made


def test_every_kind_of_entry_can_be_looked_for(house):
    known = {name.removeprefix("_on_") for name in dir(State) if name.startswith("_on_")}
    assert set(KINDS) == known - set(HIDDEN) and len(KINDS) == len(set(KINDS))


def test_a_certificate_is_downloaded_and_is_the_one_that_was_checked(house):
    assert released(house) == "answered"
    number = max(e.seq for e in house.folder.events() if e.body["type"] == "charge")
    for name in ("maria", "aude"):
        person = house.person(name)
        page = person.get(f"/log/{number}").text
        assert f'href="/log/{number}/certificates.json" download' in page
        assert "Release 1: <strong>ok</strong>" in person.get(f"/log/{number}?check=1").text
        file = person.get(f"/log/{number}/certificates.json")
        assert file.status_code == 200 and file.headers["content-type"].startswith("application/json")
        assert file.headers["content-disposition"] == f'attachment; filename="entry-{number}-certificates.json"'
        assert [verdict for verdict, _ in checked(file.json())] == ["ok"]
        assert file.json()[0]["release"]["mechanism"]["epsilon"] == "1/100"
    assert house.person("maria").get("/log/1/certificates.json").status_code == 404  # no charge: none was made
    lines = (house.where / "jail" / "security" / "console.jsonl").read_text()
    assert lines.count('"kind": "certificate loaded"') == 2


def said(page):
    """The text of a page, without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


@pytest.mark.parametrize(("query", "guess", "noise"), [
    ("", "52.5", 30), ("?eps=0.1", "52.5", 30), ("?eps=1", "73.2", 3), ("?eps=0.25", "56.3", 12),
    ("?eps=0.1&delta=0.2", "62.0", 30), ("?eps=1000", "100.0", 0), ("?eps=1e-9", "50.1", 2995732274),
])  # fmt: skip
def test_the_page_says_what_epsilon_means(house, query, guess, noise):
    """The best guess is rounded up: 56.22 % is not "at most 56.2 %"."""
    page = house.person("ann").get(f"/epsilon{query}").text
    sentence = f"guesses whether one person is in the data: from 50 % right to at most {guess} %."
    assert sentence in said(page) and f'aria-label="best guess at most {guess} per cent"' in page
    assert f"and by at most {noise} 95 times of 100" in said(page)


def test_the_page_says_how_much_is_known_by_now(house):
    page = house.person("maria").get("/epsilon?eps=0.01").text
    state = house.folder.state
    spent, limit = state.total(("dataset", "", "census"))[0], limit_of(house, "dataset", "")[0]
    row = re.search(r"<tr><td>census</td>.*?</tr>", page)[0]
    assert f"<td>{(limit - spent) // Fraction(1, 100)}</td>" in row and "50 % → at most" in row
    wrong = house.person("maria").get("/epsilon?eps=none").text
    assert "ε is a number above 0" in wrong and "at most 52.5 %" in said(wrong)
