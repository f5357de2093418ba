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
GAPS: dict[str, dict[str, Gap]] = {"polars": {}, "reference": {}, "duckdb": {}, "sail": {}, "spark": {}}

_CASE = never("the rules of case are not the same everywhere: upper('ß') is 'ẞ' in DuckDB, 'SS' in Python and Sail")
_JAVA = never("Java's matcher backtracks: for some texts it takes forever, or fails for want of stack")

#: engine → function of free text → gap
TEXT_FUNCTIONS: dict[str, dict[str, Gap]] = {
    "duckdb": {"lower": _CASE, "upper": _CASE},
    "spark": {"lower": _CASE, "upper": _CASE} | dict.fromkeys(("matches", "extract", "substitute", "count"), _JAVA),
}

#: engine → test → gap: where an engine lacks a part of an operation only, and for tests that cover no operation by name
PARTS: dict[str, dict[str, Gap]] = {
    "duckdb": {
        "test_cases_are_those_of_python": _CASE,
        "test_a_group_that_may_be_left_out_and_may_be_empty": never("RE2 gives the empty text for both"),
    },
}


def lacks_text(engine: str, f: str) -> bool:
    """Whether an engine has no line for a function of free text."""
    return f in TEXT_FUNCTIONS.get(engine, {})


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
