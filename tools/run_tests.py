"""Runs the tests, and those that failed a second time, alone: `make test` and `make test-all`.

Some tests look at noise: even right code fails them once in a million runs, and there are thousands of them. Others
look at real servers within seconds, while the other tests keep all cores busy. Neither may fail twice. What passed only
when it was repeated is printed with its name: a test that is listed there often needs mending.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 20  # more than these failed for a reason of their own: nothing is repeated
SOME_TESTS_FAILED = 1  # pytest's exit code
FAILED = Path(".pytest_cache") / "v" / "cache" / "lastfailed"  # where pytest keeps their names


def failed_tests() -> set[str]:
    """The names of the tests that failed in the last run."""
    return set(json.loads(FAILED.read_text())) if FAILED.exists() else set()


def pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments]).returncode


def main(arguments: list[str]) -> int:
    FAILED.unlink(missing_ok=True)  # of an earlier run
    code = pytest("-n", "auto", "--maxprocesses", "8", *arguments)
    failed = failed_tests()
    if code != SOME_TESTS_FAILED or not 0 < len(failed) <= MOST or not all("::" in name for name in failed):
        return code  # a name without "::" is a file or a worker: tests were not collected, so they cannot be repeated
    print(f"\n{len(failed)} tests failed. They are run once more, one after another:", flush=True)
    code = pytest("--last-failed", "--last-failed-no-failures=none", *arguments)
    passed = failed - failed_tests()
    if passed:
        print("passed only when repeated:", *sorted(passed), sep="\n  ", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
