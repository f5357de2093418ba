"""Amounts that a jail charges: exact while they stay short, and then rounded up."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from privjail.curator.folder import JailFolder
from privjail.server.ledger.charging import EXACT_BITS, FINE, Charging, Denominators, Progress
from privjail.server.deadline import Deadline, TimeUp
from privjail.server.ledger.room import Room
from privjail.server.limits import LimitError, Limits

from .jails import make_jail
from .test_ledger import cells

LONG = 2**EXACT_BITS  # alone one bit too many


@pytest.mark.parametrize(
    "cost, charged",
    [
        (Fraction(1, LONG), Fraction(1, FINE)),  # never nothing
        (Fraction(1, FINE) + Fraction(1, LONG), Fraction(2, FINE)),
        (1 + Fraction(1, LONG), 1 + Fraction(1, FINE)),
        (3 - Fraction(1, LONG), Fraction(3)),
        (Fraction(5, FINE) - Fraction(1, LONG), Fraction(5, FINE)),
    ],
)
def test_a_cost_that_is_too_long_to_write_is_rounded_up(cost: Fraction, charged: Fraction) -> None:
    """V-39: half a step rounded down, a million times, is privacy that nobody paid for."""
    assert FINE == 2**64
    assert Denominators().rounded("ann", "d", cost) == charged >= cost


def test_costs_stay_exact_for_as_many_bits_as_are_said() -> None:
    denominators = Denominators()
    shortest, longest = Fraction(1, 3), Fraction(1, 2 ** (EXACT_BITS - 3))  # lcm 3 · 2**1021: 1023 bits
    assert denominators.rounded("ann", "d", shortest) == shortest
    assert denominators.rounded("ann", "d", longest) == longest
    assert denominators.rounded("ann", "d", Fraction(1, 5)) > Fraction(1, 5)  # 5 · 3 · 2**1021 has 1025
    assert denominators.rounded("ann", "d", shortest) == shortest  # divides what is there
    exactly = Denominators()
    assert exactly.rounded("ann", "d", Fraction(1, LONG // 2)) == Fraction(1, LONG // 2)  # 1024 bits are allowed


def test_denominators_are_counted_for_each_user_and_data_set() -> None:
    denominators = Denominators()
    denominators.rounded("ann", "d", Fraction(1, LONG // 2))
    third = Fraction(1, 3)
    assert denominators.rounded("ann", "d", third) > third
    assert denominators.rounded("bob", "d", third) == denominators.rounded("ann", "e", third) == third
    # What was rounded does not count: its denominator was not kept.
    assert denominators.rounded("ann", "d", Fraction(1, 4)) == Fraction(1, 4)


def charging(folder: JailFolder, limits: Limits, deadline: Deadline) -> Charging:
    request = ("ann", "request", "digest", {"program": []}, {}, Room(), ())
    return Charging(folder.ledger, *request, limits, Denominators(), Progress(deadline))


def test_a_release_is_charged_in_a_limited_number_of_cells(tmp_path: Path) -> None:
    """Every step of a path is written and kept for ever; over the limit nothing is charged."""
    folder = make_jail(tmp_path)
    whole, *parts = cells()
    charges = [(whole, (Fraction(1),)), *((part, (Fraction(1, 3),)) for part in parts)]  # 1 + 2 + 2 steps
    with pytest.raises(LimitError, match="cells charged in one request: 5 is over"):
        charging(folder, Limits(charged_steps_per_request=4), Deadline(60)).charge(charges)
    assert folder.state.total(("user", "ann", "census")) == (0,)

    made = charging(folder, Limits(charged_steps_per_request=5), Deadline(60))
    assert not made.progress.charged
    made.charge(charges)
    assert made.progress.charged and folder.state.total(("user", "ann", "census")) == (Fraction(4, 3),)


def test_what_is_written_is_the_rounded_cost(tmp_path: Path) -> None:
    folder = make_jail(tmp_path)
    charging(folder, Limits(), Deadline(60)).charge([(cells()[0], (Fraction(1, LONG),))])
    for state in (folder.state, JailFolder(folder.path).state):
        assert state.total(("dataset", "", "census")) == (Fraction(1, FINE),)


def test_nothing_is_charged_when_the_time_is_up(tmp_path: Path) -> None:
    folder, deadline = make_jail(tmp_path), Deadline(60)
    deadline._late = True
    with pytest.raises(TimeUp):
        charging(folder, Limits(), deadline).charge([(cells()[0], (Fraction(1),))])
    assert folder.state.total(("user", "ann", "census")) == (0,)


def test_before_its_charge_a_release_has_touched_nothing(tmp_path: Path) -> None:
    """What fails then depends on public facts: it is told in full, counts as no failure, and gives no memory back."""
    folder = make_jail(tmp_path)
    made = charging(folder, Limits(charged_steps_per_request=0), Deadline(60))
    with pytest.raises(LimitError):
        made.charge([(cells()[0], (Fraction(1),))])
    assert (made.progress.touched, made.progress.charged, made.progress.reserved) == (False, False, 0)

    made.charge([])  # charged to no cell: the engine runs now
    assert (made.progress.touched, made.progress.charged, made.progress.reserved) == (True, False, 0)
