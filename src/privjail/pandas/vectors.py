"""SensitiveSeries and SensitiveDataFrame: private numbers under a public index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from privjail import session
from privjail.answers.answer import Facts
from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.combine import Element, Extreme, Scale, Stack, Total
from privjail.pandas.axes import Axis, flat_labels, index_of, public_name, shown_labels
from privjail.pandas.priced import priced
from privjail.plan.distance import show
from privjail.plan.value import Value
from privjail.release import Query
from privjail.sensitive import Public, Sensitive, SensitiveFloat, SensitiveInt, number

if TYPE_CHECKING:
    import pandas
    from privjail.answers.released import ReleasedFrame, ReleasedSeries
    from privjail.pandas.deferred import Deferred

T = TypeVar("T")
SHOWN_ROWS = 20  # of a vector in a notebook

__all__ = ["Axis", "SensitiveDataFrame", "SensitiveSeries"]


@priced
class Vector(Sensitive[Public]):
    """Private numbers under public labels: what series and tables of them share."""

    name: Any = None

    def __init__(self, value: Value, axes: tuple[Axis, ...]) -> None:
        super().__init__(value)
        self._axes = axes

    if not TYPE_CHECKING:  # to mypy and editors a misspelt method is an error

        def __getattr__(self, attribute: str) -> Any:
            from privjail.pandas.deferred import later

            return later(self, attribute)

    @property
    def size(self) -> int:
        """The number of elements, which is public.

        >>> df["ward"].value_counts(sort=False).size
        4
        """
        return self._value.joint.size

    def _at(self, i: int) -> SensitiveInt | SensitiveFloat:
        return number(Element(self._value, i))

    def _labels(self) -> list[Any]:
        return flat_labels(self._value.index, self._axes)

    def _stack(self, positions: Sequence[int], labels: Sequence[Any], axis: Axis) -> SensitiveSeries:
        elements = tuple(Element(self._value, i) for i in positions)
        return SensitiveSeries(Stack(elements, tuple(labels)), self.name, (axis,))

    def idxmax(self, *, eps: Any) -> Hashable:
        """The label of the largest element: noisy max, at eps for any number of elements.

        >>> df["ward"].value_counts(sort=False).idxmax(eps=1)
        'surgery'
        """
        found: Hashable = self._labels()[session.release([Query(self._value, NoisyMax(amount(eps)))])[0]]
        return found

    def idxmin(self, *, eps: Any) -> Hashable:
        """The label of the smallest element: noisy min.

        >>> x = df["ward"].value_counts(sort=False).idxmin(eps=1)
        """
        chosen = session.release([Query(self._value, NoisyMax(amount(eps), smallest=True))])[0]
        found: Hashable = self._labels()[chosen]
        return found

    def nlargest(self, n: int, *, eps: Any) -> list[Hashable]:
        """The labels of the n largest elements, largest first, at eps in all.

        >>> x = df["ward"].value_counts(sort=False).nlargest(2, eps=1)
        """
        return self._best(n, eps, smallest=False)

    def nsmallest(self, n: int, *, eps: Any) -> list[Hashable]:
        """The labels of the n smallest elements, smallest first, at eps in all.

        >>> x = df["ward"].value_counts(sort=False).nsmallest(2, eps=1)
        """
        return self._best(n, eps, smallest=True)

    def _best(self, n: int, eps: Any, smallest: bool) -> list[Hashable]:
        if type(n) is not int or not 1 <= n <= self.size:
            raise PlanError(f"between 1 and {self.size} labels can be chosen")
        chosen = session.release([Query(self._value, NoisyMax(amount(eps), k=n, smallest=smallest))])[0]
        labels = self._labels()
        return [labels[i] for i in (chosen if n > 1 else [chosen])]

    def copy(self, deep: bool = True) -> Self:
        """The same numbers: nothing ever changes them.

        >>> x = df["ward"].value_counts(sort=False).copy()
        """
        return self._wrap(self._value)

    def __str__(self) -> str:
        shown = ", ".join(map(str, self._labels()[:8])) + (", …" if self.size > 8 else "")
        l1 = self._value.joint.l1
        reach = "∞" if l1 is None else show(l1)
        return f"{super().__repr__()}\n  index: {shown}\n  joint distance: L1 {reach}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, l1 = escape(super().__repr__()), self._value.joint.l1
        shown = [escape(str(label)) for label in self._labels()[:SHOWN_ROWS]]
        rows = "".join(f"<tr><th>{label}</th><td>private</td></tr>" for label in shown)
        more = f"<tr><th>… {self.size - SHOWN_ROWS} more</th><td></td></tr>" if self.size > SHOWN_ROWS else ""
        reach = "∞" if l1 is None else show(l1)
        return f"<div><code>{head}</code><br>joint distance: L1 {escape(reach)}<table>{rows}{more}</table></div>"


def position(labels: Sequence[Any], key: Any) -> int | None:
    """Where a public label stands; an interval goes by its text too."""
    if type(key).__module__ == "numpy" and getattr(key, "ndim", 1) == 0:
        key = key.item()
    for i, label in enumerate(labels):
        if isinstance(label, bool) != isinstance(key, bool):
            continue
        if type(label).__name__ == "Interval" and isinstance(key, str):
            if str(label) == key:
                return i
        elif label == key:
            return i
    return None


def _need(labels: Sequence[Any], key: Any) -> int:
    found = position(labels, key)
    if found is None:
        raise PlanError(f"no label {key!r}", do=f"use one of {list(labels)[:10]}")
    return found


class Positions:
    """s.iloc[i] and s.iloc[a:b]: elements by their public position."""

    def __init__(self, size: int, take: Callable[[list[int]], Any], one: Callable[[int], Any]) -> None:
        self._size, self._take, self._one = size, take, one

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self._take(list(range(self._size))[i])
        if isinstance(i, list) and all(type(k) is int and -self._size <= k < self._size for k in i):
            return self._take([k % self._size for k in i])
        if type(i) is not int or not -self._size <= i < self._size:
            raise PlanError(f"iloc takes a position from 0 to {self._size - 1}")
        return self._one(i % self._size)


class SensitiveSeries(Vector["ReleasedSeries"]):
    """A vector of private numbers: counts or sums of groups, or one number for each of several columns."""

    _shown_class = "pandas.core.series.Series"
    ndim = 1

    def __init__(self, value: Value, name: Any = None, axes: tuple[Axis, ...] | None = None) -> None:
        super().__init__(value, axes if axes is not None else (Axis(),) * len(value.index))
        self.name = name

    def _wrap(self, value: Value) -> Self:
        return type(self)(value, self.name, self._axes)

    @property
    def index(self) -> pandas.Index[Any]:
        """The public labels.

        >>> list(df["ward"].value_counts(sort=False).index)
        ['cardiology', 'geriatrics', 'maternity', 'surgery']
        """
        found: pandas.Index[Any] = index_of(self._value.index, self._axes)
        return found

    @property
    def shape(self) -> tuple[int]:
        """The number of elements, which is public.

        >>> df["ward"].value_counts(sort=False).shape
        (4,)
        """
        return (self.size,)

    @property
    def dtype(self) -> str:
        """The type of the private numbers.

        >>> df["ward"].value_counts(sort=False).dtype
        'int64'
        """
        return "int64" if self._value.whole else "float64"

    def keys(self) -> pandas.Index[Any]:
        """The public labels.

        >>> list(df["ward"].value_counts(sort=False).keys())[0]
        'cardiology'
        """
        return self.index

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[SensitiveInt | SensitiveFloat]:
        return (self._at(i) for i in range(self.size))

    def items(self) -> Iterator[tuple[Any, SensitiveInt | SensitiveFloat]]:
        """Each label with its private number.

        >>> noisy = {ward: n.reveal(eps=1) for ward, n in df["ward"].value_counts(sort=False).items()}
        """
        return ((label, self._at(i)) for i, label in enumerate(self._labels()))

    def to_dict(self) -> dict[Any, SensitiveInt | SensitiveFloat]:
        """A dict of private numbers.

        >>> x = df["ward"].value_counts(sort=False).to_dict()["surgery"]
        """
        return dict(self.items())

    def __contains__(self, label: Any) -> bool:
        return position(self._labels(), label) is not None

    @property
    def iloc(self) -> Positions:
        """Elements by their public position.

        >>> x = df["ward"].value_counts(sort=False).iloc[0]
        """
        return Positions(self.size, self._taken, self._at)

    @property
    def loc(self) -> Self:
        """Elements by their public label.

        >>> x = df["ward"].value_counts(sort=False).loc["surgery"]
        """
        return self

    at = loc

    def _taken(self, positions: list[int]) -> SensitiveSeries:
        if not positions:
            raise PlanError("no element is left")
        if len(self._axes) > 1:
            labels = self._labels()
            return self._stack(positions, [labels[i] for i in positions], Axis())
        known = self._value.index[0]
        return self._stack(positions, [known[i] for i in positions], self._axes[0])

    def head(self, n: int = 5) -> SensitiveSeries:
        """The first elements.

        >>> x = df["ward"].value_counts(sort=False).head(2)
        """
        return self._taken(list(range(self.size))[:n])

    def tail(self, n: int = 5) -> SensitiveSeries:
        """The last elements.

        >>> x = df["ward"].value_counts(sort=False).tail(2)
        """
        return self._taken(list(range(self.size))[-n:] if n else [])

    def __getitem__(self, key: Any) -> Any:
        labels = self._labels()
        if isinstance(key, list):
            return self._taken([_need(labels, k) for k in key])
        found = position(labels, key)
        if found is not None:
            return self._at(found)
        if len(self._axes) == 2 and not isinstance(key, tuple):
            rows, columns = self._value.index
            at = _need(shown_labels(rows, self._axes[0].domain), key) * len(columns)
            return self._stack(range(at, at + len(columns)), columns, self._axes[1])
        return self._at(_need(labels, key))

    def get(self, key: Any, default: T | None = None) -> SensitiveInt | SensitiveFloat | T | None:
        """An element, or the default if there is none of this label.

        >>> df["ward"].value_counts(sort=False).get("oncology") is None
        True
        """
        found = position(self._labels(), key)
        return default if found is None else self._at(found)

    def max(self) -> SensitiveInt | SensitiveFloat:
        """The largest element, as a private number. For its label: .idxmax(eps=…).

        >>> df["ward"].value_counts(sort=False).max().reveal(eps=1)
        ≈ 1000
        """
        return number(Extreme("max", self._value))

    def min(self) -> SensitiveInt | SensitiveFloat:
        """The smallest element, as a private number. For its label: .idxmin(eps=…).

        >>> x = df["ward"].value_counts(sort=False).min().reveal(eps=1)
        """
        return number(Extreme("min", self._value))

    def sum(self) -> SensitiveInt | SensitiveFloat:
        """The sum of all elements, as a private number.

        >>> df["ward"].value_counts(sort=False).sum().reveal(eps=1)
        ≈ 2000
        """
        return number(Total(self._value))

    def mean(self) -> SensitiveInt | SensitiveFloat:
        """The mean of all elements, whose number is public, as a private number.

        >>> df["ward"].value_counts(sort=False).mean().reveal(eps=1)
        ≈ 500
        """
        return number(Scale(Total(self._value), Fraction(1, self.size)))

    def abs(self) -> Self:
        """Absolute values.

        >>> x = (df["ward"].value_counts(sort=False) - 500).abs()
        """
        return self.__abs__()

    def rename(self, name: Any) -> Self:
        """The same numbers under another name.

        >>> df["ward"].value_counts(sort=False).rename("stays").name
        'stays'
        """
        return type(self)(self._value, public_name(name), self._axes)

    @overload
    def unstack(self) -> SensitiveDataFrame: ...
    @overload
    def unstack(self, level: Any, fill_value: Any = None) -> SensitiveDataFrame | Deferred: ...
    def unstack(self, level: Any = -1, fill_value: Any = None) -> SensitiveDataFrame | Deferred:
        """A level of the index as columns, the last one unless another is named (which is done after the release).

        There is a number for every combination, so nothing is filled.

        >>> x = df.value_counts(["sex", "ward"], sort=False).unstack()
        """
        if len(self._axes) < 2:
            raise PlanError("unstack needs an index of several levels", do="group by several columns first")
        if level in (-1, len(self._axes) - 1, self._axes[-1].name):
            return SensitiveDataFrame(self._value, self._axes)
        from privjail.pandas.deferred import deferred

        return deferred(self, "unstack(…)", lambda found: found.unstack(level))

    def _public(self, answer: Any, facts: list[Facts]) -> ReleasedSeries:
        from privjail.answers.released import released_series

        return released_series(answer, facts, self.index, self.name)


class SensitiveDataFrame(Vector["ReleasedFrame"]):
    """A table of private numbers with public rows and columns (from crosstab, or sums of several columns)."""

    _shown_class = "pandas.core.frame.DataFrame"
    ndim = 2

    def _wrap(self, value: Value) -> Self:
        return type(self)(value, self._axes)

    @property
    def index(self) -> pandas.Index[Any]:
        """The public row labels.

        >>> list(pd.crosstab(df["sex"], df["ward"]).index)
        ['F', 'M']
        """
        found: pandas.Index[Any] = index_of(self._value.index[:-1], self._axes[:-1])
        return found

    @property
    def columns(self) -> pandas.Index[Any]:
        """The public column labels.

        >>> list(pd.crosstab(df["sex"], df["ward"]).columns)
        ['cardiology', 'geriatrics', 'maternity', 'surgery']
        """
        found: pandas.Index[Any] = index_of(self._value.index[-1:], self._axes[-1:])
        return found

    def keys(self) -> pandas.Index[Any]:
        """The public column labels.

        >>> list(pd.crosstab(df["sex"], df["ward"]).keys())[0]
        'cardiology'
        """
        return self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, which are public.

        >>> pd.crosstab(df["sex"], df["ward"]).shape
        (2, 4)
        """
        width = len(self._value.index[-1])
        return (self.size // width, width)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns())

    def _columns(self) -> list[Any]:
        return shown_labels(self._value.index[-1], self._axes[-1].domain)

    def _rows(self) -> list[Any]:
        return flat_labels(self._value.index[:-1], self._axes[:-1])

    def _column(self, j: int) -> SensitiveSeries:
        height, width = self.shape
        return self._line(range(j, height * width, width), self._value.index[:-1], self._axes[:-1], self._columns()[j])

    def _row(self, i: int) -> SensitiveSeries:
        width = self.shape[1]
        line = range(i * width, (i + 1) * width)
        return self._line(line, self._value.index[-1:], self._axes[-1:], self._rows()[i])

    def _line(self, positions: range, labels: Any, axes: tuple[Axis, ...], name: Any) -> SensitiveSeries:
        if len(axes) == 1:
            return self._stack(positions, labels[0], axes[0]).rename(name)
        return self._stack(positions, flat_labels(labels), Axis()).rename(name)

    def __contains__(self, label: Any) -> bool:
        return position(self._columns(), label) is not None

    def __getitem__(self, key: Any) -> SensitiveSeries:
        """A column."""
        return self._column(_need(self._columns(), key))

    def items(self) -> Iterator[tuple[Any, SensitiveSeries]]:
        """Each column's label, with the column.

        >>> x = dict(pd.crosstab(df["sex"], df["ward"]).items())["surgery"]
        """
        return ((label, self._column(j)) for j, label in enumerate(self._columns()))

    def iterrows(self) -> Iterator[tuple[Any, SensitiveSeries]]:
        """Each row's label, with the row.

        >>> x = dict(pd.crosstab(df["sex"], df["ward"]).iterrows())["F"]
        """
        return ((label, self._row(i)) for i, label in enumerate(self._rows()))

    @property
    def loc(self) -> Cells:
        """Rows, or single numbers, by their public labels.

        >>> pd.crosstab(df["sex"], df["ward"]).loc["F", "surgery"].reveal(eps=1)
        ≈ 560
        """
        return Cells(self, by_label=True)

    at = loc

    @property
    def iloc(self) -> Cells:
        """Rows, or single numbers, by their public positions.

        >>> x = pd.crosstab(df["sex"], df["ward"]).iloc[0, 3]
        """
        return Cells(self, by_label=False)

    def sum(self, axis: Any = 0) -> SensitiveSeries:
        """The sum of each column (axis=1: of each row), as private numbers.

        >>> x = pd.crosstab(df["sex"], df["ward"]).sum(axis=1).reveal(eps=1)
        """
        down = axis in (0, "index")
        lines = [self._column(j) for j in range(self.shape[1])] if down else [self._row(i) for i in range(len(self))]
        labels = self._value.index[-1] if down else flat_labels(self._value.index[:-1])
        axes = self._axes[-1:] if down else self._axes[:-1]
        axis_ = axes[0] if len(axes) == 1 else Axis()
        shown = labels if down or len(axes) > 1 else self._value.index[0]
        return SensitiveSeries(Stack(tuple(Total(line._value) for line in lines), tuple(shown)), None, (axis_,))

    def _public(self, answer: Any, facts: list[Facts]) -> ReleasedFrame:
        import numpy

        import pandas
        from privjail.answers.released import released_frame

        table = pandas.DataFrame(numpy.reshape(answer, self.shape), index=self.index, columns=self.columns)
        return released_frame(table, facts)


class Cells:
    """df.loc[row], df.loc[row, column], and the same by position."""

    def __init__(self, frame: SensitiveDataFrame, by_label: bool) -> None:
        self._frame, self._by_label = frame, by_label

    def _find(self, labels: list[Any], key: Any) -> int:
        if self._by_label:
            return _need(labels, key)
        if type(key) is not int or not -len(labels) <= key < len(labels):
            raise PlanError(f"iloc takes a position from 0 to {len(labels) - 1}")
        return key % len(labels)

    def __getitem__(self, key: Any) -> Any:
        frame = self._frame
        several = len(frame._axes) > 2  # rows are labelled by tuples
        pair = isinstance(key, tuple) and len(key) == 2 and (not several or isinstance(key[0], (tuple, slice)))
        row, column = key if pair else (key, slice(None))
        if isinstance(row, slice) and row == slice(None):
            return frame._column(self._find(frame._columns(), column))
        i = self._find(frame._rows(), row)
        if isinstance(column, slice):
            return frame._row(i)
        return frame._at(i * frame.shape[1] + self._find(frame._columns(), column))
