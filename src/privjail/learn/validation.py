"""Scores of a model on private rows that it was not fitted to, at a price that is stated and checked beforehand.

Each round fits to a random sample of the rows (drawn by the jail) and compares two released numbers: what is right
among all rows, and what is right among those of the sample. Their difference is what is right among the rows that were
held out. Both carry noise and are paid for; nothing else is looked at. No operation is needed that shows who is in the
sample, and the ledger counts every part of it by its ordinary rules.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

from privjail.errors import PlanError
from privjail.learn.base import Classifier, Regressor, classes_of, columns_of, target_of
from privjail.learn.regressor import unit_target
from privjail.learn.spending import Bill, Spending
from privjail.notebook import progress
from privjail.numpy.arrays import PrivArray
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.where import FillNull
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.sample import Sample
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows

HELD_OUT = Fraction(1, 5)  # the share of the rows that each round does not fit to
LOOK = Fraction(1, 5)  # the share of the price of a round that pays for its score


class Scores(np.ndarray[Any, Any]):
    """One score for each round; ``bill`` lists what all rounds asked for."""

    bill: Bill


def cross_val_score(
    estimator: Any, X: Any, y: Any, *, cv: int = 5, eps: Any = None, delta: Any = None, rho: Any = None,  # noqa: N803
    random_state: int = 0, scoring: str | None = None,
) -> Scores:  # fmt: skip
    """Scores on held-out private rows: accuracy, or R² of a number. The price is that of all rounds together.

    Each of ``cv`` rounds fits a copy of the model to a random four fifths of the rows, at four fifths of its part of
    the price; the rest pays for the score on the other fifth. ``random_state`` names the samples.

    >>> scores = learn.cross_val_score(learn.AdditiveClassifier(rounds=1), df[["age", "ward"]], df["sex"], cv=2, eps=2)
    >>> scores.shape
    (2,)
    """
    if type(cv) is not int or not 1 <= cv <= 100:
        raise PlanError("cv is a whole number from 1 to 100")
    if not isinstance(estimator, (Classifier, Regressor)) or "_predicted" not in dir(type(estimator)):
        raise PlanError(
            f"{type(estimator).__name__} has no score on private rows",
            do="use an additive model, LogisticRegression, a naive Bayes model, a tree, a forest, or Ridge",
        )
    known = "accuracy" if isinstance(estimator, Classifier) else "r2"
    if scoring not in (None, known):
        raise PlanError(f"cross_val_score on private rows has no {scoring!s:.40}", do=f'scoring="{known}", or none')
    rows, columns = columns_of(X)
    target = target_of(y, rows)
    spending = Spending.of(eps, delta, rho, rows)
    spending.reserve(rows)
    found = []
    for i in progress(range(cv), cv, "rounds", least=2):
        part = Sample(rows, 1 - HELD_OUT, f"cross_val {int(random_state)} {i}"[:64])
        model: Any = copy.copy(estimator)
        model.fit(_on(X, part), _on(y, part), **spending.price(Fraction(1, cv) * (1 - LOOK)))
        spending.bill.extend_by(model.bill)
        found.append(_score(model, rows, part, columns, target, spending, Fraction(1, cv) * LOOK))
    scores = np.array(found).view(Scores)
    scores.bill = spending.bill
    return scores


def scored_on(model: Any, X: Any, y: Any, eps: Any, delta: Any, rho: Any) -> float:  # noqa: N803
    """The score of a fitted model on all of these private rows, from one release."""
    if "_predicted" not in dir(type(model)):
        raise PlanError(f"{type(model).__name__} has no score on private rows", do="score it on public rows")
    rows, columns = model._private_columns(X)
    target = target_of(y, rows)
    keys, values = _asked(model, columns, target)
    tallies = [Tally(rows, keys, value) for value in values]
    answers, _ = Spending.of(eps, delta, rho, rows).release_all(tallies, 1, "score")
    return _told(model, answers)


def _asked(model: Any, columns: dict[Any, Expr], target: Expr) -> tuple[tuple[Expr, ...], tuple[Expr | None, ...]]:
    """What is counted: rows by whether they are right, or sums of squared errors."""
    if isinstance(model, Classifier):
        return (_is_right(model, columns, target),), (None,)
    return (), _squares(model, columns, target)


def _told(model: Any, answers: Any) -> float:
    """The score, from what was counted."""
    if isinstance(model, Classifier):
        wrong, right = np.asarray(answers[0], dtype=float)
        return float(np.clip(right / max(right + wrong, 1.0), 0, 1))
    n, missed, total, squares = (float(np.ravel(x)[0]) for x in answers)
    spread = squares - total**2 / max(n, 1.0)
    return float(1 - missed / spread) if spread > 0 else float("nan")


def _on(x: Any, rows: Rows) -> Any:
    """The same columns of other rows: of a table, a column or an array."""
    if isinstance(x, PrivArray):
        return PrivArray(rows, x._cells)
    exprs = getattr(x, "_exprs", None)
    return x._new(x._expr if exprs is None else exprs, rows)


def _score(
    model: Any, rows: Rows, part: Rows, columns: dict[Any, Expr], target: Expr, spending: Spending, share: Fraction
) -> float:
    """From the same tally over all rows and over those that were fitted to."""
    keys, values = _asked(model, columns, target)
    tallies = [Tally(each, keys, value) for value in values for each in (rows, part)]
    answers, _ = spending.release_all(tallies, share, "score")
    return _told(model, [np.subtract(answers[i], answers[i + 1]) for i in range(0, len(answers), 2)])


def _is_right(model: Any, columns: dict[Any, Expr], target: Expr) -> Expr:
    """Whether the class that is predicted is the row's; a missing class is never right."""
    places = {label: i for i, label in enumerate(classes_of(target))}
    true = Recode(target, tuple((Lit.of(k), Lit.of(float(i))) for k, i in places.items()), 0)
    same: Expr = Compare("==", Cast(true, "Float64"), Cast(model._predicted(columns), "Float64"))
    return FillNull(same, Constant(Lit.of(False))) if same.domain.nullable else same


def _squares(model: Any, columns: dict[Any, Expr], target: Expr) -> tuple[Expr | None, ...]:
    """Number of rows, squared errors, values and their squares, over half the target's range; each at most 1."""
    unit, scaled = unit_target(target)
    moved = Arithmetic("-", model._predicted(columns), Constant(Lit.of(scaled.middle[0])))
    guess = Clip(Arithmetic("*", moved, Constant(Lit.of(1 / scaled.half[0]))), Lit.of(-1.0), Lit.of(1.0))
    known: Expr = FillNull(guess, Constant(Lit.of(0.0))) if guess.domain.nullable else guess
    error = Clip(Arithmetic("-", unit, known), Lit.of(-1.0), Lit.of(1.0))
    squares = [Clip(Arithmetic("*", e, e), Lit.of(0.0), Lit.of(1.0)) for e in (error, unit)]
    return None, squares[0], unit, squares[1]
