"""SensitiveArray: private sums over rows, in a public shape."""

from __future__ import annotations

from typing import Any, Self

import numpy

from privjail.errors import PlanError
from privjail.ops.numbers.combine import Element
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.plan.distance import show
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.rowwise import numeric
from privjail.sensitive import Sensitive, SensitiveFloat, SensitiveInt, number


class SensitiveArray(Sensitive[Any]):
    """A vector or matrix of private numbers: released as a numpy array, at one price for all of it."""

    _shown_class = "numpy.ndarray"

    def __init__(self, value: Value, at: Any) -> None:
        super().__init__(value)
        self._at = at  # where each element of the public shape stands in the vector

    def _wrap(self, value: Value) -> Self:
        return type(self)(value, self._at)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._at.shape)

    @property
    def ndim(self) -> int:
        return int(self._at.ndim)

    @property
    def size(self) -> int:
        return int(self._at.size)

    @property
    def T(self) -> Self:  # noqa: N802
        return type(self)(self._value, self._at.T)

    def sensitivity(self, ord: float = 2) -> float:  # noqa: A002
        """How far the whole array can move, in this norm."""
        joint = self._value.joint
        found = {1: joint.l1, 2: joint.l2, float("inf"): joint.linf}[ord]
        return float("inf") if found is None else float(found)

    def __getitem__(self, key: Any) -> Any:
        at = self._at[key]
        if getattr(at, "ndim", 0) == 0:
            return number(Element(self._value, int(at)))
        return type(self)(self._value, at)

    def __len__(self) -> int:
        return len(self._at)

    def _public(self, answer: Any, facts: Any = ()) -> Any:
        return numpy.asarray(answer, dtype=numpy.float64)[self._at]

    def __repr__(self) -> str:
        l2 = self._value.joint.l2
        return f"SensitiveArray(shape={self.shape}, L2 sensitivity {'∞' if l2 is None else show(l2)})"

    __str__ = __repr__


def vector_sum(rows: Rows, columns: list[Expr], at: Any) -> SensitiveArray | SensitiveInt | SensitiveFloat:
    """The sums of columns over rows; of a single column without public axes, a private number."""
    for e in columns:
        if getattr(e.domain, "categories", None) and e.domain.dtype == "category":
            raise PlanError("a category cannot be added up", do="use np.eye(k)[y], or count with np.bincount")
    if not columns:
        raise PlanError("there is nothing to add up: the array has no columns")
    value = VectorSum(rows, tuple(numeric(e) for e in columns))
    return number(Element(value, 0)) if at.ndim == 0 else SensitiveArray(value, at)
