"""The guide to the gateway: its commands are run against a real one, as a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.test_pages import blocks
from tests.server.jails import ENV, PRIVJAIL, make_jail, serving

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "gateway.md"


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    make_jail(folder).ledger.close()
    shutil.copy(ROOT / "examples" / "gateway_client.mjs", folder)
    (query,) = [text for kind, text in blocks(PAGE) if kind == "json"]
    (folder / "query.json").write_text(query)
    with serving(folder):
        args = ["gateway", "ann.privjail", "--insecure-loopback", "--port", "0"]
        process = subprocess.Popen([*PRIVJAIL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, cwd=folder)  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line.startswith("gateway on http://"), process.stderr.read()
        (folder / "address").write_text(line.removeprefix("gateway on ").strip())
        yield folder
        process.terminate()
        assert "Traceback" not in process.communicate(timeout=30)[1]


def lines(word):
    text = "\n".join(text for kind, text in blocks(PAGE) if kind == "sh")
    return [line for line in text.splitlines() if line.startswith(word)]


def run(where, command):
    token = json.loads((where / "ann.privjail").read_text())["token"]
    script = command.replace("http://127.0.0.1:7490", (where / "address").read_text())
    done = subprocess.run(["bash", "-c", script], cwd=where, env={**ENV, "TOKEN": token}, capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_guide(where):
    answers = [json.loads(run(where, line)) for line in lines("curl")]
    names, census, budget, answer = answers
    assert names == {"datasets": ["census"]} and {each["name"] for each in census["columns"]} == {"age", "sex"}
    assert budget["budgets"][0]["spent"] == ["0"] and {row["group"]["sex"] for row in answer["answer"]} == {"F", "M"}
    assert json.loads(run(where, lines("curl")[-1])) == answer  # the same id: the same answer


def test_the_error_of_the_guide_is_a_real_one(where):
    (shown,) = [json.loads(text) for kind, text in blocks(PAGE) if kind == "text"]
    query = json.loads((where / "query.json").read_text())
    query["steps"] = [{"filter": {"op": "ge", "args": [{"column": "wage"}, 40]}}]
    (where / "wrong.json").write_text(json.dumps(query))
    assert json.loads(run(where, lines("curl")[-1].replace("query.json", "wrong.json"))) == shown


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_client_in_javascript(where):
    (line,) = lines("node")
    said = run(where, line)
    assert re.search(r"F: \S+ \(\S+ to \S+\)\nM: ", said) and "mean of age: " in said
    assert "spent on census: " in said and "refused: there is no column 'no such column'\n  do:   GET" in said


def test_a_token_without_tls_stays_on_this_machine(where):
    for args in (["--host", "0.0.0.0", "--insecure-loopback"], []):
        done = subprocess.run([*PRIVJAIL, "gateway", "ann.privjail", *args], cwd=where, env=ENV, capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 1 and "TLS" in done.stderr
