"""What a random sample costs the table that it was drawn from, under pure ε.

Let each row of a cell p be drawn by a coin of its own, with chance q, and let one privacy unit have at most one row r
in it. Fix all answers that an analyst saw, and the coins of all rows but r. With r in the table, the chance of these
answers is the mean over r's coins of a product with one factor for each release; without r, r's coins do not matter.
Given the coins, each release changes its factor by at most exp(±ε), and only if r lies in the cell that it is charged
in. So the ratio of the two chances is at most the mean F of exp(loss), where the loss is what is charged in the cells
that r lies in, and at least 1/F, since E[exp(-X)]·E[exp(X)] ≥ 1. F is a product over the tree of cells:

    F(p) = exp(own(p)) · Π_g F(the group that r is in) · Π_s (1 - q + q·F(p/s)),

because the coins of different samples are independent, and each decides at one place of the tree (plan/cells.py,
Draw). Its logarithm is cost(p) = own(p) + Σ_g maxₖ cost(p/g=k) + Σ_s log(1 + q·(exp(cost(p/s)) - 1)). It holds for
every list of answers, however each release was chosen; so a limit on the cost at the root is a limit on ε. What reads
a sample and its table together is charged in a cell above both, in full. Machine-checked: proofs/Samples.v.

Without a bound of one row for each unit there is no Draw. Other notions than pure ε take the cost of the sample as it
is: given all coins every release loses what it is charged, and these notions do not grow when coins are averaged
over.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

from privjail.plan.cells import SAMPLE

DIGITS = 60
SLACK = Decimal("1e-40")  # far above the rounding of all steps together, which is below 1e-55
FINE = 2**64  # results are multiples of 1/FINE
LARGEST = 1000  # a larger ε is passed on as it is


@lru_cache(maxsize=4096)
def rate_of(partition: str) -> Fraction | None:
    """The rate of a sample, from the name of its partition; None for a partition that is none."""
    return Fraction(partition.split(" ")[1]) if partition.startswith(SAMPLE) else None


@lru_cache(maxsize=4096)
def amplified(cost: Fraction, rate: Fraction) -> Fraction:
    """At least log(1 + rate·(exp(cost) - 1)), never more than the cost, and the same on every machine.

    ``decimal`` rounds exp and ln correctly, to 60 digits. Both the sum and its logarithm then have a relative or
    absolute error below 1e-55: 1 - q + q·exp(cost) is at least a half of the largest of its parts' sizes.

    >>> float(amplified(Fraction(1), Fraction(1, 100)))
    0.017036863236176553
    >>> amplified(Fraction(1), Fraction(1))
    Fraction(1, 1)
    """
    if cost > LARGEST or rate >= 1:
        return cost
    with localcontext(Context(DIGITS)):
        c, q = (Decimal(x.numerator) / x.denominator for x in (cost, rate))
        found = (1 - q + q * c.exp()).ln() + SLACK
    return min(cost, Fraction(ceil(Fraction(found) * FINE), FINE))
