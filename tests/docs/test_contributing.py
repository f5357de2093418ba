"""CONTRIBUTING.md tells the truth: what it names exists, and each recipe names every file that the last such change touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (How to add .+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
PATH = re.compile(r"`((?:src|tests|docs|tools|bench|changelog\.d)/[\w/.]*)`")
KINDS = (".py", ".proto", ".html")  # of files that may know an example

#: For each recipe, something that was made by it: its name, and how it is recognised in other files.
EXAMPLES = [
    ("How to add an operation", "clip", r"privjail\.ops\.columns\.clip import"),
    ("How to add an operation", "slice", r"privjail\.ops\.rows\.slice import"),
    ("How to add an operation", "text", r"privjail\.ops\.columns\.text import"),
    ("How to add a mechanism", "above_threshold", r"\bAboveThreshold\b|\babove_threshold\b"),
    ("How to add an engine", "duckdb", r"\bDuckDB\w*|engines\.sql\.duckdb|\"duckdb\""),
    ("How to add a method to a face", "nlargest", r"\bnlargest\b"),
    ("How to add a method to a face", "describe", r"\bdef describe\((?!self, request)|statistics\.describe import"),
    ("How to add a page to the console", "epsilon", r"\bepsilon\.html|\"/epsilon\"|\bepsilon\(ask\b"),
    ("How to add a page to the console", "requests", r"\brequests\.html|\"/requests\"|\"decline\"|\bdef decline\b"),
]
#: Files that use an example for something else: they did not have to change for it.
USES = {
    "How to add an engine": (
        "src/privjail/catalogue/",  # reads DuckDB files, as it reads SQLite's
        "src/privjail/curator/cli/schema.py",
        "src/privjail/curator/cli/update.py",
        "src/privjail/engines/sql/",  # comments that say what databases do
    ),
    "How to add a page to the console": ("src/privjail/curator/console/templates/overview.html",),  # what waits
}
USERS = (  # of operations and mechanisms
    "src/privjail/statistics/",
    "src/privjail/learn/",
    "src/privjail/stats/",
    "src/privjail/server/sessions.py",
    "src/privjail/pandas/",
    "src/privjail/numpy/",
    "src/privjail/ops/numbers/vector_sum.py",  # a sum of clipped rows
    "src/privjail/engines/polars/narrowed.py",  # a shorter way to the same sums of clipped columns
    "src/privjail/engines/polars/columns.py",  # texts that an operation makes take more memory than other columns
)


def named(section: str, example: str) -> list[Path]:
    """What the tables of a recipe name. What stands in the text around them is no instruction."""
    rows = "\n".join(line for line in SECTIONS[section].splitlines() if line.startswith("|"))
    return [ROOT / path.replace("NAME", example) for path in PATH.findall(rows)]


def test_the_recipes_are_there():
    assert set(SECTIONS) == {
        "How to add an operation",
        "How to add a mechanism",
        "How to add an engine",
        "How to add a method to a face",
        "How to add a face",
        "How to add a command for curators",
        "How to add a page to the console",
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
        if path.suffix in KINDS and re.search(spelling, path.read_text(encoding="utf-8"))
    ]
    covered = [path for path in files if path.is_dir()]
    missing = [
        str(path.relative_to(ROOT))
        for path in knows
        if path not in files and not any(path.is_relative_to(each) for each in covered)
    ]
    users = USERS if section in ("How to add an operation", "How to add a mechanism") else USES.get(section, ())

    assert knows, f"nothing knows {example}: take another example"
    assert not [path for path in missing if not path.startswith(users)]


@pytest.mark.parametrize(("section", "example", "spelling"), EXAMPLES, ids=lambda x: x.split()[-1])
def test_the_example_has_its_own_files(section, example, spelling):
    own = [ROOT / p.replace("NAME", example) for p in PATH.findall(SECTIONS[section]) if "NAME" in p]

    assert not own or any(path.exists() for path in own if path.parts[-3] != "tests")
    assert all(path.exists() for path in own if "tests" in path.parts)
