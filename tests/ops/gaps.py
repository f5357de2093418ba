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
        "text": notimpl("str.lower and str.upper: engines know other letters, and other rules of case"),
    },
}


def mark_gaps(items: Iterable[pytest.Item], gaps: Mapping[str, Mapping[str, Gap]] = GAPS) -> None:
    """Expect the tests to fail that cover an operation which their engine lacks."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        known = gaps.get(callspec.params.get("each_engine", "") if callspec is not None else "", {})
        for kind in sorted({kind for kind, _ in getattr(getattr(item, "function", None), "covers", ())} & set(known)):
            gap = known[kind]
            item.add_marker(
                pytest.mark.xfail(strict=True, raises=(TypeError, EngineGap), reason=f"{gap.mark} {kind}: {gap.why}")
            )
