"""What an engine does not do, operation by operation. The tests of operations and the laws run on every engine.

``notimpl``: not written yet. ``never``: the engine cannot do it, and says so. Both are strict: a test of an operation that
is marked here must fail, with the error of an operation that has no line for the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

from privjail.errors import EngineGap


class Gap(NamedTuple):
    mark: str  # "notimpl" or "never"
    why: str


def notimpl(why: str) -> Gap:
    return Gap("notimpl", why)


def never(why: str) -> Gap:
    return Gap("never", why)


#: engine → kind of operation → gap
GAPS: dict[str, dict[str, Gap]] = {
    "polars": {},
    "reference": {},
    "duckdb": {
        "concat": notimpl("no line yet"),
        "dot": notimpl("no line yet"),
        "row_scale": notimpl("no line yet"),
        "truncate": notimpl("no line yet"),
        "vector_sum": notimpl("no line yet"),
        "per_person": notimpl("no line yet"),
        "aggregate": notimpl("no line yet"),
        "lookup": notimpl("no line yet"),
        "text": notimpl("str.lower and str.upper: engines know other letters, and other rules of case"),
    },
}

#: engine → test → gap: where an engine lacks a part of an operation only, and for tests that cover no operation by name
PARTS: dict[str, dict[str, Gap]] = {
    "duckdb": dict.fromkeys(
        (
            "test_floats_stay_in_the_claimed_range",
            "test_remainders_of_floats_are_those_of_python",
            "test_the_remainder_of_a_tiny_negative_number_is_the_divisor_itself",
        ),
        notimpl("% of floats: no line yet"),
    )
    | dict.fromkeys(
        (
            "test_rows_at_the_bound_do_not_exceed_it_by_a_rounding",
            "test_long_rows_move_no_further_than_their_norm",
            "test_arithmetic_on_vector_sums_keeps_the_norm",
        ),
        notimpl("row_scale and vector_sum: no line yet"),
    ),
}


def mark_gaps(items: Iterable[pytest.Item], gaps: Mapping[str, Mapping[str, Gap]] = GAPS) -> None:
    """Expect the tests to fail that cover an operation, or a part of one, which their engine lacks."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        engine = callspec.params.get("each_engine", "") if callspec is not None else ""
        known = {**gaps.get(engine, {}), **PARTS.get(engine, {})}
        function = getattr(item, "function", None)
        names = {kind for kind, _ in getattr(function, "covers", ())} | {getattr(function, "__name__", "")}
        for kind in sorted(names & set(known)):
            gap = known[kind]
            item.add_marker(
                pytest.mark.xfail(strict=True, raises=(TypeError, EngineGap), reason=f"{gap.mark} {kind}: {gap.why}")
            )
