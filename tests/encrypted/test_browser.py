"""The owners' encryption in JavaScript: the same bytes as Python's, and records that a real server takes."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import threading
from contextlib import closing, contextmanager
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

from privjail.encrypted import analyst, envelope, keys
from privjail.encrypted.attributes import Attribute
from privjail.encrypted.browser.gateway import Gateway
from privjail.encrypted.browser.page import page
from privjail.encrypted.numbers import P
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.records import Drawn, Encryptor
from privjail.encrypted.study import Terms
from privjail.errors import PlanError

from .parties import Parties, free_port

SCRIPT = resources.files("privjail.encrypted.browser").joinpath("encrypt.js").read_text(encoding="utf-8")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node: apt-get install nodejs, then this test runs")
RUN = """
const hex = bytes => Buffer.from(bytes).toString("hex"), raw = text => new Uint8Array(Buffer.from(text, "hex"));
(async () => {
  const made = [];
  for (const [study, receiver, bins, value, key, blind, masked, once] of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
    const drawn = key === null ? undefined : {key: raw(key), blind: raw(blind), masked, once: raw(once)};
    made.push(hex(await encrypted({study: raw(study), receiver: raw(receiver), bins}, value, drawn)));
  }
  process.stdout.write(JSON.stringify(made));
})();
"""


def by_node(asked: list[object]) -> list[bytes]:
    done = subprocess.run(
        [NODE, "-e", SCRIPT + RUN], input=json.dumps(asked), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-800:]
    return [bytes.fromhex(each) for each in json.loads(done.stdout)]


@needs_node
def test_records_are_the_same_bytes_from_the_same_draws():
    rng = np.random.default_rng(1)
    asked, wanted = [], []
    sizes = [2, 3, 4, 5, 15, 16, 17, 24, 25, 26, 100, 257, 1000, 4095, 4096]
    for i, bins in enumerate([*sizes, *rng.integers(2, 300, 25).tolist()]):
        receiver, _ = envelope.new_keys()
        study = rng.bytes(32)
        value = None if i % 5 == 4 else int(rng.integers(bins))
        edge = [0, P - 1, 1] if i % 3 == 0 else rng.integers(0, P, TESTS).tolist()
        drawn = Drawn(rng.bytes(32), rng.bytes(32), np.array(edge), rng.bytes(32))
        plain = np.zeros(bins, dtype=np.int64)
        if value is not None:
            plain[value] = 1
        wanted.append(Encryptor(study, receiver, bins).encrypted(plain, drawn))
        parts = [study.hex(), receiver.hex(), bins, value, drawn.key.hex(), drawn.blind.hex(), edge, drawn.once.hex()]
        asked.append(parts)
    assert by_node(asked) == wanted
    changed = [*asked[0][:6], [5, 6, 7], asked[0][7]]
    assert by_node([changed]) != wanted[:1]


@needs_node
def test_fresh_records_differ(tmp_path):
    receiver, _ = envelope.new_keys()
    same = [bytes(32).hex(), receiver.hex(), 16, 3, None, None, None, None]
    made = by_node([same] * 20)
    for at in range(0, len(made[0]) - 32, 32):  # every part of 32 bytes is drawn afresh
        assert len({each[at : at + 32] for each in made}) == 20


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser: apt-get install chromium, then this test runs")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --virtual-time-budget=60000"""
FILL = """<script>
setTimeout(async () => {
  const told = [];
  for (const [owner, ticket, bin] of __PEOPLE__) {
    form.elements.owner.value = owner;
    form.elements.ticket.value = ticket;
    form.elements.absent.checked = bin === null;
    form.elements.attribute0.value = bin === null ? "" : String(bin);
    told.push(await submit());
  }
  document.body.innerHTML = JSON.stringify(told);
}, 0);
</script></body>"""


@contextmanager
def gateway(study, text):
    port = free_port()
    served = Gateway(study, text(port), ("127.0.0.1", port))
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    try:
        yield served.port
    finally:
        served.stop()
        thread.join()


@needs_browser
def test_a_real_browser_submits_to_the_real_servers(tmp_path):
    """Chromium encrypts, the gateway passes on, both servers check the proofs; the sum is right, noise given as 0."""
    parties = Parties(tmp_path / "study", bins=16, budget=10)
    bins = [3, 3, 5, None, 15, 0]
    people = [[f"b{i}", parties.tickets.owner(f"b{i}").hex(), bin] for i, bin in enumerate(bins)]
    twice = [*people, people[0], ["mallory", people[0][1], 7]]

    def text(port):
        made = page(parties.study, f"http://127.0.0.1:{port}/")
        return made.replace("</body>", FILL.replace("__PEOPLE__", json.dumps(twice)))

    silent = lambda scale, n: [0] * n  # noqa: E731
    with parties.in_threads(draw_d=silent, draw_c=silent), gateway(parties.study, text) as port:
        done = subprocess.run(
            [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
            + [f"http://127.0.0.1:{port}/"],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        body = re.search(r"<body>(.*)</body>", done.stdout, re.S)
        assert body, done.stderr[-500:]
        assert json.loads(body.group(1)) == ["kept"] * 6 + ["known", "refused"]
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 1)
    assert found.released["leaves"].tolist() == np.bincount([3, 3, 5, 15, 0], minlength=16).tolist()


def test_the_gateway_refuses_what_is_no_submission(tmp_path):
    parties = Parties(tmp_path / "study", bins=16)
    with parties.in_threads(), gateway(parties.study, lambda port: "") as port:
        for body in (b"", b"\xff" * 10, b"\x02\0\0\0{}", b"\x02\0\0\0[]" + b"x" * 50, b"x" * 100_000):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
                line.request("POST", "/submit", body)
                answer = line.getresponse()
                assert answer.status in (400, 413) and "refused" in answer.read().decode()


def test_the_page_connects_to_its_gateway_alone_and_labels_cannot_break_out(tmp_path):
    bad = Attribute("</script><b>", ("<i>", "two"))
    offer = keys.make_decrypt(tmp_path / "ds", Terms(2, "add-remove", Fraction(1), attributes=(bad,)), "127.0.0.1:1")
    study = keys.make_compute(tmp_path / "cs", offer, "127.0.0.1:2")
    text = page(study, "https://office.example/study/", "<Title>")
    assert "connect-src https://office.example;" in text and "Math.random" not in text
    assert text.count("</script>") == 1 and "<i>" not in text and "<Title>" not in text
    for wrong in ("http://office.example/", "ftp://x/", "https://x/; script-src *", ""):
        with pytest.raises(PlanError):
            page(study, wrong)
