"""How often intervals hold the truth when the mix is wrong or depends on the answer, and what is noticed.

    python bench/local_mix.py            # writes docs/local-mix.md

numpy's generator simulates *people*; the noise on their answers is the library's own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np

from privjail.local import Categories, Survey, Unary, Warner
from privjail.local.estimation.mixes import CollectedMix

PAGE = Path(__file__).parent.parent / "docs" / "local-mix.md"
RUNS = 400
PEOPLE = 20_000


@dataclass(frozen=True)
class World:
    """Who answers what, and who picks which strength."""

    title: str
    yes: float
    careful: tuple[float, float]  # share that picks "careful" among those with answer yes, and among the others


WORLDS = [
    World("stated 40:60, true 40:60", 0.3, (0.4, 0.4)),
    World("stated 40:60, true 50:50", 0.3, (0.5, 0.5)),
    World("stated 40:60, true 70:30", 0.3, (0.7, 0.7)),
    World("stated 40:60, θ depends on the answer (80 % of yes careful, 23 % of no)", 0.3, (0.8, 0.2286)),
]
WARNER = {"careful": Warner("3/5"), "open": Warner("4/5")}
FIVE = Categories.numbered(5)
UNARY = {"careful": Unary.symmetric(FIVE, 1), "open": Unary.symmetric(FIVE, 3)}
STATED = {"careful": Fraction(2, 5), "open": Fraction(3, 5)}


def people(world: World, answers: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Answers (0 is yes) and who is careful."""
    values = np.where(rng.random(PEOPLE) < world.yes, 0, rng.integers(1, answers, PEOPLE))
    careful = rng.random(PEOPLE) < np.where(values == 0, *world.careful)
    return values, careful


def reports(survey: Survey, values: np.ndarray, careful: np.ndarray) -> np.ndarray:
    first = survey.menu["careful"].draw(values)
    return np.where(careful if first.ndim == 1 else careful[:, None], first, survey.menu["open"].draw(values))


def row(
    world: World, survey: Survey, way: str, runs: int = RUNS, seed: int = 1
) -> tuple[float, float, set[str], dict[str, int]]:
    """Coverage of the first answer, mean width, and how often each finding came up."""
    rng, held, widths, seen = np.random.default_rng(seed), 0, 0.0, {}
    answers = survey.domain.size
    for _ in range(runs):
        values, careful = people(world, answers, rng)
        sent = reports(survey, values, careful)
        names = np.where(careful, "careful", "open").tolist()
        more: dict[str, object] = {}
        if way.startswith("ballots"):
            more["ballots"] = survey.ballot.draw(np.where(careful, 0, 1))
        if way == "anonymous choices":
            more["mix"] = CollectedMix.of_choices(survey.menu, names)
        if way == "mix_within 0.1":
            more["mix_within"] = "1/10"
        if way.endswith("any choice"):
            more["independent"] = False
        found = survey.estimate(sent, names if not survey.hidden else None, method="unbiased", **more)
        held += found.lower[0] <= world.yes <= found.upper[0]
        widths += float(found.upper[0] - found.lower[0])
        for kind in {f.kind for f in found.findings}:
            seen[kind] = seen.get(kind, 0) + 1
    return held / runs, widths / runs, set(seen), seen


def surveys() -> list[tuple[str, Survey, list[str]]]:
    hidden = Survey("smoke?", WARNER, STATED)
    public = Survey("smoke?", WARNER, STATED, hidden=False)
    unary = Survey("which?", UNARY, STATED)
    ways = ["stated mix", "mix_within 0.1", "anonymous choices", "ballots", "ballots, any choice"]
    return [
        ("Warner 0.6 / 0.8, hidden, ballot ε = 1", hidden.with_ballot(1), ways),
        ("Warner 0.6 / 0.8, public", public, ["public", "public, any choice"]),
        (
            "symmetric unary, 5 answers, ε = 1 / 3, hidden, ballot ε = 1",
            unary.with_ballot(1),
            ["stated mix", "ballots", "ballots, any choice"],
        ),
    ]


HEAD = """# When the mix is wrong

Made by `python bench/local_mix.py` ({date}; {runs} surveys of {people:,} people in each row; 30 % answer yes).
An interval of 95 % should hold the truth in 95 % of surveys: with {runs} surveys, between 93 and 97 %. "Noticed" says
which findings came up, and in how many surveys ([decision 0220](decisions/0220-the-mix-is-collected.md)).

"""


def main(runs: int) -> str:
    lines = [HEAD.format(date=date.today().isoformat(), runs=runs, people=PEOPLE)]
    for title, survey, ways in surveys():
        lines += [
            f"## {title}",
            "",
            "| world | estimated from | held | width | noticed |",
            "| --- | --- | --- | --- | --- |",
        ]
        for world in WORLDS:
            for way in ways:
                held, width, _, seen = row(world, survey, way, runs)
                noticed = (
                    ", ".join(f"{kind} {100 * times / runs:.0f} %" for kind, times in sorted(seen.items())) or "nothing"
                )
                lines.append(f"| {world.title} | {way} | {100 * held:.1f} % | {width:.4f} | {noticed} |")
                print(lines[-1], file=sys.stderr, flush=True)
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS), encoding="utf-8")
