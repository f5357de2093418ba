"""The public candidates that quantiles, minima and maxima are chosen among."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.statistics.quantile import CANDIDATES, candidate, candidates_of, extreme_ask, quantile_ask

from ..tables import World


def candidates(domain: Any) -> list[Any]:
    world = World((("x", domain),), ())
    return [lit.value for lit in candidates_of(world.source, world.column("x"), "a quantile")]


@pytest.mark.parametrize(
    "low, high", [(0, 0), (0, 1), (-3, 7), (0, 1000), (0, 1001), (0, 2000), (-5, 10**18), (-(2**63), 2**63 - 1)]
)
def test_whole_candidates_reach_from_the_first_to_the_last_value(low: int, high: int) -> None:
    """Without the last one the largest values would be taken for smaller ones, whatever the data."""
    found = candidates(IntDomain(False, low, high))

    assert found[0] == low and found[-1] == high and len(found) <= CANDIDATES + 1
    assert all(a < b for a, b in zip(found, found[1:], strict=False))
    if high - low < CANDIDATES:
        assert found == list(range(low, high + 1))
    widest = max((b - a for a, b in zip(found, found[1:], strict=False)), default=0)
    assert widest <= max(1, -(-(high - low) // (CANDIDATES - 1)))


@pytest.mark.parametrize("low, high", [(0.0, 0.0), (0.0, 1.0), (-2.5, 1e9), (1.0, 1.0 + 2**-50), (-1e300, 1e300)])
def test_float_candidates_reach_from_the_first_to_the_last_value(low: float, high: float) -> None:
    found = candidates(FloatDomain(False, low, high))

    assert found[0] == low and found[-1] == high and len(found) <= CANDIDATES
    assert all(low <= x <= high for x in found)
    if high - low > 1e-3:
        assert len(found) == CANDIDATES


@pytest.mark.parametrize("domain", [IntDomain(True, 0, 3000), FloatDomain(True, -1.0, 2.0)])
def test_each_ask_offers_all_of_them(domain: Any) -> None:
    world = World((("x", domain),), ())
    rows, x, known = world.source, world.column("x"), candidates(domain)
    asks = [quantile_ask(rows, x, Fraction(1, 4), Fraction(1))]
    asks += [extreme_ask(rows, x, which, Fraction(1)) for which in ("min", "max")]
    for ask in asks:
        assert isinstance(ask.value, QuantileScores) and list(ask.value.index[0]) == known
        assert [candidate(ask, i) for i in (0, len(known) - 1)] == [domain.lower, domain.upper]
    quarter, least, most = (ask.value for ask in asks)
    assert (quarter.below, quarter.above, quarter.target) == (Fraction(3, 4), Fraction(1, 4), 0)
    assert (least.below, least.above) == (1, 0) and least.target > 0
    assert (most.below, most.above) == (0, 1) and most.target == -least.target
