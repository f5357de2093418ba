"""CONTRIBUTING.md tells the truth: what it names exists, and each recipe names every file that the last such change touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (How to add .+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
PATH = re.compile(r"`((?:src|tests|docs|tools|bench|changelog\.d)/[\w/.]*)`")

#: For each recipe, something that was made by it: its name, and how it is recognised in other files.
EXAMPLES = [
    ("How to add an operation", "clip", r"privjail\.ops\.columns\.clip import"),
    ("How to add an operation", "slice", r"privjail\.ops\.rows\.slice import"),
    ("How to add an operation", "text", r"privjail\.ops\.columns\.text import"),
    ("How to add a mechanism", "above_threshold", r"\bAboveThreshold\b|\babove_threshold\b"),
]
#: Files that use an operation or mechanism for something else: they did not have to change for it.
USERS = (
    "src/privjail/statistics/",
    "src/privjail/learn/",
    "src/privjail/stats/",
    "src/privjail/server/sessions.py",
    "src/privjail/pandas/",
    "src/privjail/numpy/",
    "src/privjail/ops/numbers/vector_sum.py",  # a sum of clipped rows
    "src/privjail/engines/polars/columns.py",  # texts that an operation makes take more memory than other columns
)


def named(section: str, example: str) -> list[Path]:
    return [ROOT / path.replace("NAME", example) for path in PATH.findall(SECTIONS[section])]


def test_the_recipes_are_there():
    assert set(SECTIONS) == {
        "How to add an operation",
        "How to add a mechanism",
        "How to add an engine",
        "How to add a method to a face",
        "How to add a face",
        "How to add a command for curators",
        "How to add a page to a console",
    }


@pytest.mark.parametrize("path", sorted(set(PATH.findall(PAGE))))
def test_what_is_named_exists(path):
    """NAME stands for a new name, so something else must already stand in such a place."""
    found = [*ROOT.glob(path.replace("NAME", "*"))]

    assert found, path
    assert path.endswith("/") == found[0].is_dir(), f"{path}: folders end with a slash, files do not"


@pytest.mark.parametrize(("section", "example", "spelling"), EXAMPLES, ids=lambda x: x.split()[-1])
def test_a_recipe_names_every_file_of_the_library_that_knows_the_example(section, example, spelling):
    files = set(named(section, example))
    knows = [
        path
        for path in sorted((ROOT / "src" / "privjail").rglob("*"))
        if path.suffix in (".py", ".proto") and re.search(spelling, path.read_text(encoding="utf-8"))
    ]
    missing = [str(path.relative_to(ROOT)) for path in knows if path not in files]

    assert knows, f"nothing knows {example}: take another example"
    assert not [path for path in missing if not path.startswith(USERS)]


@pytest.mark.parametrize(("section", "example", "spelling"), EXAMPLES, ids=lambda x: x.split()[-1])
def test_the_example_has_its_own_files(section, example, spelling):
    own = [ROOT / p.replace("NAME", example) for p in PATH.findall(SECTIONS[section]) if "NAME" in p]

    assert any(path.exists() for path in own if path.parts[-3] != "tests")
    assert all(path.exists() for path in own if "tests" in path.parts)
