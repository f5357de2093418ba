"""The conformance suite: the sequential auditor, and the adapters' table."""

from __future__ import annotations

import random

import pytest

from privjail.errors import PlanError
from privjail.verify.checks.published import CASES
from privjail.verify.checks.sequential import Gambler, refute
from privjail.verify.conformance import outcomes, packages


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
    assert {"opendp", "privjail", "diffprivlib", "ours"} <= set(packages())
    with pytest.raises(PlanError, match="no adapter"):
        list(outcomes("nothing"))


def test_nothing_of_ours_is_refuted():
    found = list(outcomes("ours", rounds=150, told=lambda what: None))

    assert len(found) >= 10 and all(each.verdict == "not refuted" and each.expected for each in found)
