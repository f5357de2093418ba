"""An auditor that may stop at any time: it bets against a claim, and stops as soon as the claim has lost.

A claim says that for neighbouring inputs and every event P[left] ≤ e^ε·P[right] + δ. Choose an event. Then in each
round, with x and y saying whether it came on the left and on the right, z = x - e^ε·y - δ is not above 0 in
expectation. A gambler who bets a share λ of her money on z has (1 + λ·z) times as much after the round, which is not
more in expectation. So under the claim her money is a supermartingale that starts at 1, and the chance that it *ever*
reaches 1/α is at most α (Ville 1939). Here she splits her money among a few λ. Looking after every round is allowed,
and the run ends when the claim is refuted with confidence 1 - α.

>>> import secrets
>>> honest = lambda answer: answer if secrets.randbelow(2) else secrets.choice(["yes", "no"])  # ε = ln 3
>>> refute(honest, "yes", "no", epsilon=0.5, rounds=20_000).refuted
True
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from privjail.errors import PlanError
from privjail.verify.checks.blackbox import learned_events
from privjail.verify.checks.events import Event, Seen

SHARES = (0.02, 0.1, 0.3, 0.6, 0.9)  # of what may be bet at most without ruin


@dataclass(frozen=True)
class Audit:
    """Whether a claim was refuted, after how many rounds, by which event, and how much the gambler has won."""

    refuted: bool
    rounds: int
    event: str
    wealth: float
    hits: tuple[int, int] = (0, 0)  # how often the event came on one input, and on its neighbour


class Gambler:
    """Bets against one claim about one event."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.factor, self.delta = math.exp(epsilon), delta
        worst = self.factor + delta  # the most that can be lost in a round, per unit that is bet
        self.bets = [share / worst for share in SHARES]
        self.logs = [0.0] * len(self.bets)
        self.hits = [0, 0]

    def see(self, left: bool, right: bool) -> None:
        self.hits = [self.hits[0] + left, self.hits[1] + right]
        z = left - self.factor * right - self.delta
        self.logs = [log + math.log1p(bet * z) for log, bet in zip(self.logs, self.bets, strict=True)]

    @property
    def wealth(self) -> float:
        top = max(self.logs)
        return math.exp(min(700.0, top)) * sum(math.exp(log - top) for log in self.logs) / len(self.logs)


def refute_stream(
    drawn: Iterable[tuple[Any, Any]], *, epsilon: float, delta: float = 0.0, rounds: int = 100_000,
    learned: int = 1_000, alpha: float = 1e-4,
) -> Audit:  # fmt: skip
    """Try to refute an (ε, δ) from pairs of outputs on two neighbouring inputs, read only as far as it takes.

    Events are learned from the first ``learned`` pairs, which are not used again: two for each order of the inputs.
    All of them share α.
    """
    if not 0 < alpha < 1 or epsilon < 0 or learned < 50:
        raise PlanError("an audit needs 0 < alpha < 1, epsilon ≥ 0 and at least 50 runs to learn from")
    pairs = iter(drawn)
    first = list(itertools.islice(pairs, learned))
    if len(first) < learned:
        raise PlanError(f"{learned} pairs of outputs are needed to learn from, {len(first)} came")
    seen = [[Seen.of(pair[side]) for pair in first] for side in (0, 1)]
    bets: list[tuple[Event, Gambler, tuple[int, int]]] = [
        (event, Gambler(epsilon, delta), ways)
        for ways in ((0, 1), (1, 0))
        for event in learned_events(seen[ways[0]], seen[ways[1]], rounds, delta, epsilon)
    ]
    done = 0
    for pair in itertools.islice(pairs, rounds):
        done += 1
        for event, gambler, (one, other) in bets:
            gambler.see(pair[one] in event, pair[other] in event)
            if gambler.wealth >= len(bets) / alpha:
                return Audit(True, done, event.what, gambler.wealth, (gambler.hits[0], gambler.hits[1]))
    # A bet on what never comes loses nothing, and says nothing: one on an event that came is told if there is one.
    event, gambler, _ = max(bets, key=lambda each: (any(each[1].hits), each[1].wealth))
    return Audit(False, done, event.what, gambler.wealth, (gambler.hits[0], gambler.hits[1]))


def refute(
    release: Callable[[Any], Any], left: Any, right: Any, *, epsilon: float, delta: float = 0.0, rounds: int = 100_000,
    learned: int = 1_000, alpha: float = 1e-4,
) -> Audit:  # fmt: skip
    """Try to refute that a release is (ε, δ)-DP on two neighbouring inputs; at most so many rounds after learning."""
    drawn = ((release(left), release(right)) for _ in itertools.count())
    return refute_stream(drawn, epsilon=epsilon, delta=delta, rounds=rounds, learned=learned, alpha=alpha)
