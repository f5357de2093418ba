"""Keys by threshold as they are shipped: law, line and δ hold, and a line that is off by one is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from privjail.mechanisms import private_keys
from privjail.mechanisms.private_keys import PrivateKeys
from privjail.verify.checks import exact_noise


def watch() -> None:
    """Nothing is shown here."""


def test_law_and_line_hold() -> None:
    rows = exact_noise.histogram(True, watch)

    assert len(rows) == 3 and all(row.holds and row.ours for row in rows)


def test_a_line_one_lower_than_delta_allows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenDP #2922: the δ of a line at which the count itself is shown, computed as if only what lies above it were."""
    right = private_keys.calibrated

    def lower(*given: Any) -> Any:
        scale, line = right(*given)
        return scale, line - 1

    monkeypatch.setattr(exact_noise, "calibrated", lower)

    assert not exact_noise._shipped_line().holds


def test_code_that_shows_a_key_below_its_line_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PrivateKeys.calibrate

    def lower(self: PrivateKeys, value: Any) -> Any:
        found = right(self, value)
        return replace(found, threshold=found.threshold - 1)

    monkeypatch.setattr(PrivateKeys, "calibrate", lower)

    assert not any(row.holds for row in exact_noise.histogram(True, watch)[1:])
