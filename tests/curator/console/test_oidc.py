"""Login through an identity provider that runs here (oidc-provider-mock): the whole way, in Chromium and by hand."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import time
import urllib.parse
from contextlib import contextmanager

import httpx
import pytest

from privjail.curator.folder import JailFolder
from tests.server.jails import free_port, make_jail

from .served import BROWSER, NO_KEEPING, add, console, needs_browser

if importlib.util.find_spec("oidc_provider_mock") is None:
    pytest.skip("no identity provider: pip install oidc-provider-mock", allow_module_level=True)


@contextmanager
def provider():
    """The provider, as a process of its own."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    issuer, deadline = f"http://localhost:{port}", time.monotonic() + 60
    try:
        while True:
            try:
                httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=5)
                break
            except httpx.HTTPError:
                assert time.monotonic() < deadline and process.poll() is None, "the provider does not answer"
                time.sleep(0.1)
        yield issuer
    finally:
        process.kill()
        process.wait()


@contextmanager
def provided(where):
    """A console with a provider: (its address, the provider's address)."""
    folder = make_jail(where)
    add(folder, "maria")
    with provider() as issuer:
        (where / "secret").write_text("a word between the two\n")
        us = ["--oidc-issuer", issuer, "--oidc-client", "the-console", "--oidc-secret-file", str(where / "secret")]
        with console(where / "jail", "--write", *us) as url:
            yield url, issuer


def away(http, url):
    """To the provider: the address of its page."""
    answer = http.get(url + "/oidc")
    assert answer.status_code == 303
    return answer.headers["location"]


def back(http, where, sub):
    """Somebody says who she is; the address that she is sent back to."""
    return http.post(where, data={"sub": sub}).headers["location"]


@needs_browser
def test_a_curator_logs_in_with_her_account_of_the_house(tmp_path):
    from playwright.sync_api import sync_playwright

    with provided(tmp_path) as (url, _), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(url)
        page.get_by_role("link", name="Log in with the identity provider").click()
        page.get_by_placeholder("sub").first.fill("maria")
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_url(url + "/")
        assert page.get_by_role("heading", name="Overview").is_visible()
        assert "maria" in page.locator("header").inner_text()
        JailFolder(tmp_path / "jail").revoke("maria", None)
        page.goto(url + "/people")
        assert page.url == url + "/login"
        browser.close()


def test_answers_that_are_not_for_this_login_are_refused(tmp_path):
    with provided(tmp_path) as (url, issuer):
        http = httpx.Client(timeout=30, limits=NO_KEEPING)
        to = away(http, url)
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(to).query))
        assert query["code_challenge_method"] == "S256" and len(query["state"]) > 40 and len(query["nonce"]) > 40
        callback = back(http, to, "maria")
        other = httpx.Client(timeout=30, limits=NO_KEEPING)
        assert other.get(callback).status_code == 403  # another browser: it began no login
        changed = re.sub("state=[^&]+", "state=" + "x" * 43, callback)
        assert http.get(changed).status_code == 403  # and that ends the login
        assert http.get(callback).status_code == 403
        for name, status in (("maria", 200), ("nobody", 403)):
            answer = http.get(back(http, away(http, url), name))
            assert answer.status_code == status and ("privjail=" in answer.headers.get("set-cookie", "")) is (
                status == 200
            )
        odd = re.sub("state=[^&]+", "state=%C3%A9", back(http, away(http, url), "maria"))
        assert http.get(odd).status_code == 403
        used = back(http, away(http, url), "maria")
        assert http.get(used).status_code == 200
        assert http.get(used).status_code == 403  # once
        assert http.get(url + "/oidc/callback").status_code == 403
        assert [http.get(url + "/oidc").status_code for _ in range(40)].count(429) >= 10  # one address begins few
    lines = [json.loads(x) for x in (tmp_path / "jail" / "security" / "console.jsonl").read_text().splitlines()]
    assert {x["kind"] for x in lines} == {"login", "login failed"} and any(x.get("named") == "nobody" for x in lines)


def test_tokens_of_others_for_others_or_for_other_logins_are_refused():
    """The claims, one by one, with keys of our own."""
    from joserfc import jwt
    from joserfc.jwk import ECKey, KeySet

    from privjail.curator.console.oidc import Provider, Refusal, read_claims

    key, stranger = ECKey.generate_key("P-256", {"kid": "a"}), ECKey.generate_key("P-256", {"kid": "a"})
    keys = KeySet([key]).as_dict(private=False)
    issuer = "https://id.house.example/"  # some end with a slash: it is part of their name
    provider = Provider("https://id.house.example", "the-console")
    good = {
        "iss": issuer,
        "aud": "the-console",
        "exp": int(time.time()) + 60,
        "nonce": "n",
        "sub": "maria",
    }

    def read(claims, by=key, algorithm="ES256"):
        token = jwt.encode({"alg": algorithm, "kid": "a"}, claims, by, algorithms=[algorithm])
        return read_claims(token, keys, provider, issuer, "n")

    several = {"aud": ["the-console", "another"]}
    for fine in ({}, {"azp": "the-console"}, {**several, "azp": "the-console"}, {"aud": ["the-console"]}):
        assert read({**good, **fine})["sub"] == "maria"
    bad = [
        several,
        {"azp": "another"},
        {**several, "azp": "another"},
        {"iss": "https://id.house.example"},
        {"iss": "https://evil.example"},
        {"aud": "other"},
        {"exp": int(time.time()) - 3600},
        {"nonce": "m"},
        {"exp": None},
    ]
    for change in bad:
        claims = {k: v for k, v in {**good, **change}.items() if v is not None}
        with pytest.raises(Refusal):
            read(claims)
    with pytest.raises(Refusal):
        read(good, stranger)
    for text in ("", "x.y.z", "eyJhbGciOiJub25lIn0." + "e30" + "."):
        with pytest.raises(Refusal):
            read_claims(text, keys, provider, issuer, "n")
