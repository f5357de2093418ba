"""SensitiveSeries and SensitiveDataFrame: private numbers under a public index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers import Element, Extreme, Stack, Total
from privjail.pandas.refusals import refuse
from privjail.plan.domain import Interval
from privjail.plan.value import Value
from privjail.release import Ask
from privjail.sensitive import Sensitive, number


def public_label(label: Any) -> Any:
    """A label as pandas would hold it."""
    if isinstance(label, Interval):
        import pandas

        return pandas.Interval(label.left, label.right, "both" if label.closed == "both" else label.closed)  # type: ignore[arg-type]
    return label


def index_of(axes: tuple[tuple[Any, ...], ...], names: tuple[Any, ...]) -> Any:
    """The pandas index of a released vector."""
    import pandas

    levels = [[public_label(label) for label in axis] for axis in axes]
    if len(levels) == 1:
        return pandas.Index(levels[0], name=names[0] if names else None, dtype=_index_type(levels[0]))
    return pandas.MultiIndex.from_product(levels, names=names)


def _index_type(labels: list[Any]) -> Any:
    return object if len({type(label) for label in labels}) > 1 or not isinstance(labels[0], (int, float)) else None


class Positions:
    """s.iloc[i]: elements by their public position."""

    def __init__(self, series: SensitiveSeries) -> None:
        self._series = series

    def __getitem__(self, i: Any) -> Any:
        size = self._series.size
        if type(i) is not int or not -size <= i < size:
            raise PlanError(f"iloc takes a position from 0 to {size - 1}")
        return self._series._at(i % size)


class SensitiveSeries(Sensitive):
    """A vector of private numbers: counts or sums of groups, or one number for each of several columns."""

    _shown_class = "pandas.core.series.Series"

    def __init__(self, value: Value, name: str | None = None, names: tuple[Any, ...] | None = None) -> None:
        super().__init__(value)
        self.name = name
        self._names = names if names is not None else (name,) * len(value.index)

    def __getattr__(self, attribute: str) -> Any:
        refuse(self, attribute)

    def _wrap(self, value: Value) -> SensitiveSeries:
        return SensitiveSeries(value, self.name, self._names)

    @property
    def index(self) -> Any:
        """The public labels."""
        return index_of(self._value.index, self._names)

    @property
    def shape(self) -> tuple[int]:
        return (self._value.joint.size,)

    @property
    def size(self) -> int:
        return self._value.joint.size

    def keys(self) -> Any:
        return self.index

    def __len__(self) -> int:
        return self._value.joint.size

    def __iter__(self) -> Iterator[Any]:
        return (self._at(i) for i in range(self.size))

    def _at(self, i: int) -> Any:
        return number(Element(self._value, i))

    @property
    def iloc(self) -> Positions:
        return Positions(self)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Each label with its private number."""
        return ((label, self._at(i)) for i, label in enumerate(self._labels()))

    def _labels(self) -> list[Any]:
        from itertools import product

        axes = [[public_label(label) for label in axis] for axis in self._value.index]
        return axes[0] if len(axes) == 1 else list(product(*axes))

    def __contains__(self, label: Any) -> bool:
        return label in self._labels()

    @property
    def loc(self) -> SensitiveSeries:
        return self

    def __getitem__(self, key: Any) -> Any:
        labels = self._labels()
        if isinstance(key, list):
            chosen = [self._position(labels, k) for k in key]
            elements = tuple(Element(self._value, i) for i in chosen)
            return SensitiveSeries(Stack(elements, tuple(key)), self.name, (self._names[0],))
        return self._at(self._position(labels, key))

    @staticmethod
    def _position(labels: list[Any], key: Any) -> int:
        for i, label in enumerate(labels):
            if label == key or (not isinstance(label, (tuple, str)) and str(label) == key):
                return i
        raise PlanError(f"no label {key!r}", do=f"use one of {labels[:10]}")

    def get(self, key: Any, default: Any = None) -> Any:
        labels = self._labels()
        return self[key] if key in labels else default

    def max(self) -> Any:
        """The largest element, as a private number. For its label: .idxmax(eps=…)."""
        return number(Extreme("max", self._value))

    def min(self) -> Any:
        """The smallest element, as a private number. For its label: .idxmin(eps=…)."""
        return number(Extreme("min", self._value))

    def sum(self) -> Any:
        """The sum of all elements, as a private number."""
        return number(Total(self._value))

    def idxmax(self, *, eps: Any) -> Any:
        """The label of the largest element: noisy max, at eps for any number of elements."""
        return self._labels()[session.release([Ask(self._value, NoisyMax(amount(eps)))])[0]]

    def idxmin(self, *, eps: Any) -> Any:
        """The label of the smallest element: noisy min."""
        return self._labels()[session.release([Ask(self._value, NoisyMax(amount(eps), smallest=True))])[0]]

    def nlargest(self, n: int, *, eps: Any) -> list[Any]:
        """The labels of the n largest elements, largest first, at eps in all."""
        chosen = session.release([Ask(self._value, NoisyMax(amount(eps), k=n))])[0]
        labels = self._labels()
        return [labels[i] for i in (chosen if n > 1 else [chosen])]

    def _public(self, answer: Any) -> Any:
        import pandas

        return pandas.Series(answer, index=self.index, name=self.name, dtype="float64")

    def __str__(self) -> str:
        shown = ", ".join(map(str, self._labels()[:8])) + (", …" if self.size > 8 else "")
        return f"{super().__repr__()}\n  index: {shown}\n  joint distance: L1 {_show(self._value.joint.l1)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class SensitiveDataFrame(SensitiveSeries):
    """A table of private numbers with public rows and columns (from crosstab, or sums of several columns)."""

    _shown_class = "pandas.core.frame.DataFrame"

    def _wrap(self, value: Value) -> SensitiveDataFrame:
        return SensitiveDataFrame(value, self.name, self._names)

    @property
    def index(self) -> Any:
        return index_of(self._value.index[:-1], self._names[:-1])

    @property
    def columns(self) -> Any:
        """The public column labels."""
        return index_of(self._value.index[-1:], self._names[-1:])

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        width = len(self._value.index[-1])
        return (self.size // width if width else 0, width)

    def __len__(self) -> int:
        return self.shape[0]

    def _public(self, answer: Any) -> Any:
        import numpy
        import pandas

        return pandas.DataFrame(numpy.reshape(answer, self.shape), index=self.index, columns=self.columns)


def _show(x: Any) -> str:
    from privjail.plan.distance import show

    return "∞" if x is None else show(x)
