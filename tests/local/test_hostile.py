"""Careless and hostile senders: every report is one that the channel can send, or there is an error in our words."""

from __future__ import annotations

import json
import random
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privjail.errors import DPError, PlanError, SchemaError
from privjail.local import Categories, Grid, KaryResponse, Memory, Respondent, Survey, Table, Unary, Warner, strengths
from privjail.local.channels import unary as module
from privjail.local.cli import app
from privjail.local.channels.domain import domain_from

from .channels import ALL, COUNTING, NUMERIC, codes

LABELS = ("ja, „sicher“", 'said "no"', "未定", "🙂", "None", "nan", "001", "1e5", " spaced ", "-")
run = CliRunner().invoke


def survey_of(channel, hidden=True):
    return Survey("q?", {"t": channel}, {"t": 1}, hidden)


def method(name):
    return "mean" if name in NUMERIC else "unbiased"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "forged",
    [[0, 10**7], [0, -1], [0.0, 1.0], [0.0, float("nan")], ["yes", "no"], [[[0, 0]]], [2**70]],
    ids=["too large", "negative", "floats", "nan", "texts", "nested", "beyond int64"],
)
def test_codes_that_no_channel_sends_are_refused(name, forged):
    with pytest.raises(SchemaError) as caught:
        survey_of(ALL[name]).estimate(np.array(forged), method=method(name))
    assert "do:" in str(caught.value)


@pytest.mark.parametrize("k", [9, 15])
def test_a_one_beyond_the_last_answer_is_refused(k):
    channel = Unary.optimised(Categories.numbered(k), 1)
    reports = channel.draw(np.zeros(20, dtype=np.int64))
    reports[3, -1] |= 128
    with pytest.raises(SchemaError):
        survey_of(channel).estimate(reports)


@pytest.mark.parametrize("name", ALL)
def test_a_single_report_is_estimated_with_an_interval_that_admits_to_know_little(name):
    channel = ALL[name]
    found = survey_of(channel).estimate(channel.draw(np.zeros(1, dtype=np.int64)), method=method(name))
    assert np.all(np.asarray(found.upper) - found.lower > 0.2)


@pytest.mark.parametrize("name", COUNTING)
def test_answers_that_nobody_reported_have_an_error_too(name):
    channel = COUNTING[name]
    found = survey_of(channel).estimate(
        np.repeat(channel.draw(np.zeros(1, dtype=np.int64)), 50, axis=0), method="unbiased"
    )
    assert found.errors.min() > 0


@pytest.mark.parametrize("thetas", [["t"], ["t"] * 5, [["t"]] * 4])
def test_parameters_that_are_not_one_for_each_report_are_refused(thetas):
    public = survey_of(COUNTING["kary"], hidden=False)
    with pytest.raises(SchemaError):
        public.estimate(np.array([0, 1, 2, 3]), thetas)


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ALL)
def test_every_channel_goes_through_every_format(name, ending, tmp_path):
    channel = ALL[name]
    (tmp_path / "s.json").write_text(survey_of(channel).to_json(), encoding="utf-8")
    values = NUMBERS if name in NUMERIC else list(channel.domain.labels)
    frame = pd.DataFrame({"value": (values * 150)[:300]})
    write(frame, tmp_path / f"v.{ending}")
    survey = ["--survey", str(tmp_path / "s.json")]
    files = [str(tmp_path / f"{stem}.{ending}") for stem in ("v", "r", "e")]
    done = run(app, ["randomise", files[0], *survey, "--theta", "t", "--out", files[1]])
    assert done.exit_code == 0, done.output
    done = run(app, ["estimate", files[1], *survey, "--method", method(name), "--out", files[2]])
    assert done.exit_code == 0 and "300 reports" in done.output, done.output
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}.get(ending, lambda path: pd.read_json(path, lines=True))
    assert len(read(files[2])) == (1 if name in NUMERIC else channel.domain.size)


NUMBERS = [-1.0, -0.4, 0.0, 0.5, 1.0]


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True, force_ascii=False)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_labels_in_any_script_with_commas_and_quotes_survive_every_format(ending, tmp_path):
    survey = survey_of(KaryResponse(Categories(LABELS), F(1)))  # honest, so that what goes in must come out
    (tmp_path / "s.json").write_text(survey.to_json(), encoding="utf-8")
    write(pd.DataFrame({"value": list(LABELS)}), tmp_path / f"v.{ending}")
    out = tmp_path / f"r.{ending}"
    words = ["randomise", str(tmp_path / f"v.{ending}"), "--survey", str(tmp_path / "s.json"), "--theta", "t"]
    done = run(app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert run(app, ["estimate", str(out), "--survey", str(tmp_path / "s.json")]).exit_code == 0


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_missing_value_is_not_the_answer_none(ending, tmp_path):
    survey = survey_of(KaryResponse(Categories(("None", "nan", "b")), F(1)))
    (tmp_path / "s.json").write_text(survey.to_json(), encoding="utf-8")
    write(pd.DataFrame({"report": ["b", None]}), tmp_path / f"r.{ending}")
    done = run(app, ["estimate", str(tmp_path / f"r.{ending}"), "--survey", str(tmp_path / "s.json")])
    assert done.exit_code == 2 and "1 of 2 rows" in done.output


def test_a_json_file_may_be_one_list(tmp_path):
    (tmp_path / "s.json").write_text(survey_of(Warner("3/5")).to_json(), encoding="utf-8")
    (tmp_path / "r.json").write_text(json.dumps([{"report": "yes"}, {"report": "no"}]))
    done = run(app, ["estimate", str(tmp_path / "r.json"), "--survey", str(tmp_path / "s.json")])
    assert done.exit_code == 0 and "2 reports" in done.output


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", ""),
        ("h.csv", "report\n"),
        ("e.json", ""),
        ("e.parquet", ""),
        ("n.csv", "report\n\x00\n"),
        ("a.json", '{"report": {"a": 1}}\n'),
        ("r.csv", "report\nyes,1,2\nno\n"),
        ("t.json", "5"),
    ],
)
def test_files_that_hold_no_reports_are_refused(name, text, tmp_path):
    (tmp_path / "s.json").write_text(survey_of(Warner("3/5")).to_json(), encoding="utf-8")
    (tmp_path / name).write_text(text)
    done = run(app, ["estimate", str(tmp_path / name), "--survey", str(tmp_path / "s.json")])
    assert done.exit_code == 2 and "do:" in done.output and "Traceback" not in done.output


PLAN = ["plan", "--answer", "yes", "--answer", "no", "--mix", "s=1/2", "--mix", "w=1/2"]
STRONG = ["--epsilon", "s=0.4", "--epsilon", "w=1"]


@pytest.mark.parametrize(
    "words",
    [
        [*PLAN, *STRONG, "--n", "0"],
        [*PLAN, "--epsilon", "s=-1", "--epsilon", "w=1"],
        [*PLAN, "--epsilon", "s=nan", "--epsilon", "w=inf"],
        [*PLAN, *STRONG, "--out", "missing-folder/x.json"],
        [*PLAN, *STRONG, "--plot", "x.nonsense"],
        ["page", "--survey", "s.json", "--out", "missing-folder/x.html"],
        ["randomise", "v.csv", "--survey", "s.json", "--out", "missing-folder/x.csv"],
        ["randomise", "v.csv", "--survey", "s.json", "--memory", "missing-folder/m.json"],
        ["randomise", "v.csv", "--survey", "s.json", "--theta", "x"],
        ["estimate", "r.csv", "--survey", "s.json", "--level", "1"],
        ["estimate", "r.csv", "--survey", "s.json", "--level", "nan"],
        ["estimate", "r.csv", "--survey", "s.json", "--out", "missing-folder/x.csv"],
    ],
    ids=lambda words: " ".join(words[-2:]),
)
def test_bad_options_end_in_a_message_that_says_what_to_do(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(survey_of(Warner("3/5")).to_json(), encoding="utf-8")
    (tmp_path / "v.csv").write_text("id,value,theta\n1,yes,t\n")
    (tmp_path / "r.csv").write_text("report\nyes\n")
    done = run(app, words)
    assert done.exit_code == 2 and "do:" in done.output, (done.output, done.exception)


@pytest.mark.parametrize(
    "change",
    [
        {"menu": {}},
        {"menu": [1]},
        {"mix": {"t": float("nan")}},
        {"mix": {"t": "1/2"}},
        {"domain": None},
        {"domain": {"categories": "yesno"}},
        {"domain": {"categories": ["a"]}},
        {"parameters": "x"},
        {"menu": {"t": {"channel": "kary", "truth": "2"}}},
        {"menu": {"t": {"channel": "kary", "truth": None}}},
        {"menu": {"t": {"channel": "kary", "epsilon": "x"}}},
        {"menu": {"t": {}}},
        {"menu": {"t": {"channel": "table", "rows": []}}},
        {"menu": {"t": {"channel": "table", "rows": "ab"}}},
        {"menu": {"t": {"channel": "unary", "yes": "1/5", "no": "1/2"}}},
        {"menu": {"t": {"channel": "hashing", "cells": 10**9, "truth": "1/2"}}},
        {"domain": {"low": 0, "high": 1, "steps": 10**9}, "menu": {"t": {"channel": "laplace", "epsilon": 1}}},
    ],
    ids=str,
)
def test_a_survey_file_without_sense_is_refused(change):
    spec = json.loads(survey_of(Warner("3/5")).to_json()) | change
    with pytest.raises(DPError, match="do:"):
        Survey.from_json(json.dumps(spec))


def test_a_text_is_no_list_of_answers_and_a_law_has_outputs():
    with pytest.raises(SchemaError):
        domain_from({"categories": "abc"})
    with pytest.raises(PlanError):
        Table(Categories(("a", "b")), ())
    with pytest.raises(PlanError):
        Grid.of(0, 1, 10**6)


def test_a_report_that_cannot_be_remembered_is_not_sent(tmp_path):
    memory = Memory(tmp_path / "missing" / "m.json")
    with pytest.raises(SchemaError, match="none is sent"):
        Respondent(Warner("3/5"), "t", memory).report("yes")


def test_unary_odds_of_a_blend_are_those_of_the_exact_law():
    for blend in (
        [Unary(Categories.numbered(7), *p) for p in (("3/5", "2/5"), ("4/5", "1/5"))],
        [Unary(Categories.numbered(7), *p) for p in (("3/5", "1/5"), ("4/5", "1/5"))],
        [Unary(Categories.numbered(7), *p) for p in (("1", "1/5"), ("1", "1/4"))],
    ):
        mix = [F(1, 3), F(2, 3)]
        found = module.odds_by_weight(blend, mix)
        for ones in range(1, 7):
            high, low = (
                sum(m * c.law_by_weight(ones, s) for c, m in zip(blend, mix, strict=True)) for s in (True, False)
            )
            assert found[ones] == (pytest.approx(float(high / low)) if low else np.inf)


def test_leaving_out_numbers_of_ones_changes_no_strength(monkeypatch):
    """Random menus of unary encodings: the exact strengths with the shortcut and without it."""
    rng, used = random.Random(5), 0
    for _ in range(60):
        domain, menu = Categories.numbered(rng.choice([2, 3, 5, 8])), {}
        for name in "abc"[: rng.choice([2, 3])]:
            no, yes = sorted(rng.sample(range(1, 20), 2))
            menu[name] = Unary(domain, F(yes, 20), F(no, 20))
        weights = [rng.randint(1, 5) for _ in menu]
        mix = {t: F(w, sum(weights)) for t, w in zip(menu, weights, strict=True)}
        used += bool(module._telling(list(menu.values()), list(mix.values())))
        short = strengths(menu, mix)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_telling", lambda channels, mix: [])
            assert strengths(menu, mix) == short
    assert used > 30


def test_a_thousand_answers_under_two_hidden_strengths_are_estimated_with_their_strengths():
    domain = Categories.numbered(1000)
    menu = {"s": Unary.optimised(domain, 1), "w": Unary.optimised(domain, 2)}
    survey = Survey("", menu, {"s": "1/2", "w": "1/2"})
    reports = np.concatenate([c.draw(np.arange(200)) for c in menu.values()])
    found = survey.estimate(reports, method="ml")
    assert abs(found.frequencies.sum() - 1) < 1e-9
    assert [s.hidden for s in found.strengths] == pytest.approx([1, 2], abs=1e-6)


def test_codes_of_every_specimen_are_read_from_their_own_texts():
    for channel in ALL.values():
        reports = channel.draw(np.arange(40) % channel.domain.size)
        assert (codes(channel, channel.checked(reports)) == codes(channel, reports)).all()
