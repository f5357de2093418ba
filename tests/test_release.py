"""The only exit: what cannot be released is refused before anything is charged or looked at."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from privjail.budget.ledger import Ledger
from privjail.budget.notions import ApproxDP, PureDP
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.source import Unit
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.value import Value
from privjail.release import Query, ReleaseGate

from .ops.checking import frame
from .tables import World

ANY = World((("u", IntDomain(True, 0, 9)), ("x", CategoryDomain(True, ("a", "b")))), (), Unit("u", None))
ONE = Fraction(1)
MECHANISMS = [Laplace(ONE), Gaussian(ONE, Fraction(1, 100)), Exponential(ONE), NoisyMax(ONE)]


class Watched:
    """An engine that must not be asked."""

    def __init__(self) -> None:
        self.asked = 0

    def hold(self, source: Any, held: Any) -> None:
        pass

    def check(self, values: Iterator[Value]) -> None:
        pass

    def evaluate_all(self, values: Iterator[Value]) -> list[Any]:
        self.asked += 1
        return [[0] * v.size if v.index else 0 for v in values]


def jail() -> tuple[ReleaseGate, Watched]:
    engine = Watched()
    made = ReleaseGate(engine, Ledger())
    made.open(ANY.source.dataset, frame(ANY.source, ()), ApproxDP(100, Fraction(1, 2)))
    return made, engine


def untouched(made: ReleaseGate, engine: Watched) -> bool:
    return [a.total() for a in made.ledger.accounts()] == [(0, 0)] and not engine.asked and made.audit == []


COUNT = Tally(ANY.source, (), None)  # a user can have any number of rows: no bound is known
COUNTS = Tally(ANY.source, (ANY.column("x"),), None)
BOUNDED = GroupHead(ANY.source, ANY.column("u"), 2)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_what_has_no_bound_is_refused_before_it_is_charged(mechanism: Mechanism) -> None:
    """V-11: each mechanism's own check stands before the ledger."""
    made, engine = jail()
    with pytest.raises(DPError, match="no finite sensitivity|unbounded|bound"):
        made.release([Query(COUNTS, mechanism)])
    assert untouched(made, engine)


def test_every_ask_is_checked_not_only_the_first() -> None:
    made, engine = jail()
    fine = Query(Tally(BOUNDED, (), None), Laplace(ONE))
    for asks in ([fine, Query(COUNT, Laplace(ONE))], [Query(COUNT, Laplace(ONE)), fine]):
        with pytest.raises(DPError):
            made.release(asks)
        assert untouched(made, engine)


@pytest.mark.parametrize(
    "mechanism", [Exponential(ONE), NoisyMax(ONE), AboveThreshold(ONE, ONE)], ids=lambda m: type(m).__name__
)
def test_a_choice_among_nothing_is_refused_before_it_is_charged(mechanism: Mechanism) -> None:
    made, engine = jail()
    with pytest.raises(PlanError):
        made.release([Query(Tally(BOUNDED, (), None), mechanism)])
    assert untouched(made, engine)


def test_nothing_to_release() -> None:
    made, engine = jail()
    with pytest.raises(PlanError, match="nothing to release"):
        made.release([])
    assert untouched(made, engine)


def test_what_is_over_the_budget_is_not_computed() -> None:
    made, engine = jail()
    with pytest.raises(BudgetExceeded):
        made.release([Query(Tally(BOUNDED, (), None), Laplace(Fraction(101)))])
    assert untouched(made, engine)


def test_what_fails_after_the_charge_stays_charged() -> None:
    made, engine = jail()

    def fails(values: Any) -> Any:
        raise RuntimeError("the engine failed")

    engine.evaluate_all = fails  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        made.release([Query(Tally(BOUNDED, (), None), Laplace(ONE))])
    assert [a.total() for a in made.ledger.accounts()] == [(1, 0)] and made.audit is not None and len(made.audit) == 1


def test_one_identity_has_one_unit_of_protection() -> None:
    made, _ = jail()
    other = World(ANY.columns, (), Unit("u", 3))
    with pytest.raises(DPError, match="another unit"):
        made.open(other.source.dataset, frame(other.source, ()), None)
    with pytest.raises(DPError, match="another budget"):
        made.open(ANY.source.dataset, frame(ANY.source, ()), PureDP(1))


def test_what_an_engine_refuses_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    made, engine = jail()

    def refuse(values: Iterator[Value]) -> None:
        list(values)
        raise PlanError("this engine has no line for it")

    monkeypatch.setattr(engine, "check", refuse)
    count = Tally(GroupHead(ANY.source, ANY.column("u"), 1), (), None)
    with pytest.raises(PlanError, match="no line"):
        made.release([Query(count, Laplace(ONE))])
    assert untouched(made, engine)
