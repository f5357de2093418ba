"""Columns as indicators or bins, from public domains alone: fitting them costs nothing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.errors import PlanError
from privjail.learn.base import Transformer, columns_of, frame
from privjail.learn.bins import Bins, bins_of
from privjail.learn.spending import Bill
from privjail.numpy.arrays import PrivArray, cells_of
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.plan.domain import FloatDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner

MOST = 1000  # values of one column that become columns


class Encoder(Transformer):
    """What both share: bins by the rule of bins.py, as one indicator each or as whole numbers."""

    bins_: dict[Any, Bins]

    def _bins(self, name: Any, expr: Expr) -> Bins:
        raise TypeError

    def _first(self) -> int:
        """The first bin that becomes a column."""
        return 0

    def _ordinal(self) -> bool:
        return False

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Take the bins from the domains of a private table. Nothing is asked of the jail, and nothing is paid.

        A price may be given, as to other steps; nothing of it is spent.
        """
        _, columns = columns_of(X)
        if not columns:
            raise PlanError("X has no columns")
        self.bins_ = {name: self._bins(name, each) for name, each in columns.items()}
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        self.bill = Bill(made=[])
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """A private array for a private table, a numpy array for a public one.

        Indicators of one column exclude each other, so a row of them has a norm of at most 1.
        """
        self._need_fitted()
        if not isinstance(X, Prisoner):
            given = frame(X, list(self.feature_names_in_))
            return np.column_stack([self._public(bins, given[name]) for name, bins in self.bins_.items()])
        rows, columns = columns_of(X)
        if list(columns) != list(self.bins_):
            raise PlanError(f"X needs the columns {list(self.bins_)[:5]} in this order")
        return PrivArray(rows, cells_of(e for n, bins in self.bins_.items() for e in self._private(bins, columns[n])))

    def _private(self, bins: Bins, expr: Expr) -> list[Expr]:
        key = bins.key(expr)
        if self._ordinal():
            return [Cast(bins.looked_up(key, range(bins.size)), "Int64")]
        return [Cast(Compare("==", key, Lit.of(str(i))), "Int64") for i in range(self._first(), bins.size)]

    def _public(self, bins: Bins, column: Any) -> Any:
        codes = bins.codes(column)
        if self._ordinal():
            return codes
        return (codes[:, None] == np.arange(self._first(), bins.size)).astype(float)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        self._need_fitted()
        if self._ordinal():
            return np.array([str(name) for name in self.bins_], dtype=object)
        names = [f"{n}_{x}" for n, bins in self.bins_.items() for x in bin_names(bins)[self._first() :]]
        return np.array(names, dtype=object)


def bin_names(bins: Bins) -> list[str]:
    """A name for each bin: its label, or where it begins."""
    found = [str(label) for label in bins.labels] or [f"{edge:g}" for edge in bins.edges[:-1]]
    return [*found, *["missing"] * bins.nullable]


class OneHotEncoder(Encoder):
    """Categories, true/false and small ranges of whole numbers as one indicator for each value of the public domain.

    ``drop="first"`` leaves out the first value of each column; a column that can be missing has one indicator more.

    >>> hot = learn.OneHotEncoder().fit(df[["ward"]])
    >>> list(hot.get_feature_names_out())[:2]
    ['ward_cardiology', 'ward_geriatrics']
    >>> model = learn.LinearRegression().fit(hot.transform(df[["ward"]]), df["cost"], eps=1)
    """

    def __init__(self, drop: str | None = None) -> None:
        self.drop = drop

    def _first(self) -> int:
        return 1 if self.drop == "first" else 0

    @property
    def categories_(self) -> list[Any]:
        """The values of each column, from the schema."""
        self._need_fitted()
        return [np.array([*bins.labels, *[None] * bins.nullable], dtype=object) for bins in self.bins_.values()]

    def _bins(self, name: Any, expr: Expr) -> Bins:
        if self.drop not in (None, "first"):
            raise PlanError('drop is None or "first"')
        if isinstance(expr.domain, FloatDomain) or expr.domain.labels is None or len(expr.domain.labels) > MOST:
            raise PlanError(
                f"column {name!r} has no short list of values: its domain is {expr.domain}",
                do="use KBinsDiscretizer for numbers",
            )
        return bins_of(name, expr, MOST)


class KBinsDiscretizer(Encoder):
    """Numbers as bins of their public ranges: of equal width, or for amounts of equal width on a logarithmic scale.

    ``encode="onehot"`` gives an indicator for each bin, ``"ordinal"`` the number of the bin.

    >>> bins = learn.KBinsDiscretizer(n_bins=4, encode="ordinal").fit(df[["age"]])
    >>> bins.transform(df[["age"]]).ndim
    2
    """

    def __init__(self, n_bins: int = 5, encode: str = "onehot") -> None:
        self.n_bins = n_bins
        self.encode = encode

    def _ordinal(self) -> bool:
        return self.encode == "ordinal"

    def _bins(self, name: Any, expr: Expr) -> Bins:
        if self.encode not in ("onehot", "ordinal"):
            raise PlanError('encode is "onehot" or "ordinal"')
        if type(self.n_bins) is not int or not 2 <= self.n_bins <= MOST:
            raise PlanError(f"n_bins is a whole number from 2 to {MOST}")
        return bins_of(name, expr, self.n_bins)
