"""Asking a thousand times reveals no more than asking once."""

from __future__ import annotations

import json
import stat

import pytest
from scipy import stats

from privjail.errors import PlanError, SchemaError
from privjail.local import Memory, Respondent, Survey, Warner

MENU = {"s": Warner("3/5"), "w": Warner("4/5")}
SURVEY = Survey("smoke?", MENU, {"s": "1/2", "w": "1/2"})


def majority(reports):
    return "yes" if reports.count("yes") * 2 > len(reports) else "no"


def guessed(ask, people=300, rounds=1000):
    """How many answers an attacker guesses right who averages over all rounds."""
    return sum(majority(ask(rounds)) == "yes" for _ in range(people))


def test_averaging_over_a_thousand_rounds_learns_nothing_beyond_one_report():
    """V-50: with memory the attacker is right as often as one report is, 60 % of the time."""

    def remembered(rounds):
        her = Respondent(SURVEY, "s")
        return [her.report("yes") for _ in range(rounds)]

    right = guessed(remembered)
    assert stats.binomtest(right, 300, 0.6).pvalue > 1e-6


def test_without_memory_the_same_attack_always_succeeds():
    """V-50, the other direction: fresh reports give the answer away, so the test above can fail."""

    def fresh(rounds):
        her = Respondent(SURVEY, "s")
        return [her.renew("yes") for _ in range(rounds)]

    assert guessed(fresh, people=20) == 20


def test_a_changed_answer_does_not_change_the_report():
    """Or else the collector would see when she changed her mind."""
    her = Respondent(SURVEY, "s")
    first = her.report("yes")
    assert {her.report(v) for v in ("yes", "no") * 50} == {first}


def test_picking_another_parameter_does_not_give_a_second_report():
    memory = Memory()
    first = Respondent(SURVEY, "s", memory)
    text = first.report("yes")
    again = Respondent(SURVEY, "w", memory)

    assert again.report("yes") == text and again.theta == "s"


def test_memory_outlives_the_process_and_holds_no_raw_answer(tmp_path):
    path = tmp_path / "memory.json"
    reports = {Respondent(SURVEY, "s", Memory(path)).report("yes") for _ in range(50)}

    assert len(reports) == 1
    kept = json.loads(path.read_text())
    assert list(kept.values()) == [[[reports.pop(), "s"]]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_people_and_two_questions_are_remembered_apart(tmp_path):
    memory = Memory(tmp_path / "m.json")
    with memory.together():
        for i in range(64):
            Respondent(SURVEY, "s", memory, name=str(i)).report("yes")
    later = Memory(tmp_path / "m.json")
    texts = {Respondent(SURVEY, "s", later, name=str(i)).report("yes") for i in range(64)}
    assert texts == {"yes", "no"}


def test_a_broken_memory_is_not_replaced_by_a_fresh_draw(tmp_path):
    """V-50: deleting or damaging the memory must not be a way to a second report."""
    (tmp_path / "m.json").write_text('{"half a')
    with pytest.raises(SchemaError):
        Memory(tmp_path / "m.json")


def test_spent_adds_plain_epsilon_for_each_renewal_only():
    her = Respondent(SURVEY, "w")
    assert her.spent == 0
    for _ in range(10):
        her.report("yes")
    assert her.spent == pytest.approx(1.3862943611)
    her.renew("yes")
    assert her.spent == pytest.approx(2 * 1.3862943611)


def test_a_parameter_that_is_not_on_the_menu_is_refused():
    with pytest.raises(PlanError):
        Respondent(SURVEY, "x")
    with pytest.raises(PlanError):
        Respondent(SURVEY)


def test_a_bare_channel_will_do():
    assert Respondent(Warner("3/5"), "s").report("yes") in {"yes", "no"}
