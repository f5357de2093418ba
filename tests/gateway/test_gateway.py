"""The gateway: what it answers is what the Python client answers, for the one who asks, charged once."""

from __future__ import annotations

import json
import secrets
import threading

import pytest

from privjail import client
from privjail.curator.folder import JailFolder
from privjail.gateway.app import LARGEST, Options, build
from privjail.gateway.connections import Rate
from tests.gateway.served import served
from tests.server.jails import free_port, make_jail, serving

COLUMN = {"column": "age"}
COUNT = {"dataset": "census", "ask": {"statistic": "count", "eps": "1/10"}}


@pytest.fixture(scope="module")
def jail(tmp_path_factory):
    where = tmp_path_factory.mktemp("gateway")
    folder = make_jail(where, users=("ann", "bob", "gone"), grant=100, rows=300)
    folder.add_user("nothing", 30)
    folder.ledger.close()
    with serving(where):
        yield where


@pytest.fixture
def gateway(jail):
    given = json.loads((jail / "ann.privjail").read_text())
    app = build(Options(given["address"], None))
    with served(app) as made:
        yield made


def headers(jail, user="ann"):
    return {"Authorization": f"Bearer {json.loads((jail / f'{user}.privjail').read_text())['token']}"}


def ask(gateway, jail, query, user="ann", request=None):
    body = {"request": request or secrets.token_hex(16), **query}
    return gateway.post("/v1/queries", json=body, headers=headers(jail, user))


def spent(gateway, jail, user="ann"):
    (balance,) = gateway.get("/v1/budget", headers=headers(jail, user)).json()["budgets"]
    assert balance["notion"] == "pure" and balance["limit"] == ["100"]
    top, _, bottom = balance["spent"][0].partition("/")
    return int(top) / int(bottom or 1)


def op(name, *args):
    return {"op": name, "args": list(args)}


QUERIES = [  # (steps, ask, what plain Python gives), on rows of (age, sex)
    ([], {"statistic": "count"}, lambda rows: len(rows)),
    ([{"filter": op("and", op("gt", COLUMN, 40), op("eq", {"column": "sex"}, "F"))}], {"statistic": "count"}, lambda rows: sum(a > 40 and s == "F" for a, s in rows)),
    ([{"assign": {"double": op("mul", 2, COLUMN)}}], {"statistic": "sum", "of": {"column": "double"}}, lambda rows: sum(2 * a for a, _ in rows)),
    ([], {"statistic": "sum", "of": op("where", op("between", COLUMN, 30, 39), 1, 0)}, lambda rows: sum(30 <= a <= 39 for a, _ in rows)),
    ([], {"statistic": "sum", "of": op("where", op("isin", COLUMN, 20, 21), COLUMN, op("neg", COLUMN))}, lambda rows: sum(a if a in (20, 21) else -a for a, _ in rows)),
    ([{"sort": {"by": ["age"], "descending": True}}, {"head": 10}], {"statistic": "sum", "of": COLUMN}, lambda rows: sum(sorted((a for a, _ in rows), reverse=True)[:10])),
    ([], {"statistic": "mean", "of": op("clip", COLUMN, 0, 50)}, lambda rows: sum(min(a, 50) for a, _ in rows) / len(rows)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_answers_are_those_of_plain_python(jail, gateway, number):
    steps, question, truth = QUERIES[number]
    rows = [(20 + i % 60, "FM"[i % 3 == 0]) for i in range(300)]
    before = spent(gateway, jail)
    found = ask(gateway, jail, {"dataset": "census", "steps": steps, "ask": {**question, "eps": 10}}).json()
    (row,) = found["answer"]
    exact = truth(rows)
    scale = 1 if question["statistic"] in ("count", "mean") else 200
    assert abs(row["value"] - exact) < 5 * scale and row["low"] <= row["value"] <= row["high"]
    assert found["price"] == {"eps": "10"} and spent(gateway, jail) - before == pytest.approx(10)


def test_groups_come_with_their_names(jail, gateway):
    question = {"statistic": "count", "by": ["sex"], "eps": 5}
    found = ask(gateway, jail, {"dataset": "census", "ask": question}, "bob").json()["answer"]
    assert {row["group"]["sex"]: round(row["value"] / 100) for row in found} == {"F": 2, "M": 1}
    mean = {"statistic": "median", "of": COLUMN, "by": ["sex"], "eps": 5}
    assert len(ask(gateway, jail, {"dataset": "census", "ask": mean}, "bob").json()["answer"]) == 2


def test_the_same_request_is_answered_and_charged_once(jail, gateway):
    number, mean = (
        secrets.token_hex(16),
        {"dataset": "census", "ask": {"statistic": "mean", "of": COLUMN, "eps": "1/7"}},
    )
    before = spent(gateway, jail)
    first = ask(gateway, jail, mean, request=number).json()
    gateway.app.gateway.connections.close()  # another gateway, or this one after a restart
    assert ask(gateway, jail, mean, request=number).json() == first
    assert spent(gateway, jail) - before == pytest.approx(1 / 7)
    assert ask(gateway, jail, mean, "bob", request=number).json()["answer"] != first["answer"]  # an id is a user's own
    other = ask(gateway, jail, COUNT, request=number)
    assert other.status_code == 400 and "answer" not in other.json()
    assert spent(gateway, jail) - before == pytest.approx(1 / 7)


def test_people_who_ask_at_once_pay_each_for_her_own(jail, gateway):
    before = {user: spent(gateway, jail, user) for user in ("ann", "bob")}
    failed = []

    def asking(user, times):
        for _ in range(times):
            answer = ask(gateway, jail, COUNT, user)
            failed.extend([answer.text] if answer.status_code != 200 else [])

    threads = [threading.Thread(target=asking, args=each) for each in (("ann", 5), ("bob", 10), ("ann", 5))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    after = {user: spent(gateway, jail, user) - before[user] for user in before}
    assert after == pytest.approx({"ann": 1.0, "bob": 1.0})


def test_the_token_is_asked_about_at_every_request(jail, gateway):
    assert ask(gateway, jail, COUNT, "gone").status_code == 200
    folder = JailFolder(jail / "jail")
    folder.revoke("gone", None)
    folder.ledger.close()
    for path in ("/v1/datasets", "/v1/datasets/census", "/v1/budget"):
        answer = gateway.get(path, headers=headers(jail, "gone"))
        assert answer.status_code == 401, answer.text
    answer = ask(gateway, jail, COUNT, "gone")
    assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["kind"] == "NotAccepted"
    assert not gateway.app.gateway.connections.knows(headers(jail, "gone")["Authorization"][7:])


def test_what_is_public_about_a_data_set(jail, gateway):
    assert gateway.get("/v1/datasets", headers=headers(jail)).json() == {"datasets": ["census"]}
    found = gateway.get("/v1/datasets/census", headers=headers(jail)).json()
    columns = {each["name"]: each for each in found["columns"]}
    assert found["person"] is None and columns["sex"]["categories"] == ["F", "M"] and columns["age"]["lower"] == 0
    assert gateway.get("/v1/datasets/other", headers=headers(jail)).status_code == 404


WRONG = [
    ({"steps": [{"filter": op("gt", {"column": "wage"}, 1)}]}, 400, "there is no column 'wage'"),
    ({"steps": [{"filter": COLUMN}]}, 400, ""),
    ({"steps": [{"drop": 1}]}, 400, "a step is an object with one key"),
    ({"steps": [{"filter": op("exec", COLUMN)}]}, 400, "there is no operation 'exec'"),
    ({"steps": [{"filter": op("gt", 1, 2)}]}, 400, "gt of constants only"),
    ({"steps": [{"filter": {"column": "__class__"}}]}, 400, "there is no column"),
    ({"steps": [{"head": -1}]}, 400, "whole number"),
    ({"ask": {"statistic": "count"}}, 400, "a release has a price"),
    ({"ask": {"statistic": "count", "eps": "1e99"}}, 400, ""),
    ({"ask": {"statistic": "count", "eps": "1/0"}}, 400, "eps is a number"),
    ({"ask": {"statistic": "count", "eps": "nan"}}, 400, "eps is a number"),
    ({"ask": {"statistic": "count", "eps": True}}, 400, "eps is a number"),
    ({"ask": {"statistic": "count", "eps": 101}}, 402, ""),
    ({"ask": {"statistic": "count", "rho": 1}}, 400, ""),
    ({"ask": {"statistic": "eval", "eps": 1}}, 400, "there is no statistic"),
    ({"ask": {"statistic": "mean", "of": 3, "eps": 1}}, 400, "names a column"),
    ({"ask": {"statistic": "quantile", "of": COLUMN, "eps": 1}}, 400, "takes q"),
    ({"dataset": "other"}, 400, "other"),
    ({"dataset": "../census"}, 400, ""),
    ({"more": 1}, 400, "a query has the keys"),
    ({"request": "1"}, 400, "an id of its own"),
    ({"steps": [{"head_of_each": {"by": ["age", "sex"], "rows": 1}}]}, 400, "takes one column"),
]


@pytest.mark.parametrize(("change", "status", "words"), WRONG)
def test_what_is_wrong_is_told_and_costs_nothing(jail, gateway, change, status, words):
    before = spent(gateway, jail)
    answer = ask(gateway, jail, {**COUNT, **change})
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"kind", "what", "plan", "do"} and words in error["what"]
    assert spent(gateway, jail) == before


def test_requests_are_limited(jail, gateway):
    def send(body, kind="application/json"):
        return gateway.post("/v1/queries", content=body, headers={**headers(jail), "Content-Type": kind})

    assert send(b" " * (LARGEST + 1)).status_code == 413
    assert send(b"{}", "text/plain").status_code == 415
    for body in (b"{", b"[" * 100_000, b"\xff", b'{"a": NaN}', b'{"request": "1", "request": "2"}', b"7",
                 b'{"request": "00000000000000000000000000000000", "dataset": "\\ud800"}'):  # fmt: skip
        assert send(body).status_code == 400
    deep = COLUMN
    for _ in range(40):
        deep = op("not", deep)
    assert ask(gateway, jail, {**COUNT, "steps": [{"filter": deep}]}).status_code == 400
    assert gateway.get("/v1/queries", headers=headers(jail)).status_code == 405
    for other in ("/other", "/v1/datasets/"):
        assert gateway.get(other).json()["error"]["what"] == "there is nothing here"


def test_one_who_asks_too_often_waits(jail):
    address = json.loads((jail / "ann.privjail").read_text())["address"]
    app = build(Options(address, None, per_minute=2, wrong_per_minute=1))
    with served(app) as http:
        codes = [http.get("/v1/budget", headers=headers(jail)).status_code for _ in range(3)]
        wrong = [http.get("/v1/budget", headers={"Authorization": f"Bearer no{i}"}).status_code for i in range(3)]
        assert http.get("/v1/budget").status_code == 401
    assert codes == [200, 200, 429] and wrong == [401, 429, 429]


def test_a_minute_later_one_may_ask_again():
    now = [0.0]
    rate = Rate(1, lambda: now[0])
    assert [rate.over("a"), rate.over("b"), rate.over("a")] == [False, False, True]
    now[0] = 60.0
    assert not rate.over("a")


def test_nothing_of_the_token_is_told_or_logged(jail, gateway, caplog):
    token = headers(jail)["Authorization"][7:]
    texts = [ask(gateway, jail, {**COUNT, **change}).text for change, _, _ in WRONG]
    assert not any(token in text for text in texts) and token not in caplog.text


def test_a_connection_that_is_old_or_idle_is_closed(jail, gateway, monkeypatch):
    from privjail.gateway import connections

    ended = []
    close = client.Connection.close
    monkeypatch.setattr(client.Connection, "close", lambda self: (ended.append(self), close(self)))
    assert ask(gateway, jail, COUNT).status_code == 200
    monkeypatch.setattr(connections, "IDLE", -1.0)
    assert ask(gateway, jail, COUNT, "bob").status_code == 200
    assert len(ended) == 1
    monkeypatch.setattr(connections, "OLD", -1.0)
    assert ask(gateway, jail, COUNT, "bob").status_code == 200
    assert len(ended) >= 2


def test_a_jail_that_is_away_is_told(monkeypatch):
    monkeypatch.setattr(client, "PATIENCE", 0.3)
    monkeypatch.setattr(client.Connection._call, "__defaults__", (0.3,))
    with served(build(Options(f"127.0.0.1:{free_port()}", None))) as http:
        answer = http.get("/v1/budget", headers={"Authorization": "Bearer some-token"})
    assert answer.status_code == 503 and answer.json()["error"]["kind"] == "Unreachable"
