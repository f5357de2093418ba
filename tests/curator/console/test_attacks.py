"""The console under attack: the usual list, against a real process."""

from __future__ import annotations

import json
import os
import re
import socket
from html.parser import HTMLParser

import httpx
import pytest

from privjail.curator.folder import JailFolder
from privjail.server.ledger.events import texts
from tests.server.jails import make_jail

from .served import BROWSER, Person, add, console, needs_browser, token

NASTY = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def jail(tmp_path):
    folder = make_jail(tmp_path, budget=5, users=("ann", "bob"), grant=1)
    for name, role in (("maria", "curator"), ("otto", "operator"), ("aude", "auditor")):
        (tmp_path / f"{name}.privjail").write_text(json.dumps({"token": add(folder, name, role)}))
    return tmp_path


def login(where, url, name="maria"):
    return Person(url, token(where / f"{name}.privjail"))


def entries(where):
    return len(JailFolder(where / "jail").events())


def test_a_planted_session_id_means_nothing(jail):
    """Session fixation: the id that the browser had before the login is not the one that it has afterwards."""
    with console(jail / "jail", "--write") as url:
        victim = Person(url)
        victim.http.cookies.set("privjail", "planted-by-an-attacker")
        answer = victim.http.post(
            "/login", data={"token": token(jail / "maria.privjail")}, headers={"Origin": url}, follow_redirects=False
        )
        cookie = answer.headers["set-cookie"]
        number = cookie.split(";")[0].split("=", 1)[1]
        assert number != "planted-by-an-attacker" and len(number) >= 40
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        thief = Person(url)
        thief.http.cookies.set("privjail", "planted-by-an-attacker")
        assert thief.get("/").url.path == "/login"


def test_a_second_login_ends_the_first_session(jail):
    with console(jail / "jail") as url:
        maria = login(jail, url)
        before = maria.http.cookies["privjail"]
        maria.http.post("/login", data={"token": token(jail / "maria.privjail")}, headers={"Origin": url})
        old = Person(url)
        old.http.cookies.set("privjail", before)
        assert old.get("/").url.path == "/login" and maria.get("/").url.path == "/"


def test_cookies_are_secure_under_tls(jail):
    with console(jail / "jail", tls=True) as url:
        http = httpx.Client(verify=False)
        answer = http.post(url + "/login", data={"token": token(jail / "maria.privjail")}, headers={"Origin": url})
        assert "__Host-privjail=" in answer.headers["set-cookie"] and "Secure" in answer.headers["set-cookie"]
        assert "max-age" in answer.headers["strict-transport-security"]


KINDS = ("no word", "wrong word", "word of another session", "other origin", "cross-site", "get")


def test_forged_requests_change_nothing(jail):
    """CSRF: the session's cookie alone decides nothing."""
    with console(jail / "jail", "--write") as url:
        maria, other = login(jail, url), login(jail, url)
        before = entries(jail)
        for kind in KINDS:
            forged(kind, url, maria, other)
        assert entries(jail) == before
        evil = {"Origin": "https://evil.example"}
        assert maria.http.post("/login", data={"token": "x"}, headers=evil).status_code == 403
        maria.decide("add-user", name="eve", days="9")
        assert entries(jail) == before + 1  # an honest form decides


def forged(kind, url, maria, other):
    form = {"name": "mallory", "days": "9", "role": "curator", "reason": "x", "confirm": "yes"}
    headers, word = {"Origin": url}, maria.csrf
    if kind == "no word":
        word = ""
    elif kind == "wrong word":
        word = "x" * 43
    elif kind == "word of another session":
        word = other.csrf
    elif kind == "other origin":
        headers = {"Origin": "https://evil.example"}
    elif kind == "cross-site":
        headers = {"Sec-Fetch-Site": "cross-site"}
    if kind == "get":
        assert maria.http.get("/decide/add-user", params={"csrf": word, **form}).status_code == 404
    else:
        answer = maria.http.post("/decide/add-user", data={"csrf": word, **form}, headers=headers)
        assert answer.status_code == 403, kind


def test_a_read_only_console_decides_nothing(jail):
    with console(jail / "jail") as url:
        maria = login(jail, url)
        before = entries(jail)
        assert "Grant a budget" not in maria.get("/people").text
        answer = maria.post("/decide/add-user", name="x", days="9", reason="x", confirm="yes")
        assert answer.status_code == 403 and "read-only" in answer.text
        ann = login(jail, url, "ann")
        assert ann.post("/wish", dataset="census", budget="1", reason="x").status_code == 403
        assert ann.post("/renew").status_code == 403
        assert entries(jail) == before


def nasty_jail(where):
    """A ledger with markup wherever a name or a program can stand, as a hand that writes to the folder could make it."""
    folder = JailFolder(where / "jail")
    entered = next(e.body for e in folder.events() if e.body["type"] == "dataset")
    columns = [NASTY, QUOTED]
    schema = {NASTY: {"type": "category", "categories": [QUOTED]}}
    record = folder.ledger.record
    record({**entered, "name": NASTY, "columns": columns, "schema": schema, "fingerprint": "other"})
    record({"type": "user", "name": QUOTED, "token": "0" * 64, "expires": None})
    record({"type": "group", "name": NASTY, "members": [QUOTED]})
    record(
        {
            "type": "limit",
            "scope": "user",
            "who": QUOTED,
            "dataset": NASTY,
            "limit": texts((1,)),
            "reason": NASTY,
            "by": QUOTED,
        }
    )
    record({"type": "wish", "user": QUOTED, "dataset": NASTY, "budget": QUOTED, "reason": NASTY})
    record({"type": "charge", "at": "2026-01-01T00:00:00+00:00", "user": QUOTED, "groups": [], "request": "00" * 16, "digest": "",
            "charges": [(NASTY, [], ["1/2"])], "kept": 1, "program": [(NASTY, QUOTED)]})  # fmt: skip
    record({"type": "freeze", "name": NASTY, "frozen": True, "reason": QUOTED})
    return folder.ledger.entries


class Tags(HTMLParser):
    """What of a page would run or style something inline, as a browser reads the page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        run = [name for name, _ in attrs if name.startswith("on") or name == "style"]
        if run or tag == "style" or (tag == "script" and dict(attrs).get("src") != "/static/console.js"):
            self.found.append((tag, attrs))

    @classmethod
    def unsafe(cls, text):
        parser = cls()
        parser.feed(text)
        return parser.found


def test_markup_in_names_columns_programs_and_reasons_is_text(jail):
    """XSS, without a browser: no page holds the markup unescaped, and the policy forbids inline script anyway."""
    newest = nasty_jail(jail)
    with console(jail / "jail", "--write") as url:
        maria = login(jail, url)
        pages = ["/", "/people", "/requests", "/log", "/epsilon", "/security", f"/data/{NASTY.replace('/', '%2F')}"]
        pages += [f"/log/{n}" for n in range(newest - 7, newest + 1)]
        pages += [f"/log?text={NASTY}&who={QUOTED}", f"/security?user={QUOTED}", f"/epsilon?eps={NASTY}", f"/{NASTY}"]
        found = 0
        for path in pages:
            answer = maria.get(path)
            assert NASTY not in answer.text and "<img src=x" not in answer.text, path
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            assert Tags.unsafe(answer.text) == [], path
            found += "&lt;script&gt;" in answer.text
        assert found >= 8  # the names were there
        shown = maria.post("/decide/set-group", name="team", members=["ann"], reason=NASTY)
        assert NASTY not in shown.text and "&lt;script&gt;" in shown.text


@needs_browser
def test_markup_does_not_run_in_a_real_browser(jail):
    newest = nasty_jail(jail)
    from playwright.sync_api import sync_playwright

    with console(jail / "jail", "--write") as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        ran = []
        page.on("dialog", lambda d: (ran.append(d.message), d.dismiss()))
        page.goto(url)
        page.locator("#token").fill(token(jail / "maria.privjail"))
        page.locator("#token").press("Enter")
        page.wait_for_url(url + "/")
        for path in ("/", "/people", "/requests", "/log", f"/log/{newest - 1}", "/security"):
            page.goto(url + path)
            page.wait_for_timeout(150)
            assert page.locator("img[src=x]").count() == 0
        assert ran == []
        # Even if markup got into a page, the policy would stop it.
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(2)>')")
        page.wait_for_timeout(300)
        assert ran == []
        browser.close()


PATHS = [
    "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/....//app.py", "/static//etc/passwd",
    "/data/..%2f..%2fetc%2fpasswd", "/log/..%2f1", "/log/-1", "/log/0", "/log/99999999999999999999", "/log/1%00",
]  # fmt: skip


def test_paths_lead_nowhere_else(jail):
    """Path traversal, in the bytes of the request itself: no client tidies the path up first."""
    with console(jail / "jail") as url:
        cookie = login(jail, url).http.cookies["privjail"]
        host, port = url.removeprefix("http://").split(":")
        for path in PATHS:
            with socket.create_connection((host, int(port)), 10) as s:
                head = f"Host: {host}:{port}\r\nCookie: privjail={cookie}\r\nConnection: close"
                s.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())
                answer = b""
                while part := s.recv(65536):
                    answer += part
            assert 400 <= int(answer.split()[1]) < 500, (path, answer[:200])
            assert not any(word in answer for word in (b"root:", b"import", b"Traceback"))


def test_only_listed_files_can_be_drafted(jail):
    (jail / "data").mkdir()
    (jail / "data" / "a.csv").write_text("age,name\n41,zebra-secret\n")
    (jail / "data" / "link.csv").symlink_to(jail / "census.csv")
    with console(jail / "jail", "--data", str(jail / "data")) as url:
        maria = login(jail, url)
        (jail / "data" / os.fsdecode(b"caf\xe9.csv")).write_text("age\n1\n")  # red before: no page of schemas at all
        for text in ("[" * 100_000, '{"age": 1, "age": 2}', '{"age": ' + "9" * 5000 + "}"):
            told = maria.post("/schema/check", file="a.csv", schema=text)
            assert told.status_code == 200 and "the schema is not valid JSON" in told.text
        assert "a.csv" in maria.get("/schema").text and "link.csv" not in maria.get("/schema").text
        drafted = maria.post("/schema/draft", file="a.csv")
        assert drafted.status_code == 200 and "Int64" in drafted.text
        assert "zebra" not in drafted.text and "41" not in drafted.text  # no value of the data
        for name in ("../census.csv", "/etc/passwd", "link.csv", "a.csv\0", "", "../jail/jail.json"):
            assert maria.post("/schema/draft", file=name).status_code == 400, name
            assert maria.post("/schema/check", file=name, schema="{}").status_code == 400
        checked = maria.post("/schema/check", file="a.csv", schema='{"age": {"type": "Int64", "range": [0, 40]}}')
        assert "many" in checked.text and "zebra" not in checked.text
        assert login(jail, url, "aude").get("/schema").status_code == 403


def test_no_other_page_may_show_the_console(jail):
    """Clickjacking."""
    with console(jail / "jail") as url:
        for path in ("/login", "/health", "/static/style.css", "/nowhere"):
            headers = httpx.get(url + path).headers
            assert headers["x-frame-options"] == "DENY"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]


@needs_browser
def test_a_browser_does_not_show_the_console_in_a_frame(jail, tmp_path):
    from playwright.sync_api import sync_playwright

    with console(jail / "jail") as url, sync_playwright() as play:
        (tmp_path / "frame.html").write_text(f'<iframe src="{url}/login" width="500" height="500"></iframe>')
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"file://{tmp_path}/frame.html")
        page.wait_for_timeout(500)
        assert page.frames[1].locator("#token").count() == 0
        page.goto(url + "/login")
        assert page.locator("#token").count() == 1  # by itself it is shown
        browser.close()


def test_who_tries_tokens_has_to_wait(jail):
    """Brute force: after five wrong tokens further ones wait; the security log tells of it."""
    with console(jail / "jail") as url:
        http = httpx.Client(base_url=url)

        def attempt(word):
            return http.post("/login", data={"token": word}, headers={"Origin": url}).status_code

        assert [attempt(f"wrong{i}") for i in range(5)] == [403] * 5
        assert attempt("wrong") == attempt("wrong again") == 429
    lines = [json.loads(x) for x in (jail / "jail" / "security" / "console.jsonl").read_text().splitlines()]
    assert [x["kind"] for x in lines] == ["login failed"] * 5 + ["login refused"] * 2
    assert all(x["source"] == "127.0.0.1" for x in lines)
    assert "wrong1" not in json.dumps(lines)  # a token that was nearly right is not for a log


@pytest.mark.parametrize(("name", "may", "may_not"), [
    ("ann", ["/mine", "/epsilon"], ["/", "/people", "/log", "/log/1", "/requests", "/security", "/data/census", "/schema"]),
    ("otto", ["/", "/people", "/log", "/security", "/data/census"], ["/mine", "/schema", "/log/1/certificates.json"]),
    ("aude", ["/", "/people", "/log", "/security", "/data/census"], ["/mine", "/schema"]),
])  # fmt: skip
def test_no_role_does_what_it_may_not(jail, name, may, may_not):
    """Privilege escalation: every page, and every decision, by a role that must not."""
    from privjail.curator.console.actions import ACTIONS

    with console(jail / "jail", "--write") as url:
        person = login(jail, url, name)
        before = entries(jail)
        assert [person.get(path).status_code for path in may] == [200] * len(may)
        assert [person.get(path).status_code for path in may_not] == [403] * len(may_not)
        for action in ACTIONS:
            form = {
                "name": "x",
                "who": "user:ann",
                "dataset": "census",
                "budget": "9",
                "reason": "x",
                "role": "curator",
                "wish": "1",
            }
            assert person.post(f"/decide/{action}", confirm="yes", **form).status_code == 403, action
        assert entries(jail) == before
        if name != "ann":
            assert person.post("/wish", dataset="census", budget="1", reason="x").status_code == 403
    lines = (jail / "jail" / "security" / "console.jsonl").read_text()
    assert '"kind": "role"' in lines and f'"user": "{name}"' in lines


def test_an_operator_sees_no_program_and_an_auditor_does(jail):
    nasty = JailFolder(jail / "jail")
    nasty.ledger.record({"type": "charge", "at": "2026-01-01T00:00:00+00:00", "user": "ann", "groups": [], "request": "00" * 16,
                         "digest": "", "charges": [("census", [], ["1/2"])], "kept": 1,
                         "program": [("census | secret-program", "Laplace")]})  # fmt: skip
    number = nasty.ledger.entries
    with console(jail / "jail") as url:
        otto, aude = login(jail, url, "otto"), login(jail, url, "aude")
        for path in ("/", "/log", f"/log/{number}", "/data/census", "/log?text=secret-program"):
            assert "| secret-program" not in otto.get(path).text, path
        assert "secret-program" in aude.get(f"/log/{number}").text and "secret-program" in aude.get("/data/census").text
        assert "secret-program" in aude.get("/").text


def test_revoking_a_token_or_changing_a_role_ends_the_session(jail):
    folder = JailFolder(jail / "jail")
    with console(jail / "jail", "--write") as url:
        aude, otto = login(jail, url, "aude"), login(jail, url, "otto")
        folder.revoke("aude", None)
        assert aude.get("/").url.path == "/login"
        folder.add_user("otto", 30, role="analyst")  # a new token: the old one ends
        assert otto.get("/").url.path == "/login"


def test_a_foreign_name_for_the_console_is_refused(jail):
    """DNS rebinding: a page of evil.example whose name leads to the loopback address."""
    with console(jail / "jail") as url:
        assert httpx.get(url + "/login", headers={"Host": "evil.example"}).status_code == 421
        assert httpx.get(url + "/login", headers={"Host": "evil.example:7480"}).status_code == 421
        assert httpx.get(url + "/login").status_code == 200


def test_large_forms_are_refused_and_the_console_goes_on(jail):
    with console(jail / "jail", "--write") as url:
        maria = login(jail, url)
        assert maria.post("/decide/add-user", name="x" * (2**21)).status_code == 413
        assert maria.post("/decide/add-user", **{f"f{i}": "1" for i in range(3000)}).status_code == 400
        assert maria.get("/").status_code == 200


def test_a_connection_file_is_shown_once_and_kept_nowhere(jail):
    with console(jail / "jail", "--write") as url:
        maria = login(jail, url)
        shown = maria.decide("add-user", name="eve", days="30", role="analyst")
        secret = re.search(r"token&#34;: &#34;([\w-]{43})", shown.text)[1]
        for path in ("/people", "/log", "/", "/security", f"/log/{JailFolder(jail / 'jail').ledger.entries}"):
            assert secret not in maria.get(path).text
    for file in (jail / "jail").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file
