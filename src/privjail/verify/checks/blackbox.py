"""A black-box auditor: run any release on two neighbouring inputs, and bound its ε from below with confidence.

>>> from privjail.verify.checks.blackbox import lower_bound
>>> import secrets
>>> def honest_half_of_the_time(answer):
...     return answer if secrets.randbelow(2) else secrets.choice(["yes", "no"])
>>> found = lower_bound(honest_half_of_the_time, "yes", "no", samples=20_000)
>>> 0.9 < found.epsilon <= 1.0987  # the truth is ln 3
True
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from privjail.errors import PlanError
from privjail.verify.checks.events import Event, Seen, features

Release = Callable[..., Any]


@dataclass(frozen=True)
class Bound:
    """With this confidence the release has no smaller ε (at the given δ), and no smaller δ at the ε claimed."""

    epsilon: float
    delta: float
    confidence: float
    event: str
    pair: tuple[Any, Any]
    hits: tuple[int, int]
    tested: int

    def __str__(self) -> str:
        a, b = self.hits
        return (
            f"ε ≥ {self.epsilon:.4g}, with {self.confidence:.4%} confidence: {self.event} came {a} times in "
            f"{self.tested} "
            f"on one input, {b} times on its neighbour"
        )


def lower_bound(
    release: Release, left: Any, right: Any, *, samples: int = 20_000, delta: float = 0.0, claimed: float = 0.0,
    confidence: float = 0.9999, many: bool = False,
) -> Bound:  # fmt: skip
    """A lower confidence bound on the ε of ``release`` at this δ, and on its δ at the ε that is ``claimed``.

    ``release`` is any function of an input: a mechanism, or a program that talks to a jail. It is called ``samples``
    times on each of the two inputs; ``many``: it takes (input, n) and returns n outputs.
    Why the bound holds: one half of the samples is searched for the event that tells the inputs apart best. That event
    is then fixed, and counted in the other half, which it does not depend on: Clopper–Pearson, both counts and both
    directions sharing the allowed error.
    """
    if samples < 100:
        raise PlanError("so few samples can show nothing", do="use at least 100")
    drawn = [_draw(release, data, samples, many) for data in (left, right)]
    half = samples // 2
    learn, test = [d[:half] for d in drawn], [d[half:] for d in drawn]
    return _tested(learn, test, (left, right), delta, claimed, confidence)


def _draw(release: Release, data: Any, n: int, many: bool) -> list[Seen]:
    drawn = [Seen.of(o) for o in release(data, n)] if many else [Seen.of(release(data)) for _ in range(n)]
    if len(drawn) != n:  # counts are compared: with fewer on one side the bound would be too large
        raise PlanError(f"{n} outputs were asked for, {len(drawn)} came")
    return drawn


def worst_bound(
    release: Release, pairs: Iterable[tuple[Any, Any]], *, confidence: float = 0.9999, **options: Any
) -> Bound:
    """The largest bound over several pairs of neighbours; they share the allowed error."""
    listed = list(pairs)
    each = 1 - (1 - confidence) / len(listed)
    bounds = [lower_bound(release, a, b, confidence=each, **options) for a, b in listed]
    return max(bounds, key=lambda b: (b.epsilon, b.delta))


def clopper_pearson(hits: int, n: int, error: float) -> tuple[float, float]:
    """Two one-sided confidence bounds on a probability, each wrong with at most this chance."""
    from scipy.stats import beta

    low = float(beta.ppf(error, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.isf(error, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def _tested(
    learn: list[list[Seen]],
    test: list[list[Seen]],
    pair: tuple[Any, Any],
    delta: float,
    claimed: float,
    confidence: float,
) -> Bound:
    # Four statements (two directions, ε and δ), two counts in each: all hold together with the stated confidence.
    error = (1 - confidence) / 8
    best: Bound | None = None
    largest_delta = 0.0
    for i, j in ((0, 1), (1, 0)):
        by_epsilon, by_delta = _search(learn[i], learn[j], len(test[i]), delta, claimed)
        hits = by_epsilon.count(test[i]), by_epsilon.count(test[j])
        epsilon = _epsilon(hits, len(test[i]), delta, error)
        again = by_delta.count(test[i]), by_delta.count(test[j])
        largest_delta = max(largest_delta, _delta(again, len(test[i]), claimed, error))
        if best is None or epsilon > best.epsilon:
            best = Bound(epsilon, 0.0, confidence, by_epsilon.what, (pair[i], pair[j]), hits, len(test[i]))
    assert best is not None
    return Bound(best.epsilon, largest_delta, confidence, best.event, best.pair, best.hits, best.tested)


def _epsilon(hits: tuple[int, int], n: int, delta: float, error: float) -> float:
    low = clopper_pearson(hits[0], n, error)[0] - delta
    return max(0.0, math.log(low / clopper_pearson(hits[1], n, error)[1])) if low > 0 else 0.0


def _delta(hits: tuple[int, int], n: int, epsilon: float, error: float) -> float:
    low, high = clopper_pearson(hits[0], n, error)[0], clopper_pearson(hits[1], n, error)[1]
    return max(0.0, low - math.exp(epsilon) * high)


def _search(left: list[Seen], right: list[Seen], n: int, delta: float, claimed: float) -> tuple[Event, Event]:
    """The events that promise the largest ε, and the largest δ.

    Sets are put together on one half of these samples and compared on the other: a set that is fitted to
    chance (each of its outputs seen once) shows nothing there.
    """
    half = len(left) // 2
    scale = n / (len(left) - half)
    found: tuple[float, Event] | None = None
    heavy: tuple[float, Event] | None = None
    for what, feature in features(left[:half], right[:half]):
        made = Counter(map(feature, left[:half])), Counter(map(feature, right[:half]))
        seen = Counter(map(feature, left[half:])), Counter(map(feature, right[half:]))
        for name, order in _orders(what, *made):
            for k, hits in enumerate(_running(order, *seen)):
                full = hits[0] * scale, hits[1] * scale
                epsilon, excess = _quick_epsilon(full, n, delta), _quick_delta(full, n, claimed)
                if found is None or epsilon > found[0]:
                    found = epsilon, Event(name, feature, frozenset(order[: k + 1]))
                if heavy is None or excess > heavy[0]:
                    heavy = excess, Event(name, feature, frozenset(order[: k + 1]))
    assert found is not None and heavy is not None
    return found[1], heavy[1]


def _quick_epsilon(hits: tuple[float, float], n: int, delta: float) -> float:
    """Near to what Clopper–Pearson will say, in microseconds: counts less (plus) four standard deviations."""
    low = (hits[0] - 4 * math.sqrt(hits[0])) / n - delta
    return math.log(low * n / (hits[1] + 4 * math.sqrt(hits[1] + 3))) if low > 0 else -math.inf


def _quick_delta(hits: tuple[float, float], n: int, claimed: float) -> float:
    return (hits[0] - 4 * math.sqrt(hits[0]) - math.exp(claimed) * (hits[1] + 4 * math.sqrt(hits[1] + 3))) / n


def _orders(what: str, left: Counter[Hashable], right: Counter[Hashable]) -> Iterable[tuple[str, list[Hashable]]]:
    """Orders in which to put features into a set: the likeliest ratio first (Neyman & Pearson), and numbers by size."""
    keys = list(left.keys() | right.keys())
    yield f"{what}, in a learned set", sorted(keys, key=lambda k: -(left[k] + 0.5) / (right[k] + 0.5))
    if all(type(k) is int for k in keys):
        ordered: list[Hashable] = sorted(keys, key=lambda k: int(str(k)))
        yield f"{what}, below a cut", ordered
        yield f"{what}, above a cut", ordered[::-1]


def _running(order: list[Hashable], left: Counter[Hashable], right: Counter[Hashable]) -> Iterable[tuple[int, int]]:
    """How many of each sample lie in the first 1, 2, 3 … of an order."""
    a = b = 0
    for key in order:
        a, b = a + left[key], b + right[key]
        yield a, b
