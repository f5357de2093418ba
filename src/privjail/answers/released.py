"""Released vectors and tables: pandas objects that know how far each of their numbers may be off.

What pandas computes from them is a plain Series or DataFrame: a sum of noisy numbers has another error than each of
them. Only what takes numbers out or puts them in another order keeps what is known about each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import pandas as pd
from privjail.answers.answer import Answer, Facts, checked
from privjail.errors import PlanError

SHOWN = 4  # labels of unreliable numbers, in a text


class Released:
    """What series and tables share: facts about each number, in the order of the numbers (row by row)."""

    _facts: Sequence[Facts | None]
    _then: list[float]  # the numbers as they were released

    def _remember(self, facts: Sequence[Facts | None]) -> None:
        object.__setattr__(self, "_facts", facts)
        object.__setattr__(self, "_then", self._now())

    def _now(self) -> list[float]:
        found: list[float] = np.ravel(self.to_numpy()).tolist()  # type: ignore[attr-defined]
        return found

    def _numbers(self) -> list[float]:
        now = self._now()
        if now != self._then and not (len(now) == len(self._then) and np.array_equal(now, self._then, equal_nan=True)):
            raise PlanError(
                "these numbers were changed in place: their errors are not known any more",
                do="keep what a release returned, and compute with it: x + 1, not x += 1",
            )
        return now

    def _ends(self, confidence: float) -> Any:
        """The ends of each interval; missing where nothing is known about a number."""
        confidence = checked(confidence)
        nothing = (float("nan"), float("nan"))
        pairs = zip(self._numbers(), self._facts, strict=True)
        ends = [nothing if facts is None else facts.law.interval(x, confidence) for x, facts in pairs]
        return np.array(ends, dtype=float).reshape(-1, 2)

    def _reaches(self, confidence: float) -> Any:
        numbers, ends = np.array(self._numbers()), self._ends(confidence)
        return np.maximum(numbers - ends[:, 0], ends[:, 1] - numbers)

    def _doubts(self) -> list[str | None]:
        pairs = zip(self._numbers(), self._facts, strict=True)
        return [None if facts is None else facts.law.doubt(x) for x, facts in pairs]

    def _warning(self, labels: Iterable[Any]) -> str:
        """The line below a printed object: which of its numbers are not reliable."""
        if self._now() != self._then:
            return ""  # changed in place: error() and interval() say so
        found = [f"{label} ({doubt})" for label, doubt in zip(labels, self._doubts(), strict=True) if doubt]
        if not found:
            return ""
        more = f", … {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return f"\nunreliable: {', '.join(found[:SHOWN])}{more}"


class ReleasedSeries(Released, pd.Series):
    """A released vector.

    >>> days = df.groupby("ward")["days"].mean(eps=1)
    >>> list(days.interval(0.95).columns)
    ['low', 'high']
    """

    _metadata = ["_name", "_facts", "_then"]

    @property
    def _constructor(self) -> Any:
        return pd.Series  # what is computed from it is plain

    def error(self, confidence: float = 0.95) -> pd.Series[float]:
        """How far each number may be off, with this probability for each."""
        return pd.Series(self._reaches(confidence), index=self.index, name=self.name)

    def interval(self, confidence: float = 0.95) -> pd.DataFrame:
        """An interval for each number: it holds the true one with this probability, each for itself."""
        return pd.DataFrame(self._ends(confidence), index=self.index, columns=["low", "high"])

    def reliable(self) -> pd.Series[bool]:
        """Which numbers can be relied on."""
        return pd.Series([doubt is None for doubt in self._doubts()], index=self.index, name=self.name)

    @property
    def plot(self) -> Any:
        """plot() draws bars with intervals; plot.line() and the like are pandas' own."""
        from privjail.answers.plot import Plots

        return Plots(self)

    # -- what keeps the facts: the same numbers, fewer or in another order

    def _taken(self, order: Any) -> ReleasedSeries:
        plain = pd.Series(self)
        return released_series(plain.iloc[order], [self._facts[i] for i in order])

    def sort_values(self, *args: Any, **kwargs: Any) -> Any:
        if args or set(kwargs) - {"ascending", "kind", "na_position"}:
            return super().sort_values(*args, **kwargs)
        plain = pd.Series(self.to_numpy())
        return self._taken(list(plain.sort_values(**kwargs).index))

    def sort_index(self, *args: Any, **kwargs: Any) -> Any:
        if args or set(kwargs) - {"ascending", "kind"}:
            return super().sort_index(*args, **kwargs)
        return self._taken(list(pd.Series(range(len(self)), index=self.index).sort_index(**kwargs)))

    def head(self, n: int = 5) -> Any:  # type: ignore[misc]
        return self._taken(list(range(len(self)))[:n])

    def tail(self, n: int = 5) -> Any:  # type: ignore[misc]
        return self._taken(list(range(len(self)))[-n:] if n else [])

    def rename(self, *args: Any, **kwargs: Any) -> Any:
        named = pd.Series(self).rename(*args, **kwargs)
        return named if named is None else released_series(named, self._facts)

    def copy(self, deep: Any = True) -> Any:  # type: ignore[misc]
        return released_series(pd.Series(self).copy(deep), self._facts)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, float):
            return found
        at = self.index.get_loc(key) if key in self.index else None
        facts = self._facts[at] if isinstance(at, int) else None
        return found if facts is None else Answer(found, facts)

    # -- shown

    def __repr__(self) -> str:
        return super().__repr__() + self._warning(self.index)

    def to_plain(self) -> pd.Series[float]:
        """The numbers alone."""
        return pd.Series(self)


class ReleasedFrame(Released, pd.DataFrame):
    """A released table.

    >>> table = pd.crosstab(df["sex"], df["ward"]).reveal(eps=1)
    >>> table.error().shape
    (2, 4)
    """

    _metadata = ["_facts", "_then"]

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def error(self, confidence: float = 0.95) -> pd.DataFrame:
        """How far each number may be off, with this probability for each."""
        reaches = self._reaches(confidence).reshape(self.shape)
        return pd.DataFrame(reaches, index=self.index, columns=self.columns)

    def interval(self, confidence: float = 0.95) -> pd.DataFrame:
        """An interval for each number: under each column its ends, ``low`` and ``high``."""
        height, width = self.shape
        ends = self._ends(confidence).reshape(height, 2 * width)
        labels: list[Any] = list(self.columns)
        keys = [label if isinstance(label, tuple) else (label,) for label in labels]
        columns = pd.MultiIndex.from_tuples([(*key, end) for key in keys for end in ("low", "high")])
        return pd.DataFrame(ends, index=self.index, columns=columns)

    def reliable(self) -> pd.DataFrame:
        """Which numbers can be relied on."""
        found = np.array([doubt is None for doubt in self._doubts()]).reshape(self.shape)
        return pd.DataFrame(found, index=self.index, columns=self.columns)

    @property
    def plot(self) -> Any:
        """plot() draws bars with intervals; plot.line() and the like are pandas' own."""
        from privjail.answers.plot import Plots

        return Plots(self)

    def __getitem__(self, key: Any) -> Any:
        found = pd.DataFrame(self)[key]
        at = self.columns.get_loc(key) if isinstance(found, pd.Series) and key in self.columns else None
        if not isinstance(at, int):
            return found
        return released_series(found, self._facts[at :: self.shape[1]])

    def copy(self, deep: Any = True) -> Any:  # type: ignore[misc]
        return released_frame(pd.DataFrame(self).copy(deep), self._facts)

    def _labels(self) -> list[str]:
        return [f"{row}, {column}" for row in self.index for column in self.columns]

    def __repr__(self) -> str:
        return super().__repr__() + self._warning(self._labels())

    def _repr_html_(self) -> str:
        from html import escape

        note = self._warning(self._labels()).strip()
        plain: Any = self.to_plain()
        return str(plain._repr_html_()) + (f"<p>{escape(note)}</p>" if note else "")

    def to_plain(self) -> pd.DataFrame:
        """The numbers alone."""
        return pd.DataFrame(self)


def released_series(plain: Any, facts: Sequence[Facts | None], index: Any = None, name: Any = None) -> ReleasedSeries:
    """A series, or a list of numbers, with facts about each of them."""
    if not isinstance(plain, pd.Series):
        given = [float(x) if isinstance(x, (int, float)) else x for x in plain]
        numbers = all(isinstance(x, float) for x in given)
        plain = pd.Series(given, index=index, name=name, dtype="float64" if numbers else object)
    made = ReleasedSeries(plain)
    made._remember(facts)
    return made


def released_frame(plain: Any, facts: Sequence[Facts | None]) -> ReleasedFrame:
    """A table with facts about each number, row by row."""
    made = ReleasedFrame(plain)
    made._remember(facts)
    return made


def series_of(answers: Iterable[Any], index: Any = None, name: Any = None) -> ReleasedSeries:
    """A series of answers; of plain numbers among them nothing is known."""
    given = list(answers)
    return released_series(given, [x.facts if isinstance(x, Answer) else None for x in given], index, name)


def frame_of(columns: Mapping[Any, Iterable[Any]], index: Any = None) -> ReleasedFrame:
    """A table of columns of answers, or of released series."""
    known: list[list[Facts | None]] = []
    plain: dict[Any, Any] = {}
    for name, column in columns.items():
        if isinstance(column, ReleasedSeries):
            known.append(list(column._facts))
            plain[name] = column.to_plain()
        else:
            given = list(column)
            known.append([x.facts if isinstance(x, Answer) else None for x in given])
            plain[name] = [float(x) if isinstance(x, Answer) else x for x in given]
    made = pd.DataFrame(plain, index=index)
    facts = [each for row in zip(*known, strict=True) for each in row]
    return released_frame(made, facts if len(facts) == made.size else [None] * made.size)


def frame_of_rows(rows: Sequence[Any], index: Any) -> ReleasedFrame:
    """A table of released series with the same labels, one below the other."""
    table = pd.DataFrame([row.to_list() for row in rows], index=index, columns=rows[0].index)
    known = [row._facts if isinstance(row, ReleasedSeries) else [None] * len(row) for row in rows]
    return released_frame(table, [facts for each in known for facts in each])
