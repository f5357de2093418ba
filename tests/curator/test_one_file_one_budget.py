"""V-33: one file has one budget, by whatever path it is reached."""

from __future__ import annotations

from pathlib import Path

import pytest

import privjail as pj
from privjail import pandas as pd


@pytest.mark.parametrize("alias", ["./stays.csv", "sub/../stays.csv", "link.csv", "hard.csv"])
def test_another_path_to_a_file_shares_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alias: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stays.csv").write_text("age\n30\n40\n", encoding="utf-8")
    Path("sub").mkdir()
    Path("link.csv").symlink_to("stays.csv")
    Path("hard.csv").hardlink_to("stays.csv")
    pd.read_csv("stays.csv", budget=1).shape[0].reveal(eps=1)

    with pytest.raises(pj.BudgetExceeded):
        pd.read_csv(alias, budget=1).shape[0].reveal(eps=0.1)
    with pytest.raises(pj.BudgetError, match="another budget"):
        pd.read_csv(alias, budget=2)
    assert pj.consumed_privacy_budget()["stays.csv"] == 1.0


def test_groups_of_a_file_that_was_changed_add_up(tmp_path: Path) -> None:
    """Who was corrected from F to M is in both: the groups exclude each other in one edition of the file only."""
    file = tmp_path / "changing.csv"
    schema = {"sex": {"type": "category", "categories": ["F", "M"]}}

    def ask(key: str) -> float:
        table = pd.read_csv(file, schema, budget=10)
        table[table["sex"] == key].shape[0].reveal(eps=1)
        return pj.consumed_privacy_budget()[str(file)]

    file.write_text("sex\nF\nM\n", encoding="utf-8")
    assert ask("F") == 1.0
    file.write_text("sex\nM\nM\nM\n", encoding="utf-8")
    assert [ask("M"), ask("F")] == [2.0, 2.0]
