"""What a private table is: rows that nobody sees, and public column names with expressions over the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Self

from privjail.errors import PlanError
from privjail.ops.numbers import Scale
from privjail.ops.tally import Tally
from privjail.pandas.series import PrivSeries
from privjail.pandas.show import facts, facts_html
from privjail.plan.distance import Distance
from privjail.plan.domain import Domain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.sensitive import number

MOST_NAMED = 10  # columns of a wide table, in an error


def _named(columns: list[Any], wanted: Any) -> str:
    """The columns that there are; of many, those that look like the one that was wanted first."""
    if len(columns) <= MOST_NAMED:
        return ", ".join(map(str, columns))
    alike = get_close_matches(str(wanted), map(str, columns), MOST_NAMED)
    first = dict.fromkeys([*alike, *map(str, columns)])
    return f"{', '.join(list(first)[:MOST_NAMED])}, … {len(columns) - MOST_NAMED} more"


class Domains(Mapping[Any, Domain]):
    """The domain of each column, by its name."""

    def __init__(self, exprs: Mapping[Any, Expr]) -> None:
        self._exprs = exprs

    def __getitem__(self, name: Any) -> Domain:
        return self._exprs[name].domain

    def __iter__(self) -> Iterator[Any]:
        return iter(self._exprs)

    def __len__(self) -> int:
        return len(self._exprs)

    def __repr__(self) -> str:
        return repr(dict(self))


class FrameCore(Prisoner):
    """Rows and named expressions; and what is public about them."""

    _shown_class = "pandas.core.frame.DataFrame"
    _way_out = "count, sum or average it, and release the result: .shape[0].reveal(eps=…), .mean(eps=…)"

    ndim = 2
    _rows: Rows
    _exprs: dict[Any, Expr]

    def __init__(self, rows: Rows, columns: Mapping[Any, Expr]) -> None:
        vars(self).update(_rows=rows, _exprs=dict(columns))  # past __setattr__, which looks for columns

    def _new(self, columns: Mapping[Any, Expr], rows: Rows | None = None) -> Self:
        return type(self)(self._rows if rows is None else rows, columns)

    def _expr(self, name: Any) -> Expr:
        if isinstance(name, Prisoner):
            raise PlanError("a column is named by public text, not by a private value")
        if name not in self._exprs:
            raise PlanError(f"there is no column {name!r}", do=f"the columns are {_named(list(self._exprs), name)}")
        found: Expr = self._exprs[name]
        return found

    def _series(self, name: Any) -> PrivSeries:
        return PrivSeries(self._rows, self._expr(name), name)

    def _names(self, given: Any) -> list[Any]:
        """One column's name, or a list of them."""
        names = [given] if isinstance(given, (str, tuple)) or not hasattr(given, "__iter__") else list(given)
        for name in names:
            self._expr(name)
        return names

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def columns(self) -> Any:
        """The names of the columns, which are public; assign a list to rename them all."""
        import pandas

        return pandas.Index(list(self._exprs))

    @columns.setter
    def columns(self, names: Any) -> None:
        new = list(names)
        if len(new) != len(self._exprs) or len(set(new)) != len(new):
            raise PlanError(f"{len(self._exprs)} different names are needed")
        self._exprs = dict(zip(new, self._exprs.values(), strict=True))

    def keys(self) -> Any:
        return self.columns

    @property
    def domains(self) -> Domains:
        """The values that each column may hold: public."""
        return Domains(self._exprs)

    @property
    def dtypes(self) -> Any:
        import pandas

        return pandas.Series({name: expr.domain.dtype for name, expr in self._exprs.items()}, dtype=object)

    @property
    def shape(self) -> tuple[Any, int]:
        return (number(Tally(self._rows, (), None)), len(self._exprs))

    @property
    def size(self) -> Any:
        return number(Scale(Tally(self._rows, (), None), Fraction(len(self._exprs))))

    def __contains__(self, name: Any) -> bool:
        return name in self._exprs

    def _plan(self) -> str:
        return str(self._rows)

    def __str__(self) -> str:
        return facts(Prisoner.__repr__(self), self._rows, self._exprs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(Prisoner.__repr__(self), self._rows, self._exprs)
