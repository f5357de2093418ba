"""What all models share: scikit-learn's habits, without scikit-learn."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Self

import numpy as np

import pandas
from privjail.errors import PlanError, PrisonerError
from privjail.learn.spending import Bill
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.plan.domain import BoolDomain, CategoryDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner


class Estimator:
    """A model: parameters are the arguments of its constructor; what is fitted ends with an underscore.

    A fitted model holds public numbers only. It pickles, and predicts on public tables.
    """

    bill: Bill

    @property
    def certificate(self) -> list[dict[str, Any]]:
        """The certificates of this fit's releases: what they claim, for others to check."""
        self._need_fitted()
        return self.bill.certificates()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Parameters that scikit-learn has and we lack are refused in our words."""
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = _with_words(cls.__init__)  # type: ignore[method-assign]

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn's ``clone`` needs them."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in self._names():
                raise PlanError(f"{type(self).__name__} has no parameter {name!r}", do=f"it has {self._names()}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bill")

    def _need_fitted(self) -> None:
        if not hasattr(self, "bill"):
            raise PlanError(f"this {type(self).__name__} is not fitted", do="model.fit(X, y, eps=1)")


def _with_words(init: Any) -> Any:
    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        known = list(inspect.signature(init).parameters)[1:]
        for name in [*given, *["an argument without a name"] * (len(args) > len(known))]:
            if name not in known:
                do = f"its parameters are {', '.join(known)}" if known else "it has none: leave it out"
                raise PlanError(f"{type(self).__name__} has no parameter {name!r}", do=do)
        init(self, *args, **given)

    return checked


class Classifier(Estimator):
    """A model that predicts one of two or more classes."""

    classes_: Any
    _estimator_type = "classifier"

    def predict_proba(self, X: Any) -> Any:  # noqa: N803  scikit-learn's name
        raise TypeError

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most probable class of each public row."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_)[np.argmax(chances, axis=1)]

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The accuracy on public data."""
        return float(np.mean(self.predict(X) == np.asarray(public(y, "y"))))


class Regressor(Estimator):
    """A model that predicts a number."""

    _estimator_type = "regressor"

    def predict(self, X: Any) -> Any:  # noqa: N803
        raise TypeError

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """R² on public data."""
        truth = np.asarray(public(y, "y"), dtype=float)
        return float(1 - np.sum((truth - self.predict(X)) ** 2) / np.sum((truth - truth.mean()) ** 2))


def public(x: Any, name: str) -> Any:
    """Public data, to predict or to score on."""
    if isinstance(x, Prisoner):
        raise PrisonerError(
            f"{name} is private: predictions and scores are for public data",
            do="score on public test data that was kept apart",
        )
    return x


def columns_of(X: Any) -> tuple[Rows, dict[Any, Expr]]:  # noqa: N803
    """The rows and columns of a private table or array."""
    rows, exprs = getattr(X, "_rows", None), getattr(X, "_exprs", None)
    if isinstance(X, Prisoner) and rows is not None:
        if exprs is not None:
            return rows, dict(exprs)
        flat = getattr(X, "_flat", None)
        if flat is not None:
            return rows, {f"x{i}": e for i, e in enumerate(flat)}
    raise PlanError("X must be a private table or array", do="df[columns], or df[columns].to_numpy()")


def target_of(y: Any, rows: Rows) -> Expr:
    """The expression of a private target, which must have the rows of X."""
    expr = getattr(y, "_expr", None)
    if not isinstance(expr, Expr):
        flat = getattr(y, "_flat", None)
        expr = flat[0] if flat is not None and len(flat) == 1 else None
    if not isinstance(y, Prisoner) or expr is None:
        raise PlanError("y must be a private column", do='df["income"]')
    if y._rows is not rows:  # type: ignore[attr-defined]
        raise PlanError("X and y do not have the same rows", do="take both from the same table")
    return expr


def classes_of(target: Expr) -> list[Any]:
    """The classes that can occur, from the domain: never from the data."""
    domain = target.domain
    if isinstance(domain, (CategoryDomain, BoolDomain, IntDomain)) and domain.labels is not None:
        labels = list(domain.labels)
        if 2 <= len(labels) <= 1000:
            return labels
    raise PlanError(
        f"classes must be known from the schema: y is {domain}", do="use a category, true/false or a small range"
    )


def indicator(target: Expr, label: Any) -> Expr:
    """1 where the target has this label, else 0."""
    test = target if isinstance(target.domain, BoolDomain) and label is True else Compare("==", target, Lit.of(label))
    return Cast(test, "Int64")


def frame(X: Any, names: list[Any]) -> pandas.DataFrame:  # noqa: N803
    """Public rows to predict for, with the columns of the fit."""
    public(X, "X")
    if isinstance(X, pandas.DataFrame):
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise PlanError(f"X lacks the columns {missing[:5]}")
        return X[names]
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise PlanError(f"X needs {len(names)} columns")
    return pandas.DataFrame(values, columns=pandas.Index(names))
