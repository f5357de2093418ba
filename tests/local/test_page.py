"""The browser page, in a real browser: its reports follow the channel's law, and it remembers."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from privjail.local import Categories, Survey, Warner
from privjail.local.survey.page import page

from .channels import ALL, codes, fit
from .test_channels import WRONG

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser: apt-get install chromium, then this test runs")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --virtual-time-budget=60000"""
SURVEYS = {name: Survey(f"{name}?", {"t": channel}, {"t": 1}) for name, channel in ALL.items()}


def browse(folder, survey, script, profile="profile", **how):
    """Open the page with one more script; what that script returns comes back through the page's text."""
    file = folder / "page.html"
    extra = f"<script>document.body.innerHTML = JSON.stringify((() => {{ {script} }})());</script></body>"
    file.write_text(page(survey, **how).replace("</body>", extra), encoding="utf-8")
    command = [
        BROWSER,
        *FLAGS.split(),
        "--window-size=390,844",
        f"--user-data-dir={folder / profile}",
        "--dump-dom",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    body = re.search(r"<body>(.*)</body>", done.stdout, re.S)
    assert body, done.stderr[-500:]
    return json.loads(html.unescape(body.group(1)))


def drawn(folder, name, position, n=20_000):
    many = f"return Array.from({{length: {n}}}, () => randomise(questions[0], 't', {position}));"
    texts = browse(folder, SURVEYS[name], many)
    channel = ALL[name]
    return channel, codes(channel, channel.read(texts))


@needs_browser
@pytest.mark.parametrize("name", [name for name in ALL if name != "hashing"])  # which has too many outputs: see below
def test_reports_from_the_browser_follow_the_law_and_no_other(name, tmp_path):
    channel, found = drawn(tmp_path, name, 1)
    wrong = WRONG[name](channel)

    assert fit(channel, found, 1) > 1e-6
    assert fit(channel, found, 1, law_of=wrong) < 1e-6


@needs_browser
def test_hashed_reports_from_the_browser_support_answers_at_the_right_rates(tmp_path):
    channel, found = drawn(tmp_path, "hashing", 2, n=40_000)
    tally, n = channel.tally(found), len(found)
    p, q = (float(r) for r in channel.rates)

    def far(count, rate):
        return abs(count - n * rate) / (n * rate * (1 - rate)) ** 0.5

    assert far(tally[2], p) < 5 and far(tally[0], q) < 5
    assert far(tally[2], q) > 5 and far(tally[0], p) > 5
    assert len(np.unique(found // channel.cells)) > 9000  # nearly all of the 10,100 salts


@needs_browser
def test_a_word_beyond_the_last_full_multiple_is_thrown_away_in_the_browser(tmp_path):
    """0xffff = 65535 is no draw below 3, because 65536 = 3 · 21845 + 1; the next word, 0x0101, is one."""
    feed = "const words = [255, 1]; crypto.getRandomValues = bytes => bytes.fill(words.shift());"
    left = browse(tmp_path, SURVEYS["kary"], f"{feed} return [String(below(3)), words.length];")
    assert left == [str(0x0101 % 3), 0]


CLICKS = """
  const pick = (answer) => {
    form.querySelector(`input[value="${answer}"]`).checked = true;
    form.querySelector('input[name="theta"]').checked = true;
    form.requestSubmit();
    return document.getElementById("report").textContent;
  };
  return Array.from({length: 1000}, (_, i) => pick(i % 2 ? "yes" : "no"));
"""


@needs_browser
def test_a_thousand_clicks_give_one_report_and_so_does_the_next_visit(tmp_path):
    """V-50: the page remembers its report, and never the answer."""
    survey = Survey("smoke?", {"t": Warner("1/2")}, {"t": 1})
    first = set(browse(tmp_path, survey, CLICKS))
    again = {answer for _ in range(6) for answer in browse(tmp_path, survey, CLICKS)}

    assert len(first) == 1 and again == first


@needs_browser
def test_fresh_visitors_get_different_reports(tmp_path):
    """The other direction: the memory above is not a constant page."""
    survey = Survey("smoke?", {"t": Warner("1/2")}, {"t": 1})
    texts = browse(tmp_path, survey, "return Array.from({length: 64}, () => randomise(questions[0], 't', 0));")
    assert set(texts) == {"yes", "no"}


@needs_browser
def test_numbers_are_clamped_to_the_grid_and_public_parameters_are_sent_along(tmp_path):
    survey = Survey("n?", {"t": ALL["laplace"]}, {"t": 1}, hidden=False)
    places = "[-9, 0, 0.34, 9, 'x', ''].map(v => positionOf(questions[0].domain, String(v)))"
    positions, text = browse(tmp_path, survey, f"return [{places}, shown(submission('t', [3]))];")

    assert positions == [0, 3, 4, 6, -1, -1]
    assert text.endswith(",t")


def test_the_page_can_connect_to_nothing_and_uses_the_system_s_generator():
    """V-4 in the browser: crypto only; and no label can smuggle a script into the page."""
    labels = Categories(("</script>", "b"))
    text = page(Survey("</script><b>", {"t": replace(Warner("1/2"), domain=labels)}, {"t": 1}))

    assert (
        "default-src 'none'" in text
        and "connect-src 'none'" in text
        and "getRandomValues" in text
        and "Math.random" not in text
    )
    assert text.count("</script>") == 1 and "<b>" not in text


TWO = Survey("Do you smoke?", {"a little": Warner("4/5"), "a lot": Warner("3/5")}, {"a little": "1/2", "a lot": "1/2"})

LOOK = """
  const seen = document.body.innerText;
  const before = [...form.querySelectorAll("input:checked")].length;
  form.requestSubmit();
  const refused = document.getElementById("problem").textContent;
  const rows = [...document.querySelectorAll(".dots")].map(r => r.querySelectorAll(".on").length);
  const wide = document.documentElement.scrollWidth <= innerWidth;
  const said = {};
  for (const l of Object.keys(survey.words)) {
    picker.value = l; picker.dispatchEvent(new Event("change"));
    said[l] = document.querySelector("h1").textContent + "|" + document.querySelector("[data-word=go]").textContent;
  }
  return {seen, before, refused, rows, wide, said};
"""


@needs_browser
def test_the_page_shows_no_epsilon_preselects_nothing_and_draws_what_the_noise_does(tmp_path):
    ja = {"ja": {"questions": [{"question": "タバコを吸いますか？", "answers": ["はい", "いいえ"]}]}}
    found = browse(tmp_path, TWO, LOOK, translations=ja)

    assert not re.search("ε|epsilon|E =|log", found["seen"])
    assert found["before"] == 0 and found["refused"]  # nothing is chosen for her, and nothing is drawn before she did
    assert found["rows"] == [16, 4, 12, 8]  # of 20 with her answer and of 20 with another, for each strength
    assert found["wide"]
    assert found["said"]["ja"] == "タバコを吸いますか？|回答をぼかす"
    assert len({text.split("|")[1] for text in found["said"].values()}) == 5


def test_every_language_says_the_same_things():
    words = json.loads(page(TWO).split("const survey = ")[1].split(";\n")[0])["words"]
    assert set(words) == {"en", "de", "fr", "es", "ja"}
    for language, texts in words.items():
        assert set(texts) == set(words["en"]), language
        for name, text in texts.items():
            assert re.findall(r"\{\w+\}", text) == re.findall(r"\{\w+\}", words["en"][name]) and text
