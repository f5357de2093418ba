"""Regression tables from noisy sums: coefficients, intervals and p-values that know of sampling and of the noise."""

from __future__ import annotations

from typing import Any

import numpy

from privjail.errors import PlanError
from privjail.learn.base import classes_of, indicator
from privjail.learn.spending import Spending
from privjail.notebook import progress
from privjail.numpy.arrays import product
from privjail.numpy.elementwise import as_floats, constant, sigmoid
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.norms import Dot
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.stats.coefficients import DRAWS, Noisy, clear_of_noise, intervals, matrix, misses, pairs, root
from privjail.stats.design import Column, columns, known, own_units, scaled
from privjail.stats.draws import Array, normal
from privjail.stats.result import Regression
from privjail.stats.words import formula

ROUNDS = (0.125, 0.125, 0.25, 0.5)  # shares of the price of logistic regression's steps; the last one is what is told
CURVES = 0.25  # the share of a step that pays for the second derivatives; the first ones get the rest
FARTHEST = 2.0  # how far one step may move the log odds of a typical row
NEAR = 0.5  # how far the last one may, for its error to be that of a straight line


def linear_regression(
    df: Any,
    y: str,
    on: str | list[str] | None = None,
    *,
    eps: Any = None,
    delta: Any = None,
    rho: Any = None,
    confidence: float = 0.95,
) -> Regression:
    """Least squares of a bounded number on other columns, from one release of all products of two columns.

    Rows with a missing value are left out. Intervals are for errors of one variance in all rows.

    >>> table = stats.linear_regression(df, "cost", on=["age", "sex"], eps=1)
    >>> list(table.table.columns)
    ['coefficient', 'low', 'high', 'pvalue']
    """
    _between(confidence)
    y, names = formula(df, y, on)
    df = known(df, [*names, y])
    used, target = columns(df, names), scaled(y, df[y]._expr)
    spending = Spending.of(eps, delta, rho, df._rows)
    every = [each.expr for each in (*used, target)]
    value = VectorSum(df._rows, tuple(product(every[i], every[j]) for i, j in pairs(len(every))[0]))
    found = _released(spending, [value], 1, "products of all pairs of columns")[0]
    return least_squares(found, used, target, confidence, f"{y}, least squares", spending.bill)


def least_squares(
    found: Noisy, used: list[Column], target: Column, confidence: float, what: str, bill: Any = None
) -> Regression:
    """From the noisy products of columns and target, each pair once, the target last."""
    d = len(used)
    at = pairs(d + 1)[1]
    every = matrix(found.values, at)
    products, rows = every[:d, :d], max(float(every[0, 0]), 1.0)
    if not clear_of_noise(products, found.deviation) or rows <= 2 * d:
        return Regression.unreliable(what, [each.name for each in used], rows, confidence, bill)
    b = numpy.linalg.solve(products, every[:d, d])
    noise = matrix(found.noise("products"), at)
    beside = numpy.append(-b, 1.0)  # residual = row · beside
    # Larger by one standard deviation of its noise: a variance that came out too small would give false confidence.
    doubt = float((noise @ beside @ beside).std())
    variance = (max(float(beside @ every @ beside), 0.0) + doubt) / (rows - d)
    sampling = normal("people", DRAWS, d) @ (variance**0.5 * root(products)).T
    errors = misses(products, b, sampling + noise[:, :d, d], noise[:, :d, :d])
    back = own_units(used) * target.half
    middle = numpy.append(target.middle, numpy.zeros(d - 1))
    low, high, false = intervals(back @ b + middle, errors @ back.T, confidence)
    return Regression.of(
        what, [each.name for each in used], (back @ b + middle, low, high, false), rows, confidence, bill
    )


def logistic_regression(
    df: Any,
    y: str,
    on: str | list[str] | None = None,
    *,
    eps: Any = None,
    delta: Any = None,
    rho: Any = None,
    confidence: float = 0.95,
) -> Regression:
    """Logistic regression of a column of two classes on others: log odds of the second class, or of True.

    Four of Newton's steps, each from noisy first and second derivatives; the last one, which has half of the price,
    is what is told, and its errors are those of the table. Rows with a missing value are left out.

    >>> table = stats.logistic_regression(df, "sex", on=["age", "days"], eps=1)
    """
    _between(confidence)
    y, names = formula(df, y, on)
    df = known(df, [*names, y])
    used, target = columns(df, names), df[y]._expr
    classes = classes_of(target)
    if len(classes) != 2:
        raise PlanError(f"{y!r} has {len(classes)} classes", do="compare it first: df.assign(y=df['x'] > 3)")
    positive = indicator(target, classes[1])
    spending = Spending.of(eps, delta, rho, df._rows)
    spending.reserve(df._rows)
    at, rows = numpy.zeros(len(used)), 1.0
    told = f"{y} is {classes[1]}, log odds"
    for i, share in progress(list(enumerate(ROUNDS)), len(ROUNDS), "steps", least=2):
        curves, slopes = _derivatives(used, positive, at)
        bends = _released(spending, [VectorSum(df._rows, curves)], share * CURVES, f"second derivatives, step {i}")[0]
        pulls = _released(spending, [VectorSum(df._rows, slopes)], share * (1 - CURVES), f"slopes, step {i}")[0]
        if i == 0:
            rows = 4 * float(bends.values[0])  # at coefficients of zero the second derivative of each row is a quarter
        if i < len(ROUNDS) - 1:
            at = at + step(bends, pulls)
    return last_step(at, bends, pulls, used, confidence, told, rows, spending.bill)


def _derivatives(used: list[Column], positive: Expr, at: Array) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Of the log likelihood at these coefficients, for each row: second ones (each pair once), and first ones."""
    score = Dot(tuple(as_floats(each.expr) for each in used), tuple(map(Lit.of, at.tolist())))
    chance = sigmoid(score)
    weight = Clip(Arithmetic("*", chance, Arithmetic("-", constant(1.0), chance)), Lit.of(0.0), Lit.of(0.25))
    weighted = [Clip(Arithmetic("*", each.expr, weight), Lit.of(-0.25), Lit.of(0.25)) for each in used]
    residual = Clip(Arithmetic("-", positive, chance), Lit.of(-1.0), Lit.of(1.0))
    curves = tuple(product(used[i].expr, weighted[j]) for i, j in pairs(len(used))[0])
    return curves, tuple(product(each.expr, residual) for each in used)


def step(bends: Noisy, pulls: Noisy) -> Array:
    """One of Newton's steps, held back where there is little but noise."""
    d = len(pulls.values)
    found = matrix(bends.values, pairs(d)[1])
    held = root(found)
    ridge = bends.deviation * numpy.sqrt(d) + 1e-9
    made: Array = numpy.linalg.solve(held @ held.T + ridge * numpy.eye(d), pulls.values)
    far = size_of(found, made)
    held_back: Array = made * min(1.0, FARTHEST / far) if far > 0 else made
    return held_back


def size_of(bends: Array, moved: Array) -> float:
    """How far a step moves the log odds of a typical row: the root of the mean of squares."""
    return float(numpy.sqrt(max(float(moved @ bends @ moved), 0.0) / max(float(bends[0, 0]), 1.0)))


def last_step(
    at: Array, bends: Noisy, pulls: Noisy, used: list[Column], confidence: float, what: str, rows: float,
    bill: Any = None,
) -> Regression:  # fmt: skip
    """The table, from coefficients that are nearly right and the noisy derivatives there."""
    d = len(used)
    place = pairs(d)[1]
    found = matrix(bends.values, place)
    names = [each.name for each in used]
    if not clear_of_noise(found, bends.deviation) or rows <= 2 * d:
        return Regression.unreliable(what, names, rows, confidence, bill)
    moved = numpy.linalg.solve(found, pulls.values)
    if size_of(found, moved) > NEAR:
        return Regression.unreliable(what, names, rows, confidence, bill)
    sampling = normal("people", DRAWS, d) @ root(found).T
    errors = misses(found, moved, sampling + pulls.noise("slopes"), matrix(bends.noise("curves"), place))
    back = own_units(used)
    b = back @ (at + moved)
    low, high, false = intervals(b, errors @ back.T, confidence)
    return Regression.of(what, names, (b, low, high, false), rows, confidence, bill)


def _released(spending: Spending, values: list[VectorSum], share: float, what: str) -> list[Noisy]:
    """Released vectors, and the law of the noise on each element."""
    answers = spending.release(values, share, what)
    found = []
    for value, answer in zip(values, answers, strict=True):
        far = value.joint.l1 if spending.is_pure else value.joint.l2
        assert far is not None  # columns are bounded
        deviation = spending.deviation(share / len(values)) * float(far)
        scale = deviation / 2**0.5 if spending.is_pure else deviation
        found.append(Noisy(numpy.asarray(answer, dtype=float), scale, not spending.is_pure))
    return found


def _between(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must lie strictly between 0 and 1, got {confidence}")
