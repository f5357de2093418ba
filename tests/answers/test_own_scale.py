"""Numbers that are released together get noise by their own scale, and the price is the stated one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.answers.noisy import equalised
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.combine import Scale, Stack
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain

from ..tables import World

SCHEMA = {
    "ward": {"type": "category", "categories": ["a", "b"]},
    "days": {"type": "Int64", "range": [0, 60], "fill": 0},
    "cost": {"type": "Float64", "range": [0, 20_000], "fill": 0},
    "odd": {"type": "Float64", "range": [-0.1, 0.3], "fill": 0},
}


@pytest.fixture
def df() -> pd.PrivDataFrame:
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame(
        {
            "ward": rng.choice(["a", "b"], 1309),
            "days": rng.integers(0, 30, 1309),
            "cost": rng.random(1309) * 9000,
            "odd": rng.random(1309) * 0.3,
        }
    )
    return pd.from_frame(frame, "own", SCHEMA)


def test_a_count_beside_a_sum_keeps_its_scale(df: Any) -> None:
    """As if alone with half of eps: before, the count of 1,309 had the noise of a sum of costs."""
    count, total = pj.reveal_all([df.shape[0], df["cost"].sum()], eps=1)
    assert count.noise == pytest.approx(2**0.5 * 2, rel=0.01)
    assert total.noise == pytest.approx(2**0.5 * 2 * 20_000, rel=0.01)
    assert pj.consumed_privacy_budget()["own"] == 1.0
    assert abs(count - 1309) < 80 and float(count).is_integer()


def test_sums_of_columns_have_errors_of_their_own(df: Any) -> None:
    found = df[["days", "cost", "odd"]].sum()
    errors = found.reveal(eps=3).error()
    for name, reach in (("days", 60), ("cost", 20_000), ("odd", 0.3)):
        alone = df[name].sum().error(eps=1)
        assert errors[name] == pytest.approx(alone, rel=0.02, abs=0.6 if name == "days" else 1e-6), reach
    assert found.error(eps=3) == pytest.approx(errors.max(), rel=0.01)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_the_expected_error_holds_where_numbers_are_moved_to_their_grid(df: Any, confidence: float) -> None:
    """By the exact law of the noise: a number that is half a day too far away is moved to a whole day further away."""
    found = df.assign(twice=df["days"] * 2, thrice=df["days"] * 3)[["twice", "thrice"]].sum()
    scaled, factors = equalised(found._value)
    assert scaled is not None
    for eps in (30, 50, 90, 200):
        error = found.error(eps=eps, confidence=confidence)
        calibration = Laplace(Fraction(eps)).calibrate(scaled)
        for reach, holds in ((error, True), (error - 1, False)):
            held = []
            for factor in factors:
                steps = (int(reach) + Fraction(1, 2)) * factor / calibration.on.grid  # it is off by whole numbers
                held.append(1 - 2 * _tail(float(calibration.scale), -(-steps // 1)))
            assert (min(held) >= confidence) is holds or error == 0


def _tail(scale: float, steps: Any) -> float:
    """Pr[X ≥ steps] of discrete Laplace noise."""
    a = float(np.exp(-1 / scale))
    return a ** float(steps) / (1 + a)


def test_groups_that_exclude_each_other_lose_no_share(df: Any) -> None:
    parts = [group["days"].sum() for _, group in df.groupby("ward")]
    scaled = [part * (i + 1) for i, part in enumerate(parts)]
    one, two = pj.reveal_all(scaled, eps=1)
    assert one.noise == pytest.approx(2**0.5 * 60, rel=0.02) and two.noise == pytest.approx(2**0.5 * 120, rel=0.02)


def test_an_eps_for_each_number(df: Any) -> None:
    given = {"rows": df.shape[0], "cost": df["cost"].sum()}
    found = pj.reveal_all(given, eps={"rows": 0.2, "cost": 0.8})
    assert found["rows"].noise == pytest.approx(2**0.5 / 0.2, rel=0.02)
    assert found["cost"].noise == pytest.approx(2**0.5 * 20_000 / 0.8, rel=0.02)
    assert pj.consumed_privacy_budget()["own"] == 1.0
    for wrong in ({"rows": 0.2}, {"rows": 0.2, "costs": 1}, [0.2, 0.8], {"rows": 0, "cost": 1}):
        with pytest.raises(pj.DPError):
            pj.reveal_all(given, eps=wrong)
    with pytest.raises(pj.PlanError, match="Laplace"):
        pj.reveal_all(given, eps={"rows": 0.2, "cost": 0.8}, delta=1e-6)
    assert pj.consumed_privacy_budget()["own"] == 1.0


def test_a_public_number_among_them_stays_as_it_is(df: Any) -> None:
    found = pj.reveal_all([df.shape[0], 3, df["cost"].sum()], eps=1)
    assert found[1] == 3 and found[1].error() == 0


def test_an_unbounded_column_is_refused_as_before() -> None:
    df = pd.from_frame(pandas.DataFrame({"x": [1.0]}), "open", {"x": {"type": "Float64"}})
    with pytest.raises(pj.DPError, match="unbounded"):
        pj.reveal_all([df.shape[0], df["x"].sum()], eps=1)
    assert pj.consumed_privacy_budget()["open"] == 0


def test_numbers_beyond_all_floats_do_not_fail_after_the_charge(df: Any) -> None:
    """What is paid for is answered: also where a number, its factor or its noise has no float."""
    huge, tiny = df.shape[0] * 1e308 * 1e308, df.shape[0] * 1e-308 * 1e-308
    found = pj.reveal_all([df.shape[0], huge, tiny], eps=1)
    assert abs(found[1]) == float("inf") and abs(found[0] - 1309) < 200 and found[2] == 0
    assert found[1].error() == float("inf") and huge.reveal(eps=1).interval()[1] == float("inf")
    wide = pd.from_frame(
        pandas.DataFrame({"x": [1.0, 2.0]}), "wide", {"x": {"type": "Float64", "range": [-1e308, 1e308]}}
    )
    for answer in (wide["x"].mean(eps=1), wide["x"].sum().reveal(eps=1)):
        low, high = answer.interval()
        assert low <= answer <= high or answer != answer
        assert repr(answer)


WORLD = World(
    (("x", IntDomain(False, 0, 7)), ("y", FloatDomain(False, -0.3, 0.1)), ("z", IntDomain(False, -1000, 1))),
    tuple((x, y, z) for x in (0, 7) for y in (-0.3, 0.1) for z in (-1000, 1)),
)


@given(
    st.lists(st.sampled_from(["count", "x", "y", "z"]), min_size=2, max_size=4), st.sampled_from([1, 3, Fraction(1, 7)])
)
def test_scaled_elements_move_no_further_than_the_noise_is_made_for(names: list[str], times: Any) -> None:
    """The truth: all neighbours of small tables, exact numbers times exact factors, against the stated sensitivity."""
    rows = WORLD.source
    columns = {name: i for i, (name, _) in enumerate(WORLD.columns)}
    values = [Tally(rows, (), None if name == "count" else WORLD.column(name)) for name in names]
    vector = Stack(tuple(Scale(v, Fraction(times)) for v in values), tuple(range(len(values))))
    scaled, factors = equalised(vector)
    if scaled is None:
        assert len({v.joint.linf for v in values}) == 1
        return
    stated = Fraction(scaled.joint.l1)
    for row in WORLD.rows:  # a table with one row more: each element moves by that row's amount
        moved = [Fraction(times) * (1 if name == "count" else _held(row[columns[name]], value)) for name, value in
                 zip(names, values, strict=True)]  # fmt: skip
        assert sum(abs(m * f) for m, f in zip(moved, factors, strict=True)) <= stated
    each = [Fraction(v.joint.linf) * Fraction(times) * f for v, f in zip(values, factors, strict=True)]
    assert max(each) <= min(each) * (1 + Fraction(1, 128))
    assert scaled.grid.denominator == 1


def _held(x: Any, tally: Tally) -> Fraction:
    from privjail.ops.numbers.tally import amount

    assert tally.value is not None
    return amount(x, tally.value.domain) * tally.grid


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(1)), Gaussian(rho=Fraction(1, 2))])
def test_the_jail_gets_one_ordinary_vector(df: Any, mechanism: Any) -> None:
    seen: list[Any] = []
    session.witnesses.append(lambda asks: seen.extend(asks) or (lambda: None))  # type: ignore[func-returns-value]
    try:
        if isinstance(mechanism, Laplace):
            df[["days", "cost"]].sum().reveal(mechanism=mechanism)
            assert len(seen) == 1 and isinstance(seen[0].value, Stack) and seen[0].mechanism == mechanism
        scaled, _ = equalised(df[["days", "cost"]].sum()._value)
        assert mechanism.calibrate(scaled).on.coarser == 1
    finally:
        session.witnesses.pop()
