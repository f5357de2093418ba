"""The collector's server: a real Chromium submits to it over HTTP, and what it says is stored survives a kill."""

from __future__ import annotations

import http.client
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from fractions import Fraction as F

import numpy as np
import pytest

from privjail.errors import SchemaError
from privjail.local import Categories, KaryResponse, Survey, Warner
from privjail.local.survey.collector import Collector, Store, export
from privjail.local.survey.page import page
from privjail.local.survey.questionnaire import Questionnaire, cross_table

from .test_page import BROWSER, FLAGS, needs_browser

MIX = {"careful": F(1, 2), "open": F(1, 2)}
SMOKE = Survey("Do you smoke?", {"careful": Warner("3/5"), "open": Warner("4/5")}, MIX)
FRUIT = Categories(("apple", "pear", "fig"))
EATS = Survey("Which fruit?", {t: KaryResponse(FRUIT, F(p)) for t, p in (("careful", "2/5"), ("open", "7/10"))}, MIX)
BOTH = Questionnaire((SMOKE.with_ballot(1), EATS))
NAME = "0123456789abcdef" * 2
GOOD = {"id": NAME, "reports": [{"report": "yes", "ballot": "open"}, {"report": "fig"}]}


@contextmanager
def running(path, asked, text=""):
    store = Store(path, asked)
    collector = Collector(store, text)
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector.port, store
    finally:
        collector.stop()
        thread.join()
        store.close()


def post(port, body, to="/reports"):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request("POST", to, body if isinstance(body, bytes) else json.dumps(body))
        answer = line.getresponse()
        return answer.status, answer.read().decode()


SUBMIT = """<script>
setTimeout(async () => {
  form.querySelector('input[value="yes"]').checked = true;
  form.querySelector('input[value="fig"]').checked = true;
  form.querySelector('input[value="open"]').checked = true;
  form.requestSubmit();
  const first = document.getElementById("report").textContent;
  const sent = [await send(), await send()];
  document.body.innerHTML = JSON.stringify({first, sent, said: note.textContent});
}, 0);
</script></body>"""


@needs_browser
def test_a_real_browser_submits_to_a_real_server_once(tmp_path):
    text = page(BOTH, send=True, choices=True).replace("</body>", SUBMIT)
    with running(tmp_path / "s.db", BOTH, text) as (port, store):
        for _ in range(2):  # the second visit sends the same submission again
            command = [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
            done = subprocess.run(
                [*command, f"http://127.0.0.1:{port}/"], capture_output=True, text=True, timeout=300, check=False
            )
            body = re.search(r"<body>(.*)</body>", done.stdout, re.S)
            assert body, done.stderr[-500:]
            found = json.loads(body.group(1))
            assert found["sent"] == [True, True]
        rows, choices = export(tmp_path / "s.db", BOTH), store.choices()

    assert len(rows) == 1 and choices == ["open"]
    assert found["first"] == f"{rows[0]['report_1']},{rows[0]['ballot_1']}\n{rows[0]['report_2']}"


def test_a_submission_is_checked_and_stored_once(tmp_path):
    with running(tmp_path / "s.db", BOTH) as (port, store):
        assert post(port, GOOD)[0] == 200 and post(port, GOOD)[0] == 200
        other = {**GOOD, "reports": [{"report": "no", "ballot": "open"}, {"report": "fig"}]}
        assert post(port, other)[0] == 200  # under the same identifier the first one counts
        assert [row["report"] for row in store.rows(0)] == ["yes"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[" * 50_000,
        [],
        {},
        {**GOOD, "id": "short"},
        {**GOOD, "reports": []},
        {**GOOD, "reports": [{"report": "secret-answer", "ballot": "open"}, {"report": "fig"}]},
        {**GOOD, "reports": [{"report": "yes", "ballot": "secret-answer"}, {"report": "fig"}]},
        {**GOOD, "reports": [{"report": "yes"}, {"report": "fig"}]},
        {**GOOD, "reports": [{"report": 7, "ballot": "open"}, {"report": "fig"}]},
    ],
)
def test_what_no_page_sends_is_refused_and_not_repeated(tmp_path, body):
    with running(tmp_path / "s.db", BOTH) as (port, store):
        status, text = post(port, body)
        assert status == 400 and "secret-answer" not in text and not list(store.rows(0))
        assert post(port, GOOD)[0] == 200  # and the server goes on


def test_a_submission_that_is_too_long_is_refused_before_it_is_read(tmp_path):
    with running(tmp_path / "s.db", BOTH) as (port, _):
        assert post(port, b" " * 70_000)[0] == 413
        assert post(port, GOOD, "/elsewhere")[0] == 404


def test_the_store_keeps_no_address_no_time_and_no_order(tmp_path):
    names = [f"{i:032x}" for i in np.random.default_rng(1).permutation(40).tolist()]
    with closing(Store(tmp_path / "s.db", BOTH)) as store:
        for name in names:
            store.add({**GOOD, "id": name})
    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        columns = [row[1] for row in file.execute("PRAGMA table_info(reports)")]
        found = [row[0] for row in file.execute("SELECT id FROM reports")]
        with pytest.raises(sqlite3.OperationalError):
            file.execute("SELECT rowid FROM reports")  # a row number would tell the order of arrival
    assert columns == ["id", "body"] and found == sorted(names)


def test_a_store_of_another_survey_is_refused(tmp_path):
    Store(tmp_path / "s.db", BOTH).close()
    with pytest.raises(SchemaError, match="another survey"):
        Store(tmp_path / "s.db", Questionnaire((SMOKE,)))
    (tmp_path / "no.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(SchemaError, match="no store"):
        Store(tmp_path / "no.db", BOTH)


def test_what_was_answered_as_stored_survives_a_kill(tmp_path):
    """The server is another process; it is killed after its last answer, three times."""
    (tmp_path / "q.json").write_text(BOTH.to_json(), encoding="utf-8")
    stored = set()
    for round_ in range(3):
        words = ["collect", "--survey", str(tmp_path / "q.json"), "--store", str(tmp_path / "s.db"), "--port", "0"]
        server = subprocess.Popen(
            [sys.executable, "-m", "privjail.local", *words], stdout=subprocess.PIPE, text=True, cwd=tmp_path
        )
        try:
            port = int(re.search(r":(\d+)/", server.stdout.readline()).group(1))
            for i in range(3 + round_):
                name = f"{i + 1000 * round_:032x}"
                if post(port, {**GOOD, "id": name})[0] == 200:
                    stored.add(name)
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
            server.stdout.close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        assert len(stored) == 12 and stored <= {row[0] for row in file.execute("SELECT id FROM reports")}


def test_plain_epsilon_adds_up_over_questions():
    ratios = [s.menu["open"].ratio for s in BOTH.questions]
    assert BOTH.plain()["open"] == pytest.approx(float(np.log(float(ratios[0] * ratios[1]))))
    assert Questionnaire.load.__doc__ and Questionnaire.of(SMOKE).plain()["open"] == pytest.approx(np.log(4))


@pytest.mark.parametrize("hidden", [True, False])
def test_a_cross_table_is_unbiased_with_honest_errors(hidden):
    """Answers that go together; with hidden θ both reports share θ, which a product of blends would get wrong."""
    surveys = [Survey(s.question, s.menu, s.mix, hidden=hidden) for s in (SMOKE, EATS)]
    truth = np.array([[0.3, 0.05, 0.05], [0.1, 0.2, 0.3]])
    found, errors = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        pairs, picks = rng.choice(6, 3000, p=truth.ravel()), rng.random(3000) < 0.5
        reports = [
            np.where(picks, s.menu["careful"].draw(d), s.menu["open"].draw(d))
            for s, d in zip(surveys, (pairs // 3, pairs % 3), strict=True)
        ]
        thetas = None if hidden else np.where(picks, "careful", "open").tolist()
        table = cross_table(*surveys, reports, thetas)
        found.append(table.frequencies)
        errors.append(table.errors)
    centre, spread = np.mean(found, axis=0), np.std(found, axis=0)
    assert np.abs(centre - truth).max() < 4 * spread.max() / 120**0.5
    assert np.allclose(np.mean(errors, axis=0), spread, rtol=0.25)
