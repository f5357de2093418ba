"""Columns as a few public bins: which bins there are follows from the domain alone.

The rule. A category has a bin for each label, in the schema's order. Whole numbers of at most ``most`` values have a
bin each. Other numbers have ``most`` bins of equal width; or of equal width on a logarithmic scale if the range starts
at 0 or above and ends at 1,000 or above, as amounts of money and sizes do. A column that can be missing has one bin
more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import pandas
from privjail.errors import PlanError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cut import Cut
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.where import FillNull
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.rowwise import numeric

MISSING = "(missing)"
SKEWED = 1000  # a range from 0 or above to this or above is taken for an amount, and binned logarithmically


@dataclass(frozen=True)
class Bins:
    """The bins of one column: how private rows fall into them, and public ones."""

    name: Any
    labels: tuple[Any, ...]  # of a category; () for numbers and true/false
    edges: tuple[float, ...]  # of numbers: bins include their left edge
    ordered: bool
    nullable: bool
    logarithmic: bool = False

    @property
    def known(self) -> int:
        """How many bins there are for values that are not missing."""
        return len(self.labels) or len(self.edges) - 1

    @property
    def size(self) -> int:
        return self.known + self.nullable

    def scales(self, degree: int = 1) -> list[Any]:
        """Where each bin of numbers lies, from -1 to 1, and the squares of that for degree 2; 0 for a missing value.

        Amounts have two scales more: logarithmic, and whether a value is above the lowest one.
        """
        edges = np.asarray(self.edges)
        found = [self._place(edges)]
        if self.logarithmic:
            lowest = np.ones(self.size)
            lowest[0], lowest[self.known :] = -1.0, 0.0
            found += [self._place(np.log1p(edges - edges[0])), lowest]
        elif degree > 1 and self.known > 2:
            square = 2 * found[0] ** 2 - 1
            square[self.known :] = 0.0
            found.append(square)
        return found

    def _place(self, scale: Any) -> Any:
        middle = (scale[1:] + scale[:-1]) / 2
        span = middle.max() - middle.min()
        place = np.zeros(self.size)
        place[: self.known] = 2 * (middle - middle.min()) / span - 1 if span > 0 else 0.0
        return place

    def key(self, expr: Expr) -> Expr:
        """The bin of each private row: a category of whole numbers as text."""
        if isinstance(expr.domain, CategoryDomain):
            pairs = tuple((Lit.of(label), Lit.of(str(i))) for i, label in enumerate(self.labels))
            key: Expr = Recode(expr, pairs, 0)
        else:
            labels = tuple(Lit.of(str(i)) for i in range(self.known))
            key = Cut(numeric(expr), tuple(map(Lit.of, self.edges)), labels, 0, 0)
        return FillNull(key, Constant(Lit.of(str(self.known)))) if self.nullable else key

    def looked_up(self, key: Expr, table: Any) -> Expr:
        """A public number for each bin, in each private row."""
        images = tuple((Lit.of(str(i)), Lit.of(float(v))) for i, v in enumerate(table))
        return Recode(key, images, 0)

    def codes(self, column: Any) -> Any:
        """The bin of each public value; unknown values count as missing, or are in bin -1 where none can be."""
        values = pandas.Series(column)
        nowhere = self.known if self.nullable else -1
        if self.labels:
            place: dict[Any, int] = {}
            for i, label in enumerate(self.labels):
                place[label] = i
                place.setdefault(str(label), i)
            return values.map(lambda v: place.get(v, place.get(str(v), nowhere))).to_numpy(dtype=int)
        values = values.replace({"True": 1, "False": 0, "true": 1, "false": 0}) if values.dtype == object else values
        numbers = pandas.to_numeric(values, errors="coerce").to_numpy(dtype=float)
        found = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.known - 1)
        return np.where(np.isnan(numbers), nowhere, found)


def bins_of(name: Any, expr: Expr, most: int) -> Bins:
    """The bins of a column, by the rule above."""
    domain = expr.domain
    match domain:
        case BoolDomain():
            return Bins(name, (), (0.0, 1.0, 2.0), False, domain.nullable)  # false and true as 0 and 1
        case CategoryDomain() if domain.categories:
            return Bins(name, domain.categories, (), domain.ordered, domain.nullable)
        case IntDomain() | FloatDomain() if domain.bounded:
            low, high = float(domain.lower), float(domain.upper)
            if isinstance(domain, IntDomain) and high - low < most:
                return Bins(name, (), tuple(np.arange(low, high + 2)), True, domain.nullable)
            top = high + 1 if isinstance(domain, IntDomain) else math.nextafter(high, math.inf)
            skewed = low >= 0 and high >= SKEWED
            edges = (
                _skewed(low, top, most, isinstance(domain, IntDomain)) if skewed else np.linspace(low, top, most + 1)
            )
            return Bins(name, (), tuple(edges.tolist()), True, domain.nullable, skewed)
    raise PlanError(
        f"column {name!r} has no bins: its domain is {domain}",
        do="use categories, or numbers with a range (schema, or clip)",
    )


def _skewed(low: float, top: float, most: int, whole: bool) -> Any:
    """Edges of equal width on the scale log(1 + x - low); of whole numbers, none between two of them."""
    edges = low + np.expm1(np.linspace(0, math.log1p(top - low), most + 1))
    if whole:
        edges = np.unique(np.concatenate([[low, low + 1], np.ceil(edges[1:-1]), [top]]))
    edges[0], edges[-1] = low, top
    return edges
