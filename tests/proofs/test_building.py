"""The proofs are checked once in a run of tests, whoever asks for them; what goes wrong is told to all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from . import building

CHECKS = """
import pathlib, sys, time
here = pathlib.Path(__file__).parent
with open(here.parents[1] / "runs", "a") as runs:
    runs.write("one\\n")
time.sleep(0.3)
(here / "page.md").write_text("a page")
if (here / "Wrong.v").exists():
    sys.exit("Wrong.v is wrong")
"""


@pytest.fixture
def proofs(tmp_path: Path) -> Path:
    """A folder like proofs/, whose proofs are checked at once."""
    made = tmp_path / "proofs"
    (made / "checker").mkdir(parents=True)
    (made / "prove.py").write_text(CHECKS)
    (made / "Right.v").write_text("")
    return made


def asked_four_times(folder: Path, proofs: Path) -> list[Path | str]:
    def ask(_: int) -> Path | str:
        try:
            return building.checked_proofs(folder, proofs)
        except AssertionError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:  # a lock of a file is held by who opened it: threads are like processes here
        return list(pool.map(ask, range(4)))


def test_the_proofs_are_checked_once_and_all_wait_for_them(proofs: Path, tmp_path: Path):
    found = asked_four_times(tmp_path, proofs)

    assert found == [tmp_path / "checked" / "proofs"] * 4
    assert (tmp_path / "runs").read_text() == "one\n"
    assert (tmp_path / "checked" / "proofs" / "page.md").exists()


def test_what_is_wrong_is_said_to_everybody(proofs: Path, tmp_path: Path):
    (proofs / "Wrong.v").write_text("")
    found = asked_four_times(tmp_path, proofs)

    assert all("Wrong.v is wrong" in str(each) for each in found)
    assert (tmp_path / "runs").read_text() == "one\n"


def test_what_a_stopped_process_left_is_done_again(proofs: Path, tmp_path: Path):
    (tmp_path / "checked" / "proofs").mkdir(parents=True)
    (tmp_path / "checked" / "proofs" / "page.md").write_text("half a")

    assert (building.checked_proofs(tmp_path, proofs) / "page.md").read_text() == "a page"


def test_processes_of_one_run_share_a_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    own = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert building.shared(tmp_path_factory) == own.parent
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    assert building.shared(tmp_path_factory) == own
