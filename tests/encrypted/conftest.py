"""Both servers of one study, in threads of this process."""

from __future__ import annotations

import pytest

from .parties import Parties
from .refusing import BINS


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory):
    made = Parties(tmp_path_factory.mktemp("study"), bins=BINS, budget=100)
    with made.in_threads():
        yield made
