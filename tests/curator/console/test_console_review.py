"""What a hostile review found in the console, each as a test that failed before; against a real process."""

from __future__ import annotations

import json
import socket
import ssl
import time

import httpx
import pytest

from privjail.server import rotation
from tests.server.jails import make_jail

from .served import NO_KEEPING, Person, add, console, token


@pytest.fixture
def jail(tmp_path):
    folder = make_jail(tmp_path, budget=5, users=("ann", "bob"), grant=1)
    folder.add_dataset(
        "secret-study",
        str(tmp_path / "census.csv"),
        {"age": {"type": "Int64", "range": [0, 120]}},
        [7],
        "pure",
        (None, 1),
        overlap_reason="a test",
    )
    (tmp_path / "maria.privjail").write_text(json.dumps({"token": add(folder, "maria")}))
    return tmp_path


def test_an_analyst_sees_no_budget_of_data_that_is_not_hers(jail):
    with console(jail / "jail") as url:
        ann, maria = (Person(url, token(jail / f"{name}.privjail")) for name in ("ann", "maria"))
        assert "census" in ann.get("/epsilon").text and "secret-study" not in ann.get("/epsilon").text
        assert "secret-study" in maria.get("/epsilon").text


def test_wrong_tokens_of_others_keep_nobody_out(jail):
    with console(jail / "jail") as url:
        http = httpx.Client(base_url=url, limits=NO_KEEPING)

        def attempt(word):
            return http.post("/login", data={"token": word}, headers={"Origin": url}).status_code

        assert [attempt(f"wrong{i}") for i in range(7)] == [403] * 5 + [429] * 2
        assert attempt(token(jail / "maria.privjail")) == 303  # from the same address
        assert attempt("wrong") == 429  # and that forgives nothing


@pytest.mark.parametrize("number", ["²", "9" * 5000, "-1", "1e9", "٣", "0x1", ""])
def test_odd_numbers_are_answered_with_words(jail, number):
    with console(jail / "jail", "--write") as url:
        maria = Person(url, token(jail / "maria.privjail"))
        forms = [
            ("add-user", {"name": "x", "days": number}), ("approve", {"wish": number}), ("decline", {"wish": number}),
            ("grant", {"who": "user:ann", "dataset": "census", "budget": number}),
            ("rule", {"who": "", "dataset": "census", "requests_per_day": number, "per_day": number, "until": number, "hours": number}),
        ]  # fmt: skip
        for action, form in forms:
            answer = maria.post(f"/decide/{action}", reason="x", **form)
            assert answer.status_code in (200, 400), (action, answer.text)
        for path in (f"/log?before={number}", f"/epsilon?eps={number}&delta={number}", f"/log/{number or 'x'}"):
            assert maria.get(path).status_code in (200, 404), path
        assert maria.get("/epsilon?eps=2e-308").status_code == 200


def shown(url):
    host, port = url.removeprefix("https://").split(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, int(port)), 10) as s, context.wrap_socket(s) as t:
        return t.getpeercert(binary_form=True)


def test_a_new_certificate_is_shown_without_a_restart(jail):
    with console(jail / "jail", tls=True) as url:
        before = shown(url)
        rotation.rotate_certificate(jail / "jail")
        deadline = time.monotonic() + 60
        while shown(url) == before:
            assert time.monotonic() < deadline, "the old certificate is shown for ever"
            time.sleep(0.5)
