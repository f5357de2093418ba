"""examples/session.py: the paper's section 3.2 reads here as it is printed there, up to numbers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


@pytest.fixture(scope="module")
def done() -> list[tuple[str, str, str]]:
    """The session in a process of its own: nothing else has been opened or spent there."""
    code = "import json, session; print(json.dumps(session.run()))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env=env, check=True)
    return [tuple(step) for step in json.loads(out.stdout)]


def shape(text: str) -> str:
    """A text with its released numbers (those with a point, in the paper) masked."""
    return re.sub(r"^\d+\.\d+$", "<number>", text.strip())


def test_every_answer_reads_as_in_the_paper(done: list[tuple[str, str, str]]) -> None:
    for line, paper, here in done:
        # print(df) goes on with the domains, and an error with its place: the paper's line comes first.
        assert shape(here.partition("\n")[0]) == shape(paper), line


def test_the_answers_are_near_the_truth(done: list[tuple[str, str, str]]) -> None:
    import census

    truth = census.generate(32_561)
    answers = {line: here for line, _, here in done}
    count = float(answers["pj.laplace_mechanism(df.shape[0], eps=0.1)\n"])
    over = float(answers['pj.laplace_mechanism(df[df["age"] > 40].shape[0], eps=0.1)\n'])
    mean = float(answers['df["age"].clip(0, 120).mean(eps=0.1)\n'])

    # Laplace noise of scale 10 exceeds 250 once in e**25 runs; the mean's noise has scale 60/0.05/32561.
    assert abs(count - len(truth)) < 250
    assert abs(over - (truth["age"] > 40).sum()) < 250
    assert abs(mean - truth["age"].mean()) < 1.5


def test_the_lines_are_the_papers(done: list[tuple[str, str, str]]) -> None:
    papers = list(SEEDS.glob("000_*.txt"))
    if not papers:
        pytest.skip("the paper's text is not here")
    text = papers[0].read_text(encoding="utf-8")
    section = text[text.index("#### 3.2") : text.index("#### 3.3")]
    blocks = re.findall(r"```\n(.*?)```", section, re.S)
    listed = [re.sub(r"^\d+ (>>> )?", "", line) for block in blocks for line in block.strip().splitlines()]
    here = [line for source, want, _ in done for line in (source + want).strip().splitlines()]

    assert here == listed
