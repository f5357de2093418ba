"""The walk in docs/ARCHITECTURE.md, from an analyst's line to the noise, is what runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_imports import LAYERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALK = PAGE[PAGE.index("## One line") : PAGE.index("## Folders")]
TABLE = "\n".join(line for line in WALK.splitlines() if line.startswith("| "))
FILE = r"`([\w/]+\.py)`"
STEPS = re.findall(rf"^\|[^|]*\| {FILE} `([\w.]+)` \|", WALK, re.M)

#: These may only fall. The aim is 20 files. Four of them are what an answer knows about itself: its law and its record.
FILES_AT_MOST, CALLS_AT_MOST = 36, 510

#: Calls from a folder to one that stands above it. Both are methods that the lower folder declares and the upper one
#: overrides; nothing is imported upwards. This list may only get shorter.
BACK_UP = {
    ("plan", "ops"): "a node calls the rule of its own operation",
    ("sensitive", "pandas"): "a vector gives its answer the form of a pandas object",
}


@pytest.fixture(scope="module")
def calls() -> list[tuple[list[str] | None, list[str]]]:
    """(caller, called) of every call, in order, in a fresh process: nothing is known from another run."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("walk.py"))],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_steps_run_in_the_order_of_the_page(calls):
    assert len(STEPS) == TABLE.count("\n| ") - 1, "each row names one file and one function"
    order = [tuple(called) for _, called in calls]
    at = 0
    for step in STEPS:
        assert step in order, f"{step} does not run"
        assert step in order[at:], f"{step} runs, but not after the step before it"
        at = order.index(step, at)


def test_the_page_names_every_file_that_runs_and_no_other(calls):
    assert set(re.findall(FILE, TABLE)) == {called[0] for _, called in calls}


def test_the_walk_gets_no_longer(calls, record_property):
    files = {called[0] for _, called in calls}
    record_property("files", len(files))
    record_property("calls", len(calls))
    print(f"{len(files)} files, {len(calls)} calls")

    assert len(files) <= FILES_AT_MOST
    assert len(calls) <= CALLS_AT_MOST


def test_it_takes_no_step_back_up_that_is_not_listed(calls):
    height = {name: i for i, names in enumerate(LAYERS) for name in names}

    def part(place):
        return place[0].split("/")[0].removesuffix(".py")

    pairs = {(part(caller), part(called)) for caller, called in calls if caller is not None}
    back_up = {(low, high) for low, high in pairs if height[low] < height[high]}

    assert back_up == set(BACK_UP), "a call from a folder to one above it, or one that is no longer made"


def test_between_charge_and_noise_no_face_and_no_session_runs(calls):
    order = [tuple(called) for _, called in calls]
    start = order.index(("release.py", "ReleaseGate.release"))
    end = order.index(("mechanisms/noise.py", "Noise.laplace"))

    assert not [
        file for file, _ in order[start:end] if file.startswith(("pandas/", "sensitive", "session", "statistics"))
    ]
