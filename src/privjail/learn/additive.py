"""Sums of one-feature tables, fitted to noisy residual histograms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.errors import PlanError
from privjail.learn.base import Classifier, classes_of, columns_of, frame, indicator, target_of
from privjail.learn.bins import Bins, bins_of
from privjail.learn.direction import Direction
from privjail.learn.shrink import linear_covariances, shrunk_steps, smooth_covariances
from privjail.learn.spending import Spending
from privjail.notebook import progress
from privjail.numpy.elementwise import sigmoid
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.norms import Dot
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows

FIRST = {True: 0.5, False: 0.3}  # the share of the first round, for pure ε and for Gaussian noise
CURVATURE = 0.1  # of the logistic loss after the first round, per row: p(1 - p) of a model that knows something
MOMENTUM = {True: 0.3, False: 0.0}
RATE = {True: 0.3, False: 0.4}
ONLY = 0.3  # the rate of a single round


class AdditiveModel(Classifier):
    """What the additive and the logistic classifier share: rounds of residual histograms."""

    def __init__(self, rounds: int | None = None, bins: int | None = None) -> None:
        self.rounds = rounds
        self.bins = bins

    looks = False  # under (ε, δ), too, at the number of rows
    classes_: Any
    intercept_: float
    tables_: dict[Any, Any]

    def _covariances(self, bins: Bins) -> list[Any]:
        raise TypeError

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private column of two classes, for eps, for eps and delta, or for rho.

        The first round counts rows by bin and class, for each column. Each later round adds up the residuals of
        the model so far, y - p, by bin. All is noisy; what is done with it costs nothing.
        """
        rows, columns = columns_of(X)
        target = target_of(y, rows)
        classes = classes_of(target)
        if len(classes) != 2:
            raise PlanError(f"{type(self).__name__} takes two classes, y has {len(classes)}", do="fit one per class")
        spending = Spending.of(eps, delta, rho, rows)
        whole_rounds(self.rounds)
        fitting = self._fitted(ClassFitting(self, rows, columns, target, classes, spending), columns)
        self.classes_ = np.array(classes)
        self.intercept_, self.tables_, self.bins_ = fitting.intercept, fitting.tables, fitting.bins
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        self.bill = spending.bill
        return self

    def _fitted(self, fitting: ClassFitting, columns: dict[Any, Expr]) -> ClassFitting | Direction:
        fitting.run(fitting.rounds if self.rounds is None else self.rounds)
        return fitting

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """The log odds of the second class, for public rows."""
        self._need_fitted()
        return added_up(frame(X, list(self.feature_names_in_)), self.intercept_, self.tables_, self.bins_)

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        score = scored({n: b.key(columns[n]) for n, b in self.bins_.items()}, self.intercept_, self.tables_, self.bins_)
        return Cast(Compare(">", score, Lit.of(0.0)), "Int64")

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        p = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -700, 700)))
        return np.column_stack([1 - p, p])


def whole_rounds(rounds: Any) -> None:
    if rounds is not None and (type(rounds) is not int or rounds < 1):
        raise PlanError("rounds is a whole number from 1")


def added_up(given: Any, intercept: float, tables: dict[Any, Any], bins: dict[Any, Bins]) -> Any:
    """The intercept and what each public row finds in the tables."""
    total = np.full(len(given), intercept)
    for name, each in bins.items():
        table = np.append(tables[name], 0.0)  # position -1: a value that cannot occur
        total += table[each.codes(given[name])]
    return total


def scored(keys: dict[Any, Expr], intercept: float, tables: dict[Any, Any], bins: dict[Any, Bins]) -> Expr:
    """The same for private rows."""
    looked_up = tuple(bins[n].looked_up(keys[n], tables[n]) for n in bins if tables[n].any())
    score: Expr = Constant(Lit.of(intercept))
    if looked_up:
        score = Arithmetic("+", Dot(looked_up, (Lit.of(1.0),) * len(looked_up)), score)
    return score


class AdditiveClassifier(AdditiveModel):
    """log odds = intercept + a table for each feature, looked up in its bin: a generalised additive model.

    >>> model = learn.AdditiveClassifier().fit(df[["age", "ward"]], df["sex"], eps=1)
    >>> len(model.tables_["ward"])  # four wards, and one bin for missing values
    5
    """

    def _covariances(self, bins: Bins) -> list[Any]:
        return smooth_covariances(bins.size, bins.known, bins.ordered)


class LogisticRegression(AdditiveModel):
    """Logistic regression: categories enter one-hot; numbers with their square, or linearly for ``degree=1``.

    Amounts (see bins.py) enter linearly, with their logarithm, and with whether they are above the lowest value.
    ``coef_`` holds what each bin of a column adds to the log odds. Where rows are few for the columns and the price,
    the coefficients are one noisy sum over rows, see direction.py; numbers then enter linearly.

    >>> model = learn.LogisticRegression().fit(df[["age", "ward"]], df["sex"], eps=1)
    """

    looks = True

    def __init__(self, degree: int = 2, rounds: int | None = None, bins: int | None = None) -> None:
        super().__init__(rounds, bins)
        self.degree = degree

    def _covariances(self, bins: Bins) -> list[Any]:
        if bins.labels:
            return smooth_covariances(bins.size, bins.known, False)
        return linear_covariances(bins.scales(self.degree), bins.known)

    def _fitted(self, fitting: ClassFitting, columns: dict[Any, Expr]) -> ClassFitting | Direction:
        if fitting.share_of_noise < FEW or self.rounds is not None or self.bins is not None:
            return super()._fitted(fitting, columns)
        found = Direction(fitting.rows, columns, fitting.target, fitting.positive, fitting.spending)
        found.run(fitting.left)
        return found

    @property
    def coef_(self) -> dict[Any, Any]:
        return self.tables_


FEW = 0.02  # share of the rows that the noise of one table makes up, from which on one direction is found
LOOK = 0.01  # the share of the price that tells how many rows there are
RULE = {  # share of the rows that the noise of one table makes up -> rounds, bins; for pure ε and for Gaussian noise
    True: ((0.03, 1, 4), (0.01, 1, 8), (2.1e-3, 1, 16), (4.3e-4, 2, 32), (8.6e-5, 4, 32), (0.0, 8, 32)),
    False: ((0.03, 1, 4), (0.01, 1, 8), (2.9e-3, 1, 16), (1.7e-3, 2, 32), (9.2e-4, 4, 32), (0.0, 6, 32)),
}


def default_rounds(spending: Spending, tables: int, rows: float) -> tuple[int, int]:
    """The rule for the number of rounds, and of bins: much noise for few rows buys few numbers.

    Gaussian noise grows with the root of the number of rounds, Laplace noise with the number itself. ``rows`` is a
    noisy count; under an (ε, δ) budget, where all is one release, it is not known, and only the price decides.
    """
    if spending.in_one_piece:
        return 1, 16 if spending.deviation() > 25 else 32
    noise = spending.deviation_of_all(tables) / max(rows, 1.0)
    return next((rounds, bins) for above, rounds, bins in RULE[spending.is_pure] if noise >= above)


class Fitting:
    """One fit: the bins, the tables so far, and the rounds."""

    curvature = CURVATURE  # of the loss after the first round, per row
    only = ONLY
    unit = 1.0  # what sums of residuals are divided by to be slopes of the loss
    total: float  # rows, from the first round
    noise: float
    counts: dict[Any, Any]

    def __init__(
        self, model: Any, rows: Rows, columns: dict[Any, Expr], spending: Spending, tables: int, looks: bool = False
    ) -> None:
        if not columns:
            raise PlanError("X has no columns")
        self.rows, self.spending = rows, spending
        for name, each in columns.items():
            bins_of(name, each, model.bins or 2)  # what has no bins is refused before anything is charged
        spending.reserve(rows)
        self.left, seen = 1.0, 0.0
        if (looks or not spending.in_one_piece) and (model.rounds is None or model.bins is None):
            [[seen]], _ = spending.release_all([Tally(rows, (Constant(Lit.of("all")),), None)], LOOK, "rows")
            self.left = 1 - LOOK
        self.share_of_noise = spending.deviation_of_all(tables) / max(seen, 1.0) if seen else 0.0
        self.rounds, most = default_rounds(spending, tables, seen)
        self.bins = {name: bins_of(name, each, model.bins or most) for name, each in columns.items()}
        self.keys = {name: bins.key(columns[name]) for name, bins in self.bins.items()}
        self.covariances = {name: model._covariances(bins) for name, bins in self.bins.items()}
        self.tables: dict[Any, Any] = {name: np.zeros(bins.size) for name, bins in self.bins.items()}
        self.velocity = {name: np.zeros(bins.size) for name, bins in self.bins.items()}
        self.active = list(self.bins)
        self.intercept = 0.0

    def run(self, rounds: int) -> None:
        first = 1.0 if rounds == 1 else FIRST[self.spending.is_pure]
        self.rate = self.only if rounds == 1 else RATE[self.spending.is_pure]
        self._count(self.left * first)
        for i in progress(range(1, rounds), rounds - 1, "rounds", least=2):
            if self.active:
                self._improve(self.left * (1 - first) / (rounds - 1), f"residuals, round {i}")

    def _count(self, share: float) -> None:
        """The first round."""
        raise TypeError

    def _residual(self, score: Expr) -> Expr:
        """Between -1 and 1: what the model so far misses each row by."""
        raise TypeError

    def _steadied(self, counts: Any) -> Any:
        """Rows by bin: drawn towards equal shares by as much as noise exceeds them."""
        equal = self.total / len(counts)
        trust = equal**2 / (equal**2 + 2 * self.noise**2)
        return np.maximum(trust * counts + (1 - trust) * equal, 0)

    def _improve(self, share: float, what: str) -> None:
        """A later round: residuals by bin, for the features that have shown something."""
        residual = self._residual(scored(self.keys, self.intercept, self.tables, self.bins))
        tallies = [Tally(self.rows, (self.keys[name],), residual) for name in self.active]
        answers, deviation = self.spending.release_all(tallies, share, what)
        gradients = {name: np.asarray(a) / self.unit for name, a in zip(self.active, answers, strict=True)}
        self.intercept += float(np.mean([g.sum() for g in gradients.values()])) / (self.total * self.curvature)
        self._step(gradients, (deviation / self.unit) ** 2, self.curvature)

    def _step(self, gradients: dict[Any, Any], noise: float, curvature: float) -> list[Any]:
        """Move each table by its shrunk step; all at once, so by less than the whole step. Gives those that moved."""
        momentum = MOMENTUM[self.spending.is_pure]
        bends = {name: np.maximum(self.counts[name], self.noise / 3) * curvature for name in gradients}
        centred = {}
        for name, gradient in gradients.items():  # what all bins share is the intercept's
            centred[name] = gradient - bends[name] * (gradient.sum() / bends[name].sum())
        steps, moved = shrunk_steps(centred, bends, noise, self.covariances)
        for name, step in steps.items():
            if name in moved:
                step = step - (step * bends[name]).sum() / bends[name].sum()
            self.velocity[name] = momentum * self.velocity[name] + self.rate * step
            self.tables[name] = self.tables[name] + self.velocity[name]
        return moved


class ClassFitting(Fitting):
    """Of the log odds of the second of two classes."""

    def __init__(
        self, model: AdditiveModel, rows: Rows, columns: dict[Any, Expr], target: Expr, classes: list[Any],
        spending: Spending,
    ) -> None:  # fmt: skip
        self.positive, self.target = indicator(target, classes[1]), target
        super().__init__(model, rows, columns, spending, len(columns), model.looks)

    def _residual(self, score: Expr) -> Expr:
        return Arithmetic("-", self.positive, sigmoid(score))

    def _count(self, share: float) -> None:
        """The first round: rows by bin and class. Each row is in one cell of each table."""
        tallies = [Tally(self.rows, (key, self.target), None) for key in self.keys.values()]
        answers, self.noise = self.spending.release_all(tallies, share, "counts by bin and class")
        found = {name: np.reshape(a, (-1, 2)) for name, a in zip(self.keys, answers, strict=True)}
        total = float(np.mean([x.sum() for x in found.values()]))
        self.total = max(total, 1.0)
        p = float(np.clip(np.mean([x[:, 1].sum() for x in found.values()]) / self.total, 0.001, 0.999))
        self.intercept = float(np.log(p / (1 - p)))
        self.counts = {name: self._steadied(x.sum(axis=1)) for name, x in found.items()}
        gradients = {name: (1 - p) * x[:, 1] - p * x[:, 0] for name, x in found.items()}
        noise = self.noise**2 * (p * p + (1 - p) ** 2)
        self.active = self._step(gradients, noise, p * (1 - p))
