"""Every operation gives the reference engine's numbers and rows, bit for bit, on Polars, DuckDB, Sail and Spark.

An operation without plans in every_op.py fails here. What an engine lacks is marked in tests/ops/gaps.py: it is refused
before a charge, and a marked gap that works fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from privjail.engines.engine import Engine
from privjail.engines.polars.engine import PolarsEngine
from privjail.errors import EngineGap
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.text import Text
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.numbers.tally import Tally
from privjail.plan.node import Node, children, inputs_first
from privjail.plan.value import Value
from tests.engines.conftest import made_engine
from tests.engines.every_op import PLANS, SOURCE, TABLES, Plan, Shown, reference
from tests.engines.test_reference import same
from tests.laws.test_registry import OPS
from tests.ops.checking import frame
from tests.ops.gaps import GAPS, TEXT_FUNCTIONS, Gap

SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in ("sail", "spark")]  # two minutes on Sail
ENGINES = ["polars", "duckdb", *SLOW]


@pytest.fixture(scope="module", params=ENGINES)
def name(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def engines(name: str, request: Any) -> Iterator[dict[str, Engine]]:
    """For each table, an engine that holds it."""
    found: dict[str, Engine] = {}
    for each, table in TABLES.items():
        found[each] = PolarsEngine(2**30) if name == "polars" else made_engine(name, request)()
        found[each].hold(SOURCE, frame(SOURCE, table))
    yield found


def nodes_of(plan: Plan) -> list[Node]:
    roots: list[Node] = [plan.rows, *plan.columns] if isinstance(plan, Shown) else [plan]
    return list(inputs_first(roots, children))


def gap_of(name: str, plan: Plan) -> Gap | None:
    """Why an engine lacks something that a plan needs, if it does."""
    texts = TEXT_FUNCTIONS.get("duckdb" if name == "duckdb" else "spark" if name in ("sail", "spark") else "", {})
    for node in nodes_of(plan):
        found = GAPS[name].get(node.kind) or (texts.get(node.f) if isinstance(node, Text) else None)
        if found is not None:
            return found
    return None


def answer(engine: Engine, plan: Plan) -> Any:
    if isinstance(plan, Shown):
        return engine.table(plan.rows, {str(i): each for i, each in enumerate(plan.columns)})
    found: Any = engine.evaluate(plan)
    return sorted(found, key=repr) if isinstance(plan, KeyCounts) else found


def check_equal(ours: Engine, plan: Plan, truth: Engine) -> None:
    found, expected = answer(ours, plan), answer(truth, plan)
    if not isinstance(plan, Shown):
        assert found == expected, str(plan)
        return
    for i, column in enumerate(plan.columns):
        pairs = list(zip(found[str(i)], expected[str(i)], strict=True))
        assert all(same(a, b) for a, b in pairs), f"{column} of {plan.rows}: {pairs}"


def counted(plan: Plan) -> Value:
    """A value that a release can ask for and that needs what the plan shows."""
    return Tally(plan.rows, (IsNull(plan.columns[0]),), None) if isinstance(plan, Shown) else plan


def test_every_operation_has_plans_that_need_it() -> None:
    assert sorted(PLANS) == OPS
    for kind, plans in PLANS.items():
        made = plans()
        assert made and all(not isinstance(plan, Shown) or plan.columns for plan in made), kind
        assert all(kind in {node.kind for node in nodes_of(plan)} for plan in made), kind


@pytest.mark.parametrize("kind", OPS)
def test_an_operation_is_equal_on_every_engine(kind: str, name: str, engines: dict[str, Engine]) -> None:
    for plan in PLANS[kind]():
        gap = gap_of(name, plan)
        for each, table in TABLES.items():
            if gap is None:
                check_equal(engines[each], plan, reference(table, engines[each].coins))  # type: ignore[attr-defined]
                continue
            with pytest.raises(EngineGap):  # before a charge; a gap that works fails
                engines[each].check([counted(plan)])
