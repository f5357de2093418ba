"""Goodness of fit: does a sample look like a law? And does it not look like a law that is 30 % off?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

NEVER = 1e-7  # a right sampler is refuted this often


def p_value(counts: Sequence[int], likely: Sequence[float]) -> float:
    """χ² of counts against probabilities; rare outcomes are put together."""
    from scipy.stats import chi2

    n = sum(counts)
    seen: list[int] = []
    expected: list[float] = []
    rest, rest_expected = 0, 0.0
    for k, p in zip(counts, likely, strict=True):
        if n * p >= 10:
            seen.append(k)
            expected.append(n * p)
        else:
            rest += k
            rest_expected += n * p
    if rest_expected >= 10:
        seen.append(rest)
        expected.append(rest_expected)
    elif rest > rest_expected + 60:  # what should hardly occur occurs
        return 0.0
    if len(seen) < 2:
        return 1.0
    statistic = sum((k - e) ** 2 / e for k, e in zip(seen, expected, strict=True))
    return float(chi2.sf(statistic, len(seen) - 1))


def fits(counts: Sequence[int], likely: Sequence[float]) -> bool:
    return p_value(counts, likely) > NEVER


def fits_law(drawn: Sequence[int], pmf: Callable[[int], float], reach: int) -> bool:
    """Whether whole numbers follow a law; all beyond ``reach`` are one outcome."""
    counts = Counter(drawn)
    inside = range(-reach, reach + 1)
    likely = [pmf(x) for x in inside]
    seen = [counts[x] for x in inside]
    return fits([*seen, len(drawn) - sum(seen)], [*likely, max(0.0, 1 - sum(likely))])
