"""describe: eight numbers about a column, for one eps in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, Price, laplace_noise
from privjail.answers.laws import LaplaceNoise, RankLaw
from privjail.budget.amounts import amount, exact
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.combine import Extreme, Total
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn, parts_of
from privjail.statistics.quantile import CONFIDENCE, OF_COUNT, Ranked, extreme_ask, few_rows
from privjail.statistics.variance import deviation

QUARTERS = {"25%": Fraction(1, 4), "50%": Fraction(1, 2), "75%": Fraction(3, 4)}


def describe(rows: Rows, expr: Expr, eps: Any, percentiles: Sequence[float] | None = None) -> dict[str, Answer]:
    """count, mean, std, min, quartiles (or other percentiles) and max of a column, each for an equal share of eps."""
    wanted = QUARTERS
    if percentiles is not None:
        wanted = {f"{float(100 * p):g}%": p for p in sorted(exact(x, "a percentile") for x in percentiles)}
    c, ranked = CentredColumn(rows, expr), Ranked.of(rows, expr)
    share = amount(eps) / (5 + len(wanted))
    sums = [Query(Tally(rows, (), v), Laplace(share)) for v in (c.present(), c.deviation(), c.square())]
    ranks = _ranks(ranked, share, wanted)
    count, total, squares, *positions = session.release([*sums, *(rank.ask for rank in ranks.values())])
    price = Price(float(amount(eps)))
    parts = parts_of(sums[1], sums[0], total, count)
    spread = c.variance(squares, laplace_noise(sums[2].value, sums[2].mechanism), parts, price)
    moments = {
        "count": Answer(count, Facts(price, "laplace", parts.count_noise)),
        "mean": c.mean(parts, price),
        "std": deviation(spread),
    }
    found = dict(zip(ranks, positions, strict=True))
    described = moments | _ranked_answers(ranked, ranks, found, count, parts.count_noise, price)
    records.answered(f"{rows} | describe({expr})", described.values())
    return described


@dataclass(frozen=True)
class Rank:
    """A request for the value of rank slope·n + offset, and how far from that rank the answer is at most."""

    ask: Query
    slope: Fraction
    offset: int
    margin: int

    def at(self, rows: float) -> float:
        return float(self.slope) * rows + self.offset


def _ranks(ranked: Ranked, share: Fraction, wanted: dict[str, Fraction]) -> dict[str, Rank]:
    least, few = extreme_ask(ranked, "min", share)
    most, _ = extreme_ask(ranked, "max", share)
    ranks = {"min": Rank(least, Fraction(0), few, few)}
    for name, q in wanted.items():
        ask = ranked.ask(1 - q, q, 0, share)
        ranks[name] = Rank(ask, q, 0, ranked.margin(ask.value, share))
    return ranks | {"max": Rank(most, Fraction(1), -few, few)}


def _ranked_answers(
    ranked: Ranked, ranks: dict[str, Rank], found: dict[str, int], count: float, noise: LaplaceNoise, price: Price
) -> dict[str, Answer]:
    """Each with an interval whose ends are its neighbours, where these are on the right side.

    Two ranks that lie further apart than a margin and two rows are in order with the probability of the margin; see
    quantile.py. Below the least and above the largest value only the range is known. The noise may put one value past
    the next: they are shown in order, and intervals are widened to hold what is shown.
    """
    fewest = count - noise.reach(1 - 2 * OF_COUNT)
    few, names = few_rows(count, noise), list(ranks)
    shown = sorted(ranked.value(position) for position in found.values())
    answers = {}
    for i, name in enumerate(names):
        left, right = ranked.low, ranked.high
        if name == "min":
            right = ranked.above(found[name]) if fewest >= ranks[name].margin else right
        elif name == "max":
            left = ranked.below(found[name]) if fewest >= ranks[name].margin else left
        else:
            before, own, after = (ranks[each] for each in names[i - 1 : i + 2])
            if own.at(fewest) - before.at(fewest) >= before.margin + 2:
                left = ranked.below(found[names[i - 1]])
            if after.at(fewest) - own.at(fewest) >= after.margin + 2:
                right = ranked.above(found[names[i + 1]])
        value = shown[i]
        left, right = min(left, right, value), max(left, right, value)
        answers[name] = Answer(
            value, Facts(price, name, RankLaw(left, right, ranked.low, ranked.high, CONFIDENCE, few, fitted=False))
        )
    return answers


def describe_labels(rows: Rows, expr: Expr, eps: Any) -> dict[str, Any]:
    """count, unique, top and freq of a column with finitely many values; each gets a quarter of eps."""
    share = amount(eps) / 4
    counts = Tally(rows, (expr,), None)
    asks = [
        Query(Total(counts), Laplace(share)),
        Query(Distinct(rows, expr), Laplace(share)),
        Query(counts, NoisyMax(share)),
        Query(Extreme("max", counts), Laplace(share)),
    ]
    count, unique, top, freq = session.release(asks)
    return {"count": count, "unique": unique, "top": counts.index[0][top], "freq": freq}
