"""Every example in the guide runs; the figures it shows exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privjail.local.cli import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.S | re.M)


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall((DOCS / "local.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 9
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "local.md", "exec"), names)  # noqa: S102
            continue
        for line in text.strip().splitlines():
            words = shlex.split(line)
            assert words[:2] == ["privjail", "local"]
            done = CliRunner().invoke(app, words[2:])
            assert done.exit_code == 0, (line, done.output)
    assert {"survey.json", "survey.html", "plan.png", "reports.parquet", "result.json"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("page", sorted(DOCS.glob("local*.md")), ids=lambda p: p.name)
def test_links_and_figures_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_each_decision_is_linked_or_named_where_it_matters():
    text = " ".join(p.read_text(encoding="utf-8") for p in [*DOCS.glob("local*.md"), *SOURCES])
    assert "0201-zero-probabilities" in text and "0202-likelihoods" in text


SOURCES = sorted((DOCS.parent / "src" / "privjail" / "local").glob("*.py"))


def test_doctests_run():
    import doctest

    import privjail.local
    import privjail.local.survey.respondent

    for module in (privjail.local, privjail.local.survey.respondent):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed
