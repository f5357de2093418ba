"""`make test` repeats what failed once: chance and a busy machine are forgiven once, a fault is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "run_tests.py"
TESTS = """
from pathlib import Path

def test_fails_the_first_time():
    before, seen = Path("seen").exists(), Path("seen").touch()
    assert before

def test_right():
    pass
"""


def run(where: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (where / "test_some.py").write_text(tests)
    return subprocess.run([sys.executable, str(TOOL)], cwd=where, capture_output=True, text=True, timeout=120)


def test_what_passes_when_repeated_passes_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("passed only when repeated:\n  test_some.py::test_fails_the_first_time\n")


@pytest.mark.parametrize("wrong", ["\ndef test_wrong():\n    assert 0\n", "\nimport nothing_of_that_name\n"])
def test_what_fails_twice_fails(tmp_path: Path, wrong: str) -> None:
    done = run(tmp_path, TESTS + wrong)
    assert done.returncode != 0


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    many = "".join(f"def test_{i}():\n    assert 0\n" for i in range(21))
    done = run(tmp_path, many)
    assert done.returncode == 1 and "once more" not in done.stdout


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor: one worker")
def test_tests_that_differ_between_workers_are_not_repeated_one_after_another(tmp_path: Path) -> None:
    differ = "import os\nimport pytest\n\n@pytest.mark.parametrize('x', [os.getpid()])\ndef test_any(x):\n    pass\n"
    done = run(tmp_path, differ)
    assert done.returncode == 1 and "once more" not in done.stdout


def test_failures_of_an_earlier_run_are_forgotten(tmp_path: Path) -> None:
    run(tmp_path, "def test_wrong():\n    assert 0\n")
    done = run(tmp_path, "def test_right():\n    pass\n")
    assert done.returncode == 0 and "once more" not in done.stdout
