"""Two groups: the difference of their means, or of their rates, with an interval and a p-value.

The error of a difference has two parts: who happened to be in the groups, about normal with the groups' variances; and
the noise of the release, whose law is known. Both are simulated together (Laplace noise has heavier tails than a normal
law of the same variance). The interval is the released difference less the quantiles of the simulated error; the
p-value is how often a simulated error is as large as the difference.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.plan.domain import BoolDomain, Numeric
from privjail.stats.draws import Array, laplace, normal
from privjail.stats.result import Comparison
from privjail.stats.words import ab_called, ttest_called
from privjail.together import several

DRAWS = 20_000
FEWEST = 10.0  # rows of a group, beyond the noise of its count


@several
def ab_test(
    df: Any, outcome: str, by: str | None = None, *, eps: Any = None, confidence: float = 0.95, groups: Any = None
) -> Comparison:
    """The rates of a true/false outcome in two groups, from one release of four counts.

    >>> result = stats.ab_test(df.assign(long=df["days"] > 7), "long", by="sex", eps=1)
    """
    by = ab_called(df, outcome, by, eps)
    column = df[outcome]
    if not isinstance(column.domain, BoolDomain):
        raise PlanError(f"{outcome!r} is no true/false column", do="compare it first: df.assign(y=df['x'] > 3)")
    names = _two(df, by, groups)
    counts = df.assign(**{outcome: column.fillna(False)}).groupby([by, outcome]).size()
    scale = float(counts._value.joint.l1) / float(amount(eps))
    found = counts.reveal(eps=eps)
    cells = [[float(found.loc[(name, hit)]) for hit in (True, False)] for name in names]
    return compare_rates(cells, scale, confidence, names, f"rate of {outcome}")


def compare_rates(
    cells: list[list[float]], scale: float, confidence: float, names: tuple[str, str], what: str
) -> Comparison:
    """From noisy counts of hits and misses in each group."""
    means, sizes, errors = [], [], []
    for i, (hits, misses) in enumerate(cells):
        n = hits + misses
        size = max(n, 1.0)
        # One hit and one miss more: a rate of exactly 0 or 1 would have no error from sampling.
        rate = min(max((max(hits, 0) + 1) / (size + 2), 0.0), 1.0)
        mean = min(max(hits / size, 0.0), 1.0)
        noise = (1 - mean) * laplace(f"hits {i}", scale, DRAWS) - mean * laplace(f"misses {i}", scale, DRAWS)
        errors.append(normal(f"people {i}", DRAWS) * math.sqrt(rate * (1 - rate) / size) + noise / size)
        means.append(mean)
        sizes.append(n)
    return _result(what, names, means, sizes, errors, 3 * scale, (-1.0, 1.0), confidence)


@several
def ttest(
    df: Any, value: str, by: str | None = None, *, eps: Any = None, confidence: float = 0.95, groups: Any = None
) -> Comparison:
    """The means of a bounded column in two groups (Welch's t-test), from counts, sums and sums of squares.

    >>> result = stats.ttest(df, "cost", by="sex", eps=1)
    """
    by = ttest_called(df, value, by, eps)
    domain = df[value].domain
    if not isinstance(domain, Numeric) or not domain.bounded:
        raise PlanError(
            f"the range of {value!r} is not known", do="bound it first: df.clip({'x': …}), or in the schema"
        )
    names, third = _two(df, by, groups), amount(eps) / 3
    low, high = float(domain.lower), float(domain.upper)
    middle, reach = (low + high) / 2, max((high - low) / 2, 1e-300)
    kept = df[df[value].notna()] if domain.nullable else df
    unit = (kept[value] - middle) / reach
    table = kept.assign(_unit=unit.clip(-1, 1), _square=(unit * unit).clip(0, 1)).groupby(by)
    parts = (table.size(), table["_unit"].sum(), table["_square"].sum())
    scales = [float(Fraction(part._value.joint.l1) / third) for part in parts]
    found = [part.reveal(eps=third) for part in parts]
    sums = [[float(each.loc[name]) for each in found] for name in names]
    return compare_means(sums, scales, confidence, names, f"mean of {value}", (middle, reach))


def compare_means(
    sums: list[list[float]], scales: list[float], confidence: float, names: tuple[str, str], what: str,
    unit: tuple[float, float] = (0.0, 1.0),
) -> Comparison:  # fmt: skip
    """From noisy counts, sums and sums of squares of values between -1 and 1, in units of (middle, reach)."""
    means, sizes, errors = [], [], []
    for i, (n, total, squares) in enumerate(sums):
        size = max(n, 1.0)
        mean = min(max(total / size, -1.0), 1.0)
        # Larger by one standard deviation of its noise: a variance that came out too small would give false confidence.
        doubt = math.sqrt(2) * math.hypot(scales[2], 2 * mean * scales[1]) / size
        spread = min(max(squares / size - mean * mean, 0.0) + doubt + 1 / size**2, 1.0)
        noise = laplace(f"sum {i}", scales[1], DRAWS) - mean * laplace(f"count {i}", scales[0], DRAWS)
        errors.append(normal(f"people {i}", DRAWS) * math.sqrt(spread / max(size - 1, 1.0)) + noise / size)
        means.append(mean)
        sizes.append(n)
    middle, reach = unit
    found = [middle + reach * each for each in means]
    return _result(
        what, names, found, sizes, [reach * e for e in errors], 3 * scales[0], (-2 * reach, 2 * reach), confidence
    )


def _result(
    what: str, names: tuple[str, str], means: list[float], sizes: list[float], errors: list[Array], noise: float,
    widest: tuple[float, float], confidence: float,
) -> Comparison:  # fmt: skip
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    difference, error = means[1] - means[0], errors[1] - errors[0]
    reliable = min(sizes) >= FEWEST + noise
    tail = (1 - confidence) / 2
    low, high = numpy.quantile(error, [tail, 1 - tail])
    inside = (max(difference - float(high), widest[0]), min(difference - float(low), widest[1]))
    pvalue = (1 + int((numpy.abs(error) >= abs(difference)).sum())) / (1 + len(error))
    told = (names, (means[0], means[1]), (sizes[0], sizes[1]), difference)
    if not reliable:
        return Comparison(what, *told, widest, confidence, 1.0, reliable=False)
    return Comparison(what, *told, inside, confidence, pvalue, reliable=True)


def _two(df: Any, by: str, groups: Any) -> tuple[str, str]:
    """The two groups: the labels of the column, or those that are named."""
    labels = list(df[by].domain.labels or ()) if groups is None else list(groups)
    if len(labels) != 2:
        raise PlanError(f"two groups are compared, and {by!r} has {len(labels)}", do='name them: groups=("a", "b")')
    return labels[0], labels[1]
