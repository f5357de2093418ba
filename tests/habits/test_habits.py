"""Lines that people type by habit: what becomes of them, and that the page of outcomes says so."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.habits.corpus import OUTCOMES, programs, run
from tests.habits.measure import PAGE, page

PROGRAMS = {program.name: program for program in programs()}


@pytest.fixture(scope="module")
def outcomes():
    return {name: run(program) for name, program in PROGRAMS.items()}


def test_the_corpus_is_large_and_has_no_line_twice_in_a_program():
    assert sum(len(p.lines) for p in PROGRAMS.values()) >= 300
    for program in PROGRAMS.values():
        typed = [line.typed for line in program.lines]
        assert len(typed) == len(set(typed)), program.name


def test_the_goal_is_met(outcomes):
    counted = Counter(line.outcome for lines in outcomes.values() for line in lines)
    total = sum(counted.values())
    assert set(counted) <= set(OUTCOMES)
    assert counted["raw error"] == counted["wrong"] == 0
    assert (counted["works"] + counted["rename"]) / total >= 0.85, counted
    assert (counted["works"] + counted["rename"] + counted["advice"]) / total >= 0.97, counted


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_line_ends_in_a_raw_error_or_in_an_error_without_words(name, outcomes):
    for line in outcomes[name]:
        assert line.outcome != "raw error", f"{line.typed}: {line.said}"
        assert line.outcome == "works" or len(line.said) > 20, line.typed


def test_a_line_that_works_as_typed_carries_no_advice(outcomes):
    """What is written below a line was typed because the line was refused."""
    for lines in outcomes.values():
        for line in lines:
            assert line.outcome != "works" or not (line.rename or line.advice), line.typed


def test_the_page_of_outcomes_is_up_to_date(outcomes):
    """python -m tests.habits.measure --page writes it."""
    assert PAGE.read_text(encoding="utf-8") == page(outcomes)
