"""The servers' clock: each server holds to a study's period by its own."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
