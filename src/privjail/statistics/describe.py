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

QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


def describe(rows: Rows, expr: Expr, eps: Any, percentiles: Sequence[float] | None = None) -> dict[str, Answer]:
    """count, mean, std, min, quartiles (or other percentiles) and max of a column, each for an equal share of eps.

    The noise may put one quantile past the next. Sorted they are no worse, and min ≤ quartiles ≤ max.
    """
    c, ranked = CentredColumn(rows, expr), Ranked.of(rows, expr)
    wanted = QUARTERS if percentiles is None else sorted({*(exact(p, "a percentile") for p in percentiles)})
    share = amount(eps) / (5 + len(wanted))
    sums = [Query(Tally(rows, (), v), Laplace(share)) for v in (c.present(), c.deviation(), c.square())]
    ranks = _ranks(ranked, wanted, share)
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


def _ranks(ranked: Ranked, wanted: Sequence[Fraction], share: Fraction) -> dict[str, Rank]:
    least, few = extreme_ask(ranked, "min", share)
    most, _ = extreme_ask(ranked, "max", share)
    ranks = {"min": Rank(least, Fraction(0), few, few)}
    for q in wanted:
        ask = ranked.ask(1 - q, q, 0, share)
        ranks[f"{float(100 * q):g}%"] = Rank(ask, q, 0, ranked.margin(ask.value, share))
    return ranks | {"max": Rank(most, Fraction(1), -few, few)}


def _ranked_answers(
    ranked: Ranked, ranks: dict[str, Rank], found: dict[str, int], count: float, noise: LaplaceNoise, price: Price
) -> dict[str, Answer]:
    """The values in rising order, each with an interval that ends at the nearest values certain to lie below and above.

    Two ranks that lie further apart than a margin and two rows are in order with the probability of the margin; see
    quantile.py. Below the least and above the largest value only the range is known. The noise may put one value past
    the next: they are shown in order, and intervals are widened to hold what is shown.
    """
    fewest = count - noise.reach(1 - 2 * OF_COUNT)
    few, names, placed = few_rows(count, noise), list(ranks), sorted(found.values())
    answers = {}
    for i, (name, own) in enumerate(ranks.items()):
        left, right = ranked.low, ranked.high
        if name in ("min", "max") and fewest >= own.margin:
            left, right = (left, ranked.above(found[name])) if name == "min" else (ranked.below(found[name]), right)
        for before in names[:i] if name != "max" else ():
            if own.at(fewest) - ranks[before].at(fewest) >= ranks[before].margin + 2:
                left = ranked.below(found[before])
        for after in reversed(names[i + 1 :]) if name != "min" else ():
            if ranks[after].at(fewest) - own.at(fewest) >= ranks[after].margin + 2:
                right = ranked.above(found[after])
        law = RankLaw(min(left, right), max(left, right), ranked.low, ranked.high, CONFIDENCE, few, fitted=False)
        answers[name] = Answer(ranked.value(placed[i]), Facts(price, name, law))
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
