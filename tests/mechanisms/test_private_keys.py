"""Keys by threshold: the law of what is shown, the exact threshold, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privjail.budget.notions import ZCDP, ApproxDP, PureDP
from privjail.errors import BudgetError, PlanError
from privjail.mechanisms.noise import Noise
from privjail.mechanisms.private_keys import PrivateKeys, calibrated, chance_of_one
from privjail.ops.columns.isin import IsIn
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import BoolDomain, TextDomain
from privjail.verify.checks.fit import fits

UNIT = Unit("who", None)
SOURCE = Source(Dataset("keys", "keys", (("who", TextDomain(True)), ("x", TextDomain(True))), UNIT))


def value(per_person: int = 1, most: int = 100) -> KeyCounts:
    return KeyCounts(SOURCE, Column(SOURCE, "x"), SOURCE.owner(), per_person, most)


@pytest.mark.parametrize("eps", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("keys", [1, 4])
def test_the_threshold_is_the_smallest_that_keeps_delta(eps: Fraction, keys: int) -> None:
    """With the count at the threshold: the sum that leaves it out would allow a threshold that is too small."""
    delta = Fraction(1, 10**6)
    scale, threshold = calibrated(eps, delta, keys)
    a = math.exp(-1 / float(scale))
    tail = sum((1 - a) / (1 + a) * a**x for x in range(threshold - 1, threshold + 20_000))

    assert scale >= keys / eps
    assert keys * chance_of_one(scale, threshold) <= delta < keys * chance_of_one(scale, threshold - 1)
    assert math.isclose(float(chance_of_one(scale, threshold)), tail, rel_tol=1e-9)
    above_the_line = sum((1 - a) / (1 + a) * a**x for x in range(threshold - 1, threshold + 20_000))
    assert keys * above_the_line <= delta  # Pr[1 + X > τ - 1]: who counts what lies above the line would take τ - 1 …
    assert keys * (above_the_line + (1 - a) / (1 + a) * a ** (threshold - 2)) > delta  # … whose own chance is more


def test_rows_that_nobody_can_change_have_the_noise_of_one_key() -> None:
    """A filter that keeps no row lies in no cell: its counts move by nothing."""
    dataset = Dataset("k", "k", (("who", TextDomain(True)), ("x", TextDomain(True)), ("c", BoolDomain(False))), UNIT)
    source = Source(dataset)
    never = Filter(source, IsIn(Column(source, "c"), ()))
    counts = KeyCounts(never, Column(source, "x"), source.owner(), 1, 100)
    shown = PrivateKeys(Fraction(1), Fraction(1, 10**6))

    assert counts.joint.l1 == 0
    nothing, one = shown.calibrate(counts), shown.calibrate(value())
    assert (nothing.scale, nothing.threshold) == (one.scale, one.threshold)
    assert (one.on.grid, one.on.coarser, one.on.steps) == (1, 1, 1)  # nothing is rounded
    assert (two := shown.calibrate(value(2)).on).coarser == 1 and two.steps == 2


def test_absurd_prices_take_no_time() -> None:
    for eps, delta in ((10**6, Fraction(1, 10**100)), (Fraction(1, 10**9), Fraction(1, 2)), (10**6, Fraction(1, 2))):
        assert calibrated(Fraction(eps), delta, 1000)[1] >= 2


def test_noise_and_line_have_their_stated_law_both_ways() -> None:
    """The chance that a key with two persons comes out, by 20,000 draws; a scale that is 30 % off is seen."""
    mechanism, n = PrivateKeys(Fraction(1), Fraction(1, 10), 4), 20_000
    exact = [(i, 2) for i in range(n)]
    shown = mechanism.sample(value(most=n), exact, Noise())
    line = mechanism.calibrate(value()).threshold

    def reaches(scale: float) -> float:
        a = math.exp(-1 / scale)
        return a ** (line - 2) / (1 + a)

    assert line == 4
    assert fits([len(shown), n - len(shown)], [reaches(1.0), 1 - reaches(1.0)])
    assert not fits([len(shown), n - len(shown)], [reaches(1.3), 1 - reaches(1.3)])
    assert all(count >= line for _, count in shown)


class Fixed(Noise):
    def __init__(self, drawn: list[int]) -> None:
        super().__init__()
        self.drawn = drawn

    def laplace(self, scale: float, n: int) -> list[int]:
        assert n == len(self.drawn)
        return self.drawn


def test_what_is_shown_and_in_which_order() -> None:
    mechanism = PrivateKeys(Fraction(1), Fraction(1, 2), 4)
    exact = [("b", 3), ("c", 4), ("a", 9), ("d", 1)]

    assert mechanism.sample(value(), exact, Fixed([1, 0, -5, 2])) == [("a", 4.0), ("b", 4.0), ("c", 4.0)]
    assert mechanism.sample(value(most=1), exact, Fixed([1, 0, 0, 0])) == [("a", 9.0)]
    assert mechanism.sample(value(), [], Fixed([])) == []


def test_what_it_costs_and_where_it_can_be_paid() -> None:
    mechanism = PrivateKeys(Fraction(1), Fraction(1, 10**6))

    assert ApproxDP().cost(mechanism.loss) == (1, Fraction(1, 10**6))
    for notion in (PureDP(), ZCDP()):
        with pytest.raises(BudgetError, match="cannot be paid"):
            notion.cost(mechanism.loss)
    assert not mechanism.proportional(ApproxDP(), value())
    for wrong in (0, True, 2**40):
        with pytest.raises(PlanError):
            PrivateKeys(Fraction(1), Fraction(1, 2), wrong)


def test_the_smallest_threshold_is_taken_if_nearly_every_key_may_be_shown() -> None:
    """Pr[1 + X ≥ 1] is 0.73 at a scale of 1."""
    assert calibrated(Fraction(1), Fraction(3, 4), 1)[1] == 1
    assert calibrated(Fraction(1), Fraction(7, 10), 1)[1] == 2


def test_a_threshold_that_just_keeps_delta_is_taken():
    for threshold in (5, 40):
        scale, _ = calibrated(Fraction(1), Fraction(1, 10**6), 2)
        just = 2 * chance_of_one(scale, threshold)
        assert calibrated(Fraction(1), just, 2) == (scale, threshold)
        assert calibrated(Fraction(1), just * (1 - Fraction(1, 10**60)), 2) == (scale, threshold + 1)
