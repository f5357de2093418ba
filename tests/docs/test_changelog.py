"""changelog.d/: every fragment is one that towncrier takes, and one sentence for users."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "changelog.d"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
KINDS = {kind["directory"] for kind in SETTINGS["type"]}
FRAGMENTS = sorted(p for p in FOLDER.iterdir() if p.name not in SETTINGS["ignore"])


def problem(name: str, text: str) -> str | None:
    """What is wrong with a fragment, if anything."""
    parts = name.split(".")
    if len(parts) != 3 or parts[2] != "md" or not re.fullmatch(r"[a-z0-9-]+", parts[0]):
        return "name it CHANGE.KIND.md, in lower case with hyphens"
    if parts[1] not in KINDS:
        return f"{parts[1]!r} is no kind: use {', '.join(sorted(KINDS))}"
    if not text.strip() or not text.strip().endswith((".", ")", "`")):
        return "write a sentence, with a full stop"
    if re.search(r"^(- |# |\s*$)", text.rstrip("\n"), re.M):
        return "write one paragraph: no list, no heading, no empty line"
    return None


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda p: p.name)
def test_a_fragment_is_well_formed(path):
    assert problem(path.name, path.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("head.md", "A sentence."), ("head.news.md", "A sentence."), ("Head.fixed.md", "A sentence."),
        ("head.fixed.txt", "A sentence."), ("head.fixed.md", ""), ("head.fixed.md", "no full stop"),
        ("head.fixed.md", "- A list."), ("head.fixed.md", "One.\n\nTwo."),
    ],
)  # fmt: skip
def test_others_are_found(name, text):
    assert problem(name, text) is not None
    assert problem("head.fixed.md", "A sentence.\n") is None


def test_towncrier_takes_them_all():
    pytest.importorskip("towncrier", reason="towncrier is not installed: make test installs it")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n- ") == len(FRAGMENTS)
