"""examples/diffpid3.py: figure 2 of the paper, word for word, and what it costs."""

from __future__ import annotations

import re
from pathlib import Path

import diffpid3
import pytest

from privjail.budget.amounts import exact

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def test_the_listing_is_the_papers() -> None:
    papers = list(SEEDS.glob("000_*.txt"))
    if not papers:
        pytest.skip("the paper's text is not here")
    text = papers[0].read_text(encoding="utf-8")
    block = text[: text.index("図 2 PrivJail で決定木学習")].rpartition("```\n\n")[0].rpartition("```\n")[2]
    printed = [re.sub(r"^\d+ ?", "", line) for line in block.strip("\n").splitlines()]
    # One level deeper than our text of the paper has it: there the rest of the function could never run.
    printed = [line.replace("    return LeafNode", "        return LeafNode") for line in printed]
    source = Path(diffpid3.__file__).read_text(encoding="utf-8")
    ours = source[source.index("def DiffPID3") : source.index("# fmt: on")].strip("\n").splitlines()

    assert len(printed) == 43
    assert ours == printed


def test_figure_2_costs_exactly_its_budget_on_adult(adult_files: tuple[str, str, str]) -> None:
    found = diffpid3.measure(*adult_files, eps=1.0, depth=5)

    # A path from root to leaf pays twice per level: B/(2(d+1)) · 2 · 6. No path can pay more.
    assert found["depth"] == 5
    assert found["spent"] == 1.0
    assert found["accuracy"] > 0.8


@pytest.mark.parametrize(("eps", "depth"), [(0.3, 2), (0.7, 3), (0.1, 5)])
def test_figure_2_costs_exactly_what_its_deepest_path_pays(
    adult_files: tuple[str, str, str], eps: float, depth: int
) -> None:
    found = diffpid3.measure(*adult_files, eps=eps, depth=depth)

    # The listing divides B in floats: 0.3 / 6 is a little less than 0.05. What it asks for is charged exactly.
    each = exact(eps / (2 * (depth + 1)))
    assert found["spent"] == float(2 * (found["depth"] + 1) * each)
    assert found["spent"] <= eps


def test_the_tree_is_a_single_leaf_at_a_small_budget(adult_files: tuple[str, str, str]) -> None:
    found = diffpid3.measure(*adult_files, eps=0.03, depth=5)

    assert (found["depth"], found["nodes"]) == (0, 1)
    assert found["spent"] == 0.005


def test_it_runs_on_generated_data(tmp_path: Path) -> None:
    import census

    found = diffpid3.measure(*census.write_files(str(tmp_path), rows=20_000), eps=2.0, depth=3)

    assert found["spent"] == 2.0
    assert found["accuracy"] > 0.8
