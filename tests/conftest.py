"""For all tests."""

import pytest
from hypothesis import settings

from privjail import records

# A busy machine is no failure: what takes too long is found by looking at the slowest tests, not by a stopwatch.
settings.register_profile("privjail", deadline=None)
settings.load_profile("privjail")


@pytest.fixture(autouse=True)
def _new_history() -> None:
    """A program starts without a history. It keeps the newest 10,000 releases, so it no longer grows in a long run."""
    records.kept.clear()
