"""What all models share: scikit-learn's habits, without scikit-learn."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import pandas
from privjail.errors import PlanError, PrisonerError
from privjail.learn.spending import Bill
from privjail.learn.words import lacks
from privjail.numpy.arrays import PrivArray, asarray
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.recode import Recode
from privjail.plan.domain import BoolDomain, CategoryDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner


def _with_words(init: Any) -> Any:
    """A constructor that names a parameter which it lacks."""

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        known = list(inspect.signature(init).parameters)[1:]
        for name in [*given, *["an argument without a name"] * (len(args) > len(known))]:
            if name in ("eps", "epsilon", "delta", "rho"):
                raise PlanError(f"{type(self).__name__} has no parameter {name!r}: a price is paid by a fit",
                                do="model.fit(X, y, eps=1)")  # fmt: skip
            if name not in known:
                do = f"its parameters are {', '.join(known)}" if known else "it has none: leave it out"
                raise PlanError(f"{type(self).__name__} has no parameter {name!r}", do=do)
        init(self, *args, **given)

    return checked


class Estimator:
    """A model: parameters are the arguments of its constructor; what is fitted ends with an underscore.

    A fitted model holds public numbers only. It pickles, and predicts on public tables.
    """

    bill: Bill
    feature_names_in_: Any

    @_with_words
    def __init__(self) -> None:
        """Without parameters, as those that name none."""

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
        """The parameters of the constructor."""
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

    if not TYPE_CHECKING:  # or a misspelt name would pass for one of these

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            lacks(self, name)

    def _private_columns(self, X: Any) -> tuple[Rows, dict[Any, Expr]]:  # noqa: N803
        """The columns of the fit, of a private table or array."""
        self._need_fitted()
        names = list(self.feature_names_in_)
        rows, columns = columns_of(X)
        if isinstance(X, PrivArray) and len(columns) == len(names):
            return rows, dict(zip(names, columns.values(), strict=True))
        missing = [name for name in names if name not in columns]
        if missing:
            raise PlanError(f"X lacks the columns {missing[:5]}", do="predict for the columns of the fit")
        return rows, {name: columns[name] for name in names}

    def _private_predictions(self, X: Any) -> PrivArray:  # noqa: N803
        """Of private rows a private column: free, and to be counted, grouped by or compared."""
        rows, columns = self._private_columns(X)
        return PrivArray(rows, one_cell(self._told(columns)))

    def _told(self, columns: dict[Any, Expr]) -> Expr:
        """What is predicted for a row, from its columns."""
        if not hasattr(self, "_predicted"):
            raise PrisonerError(
                f"{type(self).__name__} has no predictions of private rows", do="predict for public rows"
            )
        found: Expr = self._predicted(columns)
        return found

    def _need_fitted(self) -> None:
        if not hasattr(self, "bill"):
            raise PlanError(f"this {type(self).__name__} is not fitted", do="model.fit(X, y, eps=1)")


class Classifier(Estimator):
    """A model that predicts one of two or more classes."""

    classes_: Any
    _estimator_type = "classifier"

    def predict_proba(self, X: Any) -> Any:  # noqa: N803  scikit-learn's name
        raise TypeError

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most probable class of each public row; of private rows a private column."""
        if isinstance(X, Prisoner):
            return self._private_predictions(X)
        chances = self.predict_proba(X)
        return np.asarray(self.classes_)[np.argmax(chances, axis=1)]

    def _told(self, columns: dict[Any, Expr]) -> Expr:
        place = Cast(super()._told(columns), "Int64")
        labels = [x.item() if hasattr(x, "item") else x for x in self.classes_]
        return Recode(place, tuple((Lit.of(i), Lit.of(label)) for i, label in enumerate(labels)), 0)

    def predict_log_proba(self, X: Any) -> Any:  # noqa: N803
        """The logarithms of the chances of each class, for public rows."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> float:  # noqa: N803
        """The accuracy: on public data, or at a price on private rows (cross_val_score holds rows out)."""
        if isinstance(X, Prisoner) or isinstance(y, Prisoner):
            return private_score(self, X, y, eps, delta, rho)
        return float(np.mean(self.predict(X) == np.asarray(public(y, "y"))))


class Regressor(Estimator):
    """A model that predicts a number."""

    _estimator_type = "regressor"

    def predict(self, X: Any) -> Any:  # noqa: N803
        raise TypeError

    def score(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> float:  # noqa: N803
        """R²: on public data, or at a price on private rows (cross_val_score holds rows out)."""
        if isinstance(X, Prisoner) or isinstance(y, Prisoner):
            return private_score(self, X, y, eps, delta, rho)
        truth = np.asarray(public(y, "y"), dtype=float)
        return float(1 - np.sum((truth - self.predict(X)) ** 2) / np.sum((truth - truth.mean()) ** 2))


def private_score(model: Any, X: Any, y: Any, eps: Any, delta: Any, rho: Any) -> float:  # noqa: N803
    """A noisy score on private rows."""
    if eps is None and rho is None:
        raise PrisonerError(
            "X is private: a score of private rows is released, and has a price",
            do="model.score(X, y, eps=1); on rows that were held out: learn.cross_val_score(model, X, y, eps=1)",
        )
    from privjail.learn.validation import scored_on

    return scored_on(model, X, y, eps, delta, rho)


def one_cell(e: Expr) -> Any:
    """The cells of an array without public axes."""
    found = np.empty((), dtype=object)
    found[()] = e
    return found


class Transformer(Estimator):
    """A step that makes columns from columns: of public rows a numpy array, of private rows a private array."""

    feature_names_in_: Any

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        raise TypeError

    def transform(self, X: Any) -> Any:  # noqa: N803
        raise TypeError

    def fit_transform(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        eps: Any = None,
        delta: Any = None,
        rho: Any = None,
    ) -> Any:
        """Fit to private columns at this price, then transform them: a private array. Only the fit costs something."""
        return self.fit(X, y, eps=eps, delta=delta, rho=rho).transform(X)

    def _values(self, X: Any) -> Any:  # noqa: N803
        """The columns of the fit, as an array: a private one of private rows."""
        self._need_fitted()
        names = list(self.feature_names_in_)
        return private_array(X, names) if isinstance(X, Prisoner) else frame(X, names).to_numpy(dtype=float)


def private_array(X: Any, names: list[Any]) -> PrivArray:  # noqa: N803
    """The columns of a private table by their names, or those of a private array by their order."""
    _, columns = columns_of(X)
    if isinstance(X, PrivArray):
        if len(columns) != len(names) or X.ndim != 2:
            raise PlanError(f"X needs {len(names)} columns")
        return X
    missing = [name for name in names if name not in columns]
    if missing:
        raise PlanError(f"X lacks the columns {missing[:5]}")
    found: PrivArray = asarray(X[names])
    return found


def public(x: Any, name: str) -> Any:
    """Public data, to predict or to score on."""
    if isinstance(x, Prisoner):
        raise PrisonerError(
            f"{name} is private, and this needs public rows",
            do="model.predict(X) and, at a price, model.score(X, y, eps=1) take private rows",
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
            raise PlanError(f"X lacks the columns {missing[:5]}", do="give it the columns of the fit")
        return X[names]
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] != len(names):
        do = f"pandas.DataFrame(X, columns={[str(n) for n in names[:3]]}{' …' if len(names) > 3 else ''})"
        raise PlanError(f"X needs {len(names)} columns: {', '.join(map(str, names[:10]))}", do=do)
    return pandas.DataFrame(values, columns=pandas.Index(names))
