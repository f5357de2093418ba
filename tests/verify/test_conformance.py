"""The conformance suite: the sequential auditor, and the adapters' table."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from privjail.errors import PlanError
from privjail.verify.checks.published import CASES
from privjail.verify.checks.sequential import Gambler, refute, refute_stream
from privjail.verify.conformance import OURS, Outcome, adapted, outcomes, packages, page


def response(keep: float, seed: int):
    dice = random.Random(seed)
    return lambda answer: answer if dice.random() < keep else 1 - answer


def test_a_false_claim_is_refuted_long_before_the_last_round():
    audit = refute(response(0.9, 1), 0, 1, epsilon=1.0, rounds=50_000)  # ε is ln 9 = 2.2

    assert audit.refuted and audit.rounds < 1_000 and audit.wealth >= 1e4


def test_a_true_claim_is_not_refuted_however_often_one_looks():
    """With e^ε = 3 exactly: the money stays below 1/α in all runs but a share of α."""
    lost = sum(refute(response(0.75, seed), 0, 1, epsilon=1.0987, rounds=400, learned=50, alpha=0.05).refuted
               for seed in range(100))  # fmt: skip

    assert lost <= 12  # 5 expected at most; a binomial of 5 % exceeds 12 with a chance of 0.1 %


def test_the_money_of_the_gambler_is_no_more_than_fair():
    """The expectation after one round, under a claim that is just true, is at most 1."""
    for epsilon, delta, right in ((0.0, 0.0, 0.5), (1.0, 0.0, 0.2), (0.5, 0.1, 0.3)):
        left = min(1.0, 2.718281828459045**epsilon * right + delta)
        mean = 0.0
        for x in (False, True):
            for y in (False, True):
                gambler = Gambler(epsilon, delta)
                gambler.see(x, y)
                mean += (left if x else 1 - left) * (right if y else 1 - right) * gambler.wealth
        assert mean <= 1 + 1e-12


def test_a_wrong_delta_is_refuted():
    dice = random.Random(3)
    leaky = lambda x: ("leak", x) if dice.random() < 0.2 else None  # noqa: E731

    assert refute(leaky, 0, 1, epsilon=1.0, delta=0.05, rounds=20_000).refuted
    assert not refute(leaky, 0, 1, epsilon=1.0, delta=0.25, rounds=2_000).refuted


def test_senseless_audits_are_refused():
    for options in ({"epsilon": -1.0}, {"epsilon": 1.0, "alpha": 0.0}, {"epsilon": 1.0, "learned": 3}):
        with pytest.raises(PlanError):
            refute(response(0.5, 1), 0, 1, **options)


def test_eight_known_violations_have_an_adapter():
    assert sum(case.wrong for case in CASES) >= 8
    assert {"opendp", "privjail", "diffprivlib", "smartnoise-sql", "python-dp", "tmlt.core", "tmlt.analytics",
            "ours"} <= set(packages())  # fmt: skip
    with pytest.raises(PlanError, match="no adapter"):
        list(outcomes("nothing"))


def test_nothing_of_ours_is_refuted():
    found = list(outcomes("ours", rounds=150, told=lambda what: None))

    assert len(found) >= 25 and all(each.verdict == "not refuted" and each.expected for each in found)


def test_a_run_goes_on_where_it_was_interrupted(tmp_path):
    kept, said = tmp_path / "outcomes.jsonl", []
    first = outcomes("ours", rounds=60, told=said.append, kept=kept)
    some = [next(first), next(first)]
    first.close()
    again = outcomes("ours", rounds=60, told=said.append, kept=kept)

    assert [next(again), next(again)] == some and len(said) == 2
    next(again)
    assert len(said) == 3 and len(kept.read_text().splitlines()) == 3


def test_programs_of_ours_hold_on_what_broke_others():
    """Every kind of violation that stands in the table is tried on a program of ours."""
    from privjail.verify.checks.replayed import replays

    assert {case.about for case in CASES} <= {each.about for each in replays()}
    for each in replays():
        left, right = each.releases()
        drawn = ((left(), right()) for _ in range(200))
        assert not refute_stream(drawn, epsilon=each.epsilon, rounds=100, learned=50).refuted, each.name


def test_a_program_that_spends_more_than_it_says_is_refuted():
    """The same programs with a claim that is too small: the suite can fail."""
    from privjail.verify.checks.replayed import replays

    count = next(each for each in replays() if each.name == "count")
    left, right = count.releases()
    drawn = ((left(), right()) for _ in range(20_000))

    assert refute_stream(drawn, epsilon=0.5, rounds=19_000, learned=1_000).refuted


ADAPTERS = """
import random


def too_little_noise():
    def draw(side, n):
        return [side + random.choice((-1, 0, 1)) for _ in range(n)]

    return {"epsilon": 1.0, "draw": draw}


def a_coin():
    return {"epsilon": 0.0, "draw": lambda side, n: [random.random() < 0.5 for _ in range(n)]}


def _helper():
    raise AssertionError("this is no adapter")


def broken():
    raise RuntimeError("it does not start")
"""


def test_adapters_of_others_run_in_this_environment(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(ADAPTERS)
    found = {each.claim: each for each in adapted(file, 1_500, told=lambda what: None)}

    assert found["too_little_noise"].verdict == "refuted" and "on its neighbour" in found["too_little_noise"].found
    assert found["a_coin"].verdict == "not refuted"
    assert found["broken"].verdict == "not run" and "it does not start" in found["broken"].found
    assert "_helper" not in found
    file.write_text("x = 1\n")
    with pytest.raises(PlanError, match="has no adapter"):
        list(adapted(file))


def test_the_page_counts_what_was_found_and_names_what_was_not_run():
    found = [
        Outcome("a 1", "laws", "c1", "somewhere", "refuted", "f1", True),
        Outcome("a 1", "laws", "c2", "somewhere else", "not refuted", "f2", False),
        Outcome("b 2", "laws", "c3", "control", "not run", "no wheel", False),
        Outcome("a 1", "laws", "c4", "control: an old report", "not refuted", "f4", True),
        Outcome(OURS, "laws", "c5", "control", "not refuted", "f5", True),
    ]
    text = page(found)

    assert "**1 of 2 known violations found again, 0 of 1 claims of\nthis library refuted**" in text
    assert "of 1 controls of other packages 0 were refuted. Not run: b 2 (no wheel)." in text
    assert "| a 1 | 3 | 2 | 1 |" in text


def test_the_published_page_is_of_these_cases():
    """docs/conformance.md was written by a run of all packages: every case stands in it, with its version."""
    text = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")

    ours = [line for line in text.splitlines() if line.startswith(f"| {OURS} | ") and line.count(" | ") == 5]
    wrong = sum(case.wrong for case in CASES)

    for case in CASES:
        (line,) = [each for each in text.splitlines() if f"| {case.package} | {case.about} | {case.what} |" in each]
        assert line.split(" | ")[4] == ("refuted" if case.wrong else "not refuted"), case.draws
    assert len(ours) >= 25 and all(line.split(" | ")[4] == "not refuted" for line in ours)
    assert (
        f"**{wrong} of {wrong} known violations found again, 0 of {len(ours)} claims of\nthis library refuted**" in text
    )
    for line in text.splitlines():  # a run in which nothing could be found is not told as if it had looked
        assert ("came 0 times on one input, 0 on its neighbour" in line) == ("| no power: " in line), line


def test_a_run_that_could_find_nothing_is_said_to_have_no_power():
    seen = "the best event came {} times on one input, {} on its neighbour (value, above a cut)"
    found = [
        Outcome(OURS, "laws", "c1", "control", "not refuted", seen.format(0, 0), True),
        Outcome(OURS, "laws", "c2", "control", "not refuted", seen.format(10, 0), True),
        Outcome("a 1", "laws", "c3", "somewhere", "refuted", seen.format(43, 0), True),
    ]
    text = page(found)

    assert "| no power: the best event came 0 times on one input, 0 on" in text and "(1 of the 2 that were not" in text
    assert text.count("no power: ") == 1


def test_an_event_that_came_is_told_before_one_that_never_came():
    """A bet on what never comes loses nothing; it used to be told as the best one."""
    dice = random.Random(5)
    coins = [(dice.randrange(2), dice.randrange(2)) for _ in range(400)]
    pairs = [(7, coin) if i < 9 else (coin, other) for i, (coin, other) in enumerate(coins)]  # 7 comes only at first
    audit = refute_stream(iter(pairs), epsilon=1.0, rounds=300, learned=100)

    assert not audit.refuted and audit.rounds == 300 and sum(audit.hits) > 0
