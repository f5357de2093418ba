"""The documentation site: links without mkdocs, the page of pandas' names, and the whole site where mkdocs is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pandas
from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import supported  # noqa: E402

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def anchor(heading: str) -> str:
    """What a heading is called in a link: as mkdocs and code hosts do it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain.lower()).strip())


def anchors(page: Path) -> set[str]:
    return {anchor(h) for h in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_inside_the_repository_lead_to_a_page_and_a_heading(page):
    for target, heading in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        there = page.parent / target if target else page
        assert there.exists(), target
        if heading and there.suffix == ".md":
            assert heading in anchors(there), f"{target}#{heading}"


def test_every_page_is_in_the_navigation():
    """Decisions are listed on a page of their own; what mkdocs.yml names besides docs/ is made by tools/docs_site.py."""
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    pages = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    made = {"index.md", "supported.md", "decisions/index.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}

    assert {p for p in pages if not p.startswith("decisions/")} <= named
    assert {p for p in named - pages if not p.startswith("api/")} == made


@pytest.fixture(scope="module")
def table():
    return {title: {n.name: n for n in names} for title, names in supported.table().items()}


OFFERED = {
    "DataFrame": pandas.DataFrame, "Series": pandas.Series, "DataFrameGroupBy": DataFrameGroupBy,
    "SeriesGroupBy": SeriesGroupBy, "pandas": pandas,
}  # fmt: skip


@pytest.mark.parametrize("title", OFFERED)
def test_every_public_name_of_pandas_has_its_line(title, table):
    public = {name for name in dir(OFFERED[title]) if not name.startswith("_")}

    assert set(table[title]) == public - supported.NOT_PANDAS
    for name in table[title].values():
        assert name.status != supported.REFUSED or len(name.note) > 20, f"{name.name} is refused without a reason"


@pytest.mark.parametrize(
    ("title", "name", "status", "says"),
    [
        ("DataFrame", "head", supported.SUPPORTED, "first rows"),
        ("DataFrame", "mean", supported.WITH_EPS, "mean"),
        ("DataFrame", "to_csv", supported.REFUSED, "would show rows"),
        ("Series", "cumsum", supported.REFUSED, "rolling(7).sum()"),
        ("Series", "quantile", supported.WITH_EPS, ""),
        ("DataFrameGroupBy", "size", supported.SUPPORTED, ""),
        ("SeriesGroupBy", "mean", supported.WITH_EPS, ""),
        ("SeriesGroupBy", "first", supported.REFUSED, "show rows"),
        ("pandas", "cut", supported.SUPPORTED, ""),
        ("pandas", "melt", supported.REFUSED, "pivot_table"),
        ("pandas", "Timestamp", supported.PUBLIC, ""),
    ],
)
def test_a_line_says_what_the_library_does(title, name, status, says, table):
    assert table[title][name].status == status
    assert says in table[title][name].note


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: make docs installs it")
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

    pages = {str(p.relative_to(tmp_path / "site")): p.read_text() for p in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "supported.html", "api/pandas.html", "guide/analyst.html"} <= set(pages)
    assert "cumsum" in pages["supported.html"] and "PrivDataFrame" in pages["api/pandas.html"]
    fetched = [
        m for text in pages.values() for m in re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=.https?:[^ >]+", text)
    ]
    assert not [each for each in fetched if "canonical" not in each]
