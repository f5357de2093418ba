"""The command line and its files: what goes in comes out, and errors show no answers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privjail.local import Categories, Survey, Unary, Warner
from privjail.local.cli import app

SURVEY = Survey("smoke?", {"s": Warner("3/5"), "w": Warner("4/5")}, {"s": "1/2", "w": "1/2"})
run = CliRunner().invoke


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    (tmp_path / "public.json").write_text(Survey("smoke?", SURVEY.menu, SURVEY.mix, hidden=False).to_json())
    thetas = ["s"] * 1000 + ["w"] * 1000
    columns = {"id": range(2000), "value": ["yes", "no", "no", "no"] * 500, "theta": thetas}
    pd.DataFrame(columns).to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def go(folder, *words):
    done = run(app, [str(folder / w) if "." in w else w for w in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("survey", ["survey.json", "public.json"])
def test_answers_become_reports_become_estimates_in_every_format(folder, ending, survey):
    go(folder, "randomise", "answers.csv", "--survey", survey, "--out", f"reports.{ending}")
    shown = go(folder, "estimate", f"reports.{ending}", "--survey", survey, "--out", f"result.{ending}")
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    read = readers.get(ending, lambda path: pd.read_json(path, lines=True))
    found = read(folder / f"result.{ending}")

    assert "plain ε once known" in shown and "E while hidden" in shown
    assert found["answer"].tolist() == ["yes", "no"]
    assert found["lower"][0] - 0.1 < 0.25 < found["upper"][0] + 0.1


def test_hidden_parameters_are_not_written(folder):
    go(folder, "randomise", "answers.csv", "--survey", "survey.json", "--out", "reports.csv")
    assert (folder / "reports.csv").read_text().splitlines()[0] == "report"


def test_leading_zeros_of_unary_reports_survive_csv(folder):
    survey = Survey("q", {"t": Unary.optimised(Categories.numbered(6), 1)}, {"t": 1})
    (folder / "unary.json").write_text(survey.to_json())
    pd.DataFrame({"value": ["0", "5"] * 200}).to_csv(folder / "six.csv", index=False)
    go(folder, "randomise", "six.csv", "--survey", "unary.json", "--theta", "t", "--out", "reports.csv")
    assert {len(line) for line in (folder / "reports.csv").read_text().splitlines()[1:]} == {6}
    go(folder, "estimate", "reports.csv", "--survey", "unary.json")


def test_memory_gives_the_same_reports_to_the_same_ids(folder):
    """V-50 on the command line; a parameter changed later does not give a second report."""
    for out in ("one.csv", "two.csv"):
        given = ["--survey", "public.json", "--memory", "memory.json"]
        go(folder, "randomise", "answers.csv", *given, "--out", out)
        frame = pd.read_csv(folder / "answers.csv")
        frame.assign(theta="w").to_csv(folder / "answers.csv", index=False)
    assert (folder / "one.csv").read_text() == (folder / "two.csv").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["randomise", "secret.csv", "--survey", "survey.json", "--theta", "s"],
        ["estimate", "secret.csv", "--survey", "survey.json"],
        ["estimate", "answers.csv", "--survey", "survey.json"],
        ["estimate", "missing.csv", "--survey", "survey.json"],
        ["estimate", "answers.csv", "--survey", "answers.csv"],
        ["estimate", "answers.txt", "--survey", "survey.json"],
    ],
)
def test_errors_say_what_to_do_and_never_show_an_answer(folder, words):
    secret = pd.DataFrame({"value": ["hiv-positive"], "report": ["hiv-positive"]})
    secret.to_csv(folder / "secret.csv", index=False)
    done = run(app, [str(folder / w) if "." in w else w for w in words])

    assert done.exit_code == 2
    assert "do:" in done.output and "hiv" not in done.output and "Traceback" not in done.output


def test_a_plan_is_a_survey_that_the_other_commands_read(folder):
    common = ["--answer", "yes", "--answer", "no", "--mix", "s=1/2", "--mix", "w=1/2"]
    strong = ["--epsilon", "s=0.4", "--epsilon", "w=1.09"]
    for kind in ("kary", "binary", "unary"):
        out = folder / f"{kind}.json"
        done = run(app, ["plan", *common, *strong, "--kind", kind, "--plain-may-rise", "--out", str(out)])
        assert done.exit_code == 0 and "plain ε once known" in done.output
        assert json.loads(out.read_text())["parameters"] == "hidden"
        go(folder, "randomise", "answers.csv", "--survey", f"{kind}.json", "--out", "r.csv")
        go(folder, "estimate", "r.csv", "--survey", f"{kind}.json")


def test_where_hiding_does_not_pay_the_plan_says_publish():
    shares = ["--mix", "s=4/5", "--mix", "w=1/5"]
    strong = ["--epsilon", "s=0.4", "--epsilon", "w=1.09"]
    words = ["plan", "--answer", "yes", "--answer", "no", *shares, *strong]
    assert "Publish the parameters" in run(app, words).output


def test_pipes_and_the_module_s_own_name_work(folder):
    command = [sys.executable, "-m", "privjail.local", "randomise", "-", "--survey"]
    done = subprocess.run(
        [*command, str(folder / "survey.json")],
        input=(folder / "answers.csv").read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()

    assert lines[0] == "report" and len(lines) == 2001 and set(lines[1:]) == {"yes", "no"}


@pytest.mark.parametrize("command", ["randomise", "estimate", "plan", "page"])
def test_every_command_has_help(command):
    assert run(app, [command, "--help"]).exit_code == 0


def test_importing_privjail_loads_nothing_of_this_package():
    probe = "import sys, privjail; print([m for m in sys.modules if m.startswith('privjail.local')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_loads_neither_plots_nor_command_line():
    heavy = "{'matplotlib', 'typer', 'rich', 'pyarrow', 'scipy'}"
    probe = f"import sys, privjail.local; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_reports_of_ten_thousand_people_are_read_back_exactly(folder):
    values = np.array(["yes", "no"])[np.arange(10_000) % 2]
    pd.DataFrame({"value": values}).to_parquet(folder / "big.parquet")
    go(folder, "randomise", "big.parquet", "--survey", "survey.json", "--theta", "w", "--out", "r.jsonl")
    assert len(pd.read_json(folder / "r.jsonl", lines=True)) == 10_000
