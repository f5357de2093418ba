"""`--json` of every command fits the published schema; every command says what is wrong in one form; help lists them all."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path

import polars as pl
import pytest

from privjail.curator import house_rules
from privjail.curator.cli import root
from tests.server.jails import SCHEMA, make_jail

jsonschema = pytest.importorskip("jsonschema")
DEFINITIONS = json.loads((Path(__file__).parents[2] / "docs" / "cli-json.schema.json").read_text())
#: Commands that serve until they are stopped, run another program, or check certificates.
OTHERS = re.compile(
    r"(serve|console|gateway|rehearse|audit|conformance|certify|check|local collect|encrypted (compute|decrypt|gateway))"
)
PARTS = ("local ", "encrypted ")


def names(parts=False):
    return [path for path in root.commands() if not OTHERS.fullmatch(path) and path.startswith(PARTS) == parts]


def defined(parts=False):
    return {name for name in set(DEFINITIONS["$defs"]) - {"amount"} if name.startswith(PARTS) == parts}


@pytest.fixture
def privjail(tmp_path, monkeypatch, capsys):
    """Runs a command in this process, as the installed program does: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["privjail", *args])
        with pytest.raises(SystemExit) as ended:
            root.run()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    return run


def fits(command, value):
    jsonschema.validate(value, {**DEFINITIONS, "$ref": "#/$defs/" + command.replace(" ", "%20")})


RUNS = [
    ("version", []), ("help", []), ("init", ["other", "--port", "7001"]),
    ("schema draft", ["census.csv"]), ("schema draft", ["census.csv", "-o", "draft.json"]),
    ("schema draft", ["rows.sqlite", "--table", "people"]), ("schema draft", ["parts"]), ("schema check", ["census.csv", "schema.json"]),
    ("ingest", ["census.csv", "held", "--unit", "row", "--schema", "schema.json"]),
    ("dataset add", ["more", "census.csv", "--schema", "schema.json", "--budget", "1", "--unit", "row", "--overlap-reason", "a test"]),
    ("dataset add", ["open", "again.csv", "--schema", "open.json", "--budget", "3", "--unit", "row", "--overlap-reason", "a test"]),
    ("schema draft", ["open", "--private", "--eps", "1", "--reason", "a test", "--yes"]), ("dataset update", ["more", "again.csv", "--overlap-reason", "a test"]),
    ("dataset add", ["pairs", "rows.sqlite", "--table", "people", "--budget", "1,1e-6", "--notion", "approx", "--unit", "row"]),
    ("dataset lease", ["pairs", "0.1"]), ("dataset lease", ["pairs"]), ("dataset lease", ["pairs", "--off"]),
    ("dataset add", ["lent", "third.csv", "--schema", "schema.json", "--budget", "1", "--unit", "row", "--lease", "0.01"]),
    ("population add", ["people", "--budget", "1", "--notion", "zcdp"]), ("dataset list", []), ("dataset remove", ["more"]),
    ("user add", ["bob"]), ("user file", ["bob", "laptop"]), ("user list", []), ("user file", ["bob", "laptop", "--end"]),
    ("user pardon", ["bob", "--reason", "seen"]), ("group add", ["team", "ann", "bob"]), ("group list", []),
    ("grant", ["bob", "census", "--budget", "1/3"]), ("grant", ["team", "pairs", "--group", "--budget", "0.1,1e-7"]),
    ("budget", []), ("budget", ["census", "--raise", "2000", "--reason", "more"]),
    ("limit", ["census", "--per-day", "1/3", "--requests-per-hour", "9"]), ("limit", ["census"]),
    ("freeze", ["census", "--reason", "x"]), ("unfreeze", ["census", "--reason", "x"]), ("requests", []),
    ("requests", ["--decline", "WISH", "--reason", "no"]), ("alerts", ["--command", "true", "--test"]), ("alerts", []),
    ("example", ["census"]), ("example", ["census", "--off"]), ("revoke", ["bob", "--dataset", "census"]), ("log", []), ("log", ["--security"]), ("verify", []), ("doctor", []),
    ("backup", ["a.backup"]), ("restore", ["a.backup", "again", "--reason", "a test"]), ("rotate", []), ("compact", ["--older-than", "9", "--reason", "tidy"]), ("upgrade", []),
]  # fmt: skip
NOT_RUN = {"login", "renew"}  # these need a console: see console/test_devices.py


def test_every_command_prints_what_the_schema_says(privjail, tmp_path):
    assert set(names()) == {command for command, _ in RUNS} | NOT_RUN == defined()
    folder = make_jail(tmp_path)
    house_rules.wish(folder, "ann", "census", "2", "more")
    number = str(next(iter(folder.state.wishes)))
    folder.ledger.close()
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "open.json").write_text(json.dumps({"age": {"type": "Int64"}}))
    (tmp_path / "again.csv").write_text("age,sex\n" + "30,F\n" * 50)
    (tmp_path / "third.csv").write_text("age,sex\n" + "31,M\n" * 50)
    with sqlite3.connect(tmp_path / "rows.sqlite") as db:
        db.execute("CREATE TABLE people (age INTEGER, ward TEXT)")
        db.execute("INSERT INTO people VALUES (41, 'a')")
    db.close()
    (tmp_path / "parts").mkdir()
    pl.DataFrame({"age": [41, 22], "ward": ["a", "b"]}).write_parquet(tmp_path / "parts" / "1.parquet")
    for command, args in RUNS:
        given = [number if a == "WISH" else a for a in args]
        code, out, err = privjail(*command.split(), *given, "--json")
        assert code == 0 or command == "doctor", (command, out, err)
        fits(command, json.loads(out))
    code, out, _ = privjail("budget", "--json")
    spent = {(b["dataset"], b["scope"], b["who"]): b["limit"] for b in json.loads(out)}
    assert spent["pairs", "group", "team"] == {"epsilon": "1/10", "delta": "1/10000000"}
    with pytest.raises(jsonschema.ValidationError):
        fits("version", {"version": "1", "more": 1})


LOCAL = [
    ("local plan", ["--mix", "a=1/2", "--mix", "b=1/2", "--epsilon", "a=0.4", "--epsilon", "b=2", "--answer", "yes", "--answer", "no", "--out", "survey.json"]),
    ("local randomise", ["answers.csv", "--survey", "survey.json"]), ("local randomise", ["answers.csv", "--survey", "survey.json", "--out", "reports.csv"]),
    ("local estimate", ["reports.csv", "--survey", "survey.json", "--method", "unbiased", "--out", "found.csv"]),
    ("local page", ["--survey", "survey.json", "--out", "page.html"]), ("local export", ["store", "--survey", "survey.json"]),
    ("local power", ["--survey", "survey.json", "--answer", "yes", "--frequency", "0.2", "--difference", "0.1"]),
]  # fmt: skip
KEYS = [
    ("encrypted keys decrypt", ["ds", "--budget", "2", "--attribute", "age=0:8:2", "--address", "127.0.0.1:1"]),
    ("encrypted keys compute", ["cs", "--offer", "ds/offer.json", "--address", "127.0.0.1:2"]),
    ("encrypted keys account", ["account", "--budget", "2", "--server", "cs"]),
    ("encrypted keys owners", ["cs", "names"]), ("encrypted keys operator", ["cs"]),
    ("encrypted explain", ["cs/study.json"]), ("encrypted page", ["cs/study.json", "--gateway", "https://a.test/", "--out", "p.html"]),
]  # fmt: skip
ASKS = [
    ("encrypted submit", ["study.json", "records.csv", "--tickets", "tickets.csv"]),
    ("encrypted publish", ["study.json", "--operator", "operator.ticket", "--epsilon", "3/2", "--release", "may"]),
    ("encrypted status", ["study.json", "--operator", "operator.ticket"]), ("encrypted query", ["study.json"]),
    ("encrypted query", ["study.json", "0:4", "5"]), ("encrypted query", ["study.json", "0:4", "--unsmoothed"]),
]  # fmt: skip


def run_all(privjail, runs):
    """What each run printed last, by command; all of it fits the schema."""
    found = {}
    for command, args in runs:
        code, out, err = privjail(*command.split(), *args, "--json")
        assert code == 0, (command, out, err)
        fits(command, json.loads(out))
        found[command] = json.loads(out)
    return found


def test_the_commands_for_randomised_data_do_so_too(privjail, tmp_path):
    from privjail.local.survey.collector import Store
    from privjail.local.survey.questionnaire import Questionnaire

    thetas = ["a", "b"] * 100
    pl.DataFrame({"value": ["yes", "no"] * 100, "theta": thetas}).write_csv(tmp_path / "answers.csv")
    planned = run_all(privjail, LOCAL[:1])["local plan"]
    Store(tmp_path / "store", Questionnaire.load(tmp_path / "survey.json")).close()
    found = run_all(privjail, LOCAL[1:])
    assert {s["parameter"]: s["share"] for s in planned["strengths"]} == {"a": "1/2", "b": "1/2"}
    assert found["local estimate"]["reports"] == 200 and found["local export"]["rows"] == []
    assert (tmp_path / "found.csv").is_file() and found["local randomise"]["rows"] is None


def test_the_commands_for_encrypted_histograms_do_so_too(privjail, tmp_path):
    from tests.encrypted.parties import Parties

    assert set(names(True)) == {command for command, _ in LOCAL + KEYS + ASKS} == defined(True)
    (tmp_path / "names").write_text("p0\np1\n")
    run_all(privjail, KEYS)
    (tmp_path / "study").mkdir()
    parties = Parties(tmp_path / "study", bins=8, budget=2)
    (tmp_path / "study.json").write_text((tmp_path / "study" / "cs" / "study.json").read_text())
    run_all(privjail, [("encrypted keys owners", ["study/cs", "names"]), ("encrypted keys operator", ["study/cs"])])
    (tmp_path / "records.csv").write_text("owner,bin\np0,1\np1,4\n")
    with parties.in_threads():
        found = run_all(privjail, ASKS)
    assert found["encrypted status"]["spent"] == "3/2" and found["encrypted status"]["releases"] == ["may"]
    assert found["encrypted submit"]["kept"] == 2 and found["encrypted query"]["answers"][0]["low"] is None


@pytest.mark.parametrize("command", [path for path in root.commands()])
def test_every_command_complains_in_one_form(privjail, command):
    if command == "rehearse":  # passes its options on to the program
        pytest.skip("it takes all options")
    code, out, err = privjail(*command.split(), "--no-such-option")
    assert code == 2 and out == "" and err.startswith("privjail: error: "), err
    assert f"see: privjail {command} --help" in err


def test_errors_of_the_work_have_the_same_form(privjail):
    for args in (
        ["budget", "--jail", "none"],
        ["schema", "check", "none.csv", "none.json"],
        ["verify", "--jail", "none"],
    ):
        code, out, err = privjail(*args)
        assert code == 1 and err.startswith("privjail: error: ") and out == "", err


def test_help_lists_every_subcommand_in_one_column(privjail):
    lines = privjail("help")[1].splitlines()
    assert {"user file", "schema draft", "local plan"} <= set(root.commands())
    ends = {line.index(text) for line in lines for text in [re.split(r"\s{2,}", line.strip(), maxsplit=1)[1]]}
    assert len(lines) == len(root.commands()) and len(ends) == 1
