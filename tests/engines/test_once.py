"""Every value of a plan is derived and computed once, however often others use it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from privjail.engines.polars.engine import PolarsEngine
from privjail.ops.numbers.combine import Add, Scale, Stack
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import IntDomain
from privjail.plan.value import Value

N = 300


def doubled(count: Value) -> Value:
    for _ in range(N):
        count = Add(count, count)
    return count


def fibonacci(count: Value) -> Value:
    before, last = count, Scale(count, Fraction(2))
    for _ in range(N):
        before, last = last, Add(before, last)
    return last


def prefixes(count: Value) -> Value:
    sums = [count]
    for i in range(N):
        sums.append(Add(sums[-1], Scale(count, Fraction(i + 2))))
    return Stack(tuple(sums), tuple(range(len(sums))))


@pytest.mark.parametrize("plan", [doubled, fibonacci, prefixes])
def test_shared_sums_are_looked_at_once(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(Dataset(f"once-{plan.__name__}", "once", (("k", IntDomain(False, 0, 9)),), Unit()))
    engine = PolarsEngine()
    engine.hold(source, pl.DataFrame({"k": pl.Series([1, 0, 3], dtype=pl.Int64)}))
    value = plan(Tally(source, () if plan is prefixes else (Column(source, "k"),), None))
    derived: Counter[Value] = Counter()
    computed: Counter[Value] = Counter()
    for cls in (Add, Scale, Stack, Tally):
        right = cls.derive
        monkeypatch.setattr(cls, "derive", lambda self, right=right: (derived.update([self]), right(self))[1])
    compute = engine.step
    monkeypatch.setattr(engine, "step", lambda node, inputs: (computed.update([node]), compute(node, inputs))[1])

    assert value.joint.l1 is not None
    found = engine.evaluate(value)

    assert len(derived) > N and set(derived.values()) == {1}
    assert len(computed) > N and set(computed.values()) == {1}
    if plan is doubled:
        assert sum(found) == 3 * 2**N
