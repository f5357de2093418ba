"""The public candidates that quantiles, minima and maxima are chosen among."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.statistics.quantile import SHARES, STEPS, Ranked, RankAsks, extreme_ask

from ..tables import World


def ranked(domain: Any) -> Ranked:
    world = World((("x", domain),), ())
    return Ranked.of(world.source, world.column("x"))


def shown(r: Ranked) -> list[float]:
    return [r.value(i) for i in range(r.size)]


@pytest.mark.parametrize(
    "low, high", [(0, 0), (0, 1), (-3, 7), (0, 1000), (0, 1001), (0, 2000), (-5, 10**18), (-(2**63), 2**63 - 1)]
)
def test_whole_candidates_reach_from_the_first_to_the_last_value(low: int, high: int) -> None:
    """Without the last one the largest values would be taken for smaller ones, whatever the data."""
    r = ranked(IntDomain(False, low, high))
    found = shown(r)

    assert found[0] == float(low) and found[-1] == float(high) and len(found) <= STEPS + 1
    assert all(a < b for a, b in zip(found, found[1:], strict=False))
    if high - low <= STEPS:
        assert found == list(range(low, high + 1)) and r.step == 0
    widest = max((b - a for a, b in zip(found, found[1:], strict=False)), default=0)
    assert widest <= max(1, 2 * r.step)


@pytest.mark.parametrize("low, high", [(0.0, 0.0), (0.0, 1.0), (-2.5, 1e9), (1.0, 1.0 + 2**-50), (-1e300, 1e300)])
def test_float_candidates_reach_from_the_first_to_the_last_value(low: float, high: float) -> None:
    found = shown(ranked(FloatDomain(False, low, high)))

    assert found[0] == float(low) and found[-1] == float(high) and len(found) <= STEPS + 1
    assert all(low <= x <= high for x in found)
    if high - low > 1e-3:
        assert len(found) == STEPS + 1


@pytest.mark.parametrize(
    "domain",
    [IntDomain(True, -3, 40), IntDomain(True, 0, 3001), IntDomain(False, -(2**62), 2**62), FloatDomain(True, -1.0, 2.0),
     FloatDomain(True, 0.1, 0.3)],
)  # fmt: skip
def test_every_value_lies_on_the_candidate_that_the_column_says(domain: Any) -> None:
    """Between the candidate's own bounds: what intervals rest on."""
    r = ranked(domain)
    span = domain.upper - domain.lower
    for k in range(501):
        x = domain.lower + (span * k // 500 if isinstance(domain, IntDomain) else span * k / 500)
        place = held(r.expr, min(x, domain.upper))
        i = int(place) if r.step else int(place - domain.lower)
        assert r.below(i) <= x <= r.above(i)


def held(expr: Any, x: Any) -> Any:
    """The value of an expression of one column, in plain Python."""
    inputs = [held(each, x) for each in expr.inputs]
    return x if expr.kind == "column" else expr.python(*inputs)


@pytest.mark.parametrize("domain", [IntDomain(True, 0, 3000), FloatDomain(True, -1.0, 2.0)])
def test_each_ask_offers_all_of_them(domain: Any) -> None:
    r = ranked(domain)
    one = RankAsks.of(r, Fraction(1, 4), Fraction(1))
    asks = [*one.asks, *(extreme_ask(r, which, Fraction(1))[0] for which in ("min", "max"))]
    for ask in asks:
        assert isinstance(ask.value, QuantileScores) and ask.value.size == r.size
    value, lower, upper, least, most = (ask.value for ask in asks)
    assert (value.below, value.above, value.target) == (Fraction(3, 4), Fraction(1, 4), 0)
    assert lower.target == -one.margin and upper.target == one.margin
    assert (least.below, least.above) == (1, 0) and least.target > 0
    assert (most.below, most.above) == (0, 1) and most.target == -least.target
    assert sum(SHARES) == 1
