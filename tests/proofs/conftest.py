"""What all tests of proofs share: one run of Coq."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import building


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All proofs, checked in a folder of their own, and the page that says so. Nothing may be changed in it."""
    if why := building.no_coq():
        pytest.skip(why)
    return building.checked_proofs(building.shared(tmp_path_factory))


@pytest.fixture(scope="session")
def certified_checker(request: pytest.FixtureRequest) -> Path:
    """The certified checker: that of `make prove` if nothing has changed since, or built with the proofs."""
    if building.up_to_date(building.prove.CHECKER):
        return building.prove.CHECKER
    if why := building.no_tools():
        pytest.skip(why)
    return building.built_in(request.getfixturevalue("checked"))
