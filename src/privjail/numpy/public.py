"""Public tables that private rows look things up in: ``np.eye(k)[y]``."""

from __future__ import annotations

from typing import Any

import numpy

from privjail.errors import PlanError
from privjail.numpy.arrays import PrivArray, asarray, cells_of
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.recode import Recode
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner


class PublicTable(numpy.ndarray[Any, Any]):
    """A public matrix whose rows can be looked up by a private column of positions."""

    def __getitem__(self, key: Any) -> Any:
        return take(self, key) if isinstance(key, Prisoner) else super().__getitem__(key)


def eye(n: int, *args: Any, **kwargs: Any) -> Any:
    """numpy's identity matrix; np.eye(k)[y] of a private column y is one-hot.

    >>> hot = np.eye(2)[df["sex"]]
    """
    return numpy.eye(n, *args, **kwargs).view(PublicTable)


def identity(n: int, *args: Any, **kwargs: Any) -> Any:
    """The same as eye."""
    return eye(n, *args, **kwargs)


def take(table: Any, y: Any) -> PrivArray:
    """The row of a public table at each private position (the code of a category, or a whole number from 0)."""
    values = numpy.asarray(table, dtype=numpy.float64)
    column = asarray(y)
    if column.ndim != 1 or values.ndim not in (1, 2):
        raise PlanError("a table of one or two axes is looked up by one private column")
    expr = column._flat[0]
    labels = _labels(expr, len(values))
    if values.ndim == 1:
        return PrivArray(column._rows, numpy.asarray(_looked_up(expr, labels, values), dtype=object))
    if values.shape[0] == values.shape[1] and (values == numpy.eye(len(values))).all():
        hot = [Cast(Compare("==", expr, Lit.of(label)), "Int64") for label in labels]
        return PrivArray(column._rows, cells_of(hot))
    return PrivArray(column._rows, cells_of(_looked_up(expr, labels, each) for each in values.T))


def _labels(expr: Expr, size: int) -> list[Any]:
    domain = expr.domain
    if isinstance(domain, CategoryDomain) and len(domain.categories) == size:
        return list(domain.categories)
    if isinstance(domain, IntDomain) and domain.bounded and domain.lower >= 0 and domain.upper < size:
        return list(range(size))
    raise PlanError(
        "the column does not hold positions in this table",
        do="use a category of as many labels as the table has rows, or whole numbers with a range from 0 to k - 1",
    )


def _looked_up(expr: Expr, labels: list[Any], values: Any) -> Expr:
    return Recode(expr, tuple((Lit.of(k), Lit.of(float(v))) for k, v in zip(labels, values, strict=True)), 0)
