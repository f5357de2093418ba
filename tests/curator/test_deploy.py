"""What the guide ships for deployment: units, containers, dashboard and alarms fit the programs that they name."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import urllib.request
from fractions import Fraction
from pathlib import Path

import pytest

from tests.server.jails import count, free_port, make_jail, serving

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
DEPLOY = GUIDE / "deploy"
INSTRUCTIONS = {
    "FROM",
    "RUN",
    "USER",
    "WORKDIR",
    "VOLUME",
    "ENV",
    "EXPOSE",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "ENTRYPOINT",
    "CMD",
}


def understood(words):
    """Whether the command line knows all these options: what fails is only that there is no such jail."""
    from typer.testing import CliRunner

    from privjail.curator.cli.root import app

    done = CliRunner().invoke(app, [*words], env={"PRIVJAIL_HOME": "/nonexistent"})
    assert done.exit_code == 1, (words, done.output)  # 2 would be a mistake in the command line
    return "No such option" not in done.output


def containerfile():
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text())
    return [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_containerfile_is_whole_and_does_not_run_as_root():
    lines = containerfile()
    assert {word for word, _ in lines} <= INSTRUCTIONS and lines[0][0] == "FROM"
    names = [word for word, _ in lines]
    assert names.index("USER") < names.index("ENTRYPOINT") and dict(lines)["USER"] not in ("root", "0")
    assert json.loads(dict(lines)["ENTRYPOINT"]) == ["privjail"]
    assert understood(json.loads(dict(lines)["CMD"]))
    extras = re.search(r"privjail-dp\[([\w,]+)\]", dict(lines)["RUN"])[1].split(",")
    import tomllib

    known = tomllib.loads((GUIDE.parents[1] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= set(known)
    compile(json.loads(dict(lines)["HEALTHCHECK"].split("CMD ")[1])[2], "health", "exec")


def test_the_compose_file_names_commands_that_there_are():
    yaml = pytest.importorskip("yaml")
    made = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(made["services"]) == {"ledger", "jail", "console"}
    for name in ("jail", "console"):
        service = made["services"][name]
        assert understood(service["command"])
        assert (
            service["cap_drop"] == ["ALL"]
            and service["read_only"]
            and service["security_opt"] == ["no-new-privileges:true"]
        )
    assert made["services"]["console"]["ports"] == ["127.0.0.1:7480:7480"]
    for line in re.findall(r"run --rm jail (.+)", (DEPLOY / "compose.yaml").read_text()):
        words = line.split()
        assert words[0] in ("init", "user")
    assert set(made["volumes"]) == {"jail", "ledger"} and "ledger" in made["secrets"]


@pytest.mark.parametrize("name", ["privjail-console.service", "privjail-backup.service"])
def test_the_units_take_everything_else_away(name):
    def read(path):
        return dict(x.split("=", 1) for x in path.read_text().splitlines() if "=" in x and x[0] not in "#[")

    unit, jail = read(DEPLOY / name), read(GUIDE / "privjail.service")
    same = ("User", "UMask", "ProtectSystem", "ProtectHome", "NoNewPrivileges", "PrivateTmp", "CapabilityBoundingSet", "LimitCORE",
            "SystemCallFilter", "ProcSubset", "RestrictAddressFamilies")  # fmt: skip
    assert [unit[key] for key in same] == [jail[key] for key in same]
    words = unit["ExecStart"].split()
    assert words[0].endswith("/privjail") and understood(words[1:])
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:
        done = subprocess.run([analyze, "verify", str(DEPLOY / name)], capture_output=True, text=True, check=False)
        assert "Unknown" not in done.stderr


def test_the_dashboard_and_the_alarms_ask_for_metrics_that_there_are(tmp_path):
    """Against /metrics of a real jail that answered, refused and rejected."""
    folder = make_jail(tmp_path, grant=1)
    port = free_port()
    with serving(tmp_path, "--metrics-port", str(port)) as jail:
        ann = jail.connect()
        ann.release([count(ann, 0.5)])
        with pytest.raises(Exception, match="over the limit"):
            ann.release([count(ann, 0.7)])
        ann.close()
        folder.revoke("ann", None)
        with pytest.raises(Exception, match="not accepted"):
            jail.connect()
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10).read() == b"ok\n"
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10).read() == b"ok\n"
    there = set(re.findall(r"^(privjail_\w+)", text, re.M))
    board = json.loads((DEPLOY / "grafana.json").read_text())
    asked = {t["expr"] for p in board["panels"] for t in p["targets"]}
    asked |= set(re.findall(r"expr: (.+)", (DEPLOY / "alarms.yaml").read_text()))
    wanted = {name for expr in asked for name in re.findall(r"privjail_\w+", expr)}
    assert wanted <= there and len(wanted) > 10
    assert 'privjail_spent{dataset="census"} 0.5' in text and 'privjail_budget{dataset="census"} 1000' in text
    assert 'privjail_refusals_total{kind="BudgetExceeded"} 1' in text and 'kind="token"' in text
    assert 'privjail_request_seconds_count{call="release"} 1' in text
    for alarm in re.findall(r"operator.md#(\w+)", (DEPLOY / "alarms.yaml").read_text()):
        assert f"### {alarm}" in (GUIDE / "operator.md").read_text().lower()


def test_a_jail_that_is_stopped_answers_what_runs_and_takes_nothing_new(tmp_path):
    """SIGTERM while a release runs: it is answered, and the process ends well."""
    make_jail(tmp_path, rows=50)
    port = free_port()
    with serving(tmp_path, "--drain", "60", "--metrics-port", str(port)) as jail:
        ann = jail.connect()
        ann.release([count(ann, 0.1)])
        got = []

        def ask():
            got.append(ann.release([count(ann, Fraction(1, 10_000 + i)) for i in range(900)]))

        thread = threading.Thread(target=ask)
        thread.start()
        while "privjail_running 1" not in urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode():
            assert thread.is_alive(), "the release ended before it was seen to run"
        jail.process.terminate()
        thread.join(90)
        _, errors = jail.process.communicate(timeout=90)
        assert jail.process.returncode == 0 and "Traceback" not in errors
        assert len(got) == 1 and len(got[0]) == 900


def test_ready_says_no_without_a_ledger(tmp_path):
    from privjail.errors import DPError
    from privjail.server.metrics import Metrics, _ready

    metrics = Metrics()
    assert _ready(metrics)[0] == 200

    def lost():
        raise DPError("gone")

    metrics.whole = lost
    assert _ready(metrics)[0] == 503
    metrics.ready = False
    assert _ready(metrics) == (503, b"ending\n")
