"""Somebody who never opens a terminal: in a real Chromium, from an empty jail to a revoked analyst."""

from __future__ import annotations

import json
import os
import re

import pytest

from privjail import client
from tests.server.jails import count, make_jail, serving

from .served import BROWSER, add, console, needs_browser

SHOTS = os.environ.get("PRIVJAIL_SCREENSHOTS")  # a folder: the pictures of the docs are made by this test
LAPTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def shot(page, name):
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=False)


@pytest.fixture
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def confirm(page, why):
    """Fill the reason of the form that is open, look at the preview, and confirm."""
    assert page.get_by_text("Nothing is written yet").is_visible()
    assert page.get_by_text(why).first.is_visible()
    page.get_by_role("button", name="Confirm").click()


@needs_browser
def test_a_curator_adds_grants_watches_reads_and_revokes_without_a_terminal(tmp_path, chromium):
    from playwright.sync_api import expect

    folder = make_jail(tmp_path, budget=5, users=("ann",), grant=1)
    (tmp_path / "maria.privjail").write_text(json.dumps(folder.add_user("maria", 30, role="curator")))
    with serving(tmp_path, tls=True), console(tmp_path / "jail", "--write", tls=True) as url:
        context = chromium.new_context(ignore_https_errors=True, viewport=LAPTOP, accept_downloads=True)
        wrong = []
        page = context.new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.goto(url)
        # She logs in with her connection file, and sees the data sets.
        page.get_by_label("Connection file").set_input_files(str(tmp_path / "maria.privjail"))
        expect(page.locator("#token")).not_to_have_value("")
        page.get_by_role("button", name="Log in").click()
        assert page.get_by_role("heading", name="Overview").is_visible()
        assert page.get_by_role("link", name="census").is_visible()
        # She adds a user, and saves the connection file, which is shown once.
        page.get_by_role("link", name="People").click()
        card = page.locator("section", has=page.get_by_role("heading", name="Add a user"))
        card.get_by_label("Name").fill("eve")
        card.get_by_label("Why").fill("joins the study")
        card.get_by_role("button", name="Preview").click()
        confirm(page, "joins the study")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as eve.privjail").click()
        file = tmp_path / "eve.privjail"
        download.value.save_as(file)
        assert download.value.suggested_filename == "eve.privjail"
        page.get_by_role("link", name="Done").click()
        assert json.loads(file.read_text())["token"] not in page.content()
        # She grants a budget, and is told who may do what afterwards.
        card = page.locator("section", has=page.get_by_role("heading", name="Grant a budget"))
        card.locator("select[name=who]").select_option("user:eve")
        card.locator("select[name=dataset]").select_option("census")
        card.get_by_label("Budget").fill("0.5")
        card.get_by_label("Why").fill("first look")
        card.get_by_role("button", name="Preview").click()
        row = page.get_by_role("row").filter(has_text="eve")
        assert "no access" in row.inner_text() and "may spend 0.5, 0.5 left" in row.inner_text()
        shot(page, "console-preview")
        confirm(page, "first look")
        # The analyst's program spends, while the curator watches the page of the data set.
        page.goto(f"{url}/data/census")
        assert "0 of 5 spent" in page.locator(".numbers").first.inner_text()
        connection = client.connect(file)
        for _ in range(4):
            connection.release([count(connection, 0.05)])
        expect(page.locator(".numbers").first).to_contain_text("0.2 of 5 spent", timeout=15_000)
        shot(page, "console-dataset")
        # She reads what was asked, and checks its certificate with one click.
        page.get_by_role("link", name="Audit log").click()
        page.get_by_label("What").select_option("charge")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("row").nth(1).get_by_role("link").click()
        assert "Laplace" in page.locator("pre").inner_text()
        page.get_by_role("link", name="Check it").click()
        assert re.search(r"Release 1: ok", page.locator("#verdict").inner_text())
        # She revokes the user, whose next request fails.
        page.get_by_role("link", name="People").click()
        row = page.get_by_role("row").filter(has=page.get_by_text("eve", exact=True)).first
        row.get_by_text("Revoke").click()
        row.get_by_label("Why").fill("left the house")
        row.get_by_role("button", name="Preview").click()
        confirm(page, "left the house")
        assert "revoked" in page.get_by_role("row").filter(has_text="eve").first.inner_text()
        with pytest.raises(Exception, match="not accepted"):
            connection.release([count(connection, 0.05)])
        connection.close()
        page.goto(url)
        shot(page, "console-overview")
        page.set_viewport_size(PHONE)
        shot(page, "console-phone")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]  # nothing sticks out
        assert wrong == []
    told = [e.body for e in folder.events() if "by" in e.body and "(console)" in e.body["by"]]
    assert [(b["type"], b["reason"]) for b in told] == [
        ("user", "joins the study"), ("limit", "first look"), ("revoke", "left the house")]  # fmt: skip
    assert all(b["by"] == "maria (console)" for b in told)


@needs_browser
def test_pages_can_be_used_with_the_keyboard_and_read_aloud(tmp_path, chromium):
    folder = make_jail(tmp_path, users=("ann",))
    token = add(folder, "maria")
    with console(tmp_path / "jail", "--write") as url:
        page = chromium.new_page()
        page.goto(url)
        page.keyboard.type(token)  # the field has the focus
        page.keyboard.press("Enter")
        page.wait_for_url(url + "/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
        for path in ("/", "/people", "/requests", "/log", "/epsilon", "/security", "/schema", "/data/census"):
            page.goto(url + path)
            unlabelled = page.evaluate(
                "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
                ".filter(e => !e.labels.length && !e.getAttribute('aria-label')).map(e => e.name)"
            )
            assert unlabelled == [], path
            assert page.evaluate("document.querySelectorAll('h1').length") == 1, path
            assert page.evaluate("[...document.querySelectorAll('svg')].every(e => e.getAttribute('aria-label'))"), path
            assert page.evaluate("document.querySelectorAll('main, nav, header').length") == 3, path
            assert page.evaluate("document.documentElement.lang") == "en"
