"""What the library runs, for the black-box auditor to clear: it must find nothing above the claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noise import Noise
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.mechanisms.private_keys import PrivateKeys
from privjail.verify.checks.blackbox import Bound, lower_bound
from privjail.verify.checks.row import Row, Watch
from privjail.verify.laws.scripted import single, vector

ONE = Fraction(1)


@dataclass(frozen=True)
class Sound:
    name: str
    claim: str
    pair: tuple[Any, Any]
    release: Callable[[Any], Any]
    epsilon: float = 1.0
    delta: float = 0.0


def _run(mechanism: Mechanism, facts: Any) -> Callable[[Any], Any]:
    noise = Noise()
    return lambda data: mechanism.sample(facts, list(data) if facts.index else data, noise)


def cases() -> list[Sound]:
    from privjail import local

    response = local.KaryResponse.of(local.Categories(("a", "b", "c", "d")), 1)
    fine = Fraction(1, 2**30)
    scores = (0, 2, 1), (1, 1, 0)
    return [
        Sound("Laplace", "ε-DP", (0, 1), _run(Laplace(ONE), single(1))),
        Sound("Laplace, floats on a grid of 2⁻³⁰", "ε-DP", (0, 2**30), _run(Laplace(ONE), single(1, fine))),
        Sound("Laplace, 3 numbers", "ε-DP", ((0, 0, 0), (1, 1, 1)), _run(Laplace(ONE), vector(3, 1))),
        Sound("exponential mechanism", "ε-DP", scores, _run(Exponential(ONE), vector(3, 1))),
        Sound("noisy max, scores", "ε-DP", scores, _run(NoisyMax(ONE), vector(3, 1))),
        Sound("noisy max, counts", "ε-DP", ((0, 2, 2), (0, 3, 3)), _run(NoisyMax(ONE), vector(3, 1, monotone=True))),
        Sound("noisy top 2", "ε-DP", ((2, 2, 0), (3, 2, 0)), _run(NoisyMax(ONE, k=2), vector(3, 1, monotone=True))),
        Sound("above-threshold", "ε-DP", ((0,) * 6, (1,) * 6), _run(AboveThreshold(ONE, ONE), vector(6, 1))),
        Sound("keys by threshold", "(ε, δ)-DP", ((), ((0, 1),)),
              _run(PrivateKeys(ONE, Fraction(1, 100)), vector(4, Fraction(1, 4))), delta=0.01),
        Sound(
            "Gaussian", "(ε, δ)-DP", (0, 1), _run(Gaussian(ONE, Fraction(1, 100)), single(1)), delta=0.01
        ),
        Sound("randomised response (k-ary)", "ε-LDP", ("a", "b"), response.sample),
    ]  # fmt: skip


def audited(case: Sound, samples: int) -> Bound:
    return lower_bound(case.release, *case.pair, samples=samples, claimed=case.epsilon, delta=case.delta)


def blackbox_rows(fast: bool, watch: Watch, samples: int = 8000) -> list[Row]:
    """Each shipped mechanism through the auditor, knowing nothing but its outputs."""
    rows = []
    for case in cases():
        bound = audited(case, 1500 if fast else samples)
        how = f"black box, {1500 if fast else samples:,} runs on each input; {bound.event}"
        holds = bound.epsilon <= case.epsilon and bound.delta <= case.delta
        reached = f"ε ≥ {bound.epsilon:.3f} of {case.epsilon:g}"
        rows.append(Row(case.name, case.claim, f"{case.pair[0]} against {case.pair[1]}", how, holds, reached))
        watch()
    return rows


CHECKS = {"black box": blackbox_rows}
